#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Set-user-id programs in the tree of a traced program run with the privilege that they would have
# without us, whoever traces: also where they are the next program of a process that may just be held.
. tests/lib.sh
need_root
need_command setpriv
need_file "$O/ebtrace"
chmod 755 "$TMP"
install -m 755 "$O/ebtrace" "$TMP"
install -m 4755 -o 61999 "$(command -v id)" "$TMP/privileged"
user=(setpriv --reuid 61234 --regid 61234 --clear-groups)
RUNS=100

# Each process runs a file that nobody has looked into yet, and then the privileged one.
for i in $(seq $RUNS); do cp "$(command -v env)" "$TMP/env.$i"; done
cat >"$TMP/script" <<END
for i in \$(seq $RUNS); do $TMP/env.\$i $TMP/privileged -u; done
END
said() { sort "$TMP/$1.out" | uniq -c | awk '{ print $1, $2 }'; }

"${user[@]}" sh "$TMP/script" >"$TMP/alone.out"
is "$(said alone)" "$RUNS 61999" "a set-user-id program has its owner's privilege"

# traced NAME ebtrace-AS... -- PROGRAM-AS...
traced() {
	local name=$1 as=()
	shift
	while [ "$1" != -- ]; do as+=("$1"); shift; done
	shift
	(cd / && exec "${as[@]}" "$TMP/ebtrace" -v -f ndjson --mode "$mode" -o /dev/null -- "$@" sh "$TMP/script") \
		>"$TMP/$name.out" 2>"$TMP/$name.err"
	echo $? >"$TMP/$name.status"
}
caps() { user_with=("${user[@]}" --inh-caps "-all$1" --ambient-caps "-all$1" --bounding-set "$2"); }
mode=stream
traced root -- "${user[@]}" &
caps ,+bpf,+perfmon +all
traced capable "${user_with[@]}" -- &
caps "" +all
mode=auto traced user "${user_with[@]}" -- &
wait
for name in root capable user; do
	is "$(cat "$TMP/$name.status") $(said $name)" "0 $RUNS 61999" "and under ebtrace, run by: $name" ||
		diag "$(tail -3 "$TMP/$name.err")"
done
done_testing
