#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Standard descriptors that are closed: no file of ebtrace's takes their number, and so no message goes
# into one; the program that it starts finds them closed.
. tests/lib.sh
gc=$O/tests/prog/minigc

# run FD COMMAND...: with that descriptor closed. Its name in a test.
run() {
	local fd=$1
	shift
	case $fd in
	0) "$@" <&- ;;
	1) "$@" >&- ;;
	2) "$@" 2>&- ;;
	esac
}
names=("standard input" "standard output" "standard error")
cat >"$TMP/look" <<'END'
exec 9>"$0.closed"
for fd in 0 1 2; do [ -e /proc/$$/fd/$fd ] || printf '%s ' $fd >&9; done
exec "$@"
END
modes=ring
[ "$(id -u)" = 0 ] && modes="ring stream"
# The program runs for a quarter of a second: what the shell starts is not watched in its first ms.
for fd in 0 1 2; do
	for mode in $modes; do
		rm -f "$TMP"/look.closed "$TMP"/out*
		run $fd "$O/ebtrace" -v --mode $mode -f ndjson -o "$TMP/out" -- \
			sh "$TMP/look" "$gc" -q -t 1 -n 500 -r 2000 -c /dev/null >"$TMP/said" 2>&1
		is $? 0 "$mode: ${names[fd]} is closed: the program is traced" || diag "$(cat "$TMP/said")"
		is "$(cat "$TMP/look.closed")" "$fd " "$mode: the program finds ${names[fd]} closed"
		jq -es '[.[] | select(.kind == "begin")] | length > 0' "$TMP/out" >/dev/null
		ok $? "$mode: the output holds events, and nothing but JSON" || diag "$(grep -v '^{' "$TMP/out" | head -3)"
	done
done

# Without -v there is one message as well, that of the totals.
xz -dc tests/data/ocaml-5.3.0/c-user.events.xz >"$TMP/1.events"
ends_with 0 "$O/ebtrace" -q -f ndjson "$TMP/1.events" -o "$TMP/want"
run 2 "$O/ebtrace" -f ndjson "$TMP/1.events" -o "$TMP/got" >/dev/null
same_file "$TMP/got" "$TMP/want" "a conversion with standard error closed is as it is without"
(exec >&-; "$O/ebtrace" "$TMP/1.events" 2>"$TMP/err")
is "$? $(grep -c 'cannot write .standard output.: Bad file descriptor' "$TMP/err")" "1 1" \
	"text for a closed standard output is an error"
"$O/ebtrace" - <&- >/dev/null 2>"$TMP/err"
is "$? $(grep -c "standard input" "$TMP/err")" "1 1" "and so is reading a closed standard input"
done_testing
