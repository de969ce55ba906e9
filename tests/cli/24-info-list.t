#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# info counts what the manifest says was recorded; list shows the markers that readelf shows.
. tests/lib.sh
need_command jq
need_command xz

for version in $RELEASES; do
	while IFS=$'\t' read -r name _ _ bytes _ events lines lost _; do
		[ "$name" = name ] && continue
		file=$TMP/$name.events
		xz -dc "tests/data/ocaml-$version/$name.events.xz" >"$file"
		"$O/ebtrace" info --json --ocaml-version $version "$file" >"$TMP/info"
		is $? 0 "$version $name: info succeeds"
		# What OCaml's reader prints and does not count: losses, and names of user events.
		xz -dc "tests/data/ocaml-$version/$name.dump.xz" | awk -F'\t' '$3 == "lost" { l++ } END { print NR - l }' >"$TMP/want"
		custom=$(jq '[.domains[].custom // 0] | add // 0' "$TMP/info")
		dumped=$(xz -dc "tests/data/ocaml-$version/$name.dump.xz" | awk -F'\t' '$3 == "custom" { n++ } END { print n + 0 }')
		is "$(($(jq .events "$TMP/info") - custom + dumped))" "$(cat "$TMP/want")" \
			"$version $name: as many events as OCaml's reader found"
		is "$(jq ".lost_words + .history_words" "$TMP/info")" "$lost" "$version $name: as many lost words"
		is "$(jq '[.domains[] | to_entries[] | select(.key != "domain").value] | add' "$TMP/info")" \
			"$(jq .events "$TMP/info")" "$version $name: the kinds of the domains add up"
		is "$(stat -c %s "$file")" "$bytes" "$version $name: the fixture is that of the manifest"
		rm "$file"
	done <"tests/data/ocaml-$version/manifest.tsv"
done

xz -dc tests/data/ocaml-5.3.0/c-user.events.xz >"$TMP/c-user.events"
"$O/ebtrace" info --ocaml-version 5.3 "$TMP/c-user.events" >"$TMP/info"
for line in 'ring file of ocaml 5.3, process 23894$' 'rings *128 of 8192 words' 'events *253$' 'lost *0 words' \
	'damage *none' 'domain 0 .*begin 30, end 29, counter 5, lifecycle 3, unit 4, int 93' 'time span *0.001138 s'; do
	grep -q "$line" "$TMP/info"
	ok $? "info shows '$line'" || diag "$(cat "$TMP/info")"
done
"$O/ebtrace" info "$TMP/c-user.events" | grep -q '(assumed)'
ok $? "info shows that the release is a guess"
"$O/ebtrace" info -q --fail-on-loss --ocaml-version 5.3 "$TMP/c-user.events" >/dev/null
is $? 0 "info --fail-on-loss: 0 when nothing is lost"

# Markers: provider, name, place, arguments, semaphore.
for binary in "$O/tests/prog/minigc" "$O/libebtrace-probes.so"; do
	readelf -nW "$binary" | awk '
		/Provider:/ { provider = $NF } /Name:/ { name = $2 }
		/Location:/ { at = $2; sub(/^0x0*/, "0x", at); sub(/,$/, "", at); semaphore = $NF !~ /^0x0*$/ }
		/Arguments:/ { sub(/^ *Arguments: */, ""); print provider ":" name, at, semaphore ? "semaphore" : "-", $0 }' |
		sed 's/ *$//' | sort >"$TMP/want"
	"$O/ebtrace" list "$binary" | awk '{ at = $3; semaphore = sub(/,$/, "", at); sub(/^[^ ]+ +at [^ ]+ *(semaphore)? */, "")
		print name[NR] = "", at, semaphore ? "semaphore" : "-", $0 }' >"$TMP/rest"
	"$O/ebtrace" list "$binary" | cut -d' ' -f1 | paste -d' ' - "$TMP/rest" | tr -s ' ' | sed 's/ *$//' | sort >"$TMP/got"
	same_file "$TMP/got" "$TMP/want" "list ${binary##*/} shows the markers that readelf shows"
done
"$O/ebtrace" list /bin/true 2>"$TMP/err"
is "$? $(grep -c 'no markers' "$TMP/err")" "4 1" "a binary without markers: status 4, and a message"
"$O/ebtrace" list /etc/passwd 2>"$TMP/err"
is "$? $(grep -c 'not an ELF file' "$TMP/err")" "1 1" "no binary: status 1, and a message"
# A process of ours and a file that one left, so that there is something to list.
mkdir "$TMP/left"
xz -dc tests/data/ocaml-5.3.0/c-user.events.xz >"$TMP/left/999999999.events"
mkfifo "$TMP/in"
EBTRACE_START=1 EBTRACE_DIR=$TMP/left "$O/tests/prog/minigc" -q -w -n 1 -c /dev/null <"$TMP/in" >/dev/null 2>&1 &
program=$!
children+=("$program")
exec 9>"$TMP/in"
wait_for test -e "$TMP/left/$program.events"
# As that of a second copy of the library: see first_domain in ebtrace/ring.h.
cp "$TMP/left/$program.events" "$TMP/second.events"
perl -e 'open F, "+<", $ARGV[0]; read F, $h, 64; seek F, unpack("x56 Q<", $h) + (1 << 20) + 264, 0; print F pack "Q<", 300' \
	"$TMP/second.events"
is "$("$O/ebtrace" info "$TMP/second.events" | grep -c '  domain 300 lifecycle') $("$O/ebtrace" info --json "$TMP/second.events" |
	jq -c '.domains | map(.domain)')" "1 [300]" "domains are numbered from where the file's begin"
"$O/ebtrace" list --json --ring-dir "$TMP/left" >"$TMP/list"
is $? 0 "list --json succeeds"
jq -es 'length >= 2 and all(.[]; .pid or .stale)' "$TMP/list" >/dev/null
ok $? "list --json is one object a line" || diag "$(head -5 "$TMP/list")"
jq -es --argjson pid $program 'any(.[]; .pid == $pid and .ring and .markers > 0 and .ocaml == null and .comm == "minigc")' \
	"$TMP/list" >/dev/null
ok $? "a process of ours is among them" || diag "$(cat "$TMP/list")"
is "$(jq -r --arg f "$TMP/left/999999999.events" 'select(.stale == $f).removed' "$TMP/list")" false \
	"so is the file of a process that is no more"
is "$("$O/ebtrace" list | awk -v pid=$program '$1 == pid { print $2, $3, $5 }')" "minigc ring markers" \
	"list shows its name, its ring and its markers"
exec 9>&-
done_testing
