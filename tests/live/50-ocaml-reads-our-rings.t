#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# OCaml 5.3's own reader against the rings that our probe library writes.
. tests/lib.sh
ocaml_root
need_file "$O/tests/prog/minigc"
ocaml_build reader
READER_DIR=$EXE_DIR
READER_IN=$EXE_IN

export EBTRACE_START=1 EBTRACE_PRESERVE=1 EBTRACE_DIR=$TMP/ring
mkdir "$TMP/ring"

# 5.3 knows the phases below 48 and the counters below 26.
"$O/tests/prog/emit_all" -p 48 -c 26 >"$TMP/want.all"
ocaml_dump "$TMP"/ring/*.events "$TMP/dump" all.custom
ok $? "OCaml's reader opens a ring of ours with every event"
for ring in 0 1; do
	awk -F'\t' -v r=$ring '$1 == r' "$TMP/want.all" >"$TMP/want"
	awk -F'\t' -v r=$ring -v OFS='\t' '$1 == r { print $1, $3, $4, $5 }' "$TMP/dump" >"$TMP/got"
	# ring_stop has no value: 5.3's reader shows its data word, which is 0.
	sed -i 's/\(ring_stop\t\)0$/\1/' "$TMP/got"
	same_file "$TMP/got" "$TMP/want" "ring $ring: every event, in order, with name and value"
done
is "$(awk -F'\t' '$1 != 0 && $1 != 1' "$TMP/dump" | wc -l)" 0 "no other ring has events"
awk -F'\t' '$2 < last[$1] { bad = 1 } { last[$1] = $2 } END { exit bad }' "$TMP/dump"
ok $? "the time stamps of a ring never go back"
rm "$TMP"/ring/*.events

# A ring that holds the whole run: every count must come out.
EBTRACE_LOG_WSIZE=20 "$O/tests/prog/minigc" -q -u -n 100000 -c "$TMP/counts"
ocaml_dump "$TMP"/ring/*.events "$TMP/dump" minigc.trace
awk '$3 { n[$1 " " $2] += $3 } END { for (k in n) print k, n[k] }' "$TMP/counts" |
	sort >"$TMP/want"
awk -F'\t' '{ n[$1 " " $3]++ } END { for (k in n) print k, n[k] }' "$TMP/dump" | sort >"$TMP/got"
same_file "$TMP/got" "$TMP/want" "minigc: as many events of each kind and domain as were emitted"
rm "$TMP"/ring/*.events

# A ring that wrapped: OCaml counts words, so only what is there can be compared with itself.
"$O/tests/prog/minigc" -q -t 2 -n 200000 -c "$TMP/counts"
ocaml_dump "$TMP"/ring/*.events "$TMP/dump"
ok $? "a ring that wrapped is read to its end"
awk -F'\t' '
	$3 == "begin" { stack[$1, ++depth[$1]] = $4 }
	$3 == "end" && depth[$1] { if (stack[$1, depth[$1]--] != $4) bad = 1; pairs++ }
	END { exit bad || pairs < 1000 }' "$TMP/dump"
ok $? "phases of a ring that wrapped still nest"
done_testing
