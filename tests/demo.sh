#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `make demo`: minigc in four threads for about two seconds, traced; a piece of the timeline, the
# summary, and whether every event that it emitted was delivered or reported as lost. Then the pauses
# of a real OCaml program that was started with no preparation, attached to while it runs. Then where
# perl, as Debian ships it, allocates memory.
set -u
O=${O:-build}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

echo "== minigc, 4 domains, 2 s, traced by: ebtrace trace --mode auto"
"$O/ebtrace" trace -v --mode auto -f ndjson -o "$tmp/out.ndjson" -- \
	"$O/tests/prog/minigc" -t 4 -s 2 -r 20000 -u -v -c "$tmp/counts" 2>&1 |
	grep -v "reading the ring '" | sed "s|$tmp/||; s/^/   /"
[ "${PIPESTATUS[0]}" -eq 0 ] || { echo "demo: ebtrace failed" >&2; exit 1; }

# The same program once more, as the text that a person would read: around a major collection.
echo
echo "== the timeline of all domains: ebtrace -e begin -e end -e '!minor_*' -- minigc -t 4"
echo "   [seconds]         process/thread  domain cpu     duration  what"
"$O/ebtrace" -q -e begin -e end -e '!minor_*' -o "$tmp/out.txt" -- \
	"$O/tests/prog/minigc" -q -t 4 -n 60000 -r 20000 -c /dev/null
major=$(awk '/begin major$/ { print NR; exit }' "$tmp/out.txt")
major=${major:-20}
sed -n "$((major > 12 ? major - 12 : 1)),+39p" "$tmp/out.txt" | cut -c1-117 | sed 's/^/   /'
echo "   ..."
tail -1 "$tmp/out.txt" | sed 's/^/   /'
echo
echo "== the summary of the first run"
tail -1 "$tmp/out.ndjson" | sed 's/^/   /'
echo
echo "== emitted by the program = delivered + lost?"
awk '{ n[$2] += $3 } END { for (k in n) print k, n[k] }' "$tmp/counts" | sort >"$tmp/emitted"
jq -r 'select(.ts != null) | .kind' "$tmp/out.ndjson" | sort | uniq -c |
	awk '{ print $2, $1 }' >"$tmp/delivered"
lost=$(jq -s 'map(select(.kind == "summary") | .lost_events) | add // 0' "$tmp/out.ndjson")
status=0
awk -v lost="$lost" '
	FNR == NR { got[$1] = $2; next }
	{
		printf "   %-12s emitted %8d   delivered %8d\n", $1, $2, got[$1]
		emitted += $2; delivered += got[$1]
		if (!lost && $2 != got[$1]) bad = 1
	}
	END {
		printf "   %-12s emitted %8d   delivered %8d   lost %d\n", "all", emitted, delivered, lost
		if (emitted != delivered + lost) bad = 1
		print bad ? "   NOT equal" : "   equal: every event is accounted for"
		exit bad
	}' "$tmp/delivered" "$tmp/emitted" || status=1

# The pauses of an OCaml program that runs already. Its status: whether all went well.
show_ocaml() {
	local root status=0
	if [ "$(id -u)" != 0 ] || ! root=$(tests/root.sh ocaml 2>"$tmp/log"); then
		echo "== no OCaml program is shown: needs root, and $(tail -1 "$tmp/log" 2>/dev/null)"
		return
	fi
	echo "== a running OCaml 5.3 program, its ring off, no restart: ebtrace stat -p PID -d 2s"
	dir=$(mktemp -d "$root/tmp/ebtrace.XXXXXX")
	trap 'kill "${program:-}" 2>/dev/null; rm -rf "$tmp" "$dir"' EXIT
	cp tests/ocaml/trees.ml "$dir"
	chroot "$root" sh -c "cd /tmp/${dir##*/} && ocamlopt -I +unix unix.cmxa trees.ml -o trees" || return 1
	chroot "$root" "/tmp/${dir##*/}/trees" 2 100000 >/dev/null 2>&1 &
	program=$!
	sleep 0.5
	"$O/ebtrace" stat -p "$program" -d 2s -o "$tmp/stat.txt" || status=1
	sed -n '1,45p' "$tmp/stat.txt" | sed 's/^/   /'
	kill "$program" 2>/dev/null
	return $status
}
echo
show_ocaml || status=1

# A program that knows nothing of us, from recording to the picture.
echo
echo "== where perl allocates memory: ebtrace mem record --rate 1e-3 -o words.ctf -- perl; ebtrace mem words.ctf"
"$O/ebtrace" mem record -q --rate 1e-3 -o "$tmp/words.ctf" -- perl -ne '$count{lc $_}++ for /\w+/g;
	push @lines, [split] if /license/i; END { print "   ", scalar(keys %count), " words\n" }' \
	/usr/share/common-licenses/* || status=1
"$O/ebtrace" mem --top 5 "$tmp/words.ctf" | sed 's/^/   /'
"$O/ebtrace" mem flame -o "$O/flame.svg" "$tmp/words.ctf" || status=1
echo
echo "   the same by stack, for a browser: $O/flame.svg"
exit $status
