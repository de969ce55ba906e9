# SPDX-License-Identifier: BSD-2-Clause
# Of the events of an allocation trace (jq -n), what is alive at its end: "SITE line words", by the
# innermost position of its stack in the file $file, and sorted.
reduce inputs as $e ({};
	if $e.kind == "alloc" then .[$e.obj | tostring] = $e
	elif $e.kind == "collect" then del(.[$e.obj | tostring])
	else . end)
| [.[] | {at: (.stack[-1] | capture("^(?<function>.*)@(?<file>.*):(?<line>[0-9]+):[0-9]+-[0-9]+$")), words}
	| select(.at.file | endswith($file))]
| group_by(.at.function, .at.line)
| .[] | "\(.[0].at.function) \(.[0].at.line) \(map(.words) | add)"
