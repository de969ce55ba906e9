# SPDX-License-Identifier: BSD-2-Clause
# What a viewer of timelines should be shown of an NDJSON trace (jq -rn -f, one line a row): phase,
# domain, name, ns, value. Phases are named as Chrome names them: B E b e C i, and X for what was
# lost. Ends are those that have a begin: the innermost open one of their name; what is open inside
# ends with it, at a loss all ends, and at the end of the trace what is left.
def key: "\(.domain) \(if .kind == "span_begin" or .kind == "span_end" then .name else "" end)";
# Ends of all that is open in a stack, innermost first.
def ends($ph; $domain; $ts): reverse[] | [$ph, $domain, ., $ts];
def end_of($key): if $key | endswith(" ") then "E" else "e" end;
foreach ((inputs | select(.ts != null)), null) as $e ({open: {}};
	.out = [] |
	if $e == null then
		.last as $last |
		.out = [.open | to_entries[] | .key as $k | .value | ends(end_of($k); $k | split(" ")[0] | tonumber; $last)]
	else
		($e | key) as $k |
		if $e.kind == "begin" or $e.kind == "span_begin" then
			.open[$k] += [$e.name] |
			.out = [[(if $e.kind == "begin" then "B" else "b" end), $e.domain, $e.name, $e.ts]]
		elif $e.kind == "end" or $e.kind == "span_end" then
			((.open[$k] // []) | rindex($e.name)) as $at |
			if $at == null then . else
				.out = [.open[$k][$at:] | ends(if $e.kind == "end" then "E" else "e" end; $e.domain; $e.ts)] |
				.open[$k] = .open[$k][:$at]
			end
		elif $e.kind == "counter" then
			.out = [["C", $e.domain, $e.name, $e.ts, $e.value]]
		elif $e.kind == "lost" then
			.out = [["X", $e.domain, "lost", $e.ts, $e.words]] |
			reduce (.open | keys[] | select(startswith("\($e.domain) "))) as $o (.;
				.out += [.open[$o] | ends(end_of($o); $e.domain; $e.since)] |
				.open[$o] = [])
		else
			.out = [["i", $e.domain, ($e.name // $e.kind), $e.ts,
				($e.value // $e.data // $e.values // "")]]
		end | .last = $e.ts
	end;
	.out[] | map(tostring) | join("\t"))
