#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The options that need no live process: help, mistakes, what passes, formats, statuses, schema.
. tests/lib.sh
need_command jq
need_command xz
for f in c-user d-wrapped b-domains4 k-default-e16 g-instr; do
	xz -dc "tests/data/ocaml-5.3.0/$f.events.xz" >"$TMP/$f.events"
done
user=$TMP/c-user.events
ebt() { "$O/ebtrace" --ocaml-version 5.3 "$@"; }
json() { ebt -f ndjson "$@"; }
select_events() { jq -c 'select(.ts != null and .kind != "lost")' | sed 's/"pid":[0-9]*,//'; }

for command in trace top mem pages list info; do
	"$O/ebtrace" $command --help >"$TMP/out" 2>"$TMP/err"
	is $? 0 "$command --help succeeds"
	grep -q '^Examples:' "$TMP/out" && grep -q "^  .*ebtrace.* " "$TMP/out"
	ok $? "$command --help has examples"
done
for flag in -V --version "list -V" "info --version" "-q -V"; do
	# shellcheck disable=SC2086
	"$O/ebtrace" $flag | grep -Eq '^ebtrace [0-9]+\.[0-9]+'
	ok $? "$flag prints the version"
done

# The commands, as `help` lists them; the help of each in three ways.
mapfile -t commands < <("$O/ebtrace" help | sed -n '/^Commands:/,/^$/s/^  \(.\{12\}\).*/\1/p' | sed 's/ *$//')
is "${#commands[@]}" 13 "help lists the commands"
"$O/ebtrace" help | grep -q '^Examples:' && "$O/ebtrace" help | grep -q 'ebtrace help COMMAND'
ok $? "help has examples, and names the help of commands"
for command in "${commands[@]}"; do
	# shellcheck disable=SC2086
	"$O/ebtrace" $command --help >"$TMP/help" 2>"$TMP/err"
	is "$? $(cat "$TMP/err")" "0 " "$command --help succeeds"
	for way in "$command -h" "$command -?" "help $command"; do
		# shellcheck disable=SC2086
		"$O/ebtrace" $way >"$TMP/out" 2>"$TMP/err"
		is "$? $(cat "$TMP/err")" "0 " "$way succeeds"
		same_file "$TMP/out" "$TMP/help" "$way prints the help of $command"
	done
	"$O/ebtrace" --help | grep -qE "^  $command +[A-Za-z]"
	ok $? "--help names $command"
done
# What a command prints of its options is about that command alone, and each group has options.
for command in trace stat top mem "mem record" pages list info; do
	# shellcheck disable=SC2086
	"$O/ebtrace" $command --help | sed -n '/^ [A-Z][a-z ]*:$/,/^Mandatory/p' >"$TMP/out"
	tr -s ' \n' ' ' <"$TMP/out" | grep -oE "(of|for|with|With) (trace|stat|top|mem( record)?|pages|list|info)\b" |
		grep -vw "$command" >"$TMP/others"
	is "$(<"$TMP/others")$(grep -oE '\b(stat|mem|pages)( [a-z]+| --[a-z]+)?: ' "$TMP/out")" "" "$command --help is about no other command"
	is "$(awk 'heading && !/^ +-/ { print heading } { heading = /^ [A-Z][a-z ]*:$/ ? $0 : "" }' "$TMP/out")" "" \
		"$command --help has options in each group"
done
for command in mem pages; do
	is "$("$O/ebtrace" $command --help | grep -c 'perfetto\|ndjson')" 0 "$command --help lists the formats of its reports alone"
done
is "$("$O/ebtrace" trace --help | grep -cE '^  (stat|mem|info|list) ')" 0 "trace --help lists no other commands"
"$O/ebtrace" mem live --help >"$TMP/help"
"$O/ebtrace" help mem live >"$TMP/out"
same_file "$TMP/out" "$TMP/help" "help of a report is that of its --help"
is "$("$O/ebtrace" version)" "$("$O/ebtrace" --version)" "version prints what --version does"
every=$(printf '%s, ' "${commands[@]}" | sed -E 's/, $//; s/(.*), /\1 and /')
for words in vim "mem vim" "mem live vim"; do
	# shellcheck disable=SC2086
	"$O/ebtrace" help $words >"$TMP/out" 2>"$TMP/err"
	is "$? $(cat "$TMP/out" "$TMP/err")" "2 ebtrace: no such command 'vim'; the commands are $every" \
		"help $words: status 2, and the commands"
done
"$O/ebtrace" help lsit 2>"$TMP/err"
is "$? $(cat "$TMP/err")" "2 ebtrace: no such command 'lsit'; did you mean 'list'?" "help of a misspelt command names it"

# wrong "name" ARGS...: status 2, what is wrong in the first line, a hint.
wrong() {
	local name=$1
	shift
	"$O/ebtrace" "$@" >"$TMP/out" 2>"$TMP/err" </dev/null
	is $? 2 "$name is a usage error: status 2"
	grep -q '^[^ ]*ebtrace[ a-z]*: ' <(head -1 "$TMP/err") && grep -q -- "--help" "$TMP/err" &&
		[ "$(wc -l <"$TMP/err")" -le 2 ] && [ ! -s "$TMP/out" ]
	ok $? "$name: a line, and where help is" || diag "$(cat "$TMP/err")"
}
wrong "an unknown option" --bogus
wrong "a pid that is no number" -p abc
wrong "a pid of 0" -p 0
wrong "a time without sense" -d soon -p 1
wrong "an unknown unit of time" -d 5parsecs -p 1
wrong "a negative time" -d -5 -p 1
wrong "a time that is smaller than any number" -d 1e-400 -p 1
wrong "a time that is larger than any number" -d 1e400 -p 1
wrong "an unknown mode" --mode fast -p 1
wrong "an unknown format" -f xml "$user"
wrong "an unknown release" --ocaml-version 4.14 "$user"
wrong "a domain that is no number" --domain x "$user"
wrong "a buffer that is no power of two" --bpf-buffer 5000 -p 1
wrong "a buffer below 4K" --bpf-buffer 2K -p 1
wrong "a buffer above 1G" --bpf-buffer 2G -p 1
wrong "a domain beyond the largest" --domain 4096 "$user"
for rate in 0 -1e-3 1e-13 1.0001 2 nan; do
	"$O/ebtrace" mem record --rate "$rate" -- true 2>"$TMP/err"
	is "$? $(grep -c "'$rate' is not a rate (like 1e-5, above 0 and at most 1)" "$TMP/err")" "2 1" "a rate of $rate is refused"
done
wrong "a word for version" version now
wrong "an unknown shell" completion tcsh
wrong "nothing to trace"
wrong "a process and a file" -p 1 "$user"
wrong "a program and a file" "$user" -- true
wrong "info of nothing" info
wrong "an unknown option of list" list --bogus
# The commands that take an option, and what is refused by the others, which say so.
for command in trace stat spans top profile mem pages list info; do "$O/ebtrace" $command --help >"$TMP/$command.help"; done
of() { # COMMANDS OPTION [ARGUMENT]; mem_record: mem record
	local command takers
	takers=$(sed -E 's/ /, /g; s/(.*), /\1 and /; s/_/ /' <<<"$1")
	for command in trace stat spans top profile mem pages list info; do
		grep -qE -- "^ +(-., )?$2(=|\[| |\$)" "$TMP/$command.help"
		shown=$?
		case " $1 " in
		*" $command "*) ok $shown "$command --help shows $2" ;;
		*)
			"$O/ebtrace" $command "${@:2}" "$user" >"$TMP/out" 2>"$TMP/err"
			[ $? = 2 ] && [ $shown = 1 ] && [ ! -s "$TMP/out" ] &&
				grep -q -- "$2 is an option of $takers, not of $command" "$TMP/err"
			ok $? "$command refuses $2, and its message names $takers" ||
				diag "$(cat "$TMP/err")"
			;;
		esac
	done
}
of "stat spans top mem" --interval 1s
of "stat" --mmu
wrong "another argument of --by" spans --by thread -p 1
wrong "an argument that no marker has" spans --by '#12' -p 1
of "stat spans top profile mem pages" --top 3
of "stat spans profile" --by program
of "profile" --freq 99
of "profile" --kernel-stacks
of "trace stat spans top" --cpu 5%
of "trace stat spans top" --memory 100M
of "mem" --filter size=1
of "mem pages" --at 1s
of "pages" --from 1s
of "pages" --to 1s
of "list" --events
of "list" --prune
of "trace" --time wall
of "trace stat spans top profile mem pages" --format text
of "trace" --max-size 1M
of "trace" --rotate 2
of "trace" --trigger "pause>1s"
of "trace" --max 3
of "trace stat" --snapshot
of "trace stat spans top profile mem pages mem_record" --duration 1s
of "trace stat" --event minor
of "trace stat spans top profile mem pages mem_record" --output x
of "mem mem_record" --rate 1e-3
of "mem_record" --children
of "mem" --wrapper x
of "mem" --no-wrappers
of "mem" --live
of "trace stat spans top" --mode ring
of "trace stat spans top profile mem pages list info mem_record" --pid 1
of "trace spans profile" --marker a:b
of "trace spans profile" --many
of "trace stat spans top profile mem pages info" --fail-on-loss
of "trace stat spans top info" --ocaml-version 5.3
of "stat spans top profile mem pages list info" --json
of "top" --once
of "top" --sort gc
of "top" --group unit
of "top" --tree
for option in mode ring-request attach; do
	"$O/ebtrace" --$option fast 2>"$TMP/err"
	is "$? $(grep -c "unknown --$option 'fast'; known: auto, " "$TMP/err")" "2 1" \
		"the refusal of --$option fast lists what it may be"
done
for letter in "list -U a:b" "info -d 1s" "stat -f text" "info -o x"; do
	# shellcheck disable=SC2086
	wrong "a letter of another command, $letter," $letter
done
json "$user" $(printf -- '-e minor%.0s* ' {1..100}) | select_events >"$TMP/many"
json "$user" -e 'minor*' | select_events >"$TMP/one"
same_file "$TMP/many" "$TMP/one" "an option may come a hundred times"
for i in {1..100}; do cp "$user" "$TMP/many.$i"; done
is "$(json -q "$TMP"/many.* | tail -1 | jq .events)" 25300 "there may be a hundred files"

# What passes.
json "$user" | select_events >"$TMP/all"
expect() { # "name" JQ-FILTER ARGS...
	local name=$1 filter=$2
	shift 2
	json "$@" "$user" | select_events >"$TMP/got"
	jq -c "select($filter)" "$TMP/all" >"$TMP/want"
	same_file "$TMP/got" "$TMP/want" "$name"
}
expect "-e NAME passes that name" '.name == "minor"' -e minor
expect "-e GLOB passes what matches" '.name // "" | startswith("minor")' -e 'minor*'
expect "-e KIND passes the kind" '.kind == "custom"' -e custom
expect "two -e pass either" '.kind == "int" or .name == "minor"' -e int -e minor
expect "-e !GLOB excludes" '(.name // "" | startswith("minor") | not)' -e '!minor*'
expect "-e GLOB -e !GLOB excludes from what it passes" \
	'(.name // "" | startswith("minor")) and .kind != "end"' -e 'minor*' -e '!end'
expect "--domain passes that domain" '.domain == 1' --domain 1
ebt -q --domain 4095 "$user" >"$TMP/out" 2>&1
is $? 0 "the largest domain is one"
expect "--domain may be repeated" '.domain == 0 or .domain == 1' --domain 1 --domain 0
# Spans: none shorter than the limit, every one that lasts so long, the other kinds untouched.
spans() { # pairs of a stream as "domain name begin end"
	jq -r 'select(.kind == "begin" or .kind == "end") | [.domain, .kind, .name, .ts] | @tsv' |
		awk -F'\t' '$2 == "begin" { s[$1, $3, ++n[$1, $3]] = $4 }
			$2 == "end" && n[$1, $3] { b = s[$1, $3, n[$1, $3]--]; print $1, $3, b, $4 }' | sort
}
for limit in 1us 10us 100us; do
	json "$user" | spans | awk -v l="${limit%us}" '$4 - $3 >= l * 1000' >"$TMP/want"
	json --min-duration $limit "$user" | spans >"$TMP/got"
	same_file "$TMP/got" "$TMP/want" "--min-duration $limit: exactly the phases that last so long"
done
is "$(json --min-duration 10us "$user" | select_events | jq -c 'select(.kind | test("begin|end") | not)' | wc -l)" 0 \
	"--min-duration passes nothing that has no duration"
json --min-duration 10us "$user" | jq -es '[.[] | select(.ts != null).ts] | . == sort' >/dev/null
ok $? "--min-duration keeps the order of time"

# Where to, and how.
for suffix in ndjson jsonl; do
	ebt -q -o "$TMP/out.$suffix" "$user" && [ "$(head -1 "$TMP/out.$suffix" | jq -r .kind)" = header ]
	ok $? "-o FILE.$suffix is NDJSON"
done
for suffix in json chrome; do
	ebt -q -o "$TMP/out.$suffix" "$user" && [ "$(jq -r '.[0].ph' "$TMP/out.$suffix")" = M ]
	ok $? "-o FILE.$suffix is Chrome's trace format"
done
capture=tests/data/capture
for form in "htm html pages:$capture/pages.ebt" "pprof pprof profile:tests/data/profile/laps-new.ebt" "pb.gz pprof mem:$capture/memtrace.ebt"; do
	IFS=' :' read -r suffix format command file <<<"$form"
	"$O/ebtrace" "$command" -q -o "$TMP/out.$suffix" "$file" && "$O/ebtrace" "$command" -q -f "$format" "$file" >"$TMP/want"
	same_file "$TMP/out.$suffix" "$TMP/want" "$command -o FILE.$suffix is $format"
done
ebt -q -o "$TMP/out.txt" "$user" && tail -1 "$TMP/out.txt" | grep -q '^# 253 events, 0 lost'
ok $? "-o FILE.txt is text"
ebt -q -f text -o "$TMP/out.ndjson" "$user" && tail -1 "$TMP/out.ndjson" | grep -q '^# 253 events'
ok $? "-f wins over the suffix"
is "$(ebt -o "$TMP/out.txt" "$user" 2>&1)" "ebtrace: 253 events, 0 lost: $TMP/out.txt" \
	"-o prints on stderr what was written"

# What stands at the place of FILE.
: >"$TMP/open.txt" && chmod 666 "$TMP/open.txt"
(umask 077 && ebt -q -o "$TMP/open.txt" "$user")
is "$(stat -c '%a' "$TMP/open.txt")" 666 "a file that is written again keeps its mode"
ln -s later.txt "$TMP/link.txt"
ebt -q -o "$TMP/link.txt" "$user" && [ -L "$TMP/link.txt" ] && [ -s "$TMP/later.txt" ]
ok $? "a link stays a link, also one to a file that is not there yet"
ebt -o '' "$user" 2>"$TMP/err"
is "$? $(cat "$TMP/err")" "1 ebtrace: cannot write '': No such file or directory" "no name is no file"
ebt -o /dev/full "$user" 2>"$TMP/err"
is "$? $(cat "$TMP/err")" "1 ebtrace: cannot write '/dev/full': No space left on device" \
	"a full disk is reported, and nothing of what would have been written"
if [ "$(id -u)" = 0 ]; then
	: >"$TMP/theirs.txt" && chmod 600 "$TMP/theirs.txt" && chown 65534 "$TMP/theirs.txt"
	ebt -q -o "$TMP/theirs.txt" "$user"
	is "$(stat -c '%a %u' "$TMP/theirs.txt")" "600 65534" "root leaves a file to its owner"
fi

ebt -o "$TMP/nowhere/out" "$user" 2>"$TMP/err"
is "$? $(grep -c "$TMP/nowhere/out" "$TMP/err")" "1 1" "an output that cannot be written: status 1, the path"
ebt "$TMP/nowhere.events" >/dev/null 2>"$TMP/err"
is "$? $(grep -c "nowhere.events" "$TMP/err")" "1 1" "a file that is not there: status 1, its name"
ebt -q --fail-on-loss "$user" >/dev/null
is $? 0 "--fail-on-loss: 0 for a ring that is whole"
ebt -q --fail-on-loss "$TMP/d-wrapped.events" >/dev/null
is $? 3 "--fail-on-loss: 3 for one that wrapped"
ebt -q "$TMP/d-wrapped.events" >/dev/null
is $? 0 "without it a loss is no failure"

# The schema: each line of every kind has what its branch requires, of the declared types, and
# nothing that is not declared.
"$O/ebtrace" --json-schema >"$TMP/schema"
jq -e '."$schema" and (.oneOf | length) >= 14' "$TMP/schema" >/dev/null
ok $? "--json-schema is JSON"
cat "$TMP"/c-user.events "$TMP"/d-wrapped.events >/dev/null
{
	for f in "$TMP"/*.events; do json "$f"; done
	xz -dc tests/data/ocaml-corrupt/tail-huge.events.xz | json - 2>/dev/null
} >"$TMP/lines"
jq -n --slurpfile s "$TMP/schema" '
	def is_a($t): type as $is | ($t | if type == "array" then . else [.] end) |
		any(. == $is or (. == "integer" and $is == "number"));
	$s[0] as $s | ($s.oneOf | map({(.properties.kind.const): .required}) | add) as $need |
	[inputs | . as $line | select(
		($need[.kind] == null) or any($need[$line.kind][]; . as $k | $line | has($k) | not) or
		any(to_entries[]; $s.properties[.key] as $p |
			$p == null or ($p.type and (.value | is_a($p.type) | not))))] |
	.[:3][]' -c "$TMP/lines" >"$TMP/bad"
is "$(cat "$TMP/bad")" "" "every line is valid by the schema"
for kind in header begin end counter lifecycle unit int span_begin span_end custom lost damage summary; do
	jq -e --arg k $kind -n 'first(inputs | select(.kind == $k))' "$TMP/lines" >/dev/null
	ok $? "the schema was tried on $kind"
done
for bad in "--pages --snapshot -p 1" "--pages README.md" "--pages --stack -p 1" "--pages --mode ring -p 1"; do
	# shellcheck disable=SC2086
	"$O/ebtrace" trace $bad >"$TMP/out" 2>"$TMP/err"
	is "$? $(grep -c -- '--pages' "$TMP/err")" "2 1" "trace $bad is a usage error"
done
broken=$(for command in trace stat top mem "mem record" pages list info; do
	# shellcheck disable=SC2086
	"$O/ebtrace" $command --help | awk -v of="$command" '/^[^ ]/ && was ~ /^  / && was !~ /^  or:/ { print of ": " $0 } { was = $0 }'
done)
is "$broken" "" "no line of a --help is longer than 79 characters"
done_testing
