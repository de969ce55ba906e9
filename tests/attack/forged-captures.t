#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A small capture can name any number of threads, processes, tracks, names and losses, with the
# numbers that suit a reader least. Work and memory must follow its size: at these sizes anything
# that looks at all of them for each of them takes minutes.
. tests/lib.sh
forge=$O/tests/attack/forge_capture
need_file "$forge"

# try KIND N FORMAT...: each within seconds, 10 of CPU at most, and 400 MB
try() {
	local kind=$1 n=$2 format
	shift 2
	"$forge" "$kind" "$n" >"$TMP/$kind.ebt"
	for format; do
		local args=(-o "$TMP/$kind.$format.out" -f "$format")
		[ "$format" = stat ] && args=(stat)
		[ "$format" = lines ] && args=(stat --interval 1ms)
		[ "$format" = info ] && args=(info)
		(
			ulimit -t 10 -v 400000
			exec timeout 600 "$O/ebtrace" "${args[@]}" -q "$TMP/$kind.ebt"
		) >"$TMP/$kind.$format.log" 2>&1
		echo "$? $kind $format" >>"$TMP/status"
	done
}
try threads 100000 stat text chrome perfetto fxt ebt &
try tracks 100000 stat text chrome perfetto fxt ebt &
wait
try homes 200000 stat chrome &
try names 100000 text ebt &
wait
try forks 30000 stat text chrome perfetto &
try losses 100000 stat text chrome perfetto fxt &
wait
try holes 100000 stat lines text chrome perfetto fxt &
try pauses 60000 stat lines text chrome perfetto &
wait
try floods 30000 stat lines text chrome perfetto fxt &
try lines 30000 lines &
wait
while read -r status kind format; do
	is "$status" 0 "many $kind: $format ends in time and in little memory" ||
		diag "$(tail -3 "$TMP/$kind.$format.log" | cut -c1-200)"
done < <(sort -k2 "$TMP/status")

# A million descriptions of processes in a megabyte.
try processes 1000000 info stat
(ulimit -v 60000 && exec "$O/ebtrace" info "$TMP/processes.ebt") >"$TMP/out" 2>"$TMP/err"
is $? 0 "a million processes in a megabyte use no more memory than so many in the file can"
is "$(grep -c 'more names and processes' "$TMP/err")" 1 "and what is left out is reported" ||
	diag "$(tail -3 "$TMP/err")"

# Where keys fall differs from run to run; what is put out does not.
"$forge" forks 300 >"$TMP/forks.ebt"
for format in text chrome perfetto fxt; do
	for i in 1 2 3; do
		ends_with 0 "$O/ebtrace" -q -f $format "$TMP/forks.ebt" -o "$TMP/$format.$i"
	done
	cmp -s "$TMP/$format.1" "$TMP/$format.2" && cmp -s "$TMP/$format.1" "$TMP/$format.3"
	ok $? "$format is the same from run to run"
done
for i in 1 2 3; do "$O/ebtrace" stat --json "$TMP/forks.ebt" >"$TMP/stat.$i"; done
cmp -s "$TMP/stat.1" "$TMP/stat.2" && cmp -s "$TMP/stat.1" "$TMP/stat.3"
ok $? "stat is the same from run to run"
done_testing
