#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A live run with threads and CPUs, recorded as a capture as root and read as nobody.
. tests/lib.sh
need_root
need_command jq

"$O/ebtrace" -q --mode stream -o "$TMP/run.ebt" -- "$O/tests/prog/minigc" -t 2 -n 100000 -u -q -c "$TMP/counts"
is $? 0 "a run in stream mode is recorded"
install -m 755 "$O/ebtrace" "$TMP/ebtrace"
chmod 755 "$TMP"
setpriv --reuid 65534 --regid 65534 --clear-groups "$TMP/ebtrace" -f ndjson - <"$TMP/run.ebt" >"$TMP/out" 2>"$TMP/err"
is "$? $(cat "$TMP/err")" "0 " "it is read without privilege"
is "$(jq -r 'select(.kind == "header").source' "$TMP/out")" ring+bpf "its header names its sources"
jq -r 'select(.ts and .kind != "process" and .kind != "lifecycle") | "\(.domain) \(.kind)"' "$TMP/out" | sort | uniq -c |
	awk '{ print $2, $3, $1 }' >"$TMP/got"
awk '$2 != "lifecycle" { print $1, $2, $3 }' "$TMP/counts" | sort >"$TMP/want"
same_file "$TMP/got" "$TMP/want" "each domain has as many events of each kind as the program counted"
is "$(jq -c 'select(.ts and .kind != "process") | select(.tid == null or .cpu == null or .pid == null)' "$TMP/out" | wc -l)" 0 \
	"and every event its process, thread and CPU"
is "$("$O/ebtrace" info --json "$TMP/run.ebt" | jq -r .whole)" true "the capture has its end"
done_testing
