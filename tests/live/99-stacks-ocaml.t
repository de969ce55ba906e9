#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Stacks of events of OCaml 5 native code that was not prepared: where it collects, as the runtime itself
# has it, in functions that were inlined, in fibers and in other domains, also without symbols; with the C
# that OCaml has called, which has no frame pointers.
. tests/lib.sh
need_command jq
ocaml_root

OCAML_LINK=-g ocaml_build calls

# run NAME EXE ARGS...: the program in the root, with ebtrace ARGS; its lines in NAME.printed. It lives for some
# milliseconds: where a busy machine has not let it be held at its exec, which is a loss, it runs once more.
run() {
	local name=$1 exe=$2 status
	shift 2
	for _ in 1 2 3 4 5; do
		feed | timeout 300 "$O/ebtrace" -q -o "$TMP/$name.ndjson" "$@" -- chroot "$ROOT" "$exe" >"$TMP/$name.printed" 2>"$TMP/err"
		status=$?
		jq -e 'select(.kind == "lost" and .ts - .since > 1000000)' "$TMP/$name.ndjson" >"$TMP/lost" || break
	done
	return $status
}
# collections NAME: the OCaml in stacks of explicit collections, of the innermost frame the line alone.
collections() {
	jq -r 'select(.kind == "begin" and .name == "explicit_gc_full_major") | .stack // [] |
		map(select(contains(".ml:"))) | .[-1] |= sub("(?<l>:[0-9]+):.*"; "\(.l)") | join(" ")' "$TMP/$1.ndjson"
}

run all "$EXE_IN" --stack
is $? 0 "a program is traced with stacks" || diag "$(cat "$TMP/err")"
sed 's/:[0-9]*-[0-9]*$//' "$TMP/all.printed" >"$TMP/wanted"
is "$(wc -l <"$TMP/wanted")" 5 "it collects at five places"
collections all >"$TMP/got"
same_file "$TMP/got" "$TMP/wanted" "the begin of each collection has the stack that the program has printed"
is "$(jq -r 'select(.stack) | [.stack[] | contains(".ml:")] | map(tostring) | join(" ")' "$TMP/all.ndjson" |
	grep -cvE '^(true ?)*(false ?)*$')" 0 "between functions of OCaml are none that the compiler has made"
is "$(jq -r 'select(.stack) | .stack[] | select(startswith("[") or test("^[0$]"))' "$TMP/all.ndjson" | sort -u)" "" \
	"nothing is missing in any stack, and none has addresses"
# called NAME: the C of stacks of explicit collections, the runtime's own function and that of the event.
called() {
	jq -r 'select(.kind == "begin" and .name == "explicit_gc_full_major") | .stack |
		map(select(contains(".ml:") | not) | sub("@.*"; "")) | "\(length) \(first) \(last)"' "$TMP/$1.ndjson" | sort | uniq -c
}
is "$(called all)" "$(echo "      5 3 caml_gc_full_major caml_ev_begin")" "the C that OCaml has called is on top"
is "$(jq -r 'select(.name == "minor" and .kind == "begin") | .stack // [] | map(select(contains("caml_"))) | "\(first) \(last)"' \
	"$TMP/all.ndjson" | sort | uniq -c | sort -rn | sed -n '1s/^ *[0-9]* //p')" "caml_gc_full_major caml_ev_begin" \
	"also of what it calls itself, without frame pointers"

run some "$EXE_IN" --stack='explicit_*'
is "$(jq -r 'select(.stack) | .name' "$TMP/some.ndjson" | sort -u)" explicit_gc_full_major \
	"--stack=GLOB: by the numbers of the release, events of this name alone"
collections some >"$TMP/got"
same_file "$TMP/got" "$TMP/wanted" "with the same stacks"

strip "$EXE" -o "$EXE_DIR/stripped"
run stripped "${EXE_IN%/*}/stripped" --stack='explicit_*'
collections stripped >"$TMP/got"
same_file "$TMP/got" "$TMP/wanted" "a program without symbols has them, too" || diag "$(cat "$TMP/err")"
is "$(called stripped)" "$(called all)" "with the same C"

OCAML_LINK=-g ocaml_build sites tests/ocaml/sites_stubs.c
ends_with 0 timeout 600 "$O/ebtrace" -q --stack=minor -e minor -o "$TMP/sites.ndjson" -- chroot "$ROOT" "$EXE_IN" stacks 0 >"$TMP/sites.printed" 2>"$TMP/err"
jq -r 'select(.kind == "begin") | [.stack // [] | .[] | select(contains(".ml:"))] |
	select(.[-1] // "" | startswith("Sites.allocate")) | .[:-1] | join(" ")' "$TMP/sites.ndjson" | sort -u >"$TMP/got"
sort -u "$TMP/sites.printed" >"$TMP/wanted"
same_file "$TMP/got" "$TMP/wanted" "minor collections by allocations, from C, in callbacks from C and in effect handlers"
is "$(jq -r 'select(.kind == "begin") | .stack // [] | map(sub("[@:].*"; "")) | . as $s | index("sites_call_back") // empty |
	$s[. - 1:. + 4] | join(" ")' "$TMP/sites.ndjson" | sort -u)" \
	"Sites.from_c.(fun) sites_call_back caml_callback caml_callback_exn Sites.from_c.(fun)" \
	"the C that calls back is between the OCaml that called it, and what it calls"
is "$(jq -r '.stack // [] | select(.[0] == "[stack not whole]") | .[1]' "$TMP/sites.ndjson" | cut -d: -f1 | sort -u)" \
	"Sites.from_c.(fun)@sites.ml" "what the runtime itself cuts is marked"

# ---- a plug-in, callbacks, and domains at once ----

DIR=$(mktemp -d "$ROOT/tmp/ebtrace.XXXXXX")
chmod 755 "$DIR"
at_end "rm -rf '$DIR'"
cp tests/ocaml/{collects.ml,plug.ml,plugged.ml,plugged_stubs.c} "$DIR"
IN=/tmp/${DIR##*/}
chroot "$ROOT" sh -c "cd $IN && ocamlopt -g -linkall -I +dynlink dynlink.cmxa collects.ml plugged_stubs.c plugged.ml -o plugged &&
	ocamlopt -g -shared plug.ml -o plug.cmxs" >"$TMP/build.log" 2>&1
ok $? "a program with a plug-in compiles" || diag "$(cat "$TMP/build.log")"
# Stacks of threads are near to each other. Those of all events would be more than can be written meanwhile.
{ wait_for tracer_rests >&2; feed; } | timeout 300 "$O/ebtrace" -q --bpf-buffer 256M -o "$TMP/plugged.ndjson" --stack='explicit_*' --stack=minor -- \
	chroot "$ROOT" sh -c "ulimit -s 1024; cd $IN && exec ./plugged" >"$TMP/plugged.printed" 2>"$TMP/err"
# Of some 800,000 events.
grep '"explicit_gc_full_major"' "$TMP/plugged.ndjson" >"$TMP/collected.ndjson"
# Without characters of the innermost, which has called show() where it collects.
sed 's/:[0-9]*-[0-9]*$//' "$TMP/plugged.printed" | sort >"$TMP/wanted"
collections collected | sort >"$TMP/got"
is "$(wc -l <"$TMP/wanted")" 45 "it collects in all of them"
same_file "$TMP/got" "$TMP/wanted" "in a plug-in, in callbacks from C and in four domains the stacks are those that the program has printed"
is "$(grep -c 'Plug.itself@plug.ml' "$TMP/got") $(grep -c 'Plug.inlined@plug.ml:[0-9:-]* Plug.inner@plug.ml' "$TMP/got")" "2 1" \
	"with the functions of the plug-in, also such that were inlined"
# between FUNCTION: what is around C of the stubs, once for each time it is in a stack.
between() {
	jq -r --arg f "$1" 'select(.kind == "begin" and .name == "explicit_gc_full_major") | .stack | map(sub("[@:].*"; "")) |
		. as $s | indices($f)[] | $s[. - 1:. + 4] | join(" ")' "$TMP/collected.ndjson" | sort -u
}
is "$(between plugged_call_back)" "$(printf 'Plugged.from_c%s plugged_call_back caml_callback caml_callback_exn Plugged.from_c.(fun)\n' '' '.(fun)' | sort)" \
	"each C that calls back is in its place"
is "$(jq -r 'select(.kind == "begin" and .name == "explicit_gc_full_major") | .stack | map(sub("[@:].*"; "")) |
	select(any(. == "Plugged.from_deep_c")) | join(" ") | sub(" caml_gc_full_major.*"; "")' "$TMP/collected.ndjson")" \
	"Plugged Plugged.from_deep_c [frames missing] plugged_call_back_deep caml_callback caml_callback_exn Plugged.from_deep_c.(fun) Collects.collect" \
	"where C has more on its stack than is recorded, the gap is marked"
grep 'plugged\.ml:23:' "$TMP/plugged.ndjson" |
	jq -r '.stack // [] | select(any(test("^Plugged.*plugged.ml:23:"))) | map(select(contains(".ml:") | not)) | length' | sort | uniq -c >"$TMP/waiting"
is "$(awk '{ print $2, ($1 > 10) }' "$TMP/waiting")" "0 1" "what another thread collects for a domain that waits has no C of that thread" ||
	diag "$(cat "$TMP/waiting")"

done_testing
