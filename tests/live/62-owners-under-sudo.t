#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Whose the outputs are: of the user who typed sudo, so that a browser of theirs can open them; and for the
# owner alone where they hold addresses, or names of programs that were not asked for.
. tests/lib.sh
need_root
need_command setpriv
[ -e /sys/kernel/tracing/trace ] || mount -t tracefs none /sys/kernel/tracing ||
	skip_all "tracefs cannot be mounted"
minigc="$O/tests/prog/minigc -q -t 1 -n 100 -c /dev/null"
umask 022
chmod 755 "$TMP"
install -m 755 "$O/ebtrace" "$O/tests/prog/minigc" "$O/libebtrace-preload.so" "$TMP"
mkdir -m 777 "$TMP/dir"
out=$TMP/dir/out
of() { stat -c %u:%g:%a "$1"; }
# made "what" OWNER FILE [VARIABLE=VALUE...] COMMAND...: the file that it makes.
made() {
	rm -rf "$TMP"/dir/*
	env "${@:4}" >"$TMP/printed" 2>"$TMP/err"
	is "$? $(of "$3")" "0 $2" "$1: $2" || diag "$(cat "$TMP/err")"
}
sudo="SUDO_UID=65534 SUDO_GID=65533"
ebtrace="$TMP/ebtrace -q"
# shellcheck disable=SC2086
{
	made "a trace" 0:0:644 "$out.ndjson" -u SUDO_UID $ebtrace --mode ring -o "$out.ndjson" -- $minigc
	for option in --stack=begin --blame --pages; do
		made "a trace with $option" 0:0:600 "$out.ndjson" -u SUDO_UID $ebtrace $option -o "$out.ndjson" -- $minigc
	done
	made "stat --blame" 0:0:600 "$out.json" -u SUDO_UID "$TMP/ebtrace" stat -q --blame -o "$out.json" -- $minigc
	made "pages of a program" 0:0:600 "$out.json" -u SUDO_UID "$TMP/ebtrace" pages -q -o "$out.json" -- $minigc
	"$TMP/ebtrace" mem record -q --rate 1 -o "$TMP/own.ctf" -- true
	install -m 644 "$TMP/own.ctf" "$TMP/all.ctf"
	for report in hotspots "hotspots --json" flame; do
		made "mem $report" 0:0:600 "$out.txt" -u SUDO_UID "$TMP/ebtrace" mem $report -q -o "$out.txt" "$TMP/all.ctf"
	done
	made "what is made of a file that its owner alone may read" 0:0:600 "$out.ndjson" -u SUDO_UID \
		$ebtrace -o "$out.ndjson" "$TMP/own.ctf"
	made "what is made of a file for all" 0:0:644 "$out.ndjson" -u SUDO_UID $ebtrace -o "$out.ndjson" "$TMP/all.ctf"
	made "a trace by sudo" 65534:65533:644 "$out.ndjson" $sudo $ebtrace -o "$out.ndjson" -- $minigc
	made "a trace with stacks by sudo" 65534:65533:600 "$out.ebt" $sudo $ebtrace --stack=begin -o "$out.ebt" -- $minigc
	made "a report by sudo" 65534:65533:644 "$out.txt" $sudo "$TMP/ebtrace" stat -q -o "$out.txt" -- $minigc
	made "a capture of --trigger by sudo" 65534:65533:600 "$out.1.ebt" $sudo $ebtrace --blame \
		--trigger 'minor*>1ns' --max 1 --after 1ms -o "$out.ebt" -- $minigc
	made "what is recorded by sudo" 65534:65533:600 "$out.ctf" $sudo "$TMP/ebtrace" mem record -q --rate 1 -o "$out.ctf" -- true
	made "a number that is none" 0:0:644 "$out.ndjson" SUDO_UID=65534x SUDO_GID=1 $ebtrace -o "$out.ndjson" -- $minigc
	made "a number that no user has" 0:0:644 "$out.ndjson" SUDO_UID=4294967295 SUDO_GID=1 $ebtrace -o "$out.ndjson" -- $minigc
	made "a user who claims to be root" 65532:65532:644 "$out.ndjson" SUDO_UID=0 SUDO_GID=0 \
		setpriv --reuid 65532 --regid 65532 --clear-groups $ebtrace --mode ring -o "$out.ndjson" -- \
		"$TMP/minigc" -q -t 1 -n 100 -c /dev/null

	# Once more, on the file that is there.
	made "a trace by sudo" 65534:65533:644 "$out.ndjson" $sudo $ebtrace -o "$out.ndjson" -- $minigc
	number=$(stat -c %i "$out.ndjson")
	exec 7<"$out.ndjson"
	env $sudo $ebtrace -o "$out.ndjson" -- $minigc
	[ "$(stat -c %i "$out.ndjson")" != "$number" ]
	is "$? $(of "$out.ndjson")" "0 65534:65533:644" "the next run by sudo replaces it by one of the same user"
	exec 7<&-
	for i in 1 2 3; do env $sudo $ebtrace -o "$out.ebt" --max-size 1M --rotate 3 -- $minigc; done 2>"$TMP/err"
	is "$? $(of "$out.2.ebt")" "0 65534:65533:644" "older files are kept, too" || diag "$(cat "$TMP/err")"
}
done_testing
