# SPDX-License-Identifier: BSD-2-Clause
# A validator of the part of JSON Schema that the schemas of stat and mem use. Input: a value; $schema: the
# schema. Output: one string for each thing that is wrong.
def kind: if type == "number" then (if . == floor then ["integer", "number"] else ["number"] end) else [type] end;
def deref($root; $s): if $s["$ref"] then $root["$defs"][$s["$ref"] | ltrimstr("#/$defs/")] else $s end;
def check($root; $schema; $at):
	deref($root; $schema) as $s | . as $v |
	if $s == null then "\($at): no such definition" else
	(if $s.oneOf then [$s.oneOf[] | . as $o | [$v | check($root; $o; $at)] | select(length == 0)] |
		if length == 1 then empty else "\($at): \(length) of oneOf match" end else empty end),
	(if ($s | has("const")) and $s.const != $v then "\($at): is \($v), not \($s.const)" else empty end),
	(if $s.enum and ($s.enum | index($v)) == null then "\($at): is \($v), not of \($s.enum)" else empty end),
	(if $s.type and (([$s.type] | flatten) - (($v | kind)) | length) == ([$s.type] | flatten | length)
		then "\($at): \($v | tojson) is not a \($s.type)" else empty end),
	(if $s.minimum != null and ($v | type) == "number" and $v < $s.minimum then "\($at): \($v) is too small" else empty end),
	(if $s.maximum != null and ($v | type) == "number" and $v > $s.maximum then "\($at): \($v) is too great" else empty end),
	(if ($v | type) == "object" then
		(($s.required // [])[] | . as $k | if $v | has($k) then empty else "\($at): lacks \($k)" end),
		($v | to_entries[] | . as $e | if $s.properties[$e.key] then $e.value | check($root; $s.properties[$e.key]; "\($at).\($e.key)")
			elif $s.additionalProperties == false then "\($at): \($e.key) is not in the schema" else empty end)
	else empty end),
	(if ($v | type) == "array" and $s.items then range($v | length) as $i | $v[$i] | check($root; $s.items; "\($at)[\($i)]") else empty end)
	end;
check($schema; $schema; "")
