#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# The documents: each page of the manual is rendered without a warning, has its parts in their order, and
# refers only to pages that exist; what the tables of the program have is in the pages; sentences are
# short; `help` opens a page; and the pictures are those of this code. tests/live/97-examples.t runs what
# is typed in them.
. tests/lib.sh
for command in man groff script perl jq xz; do need_command $command; done
need_file "$O/man/ebtrace.1"

pages=$(basename -a -s .scd docs/man/*.scd)
name_of() { echo "${1%.*}(${1##*.})"; }
headings() { grep '^# ' "docs/man/$1.scd" | sed 's/^# //'; }
# What man shows of a page, as a terminal of 80 columns has it.
shown() { MANWIDTH=80 man -E UTF-8 -P cat -l "$O/man/$1" 2>/dev/null; }

for page in $pages; do
	MANWIDTH=80 man --warnings -E UTF-8 -P cat -l "$O/man/$page" >"$TMP/out" 2>"$TMP/err"
	is "$? $(<"$TMP/err")" "0 " "$page: man renders it without a warning"
	groff -ww -K utf8 -t -man -T utf8 -z "$O/man/$page" >"$TMP/out" 2>"$TMP/err"
	is "$? $(<"$TMP/err")" "0 " "$page: groff renders it without a warning"
	is "$(head -1 "docs/man/$page.scd")" "$(name_of "$page")" "$page: its title is its name"
	is "$(headings "$page" | head -3 | paste -sd' ')" "NAME SYNOPSIS EXAMPLES" \
		"$page: examples are directly behind the synopsis"
	is "$(headings "$page" | tail -1)" "SEE ALSO" "$page: it ends with what to see also"
	tests/examples.pl "docs/man/$page.scd" "$TMP" >"$TMP/examples"
	is "$? $(grep -c '^[0-9]' "$TMP/examples" | sed 's/^[1-9].*/some/')" "0 some" \
		"$page: it has examples, and marks that are known"
	grep -oE '\*(lib)?ebtrace[a-z-]*\*\([0-9]\)' "docs/man/$page.scd" | tr -d '*' | sort -u >"$TMP/refers"
	is "$(for other in $pages; do name_of "$other"; done | grep -vxFf - "$TMP/refers")" "" \
		"$page: it refers to no page of ours that is not there"
	has=$(sed -n '/^# SEE ALSO/,$p' "docs/man/$page.scd" | grep -c 'ebtrace')
	[ "$has" -gt 0 ]
	ok $? "$page: it names other pages of ours"
done
for page in $pages; do
	[ "$page" = ebtrace.1 ] || grep -qF "*${page%.*}*(${page##*.})" docs/man/ebtrace.1.scd
	ok $? "ebtrace(1) refers to $(name_of "$page")"
done
sections=$(headings ebtrace.1 | paste -sd' ')
[[ $sections == *"EXIT STATUS"*"ENVIRONMENT"* ]]
ok $? "ebtrace(1) has the exit status and the environment"

# A command has a page, and the page has the options of its --help and no others, and its reports.
options() { grep -oE '^ +(-., )*--[a-z-]+' | grep -oE -- '--[a-z-]+' | sort -u; }
for command in $("$O/ebtrace" help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p' | sort -u); do
	case $command in help | completion | version) continue ;; esac
	page=ebtrace-$command.1
	ls "docs/man/$page.scd" >"$TMP/out" 2>&1
	ok $? "$command has a page" || continue
	shown "$page" | sed -n '/^OPTIONS/,/^[A-NP-Z]/p' | options >"$TMP/got"
	"$O/ebtrace" $command --help | options >"$TMP/wanted"
	[ $command != mem ] || { "$O/ebtrace" mem record --help | options >>"$TMP/wanted"
		sort -u -o "$TMP/wanted" "$TMP/wanted"; }
	same_file "$TMP/got" "$TMP/wanted" "$command: its page has the options of its --help"
done
for command in mem pages profile; do
	for report in $("$O/ebtrace" $command --help | awk '/^ Input:/ { exit } /^  [a-z]/ && !/^  or:/ { print $1 }'); do
		shown ebtrace-$command.1 | grep -qE "^ {7}$report|ebtrace $command $report "
		ok $? "the page of $command has $report"
	done
done
for word in $("$O/ebtrace" -f no-such-format x 2>&1 | sed -n 's/.*known: //p' | tr -d ','); do
	shown ebtrace-formats.5 | grep -qE "^ {7}$word \("
	ok $? "ebtrace-formats(5) has $word"
done
# What the libraries export, but for what the headers call by themselves.
for symbol in $(awk '/^ ebt_/ { sub(/@.*/, "", $1); print $1 }' debian/*.symbols | grep -vE '^ebt_(emit_|count_|.*gate$|object_sampler?$)'); do
	grep -q "\b$symbol\b" docs/man/lib*.scd || echo "$symbol"
done >"$TMP/missing"
is "$(<"$TMP/missing")" "" "the pages of the libraries name what these export"
# An entry for something that no table has does not become a page.
printf '@options trace\n@more no-such-option\nText.\n@end\n' | "$O/packaging/man_page" >"$TMP/out" 2>"$TMP/err"
is "$? $(<"$TMP/err")" "1 man_page: no table has 'no-such-option'" "text for an option that is gone is refused"

# Plain sentences.
tests/sentences.pl docs/man/*.scd docs/*.md README.md >"$TMP/means"
is "$? $(awk '$2 > 30 || $4 < 10' "$TMP/means")" "0 " "sentences have at most 30 words in the mean"
diag "$(<"$TMP/means")"
is "$(awk 'END { print NR <= 150 }' README.md)" 1 "README has at most 150 lines"

# help: man where standard output is a terminal and man has the page, else --help.
mkdir -p "$TMP/bin" "$TMP/none" "$TMP/man/man1"
cp "$O"/man/*.1 "$TMP/man/man1"
on_terminal() { # PATH WORDS: what `ebtrace help WORDS` prints on a terminal
	PATH=$1 MANPATH=$TMP/man MANPAGER=cat MANWIDTH=80 TERM=dumb "$(command -v script)" -qec \
		"$(realpath "$O")/ebtrace help $2" /dev/null </dev/null | tr -d '\r'
}
on_terminal "$PATH" stat >"$TMP/out"
grep -q '^EBTRACE-STAT(1)\|^ebtrace-stat(1)' "$TMP/out"
ok $? "help stat opens its page on a terminal" || diag "$(head -3 "$TMP/out")"
on_terminal "$PATH" "mem record" >"$TMP/out"
grep -q '^EBTRACE-MEM(1)\|^ebtrace-mem(1)' "$TMP/out"
ok $? "help mem record opens the page of mem"
"$O/ebtrace" stat --help >"$TMP/help"
"$O/ebtrace" help stat >"$TMP/out"
same_file "$TMP/out" "$TMP/help" "to a file it prints what --help does"
for tool in bash sh; do ln -s "$(command -v $tool)" "$TMP/none"; done
on_terminal "$TMP/none" stat >"$TMP/out"
same_file "$TMP/out" "$TMP/help" "without man it prints what --help does"
rm "$TMP/man/man1/ebtrace-stat.1"
on_terminal "$PATH" stat >"$TMP/out"
same_file "$TMP/out" "$TMP/help" "where man has no such page it prints what --help does"

# The pictures.
docs/layers.pl >"$TMP/layers.svg"
same_file docs/layers.svg "$TMP/layers.svg" "docs/layers.svg is that of these includes (make pictures)"
for file in flame.js flame.css; do
	perl -0ne 'BEGIN { local $/; open $in, "<", "docs/flame.svg"; $svg = <$in> } exit(index($svg, $_) < 0)' user/report/$file
	ok $? "docs/flame.svg has this user/report/$file (make pictures)"
done
xz -dc tests/data/pagetrace/gcbig-p2-go122.pt.xz | "$O/ebtrace" pages -f png - >"$TMP/pages.png"
same_file "$TMP/pages.png" docs/pages.png "docs/pages.png is what this code draws (make pictures)"
for file in $(grep -ohE '\]\([^)#]+\)' README.md | tr -d '])(' | grep -v '^http'); do
	[ -e "$file" ] || echo "$file"
done >"$TMP/missing"
is "$(<"$TMP/missing")" "" "README links to what is there"
for file in $(grep -ohE '\]\([^)#]+\)' docs/*.md | tr -d '])(' | grep -v '^http'); do
	[ -e "docs/$file" ] || echo "$file"
done >"$TMP/missing"
is "$(<"$TMP/missing")" "" "the pages of docs/ link to what is there"
# What docs/*.md name in the tree: a path, or a pattern of one.
grep -ohE '`[^`]+`' docs/*.md | tr -d '`' | grep -E '^(tests|user|usdt-probes|include|bpf|docs|debian|packaging)/[^ ]*$' |
	grep -vE 'NAME|REPORT|NN-|FOLDER' | while read -r path; do
	compgen -G "$path" >/dev/null || compgen -G "${path}*" >/dev/null || echo "$path"
done >"$TMP/missing"
is "$(<"$TMP/missing")" "" "the files that docs/*.md name are there"
done_testing
