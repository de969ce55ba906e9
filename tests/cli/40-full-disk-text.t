#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What a command prints on a full disk: an error, and a status that is not 0. Never does output end without a word.
. tests/lib.sh
need_command xz
need_file /dev/full
ebtrace=$PWD/$O/ebtrace
xz -dc tests/data/ocaml-5.3.0/c-user.events.xz >"$TMP/c.events"
cd "$TMP" || exit 1
for args in "--help" "-?" "--usage" "--version" "version" "help" "help stat" "help mem record" "stat --help" "stat --usage" \
	"mem --help" "mem record --help" "pages --help" "list --help" "info --help" "completion bash" "--json-schema" \
	"stat --json-schema" "mem --json-schema" "pages --json-schema" "info --kernel --json-schema" "info --json-schema" "list --json-schema" "list" \
	"list --events" "list $OLDPWD/$O/tests/prog/minigc" "info c.events" "info --json c.events" "info --kernel" "c.events" \
	"stat c.events" "stat --json c.events" "-f ndjson c.events"; do
	# shellcheck disable=SC2086
	"$ebtrace" $args >/dev/full 2>err
	status=$?
	[ $status != 0 ] && grep -q "^ebtrace: cannot write.*: No space left on device" err
	ok $? "ebtrace $args >/dev/full is an error" || diag "status $status, $(head -3 err)"
done
cd "$OLDPWD" || exit 1
done_testing
