#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Patterns in the names of markers (-U) that are none, and what the manual says of those that are: without privilege,
# as nothing is probed.
. tests/lib.sh
ebt=$O/ebtrace

refused() { # REQUEST WHY
	for command in trace spans; do
		timeout 60 "$ebt" $command -U "$1" -- true >"$TMP/out" 2>"$TMP/err"
		is "$? $(wc -c <"$TMP/out") $(head -1 "$TMP/err" | sed 's/^ebtrace[a-z ]*: //')" "2 0 -U '$1': $2" "$command -U '$1' is refused with the reason"
	done
}
refused 'p:*_begin~p:end' 'where one marker of a pair has a *, the other has one, too'
refused '*:begin~p:end' 'where one marker of a pair has a *, the other has one, too'
refused 'p:*a*~p:*b*' 'a name of a pair has one * at most'
refused 'p:a?~p:b?' 'the pattern of a pair has no wildcards but *'
refused 'p:*~p:*' 'a span begins and ends at different markers'
refused '*' 'it is not PROVIDER:NAME'
refused ':*' 'it is not PROVIDER:NAME'
refused 'p:*#1' '#N identifies spans; the text of an argument is #N:str'
long=$(printf 'n*%.0s' {1..40})
refused "p:$long" 'it is not PROVIDER:NAME'
for request in 'p:*' '*:*' 'p:[ab]?*' 'p:*__start#0~p:*__done#0' '*:a~*:b'; do
	timeout 60 "$ebt" trace -U "$request" --many --snapshot -p 1 >"$TMP/out" 2>"$TMP/err"
	is "$? $(grep -c 'excludes --pages and --snapshot' "$TMP/err")" "2 1" "'$request' is a request, which only another option refuses"
done
for command in trace spans; do
	"$ebt" $command --help | tr -s ' \n' ' ' | grep -qF "names may be patterns: 'p:*', 'p:*_begin~p:*_end'"
	ok $? "$command --help says that names may be patterns"
done
for shell in bash zsh fish; do
	"$ebt" completion $shell >"$TMP/$shell"
	[ -s "$TMP/$shell" ]
	ok $? "completion for $shell is written"
done
[ "$("$ebt" completion zsh | grep -c 'names may be patterns')" -ge 1 ] && [ "$("$ebt" completion fish | grep -c 'names may be patterns')" -ge 1 ]
ok $? "completions that describe options describe them, too"
done_testing
