#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# profile --by span of captures: each sample in the innermost span that another reader of the events finds.
. tests/lib.sh
need_command jq
ebt=$O/ebtrace
# Spans are those of a domain, and a thread is in the domain of its events.
cat >"$TMP/spans.jq" <<'END'
(reduce (.[] | select(.tid and .domain >= 0)) as $e ({}; .["\($e.pid) \($e.tid)"] = $e.domain)) as $first |
reduce .[] as $e ({open: {}, domain: {}, of: []};
	if $e.kind == "span_begin" then .open["\($e.pid) \($e.domain)"] += [$e.name]
	elif $e.kind == "span_end" then .open["\($e.pid) \($e.domain)"] |= .[:-1]
	elif $e.kind == "sample" then
		(.domain["\($e.pid) \($e.tid)"]) as $d | .of += [(.open["\($e.pid) \($d)"] // [])[-1] // "no span"]
	else . end |
	if $e.tid and ($e.domain // -1) >= 0 then .domain["\($e.pid) \($e.tid)"] = $e.domain else . end) |
.of | group_by(.)[] | "\(.[0]) \(length)"
END
for name in old new; do
	file=tests/data/profile/laps-$name.ebt
	"$ebt" -q "$file" -o "$TMP/$name.ndjson"
	jq -rsf "$TMP/spans.jq" "$TMP/$name.ndjson" | sort >"$TMP/want"
	"$ebt" profile --by span --json "$file" >"$TMP/$name.json"
	jq -r '.sections[] | "\(.name) \(.share.samples)"' "$TMP/$name.json" | sort >"$TMP/got"
	same_file "$TMP/got" "$TMP/want" "$name: each span has the samples in it"
done
# What the program does in its spans is known.
is "$(jq -r '.sections[] | .name as $name | .functions[] | select(.self.samples > 1) | "\($name) \(.function)"' "$TMP/old.json" | sort)" \
	"$(printf '%s\n' 'flush pack' 'no span poll_all' 'reply render' 'request parse' 'request query' 'request sweep')" \
	"functions are in the spans in which the program calls them"
is "$(jq -c '.sections[] | select(.name == "request") | [.share.samples, .collector.samples]' "$TMP/old.json")" "[237,35]" \
	"a span has the share of the collector in it"
"$ebt" profile --by span tests/data/profile/laps-old.ebt >"$TMP/text"
is "$(grep -c '^request:  60.3 % (55.4-65.0), the collector  14.8 % (10.8-19.8) of it$' "$TMP/text")" 1 "so it does in text" ||
	diag "$(grep % "$TMP/text" | head -4)"
"$ebt" profile --by span -f folded tests/data/profile/laps-old.ebt >"$TMP/folded"
is "$(grep -cE '^flush;.*;lap;pack 43$' "$TMP/folded")" 1 "a folded stack begins with its span"
"$ebt" profile diff --by span --json tests/data/profile/laps-{old,new}.ebt >"$TMP/diff"
is "$(jq -r '.sections[] | "\(.name) \(.share.before.samples) \(.share.after.samples)"' "$TMP/diff" | sort)" \
	"$(printf '%s\n' 'flush 43 0' 'no span 36 149' 'reply 77 241' 'request 237 419')" "spans are compared by their names" ||
	diag "$(jq -c '[.sections[] | [.name, .share]]' "$TMP/diff")"
# Fibers, their spans, and a span of the program in one of them.
"$ebt" profile --by span --json tests/data/profile/ocaml-fibers.ebt >"$TMP/fibers"
is "$(jq -r '.sections[] | .name as $name | .functions[] | select(.function | startswith("Fibers.")) | select(.self.samples > 0) |
	"\($name): \(.function)"' "$TMP/fibers" | sort)" \
	"$(printf '%s\n' 'fiber (no name): Fibers.writes' 'fiber reader: Fibers.reads' 'no fiber: Fibers.turns' 'own: Fibers.owns' 'request: Fibers.requests')" \
	"functions of fibers are in them, or in the innermost span"
# No event but samples: then there is none of a span.
"$ebt" -q tests/data/profile/laps-old.ebt -e sample -o "$TMP/alone.ebt"
is "$("$ebt" profile --by span --json "$TMP/alone.ebt" | jq -c '[.sections[] | [.name, .share.samples]]')" '[["no span",393]]' \
	"without events of spans samples are in none"
done_testing
