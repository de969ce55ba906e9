#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The text of recorded rings, byte for byte; GOLDEN=rewrite (make golden) writes it anew.
. tests/lib.sh
need_command xz
mkdir -p tests/golden

golden() { # NAME "a sentence" ARGS... < ring
	local name=$1 sentence=$2
	shift 2
	"$O/ebtrace" --ocaml-version 5.3 "$@" - >"$TMP/out" 2>"$TMP/err"
	[ "${GOLDEN:-}" = rewrite ] && cp "$TMP/out" "tests/golden/$name"
	same_file "$TMP/out" "tests/golden/$name" "$sentence"
}
fixture() { xz -dc "tests/data/ocaml-$1.events.xz"; }

golden c-user.txt "phases, counters, user events and spans of a whole ring" < <(fixture 5.3.0/c-user)
golden d-wrapped.txt "a ring that wrapped begins with its loss" < <(fixture 5.3.0/d-wrapped)
golden c-user-min.txt "long spans alone" --min-duration 100us -e begin -e end < <(fixture 5.3.0/c-user)
golden damaged.txt "damage at its place" < <(fixture corrupt/zero-length-event)
golden c-user.ndjson "the same as NDJSON" -f ndjson < <(fixture 5.3.0/c-user)

# Columns: what is under one another in every line begins at the same place.
awk '/^\[/ && substr($0, 17, 1) != " " { exit 1 }' tests/golden/c-user.txt
ok $? "the columns are aligned"
done_testing
