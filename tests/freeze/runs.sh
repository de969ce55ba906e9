#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Runs the program over every fixture, and over random captures, in every format and every report in every form,
# and over command lines that it refuses, and prints "HASH<TAB>NAME" for each run: of what it wrote to stdout, its exit
# status and what it wrote to stderr. A NAME is the fixture's and the command line behind it. FREEZE_KEEP=DIR keeps what
# was hashed, for a diff. The first argument: `outputs`; `quick`, some of these; `refusals`; or `some-refusals`, with
# pairs of options of one command alone: the table of options is one for all.
set -u
cd "$(dirname "$0")/../.." || exit 1
. tests/freeze/serve.sh
E=$(realpath "${O:-build}/freeze/ebtrace")
data=$PWD/tests/data
part=${1:-outputs}
keep=${FREEZE_KEEP:-}
dir=$(mktemp -d "${TMPDIR:-/tmp}/ebtrace-freeze.XXXXXX")
trap 'rm -rf "$dir"' EXIT
cd "$dir" || exit 1
export TZ=UTC LC_ALL=C.UTF-8 COLUMNS=80 TERM=dumb
unset DEBUGINFOD_URLS EBTRACE_DIR OCAML_RUNTIME_EVENTS_DIR XDG_CACHE_HOME
mkdir runs

serve "$E"
n=0
names=()
# ended STATUS: what stands behind the output of a run. Thousands are made: nothing is forked for it.
ended() {
	local said=
	IFS= read -rd "" said <err
	while [ "${said%$'\n'}" != "$said" ]; do said=${said%$'\n'}; done
	printf '\n= status %d\n%s\n' "$1" "$said"
}
# frozen NAME ARGS...: one run.
frozen() {
	local f=runs/$n status
	names[n]=$1
	n=$((n + 1))
	run $f "${@:2}"
	ended "$status" >>$f
}
# several NAME: begins a run that is made of more.
several() {
	names[n]=$1
	: >runs/$n
	n=$((n + 1))
}
more() {
	local f=runs/$((n - 1)) status
	printf '$ %s\n' "$*" >>$f
	run $f "$@"
	ended "$status" >>$f
}

formats="text ndjson perfetto chrome fxt ebt memtrace pagetrace"
# events NAME FILE OPTIONS...: all formats of a file's events, and what selects of them.
events() {
	local name=$1 file=$2 format
	shift 2
	for format in $formats; do frozen "$name -f $format" -f $format "$@" "$file"; done
	frozen "$name info" info "$@" "$file"
	frozen "$name info --json" info --json "$@" "$file"
	frozen "$name stat" stat "$@" "$file"
	frozen "$name stat --json" stat --json "$@" "$file"
	frozen "$name top --once" top --once "$@" "$file"
	frozen "$name top --json" top --json "$@" "$file"
}
# choices NAME FILE OPTIONS...: the options that select and shape.
choices() {
	local name=$1 file=$2 choice
	shift 2
	for choice in "--time delta" "--time wall" "-e minor*" "-e !minor*" "-e counter" "--domain 1" "--min-duration 10us" \
		"--max-stack 2" "-v" "--fail-on-loss" "-f ndjson -e span_begin -e span_end" "-f perfetto --time wall" "-f ndjson --time wall" \
		"stat --by process" "stat --by program" "stat --json --by program --top 1" "stat --interval 10ms" "stat --json --interval 10ms" \
		"stat --blame" "stat --json --blame" "stat --blame=faults" "stat -e minor* --domain 0" "stat --fail-on-loss"; do
		# shellcheck disable=SC2086
		frozen "$name $choice" $choice "$@" "$file"
	done
}
memory() {
	local name=$1 file=$2 form
	for form in "" "summary --json" "summary -f pprof" "hotspots" "hotspots --json" "hotspots -f pprof" "live" "live --json" "live -f pprof" \
		"live --at 1ms" "lifetimes" "lifetimes --json" "flame" "flame -f svg" "timeline" "timeline -f svg" "timeline --json" \
		"hotspots --top 3 --no-wrappers" "hotspots --wrapper Dune* --json" "hotspots --filter size>=100,lifetime>1us" "live --rate 1e-3"; do
		# shellcheck disable=SC2086
		frozen "$name mem $form" mem $form "$file"
	done
}
heap() {
	local name=$1 file=$2 form report
	for report in summary totals fragmentation occupancy churn heat lifetimes owners damage map; do
		frozen "$name pages $report" pages $report "$file"
		frozen "$name pages $report --json" pages $report --json "$file"
		frozen "$name pages $report --from 1ms --to 10ms" pages $report --from 1ms --to 10ms "$file"
	done
	for form in png svg html; do frozen "$name pages map -f $form" pages map -f $form "$file"; done
	frozen "$name pages occupancy --top 3 --at 5ms" pages occupancy --top 3 --at 5ms "$file"
}
# waits NAME FILE OPTIONS...: what its spans, its fibers and its samples were made of.
waits() {
	local name=$1 file=$2 form
	shift 2
	for form in "" "--json" "--by process" "--by program --json" "--top 2 --max-stack 2" "--interval 50ms" "--interval 50ms --json" "-f folded" \
		"-f svg" "m* g*" "m* g* --json" "--fibers" "--fibers --json" "--fibers --interval 50ms --json" "--fibers -f folded" "--fibers -f svg"; do
		# shellcheck disable=SC2086
		frozen "$name spans $form" spans $form "$@" "$file"
	done
	for form in "stat --blame --interval 50ms" "stat --blame --json --interval 50ms" "stat --mmu" "stat --mmu --json" "stat --mmu -f svg" \
		"top --once --blame" "top --json --blame"; do
		# shellcheck disable=SC2086
		frozen "$name $form" $form "$@" "$file"
	done
}
samples() {
	local name=$1 file=$2 form by
	for form in "" "--json" "--top 3" "-f folded" "-f svg" "-f pprof" "--off-cpu" "--off-cpu --json" "--off-cpu --min-duration 2ms -f folded" "--wall" \
		"--wall --json" "--wall -f pprof"; do
		# shellcheck disable=SC2086
		frozen "$name profile $form" profile $form "$file"
	done
	for by in phase thread domain program span; do
		frozen "$name profile --by $by" profile --by $by "$file"
		frozen "$name profile --by $by --json" profile --by $by --json "$file"
		frozen "$name profile --by $by -f folded" profile --by $by -f folded "$file"
	done
}

outputs() {
	rings="ocaml-5.1.1 ocaml-5.3.0 ocaml-5.5.2"
	memtraces="bare deepbt external fork single longbt multidomain stepped synth wrongpid"
	pagetraces=$(basename -a "$data"/pagetrace/*.pt.xz | sed 's/\.pt\.xz$//')
	if [ $part = quick ]; then rings=ocaml-5.3.0 memtraces="fork single" pagetraces="light-go122 gc-p2-go122"; fi

	for release in $rings; do
		for f in "$data/$release"/*.events.xz; do
			name=${f##*/}
			name=$release/${name%.events.xz}
			xz -dc "$f" >4711.events
			events "$name" 4711.events --ocaml-version "${release#ocaml-}"
			case $name in */[bcd]-* | */f-fork-parent | */h-reuse-wrapped) choices "$name" 4711.events --ocaml-version "${release#ocaml-}" ;; esac
		done
		frozen "$name of a release that is guessed" -f ndjson 4711.events
		for older in 5.0 5.1 5.2 5.3 5.4 5.5; do
			frozen "$name as $older" --ocaml-version $older 4711.events
			frozen "$name as $older, stat" stat --ocaml-version $older 4711.events
		done
	done
	for f in "$data"/ocaml-corrupt/*.events.xz; do
		xz -dc "$f" >4711.events
		name=${f##*/}
		events "corrupt/${name%.events.xz}" 4711.events --ocaml-version 5.3
	done
	before=
	for name in $memtraces; do
		xz -dc "$data/memtrace/$name.ctf.xz" >prog.ctf
		events "memtrace/$name" prog.ctf
		memory "memtrace/$name" prog.ctf
		head -c 30000 prog.ctf >cut.ctf
		frozen "memtrace/$name, cut off" mem cut.ctf
		[ -z "$before" ] || for form in "" "--json" "--live" "--per time" "--per alloc --json"; do
			# shellcheck disable=SC2086
			frozen "memtrace/$name against $before, mem diff $form" mem diff $form before.ctf prog.ctf
		done
		cp prog.ctf before.ctf
		before=$name
	done
	for name in $pagetraces; do
		xz -dc "$data/pagetrace/$name.pt.xz" >prog.pt
		events "pagetrace/$name" prog.pt
		heap "pagetrace/$name" prog.pt
		head -c 20001 prog.pt >cut.pt
		frozen "pagetrace/$name, cut off" pages cut.pt
	done
	for f in "$data"/capture/*.ebt; do
		name=${f##*/}
		name=capture/${name%.ebt}
		cp "$f" prog.ebt
		events "$name" prog.ebt
		choices "$name" prog.ebt
		memory "$name" prog.ebt
		heap "$name" prog.ebt
		head -c $(($(wc -c <prog.ebt) * 2 / 3)) prog.ebt >cut.ebt
		frozen "$name, cut off" -f ndjson cut.ebt
		for size in 4K 20K; do
			several "$name --max-size $size --rotate 3"
			more --max-size $size --rotate 3 -o part.txt prog.ebt
			more --max-size $size --rotate 3 -o part.ndjson prog.ebt
			more --max-size $size -o one.pftrace prog.ebt
			for part in part.* one.*; do { echo "$part"; cat "$part"; } >>runs/$((n - 1)); done
			rm -f part.* one.*
		done
	done
	for name in blame forks ocaml-5.5 ocaml-blame offcpu probes; do
		cp "$data/capture/$name.ebt" prog.ebt
		waits "capture/$name" prog.ebt
	done
	for name in offcpu blame; do
		cp "$data/capture/$name.ebt" prog.ebt
		samples "capture/$name" prog.ebt
	done
	for f in "$data"/profile/*.ebt; do
		name=${f##*/}
		name=profile/${name%.ebt}
		cp "$f" prog.ebt
		events "$name" prog.ebt
		waits "$name" prog.ebt
		samples "$name" prog.ebt
		for form in "" "--json" "-f folded" "-f svg"; do
			# shellcheck disable=SC2086
			frozen "$name against laps-old, profile diff $form" profile diff $form "$data/profile/laps-old.ebt" prog.ebt
		done
	done
	for name in net reqs1 reqs2 wrapped; do
		xz -dc "$data/eio/$name.events.xz" >4711.events
		events "eio/$name" 4711.events --ocaml-version 5.3
		waits "eio/$name" 4711.events --ocaml-version 5.3
	done
	seeds="1 2"
	[ $part = quick ] && seeds=1
	for seed in $seeds; do
		name=random/$seed
		"${E%/*}/write_random" $seed prog.ebt
		events "$name" prog.ebt
		choices "$name" prog.ebt
		memory "$name" prog.ebt
		heap "$name" prog.ebt
		waits "$name" prog.ebt
		samples "$name" prog.ebt
		frozen "$name stat --blame --interval 2ms" stat --blame --interval 2ms prog.ebt
	done
	[ $part = quick ] || {
		"${E%/*}/write_random" 3 prog.ebt fibers
		events random/fibers prog.ebt
		waits random/fibers prog.ebt
		samples random/fibers prog.ebt
		for trace in "words periodic=ocaml weights=words" "periodic periodic=ocaml" "weights weights=otel_memory" \
			"lack ebtrace mem record, not recorded: programs=0000000002 cut=1 events=00000000000000000003"; do
			name=random/${trace%% *}
			"${E%/*}/write_random" 4 prog.ebt "${trace#* }"
			memory "$name" prog.ebt
			for form in "" "--json" "--live" "--per time"; do
				# shellcheck disable=SC2086
				frozen "$name mem diff $form" mem diff $form prog.ctf prog.ebt
			done
		done
	}
	xz -dc "$data/ocaml-5.3.0/d-wrapped.events.xz" >4711.events
	xz -dc "$data/ocaml-5.3.0/f-fork-parent.events.xz" >4712.events
	xz -dc "$data/ocaml-5.3.0/f-fork-child.events.xz" >4713.events
	events "three rings" 4711.events --ocaml-version 5.3 4712.events 4713.events
	choices "three rings" 4711.events --ocaml-version 5.3 4712.events 4713.events
	for form in "--sort pid" "--sort p99" "--sort max" "--sort alloc --top 2" "--sort heap" "--sort lost" "--group program" "--group unit" "--group container" "--tree"; do
		# shellcheck disable=SC2086
		frozen "three rings top --once $form" top --once $form --ocaml-version 5.3 4711.events 4712.events 4713.events
		# shellcheck disable=SC2086
		frozen "three rings top --json $form" top --json $form --ocaml-version 5.3 4711.events 4712.events 4713.events
	done
	several "triggers"
	for trigger in 'minor>10us' 'major>1ms' 'pause>50us' 'minor>100ns'; do
		more trace --trigger "$trigger" --before 1ms --after 1ms --max 3 --ocaml-version 5.3 -o slow.ebt 4712.events
		for part in slow.*; do [ -f "$part" ] && { echo "$part"; cat "$part"; } >>runs/$((n - 1)); done
		rm -f slow.*
	done

	# What it says of itself.
	for command in "" trace stat top spans profile mem pages list info "mem record" help; do
		# shellcheck disable=SC2086
		frozen "$command --help" $command --help
		# shellcheck disable=SC2086
		frozen "$command --usage" $command --usage
	done
	for report in trace stat top spans profile "profile diff" mem pages list info "mem summary" "mem hotspots" "mem live" "mem lifetimes" "mem timeline" "mem diff" \
		"pages summary" "pages totals" "pages fragmentation" "pages occupancy" "pages churn" "pages heat" "pages lifetimes" "pages owners" \
		"pages damage" "pages map"; do
		# shellcheck disable=SC2086
		frozen "$report --json-schema" $report --json-schema
	done
	for shell in bash zsh fish; do frozen "completion $shell" completion $shell; done
	frozen "list --events" list --events
	frozen "list --events --json" list --events --json
}

remove_outputs() {
	local made=(out*)
	[ -e "${made[0]}" ] && rm -rf "${made[@]}"
}
refused() { # COMMAND FILE
	local command=$1 file=$2 option other i pairs=${#options[@]}
	[ $part = some-refusals ] && [ "$command" != trace ] && pairs=0
	for ((i = 0; i < pairs; i++)); do
		option=${options[i]}
		several "$command $option with each option from there on"
		for other in "${options[@]:i}"; do
			# shellcheck disable=SC2086
			case "$option $other" in
			# Processes of this machine are not frozen.
			*-a* | *-p\ * | *--kernel* | *--prune*) case $command in list | info | spans | profile) continue ;; esac ;;
			esac
			# shellcheck disable=SC2086
			more $command $option $other "$file"
			remove_outputs
		done
	done
	several "$command with options that are wrong"
	for option in "${wrong[@]}"; do
		# shellcheck disable=SC2086
		more $command $option "$file"
		remove_outputs
	done
}
refusals() {
	# Each option with each other one, over a file.
	xz -dc "$data/ocaml-5.3.0/c-user.events.xz" >1.events
	xz -dc "$data/memtrace/bare.ctf.xz" >1.ctf
	xz -dc "$data/pagetrace/light-go122.pt.xz" >1.pt
	options=(-a "--after 1s" "--at 1s" "--attach auto" "--before 1s" --blame --blame=faults "--bpf-buffer 1M" "--buffer 1M" "--by process"
		--children "-d 1s" "--domain 0" "-e minor" --events --fail-on-loss "--filter domain=0" "-f text" "-f json" "-f svg" "--from 1s" "--interval 1s" --json
		--kernel --live "--max 2" "--max-size 64K" "--max-stack 3" "--min-duration 1ms" "--mode ring" --no-follow --no-realtime
		--no-wrappers "--ocaml-version 5.3" "-o out" "-o out.ebt" "-o -" --pages "--per time" "-p 2147483600" "--rate 1e-3" "--ring-dir /nowhere"
		"--ring-request never" "--rotate 2" --snapshot --stack "--stack=minor" "-t 1" "--time delta" "--to 1s" "--top 3" "--trigger minor>1ms"
		"--trigger-memory 1M" -q -v --wait "--wrapper x" --once "--sort heap" "--group unit" --tree --help -V --json-schema --prune
		"--cpu 5%" --fibers "-F 100" --kernel-stacks --many "--memory 9M" --mmu --off-cpu "-U x:y" --wall)
	wrong=("--after x" "--at x" "--attach x" "--before -1" "--blame=x" "--bpf-buffer 3" "--bpf-buffer x" "--buffer 0" "--buffer x" "--by x" "-d x" "-d 0"
		"--domain x" "--domain -1" "--domain 99999999999" "--filter x" "--filter size>=x" "-f x" "--from x" "--from 2s --to 1s" "--interval x" "--interval 0"
		"--max x" "--max-size 1" "--max-size x" "--max-stack x" "--min-duration x" "--mode x" "--ocaml-version x" "--ocaml-version 4.14"
		"-o x.unknown" "--per x" "-p x" "-p 0" "-p -1" "-p 1,,2" "--rate 2" "--rate 0" "--rate x" "--ring-request x" "--rotate x" "--rotate 0" "-t x" "--time x"
		"--to x" "--sort x" "--group x" "--top x" "--top 0" "--trigger x" "--trigger minor" "--trigger minor>x" "--trigger-memory x" "--wrapper" "--nonsense" "-x" "--stack="
		"nowhere" "/" "1.events 1.events" "1.ctf 1.pt"
		"--cpu x" "--cpu 0" "--cpu 0.009%" "--cpu 1e8" "-F x" "-F 0" "--memory x" "--memory 1" "-U x" "-U x:" "-U :y" "--by #0" "--by #12"
		"$(printf -- '--trigger minor>1ms %.0s' {1..17})")
	refused trace 1.events
	refused stat 1.events
	refused spans 1.events
	refused profile 1.events
	refused "top --once" 1.events
	refused mem 1.ctf
	refused "mem diff" 1.ctf
	refused pages 1.pt
	refused info 1.events
	several "files of other kinds"
	for command in trace stat top "top --once" mem "mem live" "mem diff" pages "pages map" info list; do
		for file in 1.events 1.ctf 1.pt nowhere . /dev/null err; do
			# shellcheck disable=SC2086
			more $command $file
		done
		# Processes of this machine are not frozen.
		# shellcheck disable=SC2086
		case $command in list | "top --once") ;; *) more $command ;; esac
	done 2>/dev/null
	several "unknown commands and programs"
	for line in nonsense "mem nonsense" "pages nonsense" "stat stat" "help nonsense" "completion nonsense" "-- /nowhere/program" "stat -- /nowhere/program" \
		"-f ndjson -- true" "-f ebt -- true" "mem record" "mem record -- /nowhere/program" "pages -p 1 -- true" "-p 1 1.events"; do
		# shellcheck disable=SC2086
		more $line
	done
}

case $part in
outputs | quick) outputs ;;
refusals | some-refusals) refusals ;;
*) echo "outputs, quick, refusals or some-refusals?" >&2; exit 2 ;;
esac
served || exit 1
(cd runs && seq 0 $((n - 1)) | xargs sha256sum) | cut -c1-64 >hashes
printf '%s\n' "${names[@]}" | paste hashes -
if [ "$keep" ]; then
	mkdir -p "$keep"
	for ((i = 0; i < n; i++)); do cp runs/$i "$keep/${names[i]//\//_}"; done
fi
