#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The Fuchsia trace format of rings of real OCaml programs, read by a reader that was written from
# the published format, against the NDJSON of the same file.
. tests/lib.sh
need_command jq
need_command perl
need_command xz
dump=$O/tests/prog/fxt_dump
need_file "$dump"

# What tests/timeline.jq makes of NDJSON, of a dump.
got() {
	awk -F'\t' -v OFS='\t' '
		BEGIN { split("begin B end E async_begin b async_end e counter C instant i complete X", p, " ")
			for (i = 1; p[i] != ""; i += 2) ph[p[i]] = p[i + 1] }
		!($1 in ph) || $5 == "ebtrace" { next }
		{ value = ""; end = $2; domain = $4
			for (i = 7; i <= NF; i++) {
				key = $i; sub(/=.*/, "", key)
				v = substr($i, length(key) + 2)
				if (key == "value" || key == "data" || key == "words" || key ~ /^domain /) value = v
				if (key == "values") value = "[" v "]"
				if (key == "end") end = v
			}
			if ($1 == "complete") domain -= 100000
			if ($1 ~ /begin|end/) print ph[$1], domain, $6, end
			else print ph[$1], domain, $6, end, value }' "$1"
}

# Async spans are one stack an id, whose times never go back; what of durations a viewer could not show
# is said by fxt-order.pl.
stacks() {
	grep '^!' "$1"
	awk -F'\t' '
		$1 ~ /^async_(begin|end)$/ {
			for (i = 7; i <= NF; i++) if ($i ~ /^id=/) k = $5 " " $i
			if (k in last && $2 < last[k]) print "goes back: " $0
			last[k] = $2
			if ($1 ~ /begin/) open[k, ++depth[k]] = $6
			else if (!depth[k] || open[k, depth[k]--] != $6) print "ends what is not open: " $0
		}
		END { for (k in depth) if (depth[k]) print "is never ended: " k, open[k, depth[k]] }' "$1"
}

for file in $RING_FILES; do
	name=${file#tests/data/}
	version=${name#ocaml-}
	xz -dc "$file" >"$TMP/ring.events"
	"$O/ebtrace" -q --ocaml-version "${version%%/*}" -o "$TMP/out.fxt" "$TMP/ring.events" &&
		"$dump" "$TMP/out.fxt" >"$TMP/records" 2>"$TMP/err"
	is "$? $(cat "$TMP/err")" "0 " "$name becomes a valid trace of the format"
	perl tests/fxt-order.pl <"$TMP/records" >"$TMP/dump"
	"$O/ebtrace" -q --ocaml-version "${version%%/*}" -f ndjson "$TMP/ring.events" |
		jq -rn -f tests/timeline.jq | sort >"$TMP/want"
	got "$TMP/dump" | sort >"$TMP/got"
	same_file "$TMP/got" "$TMP/want" "$name: the events of NDJSON, at the same nanosecond"
	is "$(stacks "$TMP/dump" | head -3)" "" "$name: every begin has its end, on its row, in order"
done

# Size: what begins and ends within a tenth of a second is one record of 24 bytes.
xz -dc tests/data/ocaml-5.3.0/a-gcchurn.events.xz >"$TMP/ring.events"
"$O/ebtrace" -q --ocaml-version 5.3 -o "$TMP/out.fxt" "$TMP/ring.events"
"$dump" "$TMP/out.fxt" >"$TMP/records"
ends=$("$O/ebtrace" -q --ocaml-version 5.3 -f ndjson "$TMP/ring.events" | jq -c 'select(.kind == "end")' | wc -l)
is "$(grep -c '^complete' "$TMP/records") $(grep -c '^begin' "$TMP/records")" "$ends 1" \
	"a phase that ends is a complete duration, the one that is unfinished a begin and an end"

# Names of what there is.
xz -dc tests/data/ocaml-5.3.0/b-domains4.events.xz >"$TMP/4711.events"
"$O/ebtrace" -q --ocaml-version 5.3 -o "$TMP/out.fxt" "$TMP/4711.events"
"$dump" "$TMP/out.fxt" | perl tests/fxt-order.pl >"$TMP/dump"
is "$(awk -F'\t' '$1 == "thread_object" && $3 ~ /^domain/ { print $2 "=" $3 }' "$TMP/dump" | sort | xargs)" \
	"$(awk -F'\t' '$1 == "begin" { print $4 "=domain " $4 }' "$TMP/dump" | sort -u | xargs)" \
	"every domain's row has its name"
is "$(awk -F'\t' '$1 == "complete" { print $4 - 100000 }' "$TMP/dump" | sort -u | xargs)" \
	"$(awk -F'\t' '$1 == "thread_object" && $3 ~ /^lost events \(domain/ { print $2 - 100000 }' "$TMP/dump" | sort -u | xargs)" \
	"what was lost has rows of its own, which are named"
"$dump" "$TMP/out.fxt" >"$TMP/dump"
is "$(tail -1 "$TMP/dump" | grep -o 'lost_words=[0-9]*')" \
	"lost_words=$("$O/ebtrace" -q -f ndjson --ocaml-version 5.3 "$TMP/4711.events" | tail -1 | jq .lost_words)" \
	"the summary is the last record"
is "$(head -c 8 "$TMP/out.fxt" | od -An -tx1 | xargs)" "10 00 04 46 78 54 16 00" \
	"it begins with the magic number"

# The reader is worth something.
head -c -4 "$TMP/out.fxt" | "$dump" >"$TMP/short" 2>"$TMP/err"
is "$? $(wc -l <"$TMP/short")" "1 $(($(wc -l <"$TMP/dump") - 1))" \
	"a trace that is cut within a record is read up to it"
{ head -c 8 "$TMP/out.fxt"; tail -c 480 "$TMP/out.fxt"; } | "$dump" >/dev/null 2>"$TMP/err"
is $? 1 "a trace without its tables is refused by the reader"

# Damaged rings, of which some are refused.
read=0 bad=
for file in tests/data/ocaml-corrupt/*.events.xz; do
	xz -dc "$file" | "$O/ebtrace" -q -f fxt --ocaml-version 5.3 - >"$TMP/damaged" 2>/dev/null
	[ -s "$TMP/damaged" ] || continue
	read=$((read + 1))
	"$dump" "$TMP/damaged" >/dev/null 2>&1 || bad="$bad ${file##*/}"
done
is "$bad" "" "what is written of a damaged ring is well formed"
[ $read -ge 10 ]
ok $? "which was tried on ten at least" || diag "$read"

# A tracer that is killed.
EBTRACE_START=1 EBTRACE_DIR=$TMP "$O/tests/prog/loop" 60 >/dev/null 2>&1 &
children+=($!)
pid=$!
wait_for test -e "$TMP/$pid.events"
"$O/ebtrace" -q --mode ring -o "$TMP/killed.fxt" -p $pid &
tracer=$!
children+=($tracer)
enough() { [ -e "$TMP/killed.fxt.part" ] && [ "$(stat -c %s "$TMP/killed.fxt.part")" -gt 4000 ]; }
wait_for enough
{ kill -KILL $tracer; wait $tracer; } 2>/dev/null
"$dump" "$TMP/killed.fxt.part" >"$TMP/dump"
is "$? $(awk -F'\t' '$1 == "complete" { print $6 }' "$TMP/dump" | sort -u)" "0 minor" \
	"what a tracer wrote that was killed are whole records"
"$O/ebtrace" -f fxt --ocaml-version 5.3 "$TMP/4711.events" >"$TMP/stdout.fxt"
cmp -s "$TMP/stdout.fxt" "$TMP/out.fxt"
ok $? "-f fxt writes the same to standard output"
script -qec "'$O/ebtrace' -f fxt --ocaml-version 5.3 '$TMP/4711.events'" /dev/null >"$TMP/tty" 2>&1
is "$? $(grep -c 'fxt is not for a terminal' "$TMP/tty")" "2 1" "but not to a terminal"
done_testing
