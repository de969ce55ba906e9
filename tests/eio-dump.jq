# SPDX-License-Identifier: BSD-2-Clause
# The events of an NDJSON trace as Eio's own decoder prints them: time, ring, text.
def text:
	if .kind == "begin" or .kind == "end" then "\(.kind) \(.name)"
	else {
		"eio.create_fiber": "create fiber \(.fiber) in CC \(.context)",
		"eio.fiber": "fiber \(.fiber) is now running",
		"eio.exit_fiber": "fiber \(.fiber) finishes",
		"eio.suspend_fiber": "fiber suspended: \(.operation)",
		"eio.suspend_domain": (if .kind == "span_begin" then "domain suspend" else "domain resume" end),
		"eio.create_cc": "create \(.type) CC \(.context)",
		"eio.exit_cc": "CC finishes",
		"eio.create_obj": "create \(.type) \(.object)",
		"eio.name": "\(.of) is named \(.text | tojson)",
		"eio.get": "get from \(.object)",
		"eio.try_get": "waiting to get from \(.object)",
		"eio.put": "put \(.object)",
		"eio.enter_span": "enter span \(.span | tojson)",
		"eio.exit_span": "exit span",
		"eio.log": "log: \(.text | tojson)",
		"eio.error": "\(.of) fails: \(.text | tojson)",
		"eio.domain_spawn": "domain spawned by fiber \(.parent)"
	}[.name] end;
if .kind == "lost" then "lost\t\(.domain)\t\(.words)"
elif IN(.kind; "begin", "end") or (.name // "" | startswith("eio.")) then "\(.ts)\t\(.domain)\t\(text)"
else empty end
