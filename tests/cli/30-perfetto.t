#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Perfetto traces of real rings, decoded by protoc with a schema of our own, against the NDJSON of
# the same rings: every slice, counter, instant and loss.
. tests/lib.sh
need_command protoc
need_command perl
need_command jq
need_command xz

decode() { # TRACE OUT: as text, then a line an event
	protoc -I tests/perfetto --decode=perfetto.protos.Trace tests/perfetto/trace.proto \
		<"$1" >"$TMP/decoded" 2>"$TMP/err" && perl tests/perfetto/trace.pl <"$TMP/decoded" >"$2"
}
# What a trace must hold of an NDJSON, a line each: type, ts, domain, name, value; of a loss, words
# and since when, where that is known.
wanted='select(.ts != null and .kind != "end" and .kind != "span_end" and .kind != "damage") | [
	({"begin": "begin", "span_begin": "begin", "counter": "counter", "lost": "lost"}[.kind] // "instant"),
	.ts, .domain, .name // .kind,
	if .kind == "lost" then "\(.words) \(if .since == 0 then .ts else .since end)"
	else .value // .data // (.values // [] | map(tostring) | join(",")) end] | @tsv'
# The same of the lines of trace.pl.
held() {
	perl -F'\t' -lane '
		next unless $F[2] =~ m{^\d+/domain (\d+)};
		my $domain = $1;
		my ($child) = $F[2] =~ m{/([^/]*)$};
		my ($words) = map { /^words=(.*)/ } @F;
		if ($child ne "lost events") {
			$F[3] = $child if $F[0] eq "counter";
			print join("\t", $F[0], $F[1], $domain, $F[3], $F[4] // "") if $F[0] =~ /^[bic]/;
		} elsif ($F[0] eq "begin") {
			$lost{$domain} = "$words $F[1]";
		} elsif ($F[0] eq "end") {
			print join("\t", "lost", $F[1], $domain, "lost", $lost{$domain});
		}' "$1"
}

for file in $RING_FILES; do
	name=${file#tests/data/ocaml-}
	version=${name%%/*}
	ring=$TMP/4711.events
	xz -dc "$file" >"$ring"
	"$O/ebtrace" -q --ocaml-version "$version" -o "$TMP/out.pftrace" "$ring" &&
		"$O/ebtrace" -q --ocaml-version "$version" -f ndjson "$ring" >"$TMP/out.ndjson" &&
		decode "$TMP/out.pftrace" "$TMP/trace"
	ok $? "$name becomes a trace that protoc decodes" || diag "$(cat "$TMP/err")"
	is "$(grep '^!' "$TMP/trace" | head -5)" "" \
		"$name: nothing unknown in it; slices nest, in time, each with its end"
	held "$TMP/trace" | sort >"$TMP/got"
	jq -r "$wanted" "$TMP/out.ndjson" | sort >"$TMP/want"
	same_file "$TMP/got" "$TMP/want" "$name: every slice, counter, instant and loss"
done

trace_of() { # FIXTURE RELEASE: its trace as lines
	xz -dc "tests/data/ocaml-$1.events.xz" >"$TMP/4711.events"
	"$O/ebtrace" -q --ocaml-version "$2" -o "$TMP/out.perfetto-trace" "$TMP/4711.events" 2>/dev/null
	decode "$TMP/out.perfetto-trace" "$TMP/trace"
}
has() { # "a sentence" LINE...: each is a line of the trace, with spaces for tabs
	local sentence=$1 line
	shift
	for line; do
		tr '\t' ' ' <"$TMP/trace" | grep -qxE -- "$line" || {
			ok 1 "$sentence"
			diag "no line is '$line'"
			return
		}
	done
	ok 0 "$sentence"
}

trace_of 5.3.0/c-user 5.3
has "times are CLOCK_MONOTONIC's, which is reported" "clock 3" "snapshot BUILTIN_CLOCK_MONOTONIC 3"
has "tracks: the process, its domains, their user spans and counters, with units" \
	"track  23894 ocaml 5.3" "track  23894/domain 0 " "track  23894/domain 0/app.span.* " \
	"track  23894/domain 0/minor_promoted UNIT_SIZE_BYTES" \
	"track  23894/domain 0/force_minor_make_vect counter"
has "the totals are at the end" \
	"instant [0-9]+ ebtrace summary  damaged=0 events=253 history_events=0 .*lost_events=0 lost_words=0"
has "a payload that is text is shown as text" \
	"instant [0-9]+ 23894/domain 0 app.str 41 text=A"
trace_of 5.3.0/d-wrapped-user 5.3
has "what a ring had overwritten is a slice of a track of its own" \
	"track  [0-9]+/domain 0/lost events " \
	"begin [0-9]+ [0-9]+/domain 0/lost events lost  history=true words=[0-9]+"
trace_of corrupt/zero-length-event 5.3
has "damage is on the track of the process" "instant [0-9]+ [0-9]+ damage  .*offset=[0-9]+ words=[0-9]+"
trace_of 5.3.0/i-sigkill 5.3
has "spans that were open when a program was killed are marked" "end [0-9]+ [0-9]+/domain 0 +cut=unfinished"

# A program from its first event to its last, on three clocks.
"$O/ebtrace" -q --mode ring -o "$TMP/run.pftrace" -- \
	"$O/tests/prog/minigc" -q -u -t 2 -n 20000 -c "$TMP/counts" 2>"$TMP/err" &&
	decode "$TMP/run.pftrace" "$TMP/trace"
ok $? "a run is written as it happens" || diag "$(cat "$TMP/err")"
has "its process has its name" "track  [0-9]+ minigc"
has "its clock is known beside the wall's" "snapshot BUILTIN_CLOCK_MONOTONIC 3 1 6"
is "$(grep '^!' "$TMP/trace" | head -5)" "" "its slices nest, each with its end"
emitted() { awk -v what="$1" '$2 ~ what { n += $3 } END { print n + 0 }' "$TMP/counts"; }
is "$(awk -F'\t' '$1 == "begin" && $3 !~ /lost events$/' "$TMP/trace" | wc -l)" \
	"$(emitted '^(begin|span_begin)$')" "with as many slices as the program began"
is "$(grep -c '^counter' "$TMP/trace")" "$(emitted '^counter$')" "and as many values of counters"

# What a tracer leaves that is killed in the middle of it.
EBTRACE_START=1 EBTRACE_DIR=$TMP "$O/tests/prog/minigc" -q -t 1 -r 20000 -s 60 >"$TMP/count" 2>&1 &
children+=($!)
program=$!
wait_for test -e "$TMP/$program.events"
"$O/ebtrace" -q --mode ring -o "$TMP/cut.pftrace" -p $program 2>"$TMP/err" &
tracer=$!
children+=($tracer)
large() { [ "$(stat -c %s "$TMP/cut.pftrace.part" 2>/dev/null || echo 0)" -gt 100000 ]; }
wait_for large
{ kill -KILL $tracer; wait $tracer; } 2>/dev/null
decode "$TMP/cut.pftrace.part" "$TMP/trace"
ok $? "what a killed tracer leaves decodes up to its last byte" || diag "$(cat "$TMP/err")"
is "$(grep '^!' "$TMP/trace" | grep -v 'have no end' | head -5)" "" "and is right as far as it goes"

script -qec "$O/ebtrace -f perfetto $TMP/4711.events" /dev/null </dev/null >"$TMP/out" 2>&1
grep -q 'not for a terminal' "$TMP/out"
ok $? "a terminal is spared"
done_testing
