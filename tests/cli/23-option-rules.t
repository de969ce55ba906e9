#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Options that exclude or need one another: for each rule, each option that breaks it alone, and what keeps it; and the
# first and the last number that an option takes, with their neighbours. NOBODY is a process that does not exist.
. tests/lib.sh
. tests/freeze/serve.sh
need_command xz
for f in ocaml-5.3.0/c-user.events memtrace/bare.ctf pagetrace/light-go122.pt; do
	xz -dc "tests/data/$f.xz" >"$TMP/1.${f##*.}"
done
cp tests/data/capture/blame.ebt "$TMP/1.ebt"
program=$(realpath "$O/freeze/ebtrace")
cd "$TMP" || exit 1
serve "$program"
set -f
says() { # LINE: in $said, the status and the first line of what is wrong
	local status
	# shellcheck disable=SC2086
	run out.txt ${1//NOBODY/-p 2147483600}
	said=
	read -r said <err
	said="$status $said"
}

while read -r line; do
	case $line in
	"= "*) message=${line#= } ;;
	*)
		says "$line"
		is "$said" "2 ebtrace: $message" "ebtrace $line is refused"
		;;
	esac
done <<'END'
= what to trace? -p PID, -- PROGRAM, or a FILE; 'ebtrace --help' shows examples
trace
stat
spans
mem
profile
= -a traces all processes: it takes no -p PID, -- PROGRAM or FILE
-a -p 1
-a -- true
-a 1.events
= -a traces children, too, and switches no ring on: it takes no --no-follow or --ring-request
-a --no-follow
-a --ring-request auto
= --pages watches processes of -p PID, or -- PROGRAM
-a --pages
= -p PID, -- PROGRAM and FILE exclude one another; 'ebtrace --help' shows examples
-p 1 -- true
-p 1 1.events
1.events -- true
= --wait needs processes that run: -p PID, or -- PROGRAM
trace --wait 1.events
= --mode needs processes that run: -p PID, or -- PROGRAM
stat --mode ring 1.events
spans --mode ring 1.events
= --mode counters has sums and no events: it is for ebtrace stat and ebtrace top
trace --mode counters NOBODY
spans --mode counters NOBODY
= --mode counters has sums and no events: it excludes --blame, --mmu, --stack and --snapshot
stat --mode counters --blame NOBODY
stat --mode counters --blame --stack NOBODY
stat --mode counters --mmu NOBODY
stat --mode counters --snapshot NOBODY
top --mode counters --blame NOBODY
= --mode counters counts all events: it excludes --event, --domain and --tid
stat --mode counters -e minor NOBODY
stat --mode counters --domain 0 NOBODY
stat --mode counters -t 1 NOBODY
= --cpu and --memory choose what is recorded of a run: they exclude --snapshot, --pages and --mode probes and counters
trace --cpu 5% --snapshot NOBODY
trace --memory 9M --snapshot NOBODY
trace --cpu 5% --pages NOBODY
trace --cpu 5% --mode probes NOBODY
stat --cpu 5% --mode counters NOBODY
stat --memory 9M --mode probes NOBODY
= --snapshot needs a running process: -p PID
--snapshot -- true
-a --snapshot
= --stack needs processes that run: -p PID, or -- PROGRAM
--stack 1.events
--stack --snapshot NOBODY
--stack=minor --snapshot NOBODY
= --stack is of threads that run, by probes: of -p PID, or -- PROGRAM; a FILE that was recorded with --blame --stack=offcpu has it
spans --stack 1.events
spans --stack --mode ring NOBODY
spans --stack --mode watermark NOBODY
= --stack needs a probe for each event: --mode stream or probes
--stack --mode ring NOBODY
--stack --mode watermark NOBODY
= -U needs probes: --mode stream or probes
-U a:b --mode ring NOBODY
-U a:b --mode watermark NOBODY
spans -U a:b --mode ring NOBODY
= -U excludes --pages and --snapshot: it waits for what programs do
-U a:b --pages NOBODY
-U a:b --snapshot NOBODY
= --many needs markers: -U 'PROVIDER:NAME'
--many NOBODY
spans --many NOBODY
profile --many NOBODY
= --blame=faults needs processes that run, and a probe at each pause: --mode stream or probes
--blame=faults 1.events
--blame=faults --mode ring NOBODY
--blame=faults --mode watermark NOBODY
stat --blame=faults 1.events
stat --blame=faults --mode ring NOBODY
= --blame needs processes that run: -p PID, or -- PROGRAM
--blame 1.events
= --pages needs processes that run; ebtrace pages reports those of a FILE
--pages 1.events
--pages --snapshot NOBODY
= --pages excludes --stack: what touches a page has none
--pages --stack NOBODY
= --pages watches through probes: pages are in no ring
--pages --mode ring NOBODY
--pages --mode watermark NOBODY
--pages --mode stream NOBODY
= --blame needs processes that run; --snapshot is of what was
--blame --snapshot NOBODY
stat --blame --snapshot NOBODY
= -o FILE is for one frame: --once, or --json
top -o out NOBODY
= --top N is for one frame: --once, or --json; the screen has keys to scroll
top --top 3 NOBODY
= --interval of top must be 50ms or more
top --once --interval 49ms NOBODY
top --once --interval 49999us NOBODY
= --stack shows the stacks of pauses: it needs --blame
stat --stack NOBODY
= --mmu is of processes and their domains: it excludes --by program
stat --mmu --by program NOBODY
= --by and --top apply to text
stat --json --by program NOBODY
stat --json --by process NOBODY
stat --json --top 3 NOBODY
stat --json --blame --by process NOBODY
= --before, --after, --max and --trigger-memory need --trigger 'SPAN>TIME'
--before 1s NOBODY
--after 1s NOBODY
--max 3 NOBODY
--trigger-memory 1M NOBODY
= --trigger writes captures: -o FILE.ebt, of which FILE.1.ebt is the first
--trigger minor>1ms NOBODY
--trigger minor>1ms -o out NOBODY
--trigger minor>1ms -f ebt NOBODY
--trigger minor>1ms -f ebt -o - NOBODY
= --max-size and --rotate are of a recording of everything; --trigger has --max and --trigger-memory
--trigger minor>1ms -o out.ebt --max-size 1M NOBODY
--trigger minor>1ms -o out.ebt --rotate 2 NOBODY
= --snapshot is of what was; --trigger waits for what comes
--trigger minor>1ms -o out.ebt --snapshot NOBODY
= --rotate N needs --max-size SIZE and -o FILE
--rotate 2 NOBODY
--rotate 2 -o out NOBODY
--rotate 2 --max-size 1M NOBODY
--rotate 2 --max-size 1M -o - NOBODY
= --per applies to mem diff
mem --per time 1.ctf
mem live --per run 1.ctf
= --live applies to mem diff; the report of one recording is mem live
mem --live 1.ctf
= --per time is of what was allocated; what is alive has no time in which it was
mem diff --live --per time 1.ctf 1.ctf
= --off-cpu is where threads wait, --wall is that and where they run: they exclude each other
profile --off-cpu --wall 1.ebt
= -F is of samples, which --off-cpu does not take; --wall does
profile --off-cpu -F 99 NOBODY
= --min-duration is of blocks: it needs --off-cpu or --wall
profile --min-duration 1ms 1.ebt
= pages of what? -p PID, -- PROGRAM, or a FILE; 'ebtrace pages --help' shows examples
pages
= -- PROGRAM excludes -p PID and FILE; 'ebtrace pages --help' shows examples
pages -p 1 -- true
pages 1.pt -- true
= --no-follow needs a process that runs: -p PID, or -- PROGRAM
pages --no-follow 1.pt
= --duration needs a process that runs: -p PID, or -- PROGRAM
pages -d 1s 1.pt
= pages reports one process; trace --pages records several
pages -p 1,2
pages -p 1 -p 2
= --at excludes --from and --to
pages --at 1s --from 1s 1.pt
pages --at 1s --to 1s 1.pt
pages --at 0s --to 0s 1.pt
= --from is after --to
pages --from 2s --to 1s 1.pt
= what to record? -- PROGRAM or -p PID; 'ebtrace mem record --help' shows examples
mem record
mem record 1.ctf
mem record 1.ctf -- true
mem record -p 1 -- true
= --children is for -- PROGRAM; children of a running process are not recorded
mem record --children NOBODY
= --rate is for -- PROGRAM; a running process has a rate of its own
mem record --rate 1e-3 NOBODY
= info needs a FILE or -p PID; 'ebtrace info --help' shows examples
info
info --ring-dir .
= --kernel describes this kernel: it takes neither FILE nor -p
info --kernel 1.events
info --kernel NOBODY
= --ring-dir needs a process that runs: -p PID
info --ring-dir . 1.events
= -p PID lists the markers of a process, BINARY those of a file: they exclude each other
list -p 1 1.events
= --ring-dir applies to the list of processes, not to -p PID
list --ring-dir . -p 1
= --ring-dir applies to the list of processes, not to a BINARY
list --ring-dir . 1.events
END

# passes LINE: no rule is broken. Then the output cannot be made, which comes before the process, or a file is reported.
passes() {
	case $1 in
	*" -o "*) says "${1//-o out/-o nowhere/out}" ;;
	*) says "${1/%NOBODY/NOBODY -o nowhere/out}" ;;
	esac
	case $said in
	"1 ebtrace: cannot write 'nowhere/out"* | "0 "*) ok 0 "ebtrace $1 is accepted" ;;
	*) ok 1 "ebtrace $1 is accepted" || diag "$said" ;;
	esac
}
while read -r line; do passes "$line"; done <<'END'
stat --mode counters NOBODY
top --once --mode counters NOBODY
trace --cpu 5% NOBODY
--snapshot NOBODY
spans --stack NOBODY
--stack --mode stream NOBODY
--stack --mode probes NOBODY
-U a:b --many NOBODY
--blame=faults --mode probes NOBODY
stat --blame 1.ebt
--pages --mode probes NOBODY
top -o out --once NOBODY
top -o out --json NOBODY
top --top 3 --once NOBODY
top --top 3 --json NOBODY
top --once --interval 50ms NOBODY
stat --stack --blame NOBODY
stat --mmu --by process NOBODY
stat --json --top 3 --blame NOBODY
--trigger minor>1ms -o out.ebt NOBODY
--trigger minor>1ms -o out.ebt --before 1s --after 1s --max 3 --trigger-memory 1M NOBODY
--rotate 2 --max-size 1M -o out NOBODY
mem diff --live --per alloc 1.ctf 1.ctf
mem diff --per time 1.ctf 1.ctf
profile --wall -F 99 NOBODY
profile --min-duration 1ms --off-cpu NOBODY
profile --min-duration 1ms --wall NOBODY
pages --from 2s --to 2s 1.pt
pages --at 1s 1.pt
END

# COMMAND OPTION, what it takes, what it refuses and how.
while IFS='|' read -r option takes refuses message; do
	for value in $takes; do passes "${option//VALUE/$value} NOBODY"; done
	for value in $refuses; do
		says "${option//VALUE/$value} NOBODY"
		is "$said" "2 ebtrace ${option%% *}: ${message//VALUE/$value}" \
			"ebtrace ${option//VALUE/$value} is refused"
	done
done <<'END'
profile -F VALUE|1 10000|0 10001|'VALUE' is not a number from 1 to 10000
trace --max-size 1M -o out --rotate VALUE|1 1000|0 1001|'VALUE' is not a number from 1 to 1000
trace --max-size VALUE|4K 4096|4095 3K|--max-size must be 4K or more
stat --interval VALUE|1ms|999us|--interval must be 1ms or more
stat --top VALUE|1 2147483647|0 2147483648|'VALUE' is not a number from 1 to 2147483647
trace --max-stack VALUE|0 2147483647|2147483648|'VALUE' is not a number from 0 to 2147483647
trace -o out.ebt --trigger minor>1ms --max VALUE|0 1000000|1000001|'VALUE' is not a number from 0 to 1000000
trace -o out.ebt --trigger minor>1ms --trigger-memory VALUE|1M|1023K|--trigger-memory must be 1M or more
stat --bpf-buffer VALUE|4K 1G|2K 2G 5000|--bpf-buffer must be a power of two from 4K to 1G
stat --memory VALUE|1M|1023K|--memory must be 1M or more
trace -t VALUE|1 2147483647|0 2147483648|'VALUE' is not a number from 1 to 2147483647
trace --domain VALUE|0 4095|4096|'VALUE' is not a number from 0 to 4095
END
served
done_testing
