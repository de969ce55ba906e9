#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Programs that execute others, whose reports come when the last of them, in OCaml, has been found by its mappings: they
# are in the channel behind samples that wait for names, as the process is stopped that reads symbols. From then on the
# thread's domain is known in each sample.
. tests/lib.sh
need_root
need_command jq
need_command perl
[ "$(uname -m)" = x86_64 ] || skip_all "OCaml's stacks are not walked here"
ocaml_root
ebt=$O/ebtrace

OCAML_LINK=-g ocaml_build_here shares
cat >"$TMP/chain.pl" <<'END'
# Executes itself as many times, then the program; each time it runs for 50 ms.
my ($n, $go, @program) = @ARGV;
1 until -e $go;
my $x = 0;
$x++ until (times)[0] >= 0.05 * (9 - $n);
exec $n ? ($^X, $0, $n - 1, $go, @program) : @program;
END
"$ebt" profile -F 4999 -o "$TMP/run.ebt" -- perl "$TMP/chain.pl" 8 "$TMP/go" "$EXE" 3 >"$TMP/said" 2>"$TMP/err" &
tracer=$!
children+=("$tracer")
symbols() { pgrep -P $tracer -x ebtrace-symbols >"$TMP/symbols"; }
wait_for symbols
mapfile -t symbols <"$TMP/symbols"
kill -STOP "${symbols[@]}"
touch "$TMP/go"
program() { pgrep -P $tracer -x "$(basename "$EXE")"; }
wait_for program >"$TMP/program"
nap 1.5
kill -CONT "${symbols[@]}"
wait $tracer
is $? 0 "the run ends" || diag "$(cat "$TMP/err")"
"$ebt" -q "$TMP/run.ebt" -o "$TMP/run.ndjson"
jq -r 'select(.kind == "sample") | "\(.ts) \(.domain) \(.ends)"' "$TMP/run.ndjson" | sort -n >"$TMP/samples"
ok "$(awk '$2 == 0 { n++ } END { print (n > 1000 ? 0 : 1) }' "$TMP/samples")" "a domain runs" || diag "$(wc -l <"$TMP/samples")"
# Its last samples may be of a process that ends, whose memory has gone.
is "$(awk '$2 == 0 { known++; lost += unknown; unknown = 0 } known && $2 < 0 { unknown++ }
	END { print lost + (unknown > known / 100 ? unknown : 0) }' "$TMP/samples")" 0 "once known, it is known in all samples"
done_testing
