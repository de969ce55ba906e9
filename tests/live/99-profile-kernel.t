#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The functions of the kernel in samples: of a program that is there most of the time, where their names
# may be read, and where not.
. tests/lib.sh
need_root
need_command jq
need_command dd
need_command unshare
ebt=$(realpath "$O/ebtrace")
profile() { timeout 300 "$ebt" profile "$@" 2>"$TMP/err"; }
work=(dd if=/dev/zero of=/dev/null bs=1M count=$((20000 / SLOWNESS)) status=none)

profile -F 999 --kernel-stacks -o "$TMP/with.ebt" -- "${work[@]}"
is $? 0 "a program is profiled with the stacks of the kernel" || diag "$(cat "$TMP/err")"
"$ebt" -q "$TMP/with.ebt" -o "$TMP/with.ndjson"
jq -c 'select(.kind == "sample") | {kernel: (.kernel // false), names: [.stack[]? | sub("@.*"; "")], of: [.stack[]? | endswith("@[kernel]")]}' \
	"$TMP/with.ndjson" >"$TMP/samples"
ok "$(jq -s 'map(select(.kernel)) | if length > 100 then 0 else 1 end' "$TMP/samples")" "it is in the kernel" || diag "$(wc -l "$TMP/samples")"
is "$(jq -c 'select(.kernel != .of[-1])' "$TMP/samples" | head -3)" "" "where it is there, and only there, the innermost function is one of the kernel"
is "$(jq -c 'select(.of | . != sort)' "$TMP/samples" | head -3)" "" "and all of the kernel's are inside of those of the program"
is "$(jq -c 'select(.of | all)' "$TMP/samples" | head -3)" "" "which are there, too"
jq -r '. as $s | range(.names | length) | select($s.of[.]) | $s.names[.]' "$TMP/samples" | sort -u >"$TMP/names"
awk '{ sub(/\..*/, "", $3); print $3 }' /proc/kallsyms | sort -u >"$TMP/all"
# Programs of BPF are there as long as they are loaded.
is "$(grep -v '^\[kernel\]$\|^bpf_prog_' "$TMP/names" | comm -23 - "$TMP/all")" "" "their names are in /proc/kallsyms"
ok "$(jq -s '(map(select(.kernel)) | length) as $n | map(select(.names[-1] == "[kernel]")) | if length <= 0.05 * $n then 0 else 1 end' "$TMP/samples")" \
	"nearly all have one" || diag "$(jq -r '.names[-1]' "$TMP/samples" | sort | uniq -c | sort -rn | head -5)"
ok "$(jq -s '(map(select(.kernel)) | length) as $n | map(select(.kernel and (.names | index("vfs_read")))) | if length > 0.8 * $n then 0 else 1 end' "$TMP/samples")" \
	"it reads" || diag "$(sort "$TMP/names" | head -40)"

is "$(jq -c '(.names | index("ksys_read")) as $out | (.names | index("vfs_read")) as $in | select($out and $in and $out > $in)' "$TMP/samples" | head -1)" "" \
	"callers are outside"

"$ebt" profile -o "$TMP/with.svg" "$TMP/with.ebt"
jq -r 'select(.kernel) | .names[-1]' "$TMP/samples" | sort | uniq -c | sort -rn | head -5 | awk '{ print $2 }' >"$TMP/most"
is "$(while read -r name; do grep -o "<g class=\"f [^\"]*\"><title>$name\$" "$TMP/with.svg"; done <"$TMP/most" | sed 's/.*c\([0-9]*\)".*/\1/' | sort -u | wc -l)" 1 \
	"a flame graph has one colour for them" || diag "$(grep -o '<g class="f [^"]*"><title>.*' "$TMP/with.svg" | head -30)"

profile -F 999 -o "$TMP/without.ebt" -- "${work[@]}"
"$ebt" profile --json "$TMP/without.ebt" >"$TMP/without.json"
is "$(jq -c '[.kernel.samples > 100, ([.sections[].functions[].file | select(. == "[kernel]")] | length)]' "$TMP/without.json")" "[true,0]" \
	"without the option it counts for the function that called it"

# Hidden: a file with the names alone is in its place.
awk '{ $1 = "0000000000000000"; print }' /proc/kallsyms | head -1000 >"$TMP/hidden"
# shellcheck disable=SC2016
unshare -m sh -c 'mount --bind "$1" /proc/kallsyms && shift && exec "$@"' sh "$TMP/hidden" \
	timeout 300 "$ebt" profile -F 999 --kernel-stacks -o "$TMP/hidden.ebt" -- "${work[@]}" 2>"$TMP/err"
is "$? $(grep -c 'functions of the kernel have no names: /proc/kallsyms has no addresses for us; kernel.kptr_restrict may hide them' "$TMP/err")" "0 1" \
	"a message says that the names are hidden" || diag "$(cat "$TMP/err")"
is "$("$ebt" profile --json "$TMP/hidden.ebt" | jq -c '[.kernel.samples, ([.sections[].functions[] | select(.file == "[kernel]") | .self.samples] | add)] | .[0] == .[1]')" true \
	"and what was in the kernel is in one function of it"
is "$("$ebt" profile --json "$TMP/hidden.ebt" | jq -r '[.sections[].functions[] | select(.file == "[kernel]") | .function] | unique | join(" ")')" "[kernel]" \
	"which has no other name"
done_testing
