#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `ebtrace info --kernel` tells the truth: a feature that it has as "yes" works when it is used, and one that
# it has as "no" is refused with the same reason; as root, with capabilities missing one by one, in a
# user namespace, under a seccomp filter, without BTF or tracefs, on a kernel that says it is old.
# Also runs on other kernels, where OCAML_PROGRAMS has the OCaml program, and under lockdown. FEW: one error of those
# that filters answer with, and one limit of files.
. tests/lib.sh
need_root
need_command jq
need_command setpriv
need_command setarch
lockdown=$(sed -n 's/.*\[\(.*\)\].*/\1/p' /sys/kernel/security/lockdown 2>"$TMP/null")
[ "$lockdown" = confidentiality ] || [ -e /sys/kernel/tracing/trace ] ||
	mount -t tracefs none /sys/kernel/tracing || skip_all "tracefs cannot be mounted"

bin=$TMP/bin
chmod 755 "$TMP"
mkdir -m 755 "$bin"
mkdir -m 777 "$TMP/out"
cp "$O"/ebtrace "$O"/tests/prog/{minigc,refuse_calls} "$bin"
if [ -n "${OCAML_PROGRAMS:-}" ]; then
	cp "$OCAML_PROGRAMS/sites" "$bin"
else
	ocaml_root
	OCAML_LINK=-g ocaml_build_here sites tests/ocaml/sites_stubs.c
	cp "$EXE" "$bin"
fi
ebtrace=$bin/ebtrace
minigc="$bin/minigc -q -t 2 -n 100 -c /dev/null"
out=$TMP/out/out
kernel=$(uname -r | sed 's/\([0-9]*\.[0-9]*\).*/\1/')

# The ring of another user's process, for those who may read it.
EBTRACE_START=1 EBTRACE_DIR="$TMP/out" setpriv --reuid 65534 --regid 65534 --clear-groups \
	"$bin/minigc" -q -s 600 -r 100 -c /dev/null &
other=$!
children+=("$other")
wait_for test -e "$TMP/out/$other.events"

# use FEATURE: runs "${as[@]}" ebtrace so that it needs the feature. True if the feature was there.
# What is on stderr is in $TMP/err.
as=()
ebt() { timeout 300 "${as[@]}" "$ebtrace" "$@" >"$TMP/printed" 2>"$TMP/err"; }
# has FILTER: some event of $out does.
has() { jq -es "any(.[]; $1)" "$out" >"$TMP/jq" 2>&1; }
# faults_cost: the report has a time of page faults.
faults_cost() { jq -e '.blame.counted.fault_ns > 0' "$out" >"$TMP/jq" 2>&1; }
use() {
	rm -f "$out"
	case $1 in
	markers) ebt --mode stream -f ndjson -o "$out" -- $minigc && has '.kind == "begin" and .tid' ;;
	ocaml_probes) ebt --mode probes -f ndjson -o "$out" -- "$bin/sites" shares 200000 && has '.kind == "begin" and .tid' ;;
	children) ebt --mode stream -f ndjson -o "$out" -- sh -c "$bin/minigc -q -t 1 -s 1 -r 2000 -c /dev/null; true" && has '.kind == "begin" and .tid' ;;
	stacks) ebt --mode stream --stack=begin -f ndjson -o "$out" -- $minigc && has '.kind == "begin" and .stack' ;;
	blame) ebt --blame -f ndjson -o "$out" -- $minigc && has '.kind == "offcpu"' ;;
	page_faults) ebt stat --json --blame=faults -o "$out" -- $minigc &&
		! grep -q 'page faults are not timed' "$TMP/err" && faults_cost ;;
	allocation_markers) EBTRACE_MEMTRACE_RATE=0.01 ebt mem --json -o "$out" -- "$bin/minigc" -o -q -n 2000 -c /dev/null &&
		has '.totals.allocated.bytes > 0' ;;
	allocation_sites) ebt mem --json -o "$out" -- "$bin/sites" shares 200000 && has '.totals.allocated.bytes > 0' ;;
	pages) ebt pages --json -o "$out" -- $minigc && has '.totals.peak_pages > 10' ;;
	page_sizes) ebt pages --json -o "$out" -- $minigc && ! grep -q 'counts as one small page' "$TMP/err" ;;
	probe_links) ebt --mode stream -f ndjson -o "$out" -- $minigc && ! grep -q 'have a link each' "$TMP/err" ;;
	profile) ebt profile -F 1999 -f ebt -o "$out" -- $minigc -n 5000 && "$ebtrace" -q -f ndjson "$out" | grep -q '"kind":"sample"' ;;
	rings_of_others) ebt --mode ring -f ndjson -o "$out" -d 300ms -p "$other" && has '.kind == "begin"' ;;
	*) false ;;
	esac
}

# table "CIRCUMSTANCE" COMMAND...: the table that ebtrace prints when COMMAND runs it, by feature.
declare -A state cause reason advice
table() {
	local name a b c d
	circumstance=$1
	shift
	as=("$@")
	timeout 300 "${as[@]}" "$ebtrace" info --kernel --json >"$TMP/table" 2>"$TMP/err"
	is $? 0 "$circumstance: info --kernel succeeds" || diag "$(cat "$TMP/err")"
	features=() told=
	while IFS=$'\x1f' read -r name a b c d; do
		features+=("$name")
		state[$name]=$a cause[$name]=$b reason[$name]=$c advice[$name]=$d
	done < <(jq -r '.features[] | [.name, .state, .cause, .reason, .advice] | map(. // "") | join("\u001f")' "$TMP/table")
}
# answers "FEATURE..." STATE CAUSE "REASON": of these, or of all those that no line before was about ("others").
answers() {
	local f of=$1 wrong=
	if [ "$of" = others ]; then
		of=
		for f in "${features[@]}"; do [[ " $told " == *" $f "* ]] || of+=" $f"; done
	fi
	told+=" $of"
	for f in $of; do
		[ "${state[$f]} ${cause[$f]}" = "$2 $3" ] && [[ ${reason[$f]} =~ ^$4$ ]] &&
			{ [ -z "$3" ] || [ -n "${advice[$f]}" ]; } ||
			wrong+="$f: ${state[$f]}, ${cause[$f]}: ${reason[$f]}; ${advice[$f]}"$'\n'
	done
	[ -n "$of" ] && [ -z "$wrong" ]
	ok $? "$circumstance: $2${4:+, as $4}:$(printf ' %s' $of)" || diag "$wrong"
}
# is_true FEATURE...: what the table says of these is what happens.
is_true() {
	local f worked
	for f; do
		use "$f"
		worked=$?
		case ${state[$f]} in
		yes) ok $worked "$circumstance: $f is used, and works" ;;
		*) [ $worked != 0 ] && [ -n "${reason[$f]}" ] && grep -qF "${reason[$f]%:*}" "$TMP/err"
			ok $? "$circumstance: $f is used, and refused for the same reason" ;;
		esac || diag "status $worked" "$(head -3 "$TMP/err")" "$(tail -1 "$out" 2>&1 | cut -c1-200)"
	done
}
without() { # CAPABILITY...: as root without these
	local IFS=,
	echo "setpriv --bounding-set ${*/#/-}"
}

probes="markers ocaml_probes stacks allocation_markers allocation_sites"
bpf="$probes children blame page_faults profile probe_links"
two="needs CAP_BPF and CAP_PERFMON, or root"
three="needs CAP_BPF, CAP_PERFMON and CAP_DAC_READ_SEARCH, or root"
lacks="which root lacks here" # root is not told to be root
# What the mappings and the files of others need of one who has CAP_PERFMON.
maps_need="CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH"
perfmon_reads=
if [ "$(printf '%s\n' 6.18 "$kernel" | sort -V | head -n 1)" = 6.18 ]; then
	maps_need=CAP_DAC_READ_SEARCH perfmon_reads=1
fi
locked="the kernel is locked down \(confidentiality\)(: programs may not read its memory)?"
old_links="this kernel has no usable uprobe_multi links \(Linux 6.10\): .*"
old_sizes="this kernel has no page sizes in samples of page faults \(Linux 6.3\)"
# links_and_sizes: what kernels differ in, where everything is allowed.
links_and_sizes() {
	if [ "$kernel" = 6.1 ]; then
		answers probe_links limited missing "$old_links"
		answers page_sizes limited missing "$old_sizes"
	fi
}

if [ "$lockdown" = confidentiality ]; then
	table "lockdown=confidentiality" env
	answers rings_of_others yes "" ""
	answers others no lockdown "$locked"
	is_true markers blame allocation_sites pages rings_of_others
	done_testing
fi

table "root" env
links_and_sizes
answers others yes "" ""
# On other kernels another test uses them.
used=("${features[@]}")
[ -z "${ALONE:-}" ] || used=(page_faults allocation_markers page_sizes probe_links rings_of_others)
is_true "${used[@]}"

# shellcheck disable=SC2046
table "root without CAP_BPF" $(without bpf sys_admin)
answers "$bpf pages page_sizes" no capability "needs CAP_BPF, $lacks"
answers others yes "" ""
[ -z "${ALONE:-}" ] || used=(markers)
is_true "${used[@]}"

# shellcheck disable=SC2046
table "root without CAP_PERFMON" $(without perfmon sys_admin)
answers "$bpf pages page_sizes" no capability "needs CAP_PERFMON, $lacks"
answers others yes "" ""
is_true markers pages

# tracefs is root's own: it needs no capability.
table "root with CAP_BPF alone" setpriv --bounding-set -all,+bpf
answers rings_of_others no capability "needs CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH, $lacks"
answers others no capability "needs CAP_PERFMON, $lacks"
is_true markers pages
table "root with CAP_DAC_OVERRIDE alone" setpriv --bounding-set -all,+dac_override
answers rings_of_others no capability "needs CAP_SYS_PTRACE, $lacks"
answers others no capability "needs CAP_BPF and CAP_PERFMON, $lacks"
is_true pages
table "root with CAP_BPF and CAP_PERFMON alone" setpriv --bounding-set -all,+bpf,+perfmon
answers rings_of_others no capability "needs $maps_need, $lacks"
if [ "$kernel" = 6.1 ] || [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -gt 2 ]; then
	told+=" $probes probe_links page_faults profile pages page_sizes"
else
	is_true pages
fi
answers others yes "" ""

# shellcheck disable=SC2046
table "root without CAP_SYS_ADMIN" $(without sys_admin)
paranoia=$(cat /proc/sys/kernel/perf_event_paranoid)
if [ "$paranoia" -gt 2 ]; then
	events="kernel.perf_event_paranoid is $paranoia: perf_event_open\(\) needs CAP_SYS_ADMIN, which root lacks here"
	answers "page_faults profile pages page_sizes" no capability "$events"
	[ "$kernel" != 6.1 ] || answers "$probes probe_links" no capability "$events"
elif [ "$kernel" = 6.1 ]; then
	answers "$probes probe_links" no capability "needs CAP_SYS_ADMIN, $lacks"
	answers page_sizes limited missing "$old_sizes"
fi
answers others yes "" ""
is_true markers blame

caps=-all,+bpf,+perfmon,+sys_admin,+sys_ptrace
table "a user without CAP_DAC_READ_SEARCH" setpriv --reuid 65533 --regid 65533 --clear-groups \
	--inh-caps "$caps" --ambient-caps "$caps" --bounding-set "$caps"
[ "$kernel" != 6.1 ] || answers probe_links limited missing "$old_links"
answers "pages page_sizes" no capability "needs CAP_DAC_READ_SEARCH, or root"
answers rings_of_others no capability "needs CAP_DAC_READ_SEARCH, or root"
answers others yes "" ""
is_true pages

# shellcheck disable=SC2046
table "root without CAP_SYS_PTRACE" $(without sys_ptrace)
links_and_sizes
[ -n "$perfmon_reads" ] || answers rings_of_others no capability "needs CAP_SYS_PTRACE, $lacks"
answers others yes "" ""
is_true rings_of_others
# shellcheck disable=SC2046
table "root without CAP_SYS_PTRACE and CAP_PERFMON" $(without sys_ptrace perfmon sys_admin)
answers rings_of_others no capability "needs CAP_SYS_PTRACE, $lacks"
answers others no capability "needs CAP_PERFMON, $lacks"
is_true rings_of_others

# What is there is not named as missing.
# shellcheck disable=SC2046
as=($(without dac_read_search dac_override))
ebt pages -p "$other" -d 100ms
is "$(grep -c "its files cannot be read: needs CAP_DAC_READ_SEARCH, $lacks" "$TMP/err")" 1 \
	"root without CAP_DAC_READ_SEARCH: pages of another user's process need just that" || diag "$(cat "$TMP/err")"

table "another user" setpriv --reuid 65533 --regid 65533 --clear-groups
answers "$bpf" no capability "$two"
answers "pages page_sizes" no capability "$three"
answers rings_of_others no capability "needs CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH, or root"
use rings_of_others
grep -q 'belongs to .*; try: sudo' "$TMP/err"
ok $? "another user: rings_of_others is used, and refused" || diag "$(cat "$TMP/err")"

table "under a seccomp filter" "$bin/refuse_calls"
answers rings_of_others yes "" ""
answers others no seccomp "a seccomp filter refuses bpf\(\)"
is_true markers pages rings_of_others
# Whatever error a filter answers with: EACCES, EINVAL, ENOSYS. A kernel would have these for other reasons.
refused="13 22 38" refused_events="1 13 22 38" limits="6 8 16 40"
[ -z "${FEW:-}" ] || refused=38 refused_events=1 limits=16
for error in $refused; do
	table "under a seccomp filter that answers $error" "$bin/refuse_calls" -e $error
	answers rings_of_others yes "" ""
	answers others no seccomp "a seccomp filter refuses bpf\(\)"
	is_true markers
done
for error in $refused_events; do
	table "under a filter of perf_event_open() that answers $error" "$bin/refuse_calls" -c perf_event_open -e $error
	[ "$kernel" != 6.1 ] || told="$probes probe_links"
	answers "pages page_sizes page_faults profile" no seccomp "a seccomp filter refuses perf_event_open\(\)"
	answers others yes "" ""
	is_true pages page_sizes page_faults profile
done

# The lack is ours, neither the kernel's nor the verifier's, whichever step it is at.
for files in $limits; do
	table "with $files open files" bash -c 'ulimit -n "$1" && shift && exec "$@"' bash $files
	told=rings_of_others
	answers others no other "Too many open files \(ulimit -n\)"
done

# What is covered is covered for it alone.
covered() { # PATH COMMAND...
	mount --bind "$TMP/empty" "$1" && shift && exec "$@"
}
mkdir "$TMP/empty"
export -f covered
export TMP
table "without BTF" unshare -m bash -c 'covered /sys/kernel/btf "$@"' bash
answers rings_of_others yes "" ""
answers others no btf "this kernel has no BTF \(CONFIG_DEBUG_INFO_BTF, /sys/kernel/btf/vmlinux\), which they need"
is_true markers pages rings_of_others
ebt -- $minigc
is "$? $(grep -c "no BTF.* without thread and CPU; 'ebtrace info --kernel' shows" "$TMP/err")" "0 1" "without BTF: the rings are read, and one line says why alone" ||
	diag "$(cat "$TMP/err")"

ebt stat -- $minigc
is "$? $(grep -c "no BTF.*reading the rings alone" "$TMP/err")" "0 1" "without BTF: a report says so once, too" ||
	diag "$(cat "$TMP/err")"
as=(setpriv --reuid 65533 --regid 65533 --clear-groups env XDG_RUNTIME_DIR=)
ebt stat -- $minigc
is "$? $(grep -c 'rings alone' "$TMP/err")" "0 0" "a user's report, which needs neither thread nor CPU, says nothing" ||
	diag "$(cat "$TMP/err")"

table "without tracefs" unshare -m bash -c \
	'umount /sys/kernel/tracing && { umount /sys/kernel/debug/tracing || :; } 2>/dev/null && exec "$@"' bash
[ "$kernel" != 6.1 ] || answers probe_links limited missing "$old_links"
answers "pages page_sizes" no tracefs "tracefs is missing: mount -t tracefs none /sys/kernel/tracing"
answers others yes "" ""
use pages
grep -q 'tracefs is missing: mount -t tracefs none /sys/kernel/tracing' "$TMP/err"
ok $? "without tracefs: pages is used, and refused for the same reason" || diag "$(cat "$TMP/err")"

table "on a kernel that says it is Linux 2.6" setarch "$(uname -m)" --uname-2.6
answers rings_of_others yes "" ""
answers others no version "Linux 2\.6[^ ]* is older than 6\.1, the oldest that is supported"
is_true markers allocation_sites rings_of_others

# A root that was changed has no user namespaces.
if unshare -Ur true 2>"$TMP/null"; then
	table "in a user namespace" unshare -Ur
	answers rings_of_others no user_namespace "this process is in a user namespace of its own, .* for processes of other users"
	answers others no user_namespace "this process is in a user namespace of its own, .* for BPF"
	is_true markers pages rings_of_others
elif [ -z "${ALONE:-}" ]; then
	ok 1 "user namespaces can be made here"
fi

# A person reads the same, each reason once.
as=()
ebt info --kernel
is "$(sed -n '/^FEATURE/,/^$/p' "$TMP/printed" | grep -cE ' (yes|limited|no) ')" \
	"$(jq '.features | length' "$TMP/table")" "the table has a line for each feature"
setpriv --reuid 65533 --regid 65533 --clear-groups "$ebtrace" info --kernel >"$TMP/printed"
is "$(grep -c "$two\$" "$TMP/printed")" 1 "a reason that many have is there once"
"$ebtrace" info --kernel --json-schema | jq -e '."$defs".feature.properties.state.enum == ["yes", "limited", "no"]' >"$TMP/jq"
ok $? "its JSON has a schema"
"$ebtrace" list 2>&1 >"$TMP/printed" | grep -q 'ebtrace info --kernel'
ok $? "'ebtrace list' names it"
done_testing
