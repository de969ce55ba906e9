#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# NDJSON of a memtrace trace on stdin as memtrace's own dump prints it: times in us since the start.
exec awk '
function field(name,    v) {
	if (!match($0, "\"" name "\":[^,}]*")) return ""
	v = substr($0, RSTART + length(name) + 3, RLENGTH - length(name) - 3)
	gsub(/"/, "", v)
	return v
}
function us(ns) { return substr(ns, 1, length(ns) - 3) }
BEGIN { suffix["minor"] = ""; suffix["major"] = "_major"; suffix["external"] = "_ext" }
{ kind = field("kind") }
kind == "header" { start = us(field("start_ns")) }
kind == "header" || kind == "summary" { next }
{ printf "%010.0f %010.0f %s", us(field("ts")) - start, field("obj"), kind }
kind == "alloc" {
	stack = ""
	if (match($0, /"stack":\[.*\]/)) {
		stack = " " substr($0, RSTART + 10, RLENGTH - 12)
		gsub(/","/, " ", stack)
	}
	printf "%s %s len=%s dom=%s  %3d:%s", suffix[field("source")], field("samples"),
		field("words"), field("domain"), field("common"), stack
}
{ print "" }'
