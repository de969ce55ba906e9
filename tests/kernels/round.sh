#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Everything that a kernel does for ebtrace, once and small: markers, wake-ups, OCaml probes,
# stacks, blame, markers of any program, spans, samples, allocations, pages; the numbers are the programs' own. Then that a tracer which was
# interrupted or killed leaves nothing behind, and that the kernel has not complained.
# Runs in a guest (lib.sh) and on the host alike, as root. OCAML_PROGRAMS: where gcstat, gcwork,
# calls, sites and busy have been built, for this machine to run; else that is done here. ALONE=1:
# nobody else uses BPF here, so none of it may be left.
. tests/lib.sh
. tests/counts.sh
. tests/kernels/complaints.sh
need_root
need_command jq
need_command perl
need_command bpftool
[ -e /sys/kernel/tracing/trace ] || mount -t tracefs none /sys/kernel/tracing ||
	skip_all "tracefs cannot be mounted"

# What is traced does not lie on a file system of the host.
bin=$TMP/bin
mkdir "$bin" "$TMP/rings"
cp "$O"/ebtrace "$O"/libebtrace-preload.so "$bin"
cp "$O"/tests/prog/{minigc,tally,nested,blamed,pagewalk,allocs,markers_x86_64,operands_x86_64,spanned,shares} "$bin"
if [ -n "${OCAML_PROGRAMS:-}" ]; then
	cp "$OCAML_PROGRAMS"/{gcstat,gcwork,calls,sites,busy} "$bin"
else
	ocaml_programs "$bin"
fi
ebtrace=$bin/ebtrace
export EBTRACE_DIR=$TMP/rings
# All that this test starts has it in its environment.
export EBTRACE_ROUND=$$

bpf_objects() {
	{ bpftool prog show; bpftool link show; } |
		sed -n 's/^\([0-9]*\): \([a-z_]*\) .*/\2 \1/p' | sort
}
tainted=$(cat /proc/sys/kernel/tainted)
bpf_objects >"$TMP/bpf.before"
echo "ebtrace: round $$" >/dev/kmsg

# part NAME: what follows belongs to it. Prints how long the part before it took.
part="" began=$(date +%s%N)
part() {
	local now ms
	now=$(date +%s%N)
	ms=$(((now - began) / 1000000))
	[ -z "$part" ] || printf '# %s: %d.%d s\n' "$part" $((ms / 1000)) $((ms / 100 % 10))
	part=$1 began=$now
}
# traced STATUS: ends well, else what ebtrace says is shown.
traced() { ok "$1" "$part: the trace ends well" || diag "$(cat "$TMP/err")"; }

# begin OPTIONS... -- PROGRAM...: the program, which waits for a byte on its input (fd 5), and a
# tracer that has attached to it. What it prints is in $TMP/told, what the tracer says in $TMP/err.
begin() {
	local options=()
	while [ "$1" != -- ]; do options+=("$1"); shift; done
	shift
	rm -f "$TMP/go" "$TMP/err"
	mkfifo "$TMP/go"
	"$@" <"$TMP/go" >"$TMP/told" 2>"$TMP/said" &
	program=$!
	children+=("$program")
	exec 5>"$TMP/go"
	wait_for test "/proc/$program/exe" -ef "$1"
	timeout 100 "$ebtrace" "${options[@]}" -v -p "$program" >"$TMP/out" 2>"$TMP/err" 5>&- &
	tracer=$!
	children+=("$tracer")
	wait_for grep -qs 'attached to [1-9]' "$TMP/err" || diag "$(cat "$TMP/err")"
}
# finish: the program runs, and both end.
finish() {
	echo >&5
	exec 5>&-
	wait "$program"
	wait "$tracer"
	traced $?
}
# run OPTIONS... -- PROGRAM...: a program from its first instruction.
run() {
	timeout 100 "$ebtrace" "$@" >"$TMP/told" 2>"$TMP/err"
	traced $?
}

# ---- markers ----

part markers
run -q --mode stream -f ndjson -o "$TMP/markers.ndjson" -- \
	"$bin/minigc" -q -t 2 -n 5000 -u -c "$TMP/markers.counts"
"$bin/tally" <"$TMP/markers.ndjson" >"$TMP/markers.tally"
whole markers
jq -es 'map(select(.kind == "begin" or .kind == "end")) |
	length > 0 and all(.tid > 0 and .cpu >= 0)' "$TMP/markers.ndjson" >"$TMP/jq"
ok $? "markers: every phase has its thread and its CPU, so it came by a probe"

# ---- wake-ups alone ----

part watermark
# The ring wraps several times, after a second each time: that long a tracer may have no CPU.
EBTRACE_LOG_WSIZE=13 run -q --mode watermark -f ndjson -o "$TMP/watermark.ndjson" -- \
	"$bin/minigc" -q -t 1 -n 8000 -r 2500 -c "$TMP/watermark.counts"
"$bin/tally" <"$TMP/watermark.ndjson" >"$TMP/watermark.tally"
whole watermark

# ---- OCaml programs that were never prepared ----

# Events come one by one, or are counted by the kernel.
for mode in probes counters; do
	part "OCaml $mode"
	run stat -q --mode $mode --json -o "$TMP/stat.json" -- "$bin/gcstat" 2 30
	is "$(jq -r '.total.lost.words // 0, .source' "$TMP/stat.json" | paste -sd' ')" "0 bpf" \
		"OCaml $mode: nothing is lost, and no ring is read"
	jq -r '.total | "minor \(.collections.minor)\nmajor \(.collections.major)\ncompactions " +
		"\(.collections.compactions)\npromoted_words \(.words.promoted)"' "$TMP/stat.json" |
		sort >"$TMP/got"
	grep -E '^(minor|major|compactions|promoted_words) ' "$TMP/told" | sort >"$TMP/wanted"
	same_file "$TMP/got" "$TMP/wanted" \
		"OCaml $mode: collections and promoted words are those of the runtime's own account"
done

part "OCaml in auto mode"
begin trace -f ndjson -o "$TMP/auto.ndjson" -- "$bin/gcwork" 2 50 wait
finish
jq -r '[.kind, .name // "-", .lost_events // "-", .tid // "-"] | @tsv' "$TMP/auto.ndjson" \
	>"$TMP/rows"
# Every 5th of the rounds of each domain collects explicitly.
is "$(grep -cP '^begin\texplicit_gc_minor\t-\t[1-9]' "$TMP/rows")" 20 \
	"OCaml in auto mode: every explicit collection is seen once, with its thread"
is "$(grep -cP '^begin\t' "$TMP/rows")" "$(grep -cP '^end\t' "$TMP/rows")" \
	"OCaml in auto mode: every phase ends"
is "$(awk '$1 == "summary" { print $3 }' "$TMP/rows")" 0 "OCaml in auto mode: nothing is lost"

# ---- stacks ----

part stacks
begin --stack=begin -f ndjson -o "$TMP/nested.ndjson" -- "$bin/nested" 3 2
finish
jq -r 'select(.kind == "begin") | .stack // [] | reverse[] | select(contains("nested.c:")) |
	sub("@.*nested\\.c:"; " ") | sub(":.*"; "")' "$TMP/nested.ndjson" >"$TMP/got"
cat "$TMP/told" "$TMP/told" >"$TMP/wanted"
same_file "$TMP/got" "$TMP/wanted" \
	"stacks: each begin has the functions and lines that the program printed"

part "OCaml stacks"
begin --mode probes --stack=begin -f ndjson -o "$TMP/calls.ndjson" -- "$bin/calls"
finish
jq -r 'select(.kind == "begin" and .name == "explicit_gc_full_major") | .stack // [] |
	map(select(contains(".ml:"))) | .[-1] |= sub("(?<l>:[0-9]+):.*"; "\(.l)") | join(" ")' \
	"$TMP/calls.ndjson" >"$TMP/got"
sed 's/:[0-9]*-[0-9]*$//' "$TMP/told" >"$TMP/wanted"
same_file "$TMP/got" "$TMP/wanted" "OCaml stacks: they are those that the runtime itself has"
is "$(grep -c 'Calls.collect@calls.ml' "$TMP/got")" 5 "OCaml stacks: with the program's functions"

# ---- what pauses were made of ----

part blame
run stat --blame --json -o "$TMP/blame.json" -- \
	"$bin/blamed" "$TMP/file" preempt preempt preempt
jq -e '.blame | .known and .pause_ns == ([.parts_ns[]] | add) and
	(.longest | length == 3 and all(.ns == ([.parts_ns[]] | add)))' "$TMP/blame.json" >"$TMP/jq"
ok $? "blame: the parts of pauses are known, and add up" || diag "$(jq -c .blame "$TMP/blame.json")"
# On a busy machine the longest wait may be for another program.
jq -e --arg hog "${ALONE:+^hog$}" '.blame.longest | any(.parts_ns.run_queue > .ns / 5) and
	any(.cause | .part == "run_queue" and .comm != "blamed" and (.comm | test($hog)))' \
	"$TMP/blame.json" >"$TMP/jq"
ok $? "blame: the wait for a CPU is there, and the hog that ran on it meanwhile is named" ||
	diag "$(jq -c .blame.longest "$TMP/blame.json")"

# ---- markers of any program, spans, samples ----

part "markers of any program"
forms="unsigned signed second constants memory index symbol nowhere twelve none"
asked=()
for form in $forms; do asked+=(-U "operands:$form"); done
# f: each form once; t: three nested spans, in two threads.
run -q -f ndjson -o "$TMP/operands.ndjson" "${asked[@]}" -U operands:outer_begin~operands:outer_end -- \
	"$bin/operands_x86_64" <<<"f
t"
jq -r 'select(.kind == "marker") | . as $e | [.name[9:]] + [range(12) | "arg\(.)" | . as $a |
	select($e | has($a)) | $e[$a] // "-" | tostring] | join(" ")' "$TMP/operands.ndjson" >"$TMP/got"
grep -E "^(${forms// /|})( |\$)" "$TMP/told" >"$TMP/wanted"
same_file "$TMP/got" "$TMP/wanted" "markers of any program: each form of an argument has the program's value"
is "$(jq -r 'select(.kind | startswith("span_")) | .kind[5:] + " \(.arg0)"' "$TMP/operands.ndjson" | paste -sd,)" \
	"begin 1,begin 1,begin 1,end 2,end 2,end 2" "markers of any program: two are a span"

part spans
run spans --json -o "$TMP/spans.json" -- "$bin/spanned" "$TMP/file" sleep
jq -e '(.spans | length > 0) and all(.spans[]; .total_ns == ([.parts[].ns] | add)) and
	([.spans[] | select(.name == "step").parts[] | select(.part == "blocked")] | max_by(.ns) |
		.of == "clock_nanosleep" and .ns > 0)' "$TMP/spans.json" >"$TMP/jq"
ok $? "spans: parts add up, and what blocked them is named" || diag "$(jq -c .spans "$TMP/spans.json")"
xz -dkc tests/data/eio/wrapped.events.xz >"$TMP/wrapped.events"
"$ebtrace" spans --fibers --json "$TMP/wrapped.events" 2>"$TMP/err" |
	jq -e '.spans | length > 0 and all(.[]; .total_ns == ([.parts[].ns] | add))' >"$TMP/jq"
ok $? "spans: parts of fibers add up" || diag "$(cat "$TMP/err")"

part profile
run profile -F 999 --json -o "$TMP/profile.json" -- "$bin/shares" 1
# Within 5 standard deviations. The timer of an emulated CPU misses ticks.
jq -e '.samples as $all | [.sections[].functions[] | select(.function | IN("ten", "twenty", "thirty", "forty"))] |
	(map(.self.samples) | add) as $n | $n > 60 and $n > $all / 4 and
	({ten: 0.1, twenty: 0.2, thirty: 0.3, forty: 0.4} as $p | group_by(.function) | length == 4 and all(.[];
		$p[.[0].function] as $q | (map(.self.samples) | add) - $n * $q | fabs < 5 * ($n * $q * (1 - $q) | sqrt)))' \
	"$TMP/profile.json" >"$TMP/jq"
ok $? "profile: functions have their shares of the time" || diag "$(jq -c . "$TMP/profile.json")"
jq -e '.stacks.whole >= 0.95 * .samples' "$TMP/profile.json" >"$TMP/jq"
ok $? "profile: their stacks are whole" || diag "$(jq -c .stacks "$TMP/profile.json")"

# ---- allocations ----

part "mem -p"
begin mem hotspots --json -o "$TMP/sites.json" -- "$bin/sites" in_four 3000000 wait
finish
jq -e --argjson words "$(awk '{ n += $2 } END { print n + 0 }' "$TMP/told")" \
	'.total.bytes / 8 - $words | . >= 0 and . < 20000' "$TMP/sites.json" >"$TMP/jq"
ok $? "mem -p: all that an unprepared OCaml program allocates is reported, to the word" ||
	diag "$(jq -c .total "$TMP/sites.json")" "$(cat "$TMP/told")"
# They have 65.6, 26.2, 4.9 and 3.3 %.
is "$(jq -r '[.sites[] | select(.function | startswith("Sites."))] | .[:2][].function' \
	"$TMP/sites.json" | paste -sd' ')" "Sites.four Sites.pair" \
	"mem -p: its sites have their names, the one with most words is first"

part "mem record"
run mem record -q --rate 1 -o "$TMP/out.ctf" -- "$bin/allocs" threads
"$ebtrace" -q -f ndjson "$TMP/out.ctf" |
	command jq -nr --arg file allocs.c -f tests/live-allocs.jq | LC_ALL=C sort >"$TMP/got"
LC_ALL=C sort "$TMP/told" >"$TMP/wanted"
same_file "$TMP/got" "$TMP/wanted" \
	"mem record: what is alive at a C program's end is what it says itself"

# ---- pages ----

part pages
steps="unmap drop move over"
# In "touch" a page is read that was not written. That this maps the page of zeroes, no memory of
# the program, a kernel reports to a probe since 6.3.
[ "$(printf '%s\n' 6.3 "$(uname -r)" | sort -V | head -n 1)" = 6.3 ] && steps="touch $steps"
# shellcheck disable=SC2086
run trace --pages -f ndjson -o "$TMP/pages.ndjson" -- "$bin/pagewalk" $steps
got=$(perl tests/live/pages.pl "$TMP/told" "$TMP/pages.ndjson")
[ "${got#ok}" != "$got" ]
ok $? "pages: the changes are those that the program made, no more and no less" ||
	diag "$got" "$(cat "$TMP/err")"

# ---- a tracer that goes ----

# One program answers letters and knows the state of its markers; of an OCaml program the whole text
# is compared.
part "going away"
mkfifo "$TMP/in" "$TMP/answers"
"$bin/markers_x86_64" <"$TMP/in" >"$TMP/answers" &
marked=$!
"$bin/busy" <"$TMP/go" >/dev/null &
busy=$!
children+=("$marked" "$busy")
exec 6>"$TMP/in" 7<"$TMP/answers" 8>"$TMP/go"
read -r _ <&7
say() {
	local line
	printf %s "$1" >&6
	read -r -t 120 line <&7
	echo "$line"
}
wait_for test "/proc/$busy/exe" -ef "$bin/busy"
read -r first last < <(awk -v exe="$bin/busy" '
	$2 == "r-xp" && $6 == exe { sub("-", " ", $1); print $1; exit }' "/proc/$busy/maps")
text() {
	dd if="/proc/$busy/mem" bs=4096 status=none skip=$((16#$first / 4096)) \
		count=$(((16#$last - 16#$first) / 4096)) | cksum
}
clean_text=$(text)
is "$(say s)" "0 90" "going away: before, the semaphore is 0, and there is a nop at the site"
is_clean() { [ "$(say s)" = "0 90" ] && [ "$(text)" = "$clean_text" ]; }
# The processes of this round that hold probes for a tracer.
holders() (
	local pid comm
	exec 2>/dev/null # processes end
	grep -lzx "EBTRACE_ROUND=$$" /proc/[0-9]*/environ | while IFS=/ read -r _ _ pid _; do
		read -r comm <"/proc/$pid/comm" && [ "$comm" = uprobe-links ] && echo "$pid"
	done
)
nobody_holds() { [ -z "$(holders)" ]; }
attach() { # NAME OPTIONS...: in the background, without our ends of the pipes
	local name=$1
	shift
	"$ebtrace" -v -f ndjson -o "$TMP/$name.ndjson" "$@" 2>"$TMP/$name.err" 6>&- 7<&- 8>&- &
	children+=("$!")
}
for how in INT KILL; do
	attach $how --mode stream -p "$marked"
	markers=$!
	attach $how-probes --mode probes -p "$busy"
	probes=$!
	wait_for grep -qs 'attached to [1-9]' "$TMP/$how.err" &&
		wait_for grep -qs 'attached to [1-9]' "$TMP/$how-probes.err"
	state=$(say s)
	[ "${state#* }" = cc ] && [ "$(text)" != "$clean_text" ] && ! nobody_holds
	ok $? "$how: breakpoints are in both programs, and held for the tracers" ||
		diag "$state" "$(holders)" "$(cat "$TMP/$how.err" "$TMP/$how-probes.err")"
	say f >"$TMP/said"
	{
		kill -$how $markers $probes
		wait $markers
		ended=$?
		wait $probes
		ended="$ended $?"
	} 2>/dev/null
	is "$ended" "$([ $how = INT ] && echo 0 0 || echo 137 137)" "$how: the tracers end"
	wait_for is_clean
	ok $? "$how: text and semaphores are as before"
	is "$(say f)" fired "$how: the program runs on"
done
is "$(jq -n '[inputs | select(.kind | IN("begin", "counter", "custom"))] | length' \
	"$TMP/INT.ndjson")" 3000 "INT: every hit before is there once"
printf q >&6
exec 6>&- 7<&- 8>&-
wait "$marked" "$busy"
wait_for nobody_holds
ok $? "going away: no process is left that holds probes" || diag "$(holders)"

# ---- the kernel ----

part kernel
if [ -n "${ALONE:-}" ]; then
	nothing_more() { bpf_objects >"$TMP/bpf.after"; cmp -s "$TMP/bpf.before" "$TMP/bpf.after"; }
	wait_for nothing_more
	ok $? "kernel: no BPF program and no link is left" ||
		diag "$(diff "$TMP/bpf.before" "$TMP/bpf.after")"
fi
dmesg | awk -v begin="ebtrace: round $$" 'seen; index($0, begin) { seen = 1 }' >"$TMP/dmesg"
if [ -n "${ALONE:-}" ]; then
	is "$(complaints "$TMP/dmesg")" "" "kernel: it has not complained"
	is "$(cat /proc/sys/kernel/tainted)" "$tainted" "kernel: nor is it tainted by something new"
else
	# Whoever else uses it may be warned: of ours is what stops it.
	is "$(complaints "$TMP/dmesg" | grep -E 'BUG:|Oops|verifier|uprobe')" "" "kernel: it has not complained"
fi
part
done_testing
