#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Allocation traces of memtrace as inputs, against what memtrace's own dump prints of them.
. tests/lib.sh
need_command xz
need_command perl
ebt=$O/ebtrace
data=tests/data/memtrace
for path in $data/*.ctf.xz; do
	name=$(basename "$path" .ctf.xz)
	xz -dc "$path" >"$TMP/$name.ctf"
	xz -dc "$data/$name.dump.xz" >"$TMP/$name.dump"
done

# The events of $1, which is read by ebtrace with the rest as arguments.
events() {
	local input=$1
	shift
	"$ebt" -q -f ndjson --max-stack 0 "$@" "$input" 2>"$TMP/log" | tests/memtrace-dump.sh
}

for name in single longbt bare external fork wrongpid; do
	events "$TMP/$name.ctf" >"$TMP/events"
	cmp -s "$TMP/events" "$TMP/$name.dump"
	ok $? "$name: NDJSON has the events of memtrace's own dump, with their backtraces"
done
# Packets of several domains: memtrace prints them one after the other, we in order of time.
for name in multidomain synth; do
	events "$TMP/$name.ctf" >"$TMP/$name.events"
	sort "$TMP/$name.events" | cmp -s - <(sort "$TMP/$name.dump")
	ok $? "$name: NDJSON has the events of memtrace's own dump"
	LC_ALL=C sort -c -s -k1,1 "$TMP/$name.events" 2>/dev/null
	ok $? "$name: they are in order of time"
done

cat "$TMP/multidomain.ctf" | events - | cmp -s - "$TMP/multidomain.events"
ok $? "a trace is read from a pipe"
# The same trace whose first domain ends 134 s before the others begin, with its packets at the end.
perl -e 'local $/; $_ = <STDIN>; my ($out, $last) = ("", "");
	for (my ($at, $n) = (0, 0); $at < length; $at += $n) {
		$n = unpack("V", substr($_, $at + 4, 4)) / 8;
		my $packet = substr($_, $at, $n);
		if ($at && !unpack("v", substr($packet, 38, 2))) { $last .= $packet; next }
		substr($packet, 8, 16) = pack("Q<2", map { $_ + 4 * 2 ** 25 } unpack("Q<2", substr($packet, 8, 16))) if $at;
		$out .= $packet;
	}
	print $out;
	print STDERR $last' <"$TMP/multidomain.ctf" >"$TMP/first.ctf" 2>"$TMP/last.ctf"
cat "$TMP/first.ctf" "$TMP/last.ctf" >"$TMP/late.ctf"
mkfifo "$TMP/pipe"
# late FORMAT: the output of a run that has shown others when the last packets come.
late() {
	"$ebt" -q -f "$1" - <"$TMP/pipe" >"$TMP/late.$1" &
	children+=($!)
	exec 3>"$TMP/pipe"
	cat "$TMP/first.ctf" >&3
	wait_for test -s "$TMP/late.$1"
	cat "$TMP/last.ctf" >&3
	exec 3>&-
	wait $!
}
# The own time, kind, domain and object of each event.
moments() {
	perl -ne 'next unless /"obj":(\d+)/; my $obj = $1; my ($late) = /"late_us":(\d+)/;
		/"ts":(\d+),"kind":"(\w+)","domain":(\d+)/;
		print $1 - 1000 * ($late // 0), " $2 $3 $obj\n"' | sort
}
"$ebt" -q -f ndjson "$TMP/late.ctf" | moments >"$TMP/want"
late ndjson
ok $(($(grep -c '"late_us":.*"late":true' "$TMP/late.ndjson") < 1000)) \
	"from a pipe a domain that comes long after the others is late"
moments <"$TMP/late.ndjson" >"$TMP/got"
same_file "$TMP/got" "$TMP/want" "its events have their own time"
late text
is "$(grep -cE ' late=[0-9.]+ [mu]?s \(late\)$' "$TMP/late.text" | sed 's/^[1-9].*/some/') $(grep -c '_us=' "$TMP/late.text")" "some 0" \
	"text writes by how much they are late with its unit"
late memtrace
"$ebt" -q -f ndjson "$TMP/late.memtrace" | moments >"$TMP/got"
same_file "$TMP/got" "$TMP/want" "a memtrace trace of them has it, too"
"$ebt" -q -o "$TMP/copy.ebt" "$TMP/multidomain.ctf"
events "$TMP/copy.ebt" | cmp -s - "$TMP/multidomain.events"
ok $? "a capture of it has the same events and backtraces"
is "$("$ebt" -q -f ndjson "$TMP/single.ctf" | sed -n 's/.*"source":"\(memtrace\)","pid":\([0-9]*\),"clock":"\([a-z]*\)".*/\1 \2 \3/p')" \
	"memtrace 8790 realtime" "the header names the source, the process and the clock"

# Written as memtrace traces again.
for name in single longbt deepbt bare external fork; do
	"$ebt" -q "$TMP/$name.ctf" -o "$TMP/again.ctf"
	cmp -s "$TMP/again.ctf" "$TMP/$name.ctf"
	ok $? "$name: written as a memtrace trace it has the same bytes"
	"$ebt" -q "$TMP/$name.ctf" -o "$TMP/copy.ebt"
	"$ebt" -q "$TMP/copy.ebt" -o "$TMP/again.ctf"
	cmp -s "$TMP/again.ctf" "$TMP/$name.ctf"
	ok $? "$name: by way of a capture it has the same bytes, too"
done
"$ebt" -f memtrace "$TMP/deepbt.ctf" 2>"$TMP/log" >/dev/null
is "$(grep -c 'left out' "$TMP/log")" 0 "no frame of deep stacks that memtrace wrote is left out"
for name in multidomain synth; do
	"$ebt" -q "$TMP/$name.ctf" -f memtrace >"$TMP/again.ctf"
	events "$TMP/again.ctf" | cmp -s - "$TMP/$name.events"
	ok $? "$name: written as a memtrace trace it has the same events"
done

"$ebt" -q "$TMP/single.ctf" -e promote -e '!promote' -o "$TMP/empty.ctf" 2>/dev/null
"$ebt" info "$TMP/empty.ctf" >"$TMP/info"
ok $(($(grep -cE 'context    single-domain fixture|events     0: 0 alloc' "$TMP/info") != 2)) \
	"a trace without events has its head"

# A part of the file, and bytes that are none.
head -c 100000 "$TMP/single.ctf" >"$TMP/cut.ctf"
events "$TMP/cut.ctf" >"$TMP/events"
n=$(grep -vc damage "$TMP/events")
head -n "$n" "$TMP/single.dump" | cmp -s - <(grep -v damage "$TMP/events")
ok $? "of a trace that is cut the events before are shown"
grep -q 'damaged at byte [0-9]*: expected a whole packet' "$TMP/log"
ok $? "and the cut is reported"
(head -c 98312 "$TMP/single.ctf"; printf garbage; tail -c +98313 "$TMP/single.ctf") >"$TMP/bad.ctf"
events "$TMP/bad.ctf" >"$TMP/events"
is $? 0 "a damaged trace is read to its end"
grep -q "bad.ctf': damaged at byte [0-9]*: expected " "$TMP/log"
ok $? "its damage is reported with the offset"
grep -q damage "$TMP/events"
ok $? "it has its place among the events"
head -c 30 "$TMP/single.ctf" >"$TMP/none.ctf"
"$ebt" -q "$TMP/none.ctf" 2>"$TMP/log"
is $? 1 "a file without a whole first packet is refused"
grep -q "none.ctf' at byte 0: expected a whole packet" "$TMP/log"
ok $? "with the reason"
"$ebt" info "$TMP/wrongpid.ctf" >"$TMP/info"
ok $(($(grep -cE 'context    external|sampled    0.01 of each word|2478 alloc, 50 promote, 2478 collect|packets    4, 2 more of another process' "$TMP/info") != 4)) \
	"info has the head of the trace, its events, and the packets of another process"
"$ebt" -q "$TMP/external.ctf" -o "$TMP/copy.ebt"
head='"executable":"[^"]*","host":"[^"]*","runtime_params":"[^"]*","context":"external","sample_rate":0.01,"word_bits":64'
is "$("$ebt" info --json "$TMP/copy.ebt" | grep -o "$head")" \
	"$("$ebt" info --json "$TMP/external.ctf" | grep -o "$head")" "a capture has the head of the trace"
lines='^  (program|host|context|parameters|sampled) '
is "$("$ebt" info "$TMP/copy.ebt" | grep -E "$lines")" "$("$ebt" info "$TMP/external.ctf" | grep -E "$lines")" \
	"info shows it of both"

"$ebt" info "$TMP/stepped.ctf" >"$TMP/info" 2>"$TMP/log"
ok $(($(grep -cE '^  (clock      stepped back: the times of [0-9]+ events are raised|damage     none)$' "$TMP/info") != 2)) \
	"info says that the program's clock stepped back, which is no damage" || diag "$(cat "$TMP/info")"
events "$TMP/stepped.ctf" | cut -c12- | cmp -s - <(cut -c12- "$TMP/stepped.dump")
ok $? "its events are those of the same program with a clock that does not"
"$ebt" -f ndjson "$TMP/stepped.ctf" 2>"$TMP/log" >/dev/null
grep -q "stepped.ctf': the program's clock stepped back: the times of [0-9]* events are raised" "$TMP/log"
ok $? "and a message counts those whose times were raised"
# An event in the middle of a packet is none.
perl -0777 -pe 'my @p; push @p, $-[0] while /\xc1\x1f\xfc\xc1/g; substr($_, $p[4] + 71, 1) = "\x80"' \
	<"$TMP/single.ctf" >"$TMP/broken.ctf"
is "$("$ebt" info --json "$TMP/broken.ctf" 2>/dev/null | jq -c '[.damaged, .lost_allocs > 100, .raised_times]')" \
	"[1,true,0]" "info counts the allocations that are lost with a damaged packet"
lost=$("$ebt" info --json "$TMP/broken.ctf" 2>/dev/null | jq .lost_allocs)
is "$("$ebt" info "$TMP/broken.ctf" 2>/dev/null | grep -c '^  damage     1 place')" 1 "and the damaged places"
is "$("$ebt" mem "$TMP/broken.ctf" 2>/dev/null | sed -n 's/^Not all is counted: //p')" \
	"1 place of the input is damaged, with $lost sampled allocations or more" "so does mem"
"$ebt" -q -o "$TMP/broken.ebt" "$TMP/broken.ctf" 2>/dev/null
is "$("$ebt" mem --json "$TMP/broken.ebt" 2>/dev/null | jq .lost_allocs)" "$lost" \
	"a capture of the trace keeps the number"

# Several inputs.
"$ebt" -q -f ndjson "$TMP/single.ctf" "$TMP/external.ctf" >"$TMP/both"
is "$? $(jq -rs '[.[] | select(.pid).kind] | map(select(. == "alloc" or . == "promote" or . == "collect")) | length' "$TMP/both")" \
	"0 $(cat "$TMP/single.dump" "$TMP/external.dump" | grep -cE ' (alloc|promote|collect)')" "two traces are merged into one stream"
xz -dc tests/data/ocaml-5.3.0/a-gcchurn.events.xz >"$TMP/ring.events"
"$ebt" -q "$TMP/single.ctf" "$TMP/ring.events" >/dev/null 2>"$TMP/log"
is "$? $(grep -c 'the times of the inputs are of different clocks' "$TMP/log")" "1 1" \
	"a trace and a ring, whose clocks nothing relates, are refused with the reason"
done_testing
