#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# A count of one has its noun in the singular: "1 event", "1 place", "1 block".
. tests/lib.sh
need_command jq
need_command xz
ebtrace=$PWD/$O/ebtrace
data=$PWD/tests/data
xz -dc "$data/ocaml-5.3.0/c-user.events.xz" >"$TMP/c.events"
for name in zero-length-event ring-size-not-pow2 phase-id-8191; do
	xz -dc "$data/ocaml-corrupt/$name.events.xz" >"$TMP/$name.events"
done
for name in single external; do xz -dc "$data/memtrace/$name.ctf.xz" >"$TMP/$name.ctf"; done
for f in "$data"/pagetrace/*.pt.xz; do name=${f##*/}; xz -dc "$f" >"$TMP/${name%.xz}"; done
cd "$TMP" || exit 1
run=("$ebtrace" --ocaml-version 5.3)

"${run[@]}" -e domain_terminate -o one.ebt c.events 2>err
is "$(cat err)" "ebtrace: 1 event, 0 lost: one.ebt" "a capture of one event is reported as that"
"${run[@]}" -e nothing -o none.ebt c.events 2>err
is "$(tail -1 err)" "ebtrace: 0 events, 0 lost: none.ebt" "none are 0 events"
is "$("$ebtrace" one.ebt | tail -1)" "# 1 event, 0 lost" "text ends with the count of its event"
"$ebtrace" info --ocaml-version 5.3 phase-id-8191.events | grep -q 'damage     1 place, at byte 10344$'
ok $? "info counts one damaged place"

# Whatever is printed of these files, 1 is followed by a singular. "1 us" and "1 words/s" have units and no counts.
singular() {
	grep -qP '(?<![\d.,:=x-])1 (?!us\b|(is|was|has|less|others?|bytes? of)\b)[a-z_]+[^s\W]s\b(?![/_])' out || return 0
	diag "$(grep -P '(?<![\d.,:=x-])1 [a-z_]+s\b' out | head -3)"
	return 1
}
for f in *.events *.ctf *.pt *.ebt; do
	for command in trace stat "stat -v" mem "mem live" "mem hotspots" pages "pages damage" "pages owners" "pages churn" \
		"pages lifetimes" "pages occupancy" info; do
		# shellcheck disable=SC2086
		"$ebtrace" $command "$f" >all 2>&1 </dev/null
		grep -vP '^\[' all >out
		singular || wrong+="$command $f; "
	done
done
is "${wrong:-}" "" "no report says \"1 events\""
sites=$("$ebtrace" mem diff --json single.ctf external.ctf | jq '.sites | length')
"$ebtrace" mem diff --top $((sites - 1)) single.ctf external.ctf >out
is "$(tail -1 out)" "1 more site" "mem diff leaves one site out"
"$ebtrace" mem diff --top $((sites - 2)) single.ctf external.ctf >out
is "$(tail -1 out)" "2 more sites" "or two"
cd "$OLDPWD" || exit 1
done_testing
