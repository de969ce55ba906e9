#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Where the BPF buffer has no room: a loss stands between all events between which others are missing, so
# no pause is reported that is longer than any that there was.
. tests/lib.sh
need_root
need_command jq
need_command perl
prog=$O/tests/prog/many_pauses
need_file "$prog"

# nested TRACE: the ends that are not of the innermost open phase of their lane, without a loss since; the
# ends; and the losses.
nested() {
	jq -r 'select(.kind | IN("begin", "end", "lost")) |
		[.kind, .pid // 0, if .domain < 0 then "t\(.tid)" else .domain end, .name // "", .domain >= 0] | @tsv' "$1" | perl -e '
		my (%open, %unsure, %begun);
		my ($wrong, $ends, $losses) = (0, 0, 0);
		while (<>) {
			my ($kind, $pid, $domain, $name, $of_lane) = split /[\t\n]/;
			my $lane = "$pid $domain";
			if ($kind eq "lost") {
				$losses++;
				$of_lane = $of_lane eq "true";
				$begun{$pid} = 1 if !$of_lane;
				for (keys %open) {
					next if $of_lane ? $_ ne $lane : $pid && !/^$pid /;
					$open{$_} = [];
					$unsure{$_} = 1;
				}
			} elsif ($kind eq "begin") {
				push @{$open{$lane}}, $name;
			} else {
				$ends++;
				my $last = pop @{$open{$lane}};
				$wrong++ if defined $last ? $last ne $name
					: !($unsure{$lane} || $begun{0} || $begun{$pid});
			}
		}
		print $wrong, " ", $ends ? "ends" : "none", " ", $losses ? "losses" : "none", "\n"'
}

# no_longer OPTION...: of the C program, by its own clock.
no_longer() {
	ends_with 0 nice timeout 300 "$O/ebtrace" stat --mode probes --blame --json -o "$TMP/stat" "$@" -- "$prog" 3 1500 \
		>"$TMP/out" 2>"$TMP/err" || diag "$(cat "$TMP/err")"
	jq -e --argjson most "$(cut -d' ' -f2 "$TMP/out")" --argjson count "$(cut -d' ' -f1 "$TMP/out")" '
		.total.lost.events > 0 and .total.pauses.count > 0 and .total.pauses.count < $count and
		.total.pauses.max_ns <= $most and all(.blame.longest[]; .ns <= $most)' "$TMP/stat" >"$TMP/jq"
	ok $? "stat $*: no pause is longer than the longest by the program's own clock" ||
		diag "$(cat "$TMP/out")" "$(jq -c '.total | [.lost.events, .pauses.count, .pauses.max_ns]' "$TMP/stat")"
}
for bytes in 4K 16K 64K; do
	no_longer --bpf-buffer $bytes
	no_longer --bpf-buffer $bytes --stack=begin
done
for options in "--bpf-buffer 4K" "--bpf-buffer 64K --stack=begin"; do
	# shellcheck disable=SC2086
	ends_with 0 timeout 300 "$O/ebtrace" trace --mode probes $options -f ndjson -o "$TMP/trace" -- "$prog" 3 700 >"$TMP/out" 2>"$TMP/err"
	is "$(nested "$TMP/trace")" "0 ends losses" \
		"trace $options: each end matches its begin, or a loss is between them"
done

# ---- OCaml, whose ring has them all ----

ocaml_root
ocaml_build gcwork
mkdir "$EXE_DIR/rings"
# most RING.ndjson PROBES.ndjson: the ns from the event before an outermost phase, of any kind, to its end, at most. A
# probe takes its time before the event that it is at, and the thread may lose its CPU between both, or have its first
# stack read. What is open when the ring is closed ends before the last probe. The kernel's own time, which probes read
# without a lock, is as much as 1,000 parts in a million off where a CPU was away for long.
most() {
	jq -r 'select(.ts and .domain) | [.domain, .kind, .ts] | @tsv' "$1" | perl -e '
		my ($end, $most) = (shift, 0);
		sub ends { my ($domain, $ts) = @_; $most = $ts - $from{$domain} if $ts - $from{$domain} > $most; }
		while (<STDIN>) {
			my ($domain, $kind, $ts) = split;
			$from{$domain} = $last{$domain} // $ts if $kind eq "begin" && !$depth{$domain}++;
			ends($domain, $ts) if $kind eq "end" && --$depth{$domain} == 0;
			$last{$domain} = $ts;
		}
		ends($_, $end) for grep { $depth{$_} > 0 } keys %depth;
		print int(1.001 * $most), "\n"' "$(jq -s 'last(.[] | select(.kind == "end")).ts' "$2")"
}
for options in "--bpf-buffer 4K" "--bpf-buffer 64K --stack=begin"; do
	# shellcheck disable=SC2086
	ends_with 0 timeout 300 "$O/ebtrace" trace --mode probes $options -f ebt -o "$TMP/ebt" -- \
		chroot "$ROOT" env OCAMLRUNPARAM=s=4k,e=19 OCAML_RUNTIME_EVENTS_START=1 OCAML_RUNTIME_EVENTS_PRESERVE=1 \
		OCAML_RUNTIME_EVENTS_DIR="${EXE_IN%/*}/rings" "$EXE_IN" 2 40 >"$TMP/out" 2>"$TMP/err"
	ends_with 0 "$O/ebtrace" trace -f ndjson -o "$TMP/trace" "$TMP/ebt" 2>>"$TMP/err"
	is "$(nested "$TMP/trace")" "0 ends losses" "OCaml, $options: each end matches its begin, or a loss is between them" ||
		diag "$(cat "$TMP/err")"
	ends_with 0 "$O/ebtrace" trace -f ndjson -o "$TMP/ring" "$EXE_DIR"/rings/*.events 2>"$TMP/err"
	ends_with 0 "$O/ebtrace" stat --json -o "$TMP/stat" "$TMP/ebt" 2>>"$TMP/err"
	is "$(jq -s 'map(select(.kind == "lost")) | length' "$TMP/ring")" 0 "its ring has them all" || diag "$(cat "$TMP/err")"
	jq -e --argjson most "$(most "$TMP/ring" "$TMP/trace")" '.total.pauses | .count > 0 and .max_ns <= $most' "$TMP/stat" >"$TMP/jq"
	ok $? "and no pause is longer than it can have been by its ring" ||
		diag "$(most "$TMP/ring" "$TMP/trace") $(jq -c '.total | [.lost.events, .pauses.count, .pauses.max_ns]' "$TMP/stat")"
	rm "$EXE_DIR"/rings/*.events
done
done_testing
