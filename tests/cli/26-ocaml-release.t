#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Which OCaml it is: of a binary, by the functions that each release has and the one before it had
# not; of a ring file, as far as it can be known; and --ocaml-version decides.
. tests/lib.sh
need_command jq
need_command xz
need_command gcc

# fake NAME SYMBOLS... -- GCC-OPTIONS...: a program that defines these functions
fake() {
	local name=$1 s
	shift
	echo "int main(void) { return 0; }" >"$TMP/fake.c"
	while [ "$1" != -- ]; do echo "void $1(void); void $1(void) {}" >>"$TMP/fake.c"; shift; done
	shift
	gcc -w "$TMP/fake.c" -o "$TMP/$name" "$@"
}
# is_release FILE RELEASE "name": RELEASE "": it is none
is_release() {
	local said
	said=$("$O/ebtrace" list "$1" 2>/dev/null | sed -n 's/.*: runtime of //p')
	is "$said" "$2" "$3"
}

symbols=(caml_ev_end)
while read -r symbol release; do
	symbols+=("$symbol")
	fake "$release" "${symbols[@]}" -- -rdynamic
	is_release "$TMP/$release" "ocaml $release" "the functions of $release, exported"
	strip "$TMP/$release"
	is_release "$TMP/$release" "ocaml $release" "the functions of $release, stripped: they are still exported"
	fake inside "${symbols[@]}" --
	is_release "$TMP/inside" "ocaml $release" "the functions of $release, not exported"
	fake static "${symbols[@]}" -- -static
	is_release "$TMP/static" "ocaml $release" "the functions of $release, in a static program"
	fake lib.so "${symbols[@]}" -- -shared -fPIC
	is_release "$TMP/lib.so" "ocaml $release" "the functions of $release, in a library"
done <<-END
	caml_ev_begin 5.0
	caml_runtime_events_user_write 5.1
	caml_runtime_events_are_active 5.2
	caml_ml_runtime_events_path 5.3
	caml_ml_gc_ramp_up 5.4
	caml_sys_get_stdlib_dirs 5.5
END
strip "$TMP/static"
is_release "$TMP/static" "" "static and stripped: it cannot be known"
"$O/ebtrace" list "$TMP/static" 2>"$TMP/err"
is "$? $(grep -c 'no markers and no runtime that can be traced' "$TMP/err")" "4 1" "and that is reported"
fake ocaml4 caml_ev_begin caml_ev_end caml_eventlog_init -- -rdynamic
is_release "$TMP/ocaml4" "" "OCaml 4's instrumented runtime has the probes, but no ring: it is no OCaml 5"
fake nothing caml_ml_gc_ramp_up caml_sys_get_stdlib_dirs -- -rdynamic
is_release "$TMP/nothing" "" "names without the probes are no runtime"
echo 'extern void caml_ev_begin(void); int main(void) { return caml_ev_begin == 0; }' >"$TMP/user.c"
gcc -w "$TMP/user.c" -o "$TMP/user" "$TMP/lib.so"
is_release "$TMP/user" "" "a program that only refers to the probes has no runtime in it"

# Ring files.
xz -dc tests/data/ocaml-5.1.1/c-user.events.xz >"$TMP/1.events"
producer() { "$O/ebtrace" info --json "$@" | jq -r '"\(.producer) \(.producer_assumed)"'; }
phases() { "$O/ebtrace" -q -f ndjson "$@" | jq -r 'select(.kind == "begin") | "\(.id) \(.name)"'; }
is "$(producer "$TMP/1.events" 2>"$TMP/err")" "ocaml 5.2 true" "a ring file of 5.1 alone: of 5.2 or before, and that it is assumed"
is "$(grep -c 'those of ocaml 5.2 and before; --ocaml-version' "$TMP/err")" 1 "a line names the reason"
for version in 5.1.1:5.2 5.3.0:5.5 5.5.2:5.5; do
	for file in tests/data/ocaml-${version%:*}/*.events.xz; do
		xz -dc "$file" | producer - 2>/dev/null
	done | sort | uniq -c >"$TMP/got"
	is "$(awk '{ print $1, $2, $3, $4 }' "$TMP/got")" "$(ls tests/data/ocaml-${version%:*}/*.events.xz | wc -l) ocaml ${version#*:} true" \
		"every ring of ${version%:*} is read with the numbers of its own family"
done
for release in 5.1 5.2 5.3 5.4 5.5; do
	is "$(producer --ocaml-version $release "$TMP/1.events")" "ocaml $release false" "--ocaml-version $release decides"
done
phases --ocaml-version 5.1 "$TMP/1.events" >"$TMP/right"
phases "$TMP/1.events" >"$TMP/guessed"
same_file "$TMP/guessed" "$TMP/right" "the guess leads to the right names"
phases --ocaml-version 5.5 "$TMP/1.events" >"$TMP/wrong"
is "$(cut -d' ' -f1 "$TMP/right" | md5sum)" "$(cut -d' ' -f1 "$TMP/wrong" | md5sum)" \
	"whatever the release, the numbers are the producer's own"
! cmp -s "$TMP/right" "$TMP/wrong"
ok $? "and the names differ"
"$O/ebtrace" info --ocaml-version 4.14 "$TMP/1.events" 2>"$TMP/err"
is "$? $(grep -c '5.0 to 5.5' "$TMP/err")" "2 1" "--ocaml-version of an OCaml without rings is a mistake"

# 5.0 has no names of user events: their place is 0, and the file ends with the rings.
end=$(od -An -t u8 -j 56 -N 8 "$TMP/1.events" | tr -d ' ')
head -c "$end" "$TMP/1.events" >"$TMP/2.events"
printf '\0\0\0\0\0\0\0\0' | dd of="$TMP/2.events" bs=1 seek=56 conv=notrunc 2>/dev/null
is "$(producer "$TMP/2.events")" "ocaml 5.0 false" "a ring file without a place for names is one of 5.0, for certain"
phases "$TMP/2.events" >"$TMP/got"
same_file "$TMP/got" "$TMP/right" "and read with 5.0's names"
done_testing
