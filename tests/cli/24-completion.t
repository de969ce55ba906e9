#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What bash, zsh and fish offer at a Tab: each is asked the same questions, of which --help, `list` and
# messages know the answers.
. tests/lib.sh
need_file /usr/share/bash-completion/bash_completion
need_command zsh
need_command fish
unset XDG_CONFIG_HOME XDG_DATA_HOME
export HOME=$TMP/home
chmod 755 "$TMP"
mkdir -p "$HOME" "$TMP/files/sub" "$TMP/bin"
shells="bash zsh fish"
for shell in $shells; do
	"$O/ebtrace" completion $shell >"$TMP/script.$shell" && [ -s "$TMP/script.$shell" ]
	ok $? "ebtrace completion $shell prints a script"
	"$O/ebtrace" completion $shell | cmp -s - "$TMP/script.$shell"
	ok $? "$shell: it is always the same"
	$shell -n "$TMP/script.$shell" 2>"$TMP/err" && [ ! -s "$TMP/err" ]
	ok $? "$shell: it has no error of syntax" || diag "$(cat "$TMP/err")"
done
if [ "${O##*/}" != asan ]; then # `all` is not built for it
	for made in bash:ebtrace.bash zsh:_ebtrace fish:ebtrace.fish; do
		same_file "$O/completions/${made#*:}" "$TMP/script.${made%%:*}" "make completions writes ${made#*:}"
	done
fi
for arguments in "" tcsh "bash zsh"; do
	# shellcheck disable=SC2086
	"$O/ebtrace" completion $arguments >"$TMP/out" 2>"$TMP/err"
	is "$? $(grep -c 'bash, zsh or fish' "$TMP/err") $(cat "$TMP/out")" "2 1 " "completion '$arguments' is a usage error"
done

# A question is a command line that ends where the cursor is. is_offered "" QUESTION WORD...: what is
# offered are these words and no others; of options, both - and --. has, lacks: these, among others.
questions=() kinds=() answers=()
add() {
	kinds+=("$1") questions+=("$2")
	shift 2
	answers+=("${*//$'\n'/ }")
}
only() { add only "$@"; }
has() { add has "$@"; }
lacks() { add lacks "$@"; }

# The options of each command, with letters, of --help.
options() { grep -oE '^ +(-[^-], )*--[a-z-]+' | tr -s ' ,' '\n' | grep . | sort; }
overview=$("$O/ebtrace" help)
mapfile -t commands < <(awk '/^Commands:/ { on = 1; next } !NF { on = 0 } on' <<<"$overview" | cut -c3-14 | sed 's/ *$//')
is "$(printf '%s, ' "${commands[@]}")" "trace, stat, spans, top, profile, mem, pages, list, info, mem record, help, completion, version, " \
	"help lists the commands"
# shellcheck disable=SC2046
only "ebtrace " $(printf '%s\n' "${commands[@]}" | grep -v ' ')
# shellcheck disable=SC2046
only "ebtrace help " $(printf '%s\n' "${commands[@]}" | grep -v ' ')
has "ebtrace st" stat
has "ebtrace help comp" completion
only "ebtrace completion " bash zsh fish
for command in "" "${commands[@]}" "mem live" "pages heat"; do
	# shellcheck disable=SC2086
	own=$("$O/ebtrace" $command --help | options)
	# shellcheck disable=SC2086
	only "ebtrace ${command:+$command }--" $own
	# shellcheck disable=SC2086
	only "ebtrace ${command:+$command }-q --" $own # whatever is in front
done
lacks "ebtrace list --" --mode --marker -U
lacks "ebtrace stat --" --rotate --filter

# Reports: the names before their helps.
reports() { "$O/ebtrace" "$1" --help | awk '/^ Input:/ { exit } /^  [a-z]/ && !/^  or:/ { print $1 }'; }
for command in mem pages profile; do
	# shellcheck disable=SC2046
	only "ebtrace $command " $(reports $command)
	# shellcheck disable=SC2046
	only "ebtrace help $command " $(reports $command)
	lacks "ebtrace $command -q " $(reports $command)
done
has "ebtrace mem rec" record

# Values: those that a refusal names.
known() { "$O/ebtrace" "$@" -p 1 2>&1 | sed -nE 's/.*known: (.*)/\1/p; s/.* it has: (.*)/\1/p' | tr -d ,; }
values() { # COMMAND OPTION
	local words
	# shellcheck disable=SC2086
	words=$(known $1 $2=_)
	[ -n "$words" ]
	ok $? "$1 $2=_ is refused with what is known: $words"
	# shellcheck disable=SC2086
	only "ebtrace $1 $2=" $words
	[ -n "${3:-}" ] && return
	# shellcheck disable=SC2086
	only "ebtrace $1 $2 " $words
}
for option in --mode --ring-request --attach; do
	values stat $option
	values trace $option
done
values trace --time
values stat --by
values spans --by
values profile --by
values mem --per
values trace --blame optional
values stat --blame optional
values trace --format
for command in mem pages profile; do
	for report in "" $(reports $command | grep -v record); do values "$command${report:+ $report}" --format; done
done
only "ebtrace pages map -f " "$(known pages map -f _)"
only "ebtrace -f " "$(known -f _)"
only "ebtrace stat --ocaml-version " 5.0 5.1 5.2 5.3 5.4 5.5
for release in 5.0 5.5; do
	"$O/ebtrace" info --ocaml-version $release "$TMP/gone" 2>/dev/null
	is $? 1 "the release $release is accepted"
done
has "ebtrace --mode str" stream
lacks "ebtrace --mode str" ring
only "ebtrace stat -d "
only "ebtrace --max-size "
only "ebtrace -t "

# Events.
events=$("$O/ebtrace" list --events | awk '{ print $2 }')
for option in "-e " "--event " "--event=" "--stack="; do
	# shellcheck disable=SC2086
	only "ebtrace $option" $events
	# shellcheck disable=SC2086
	only "ebtrace stat $option" $events
done
has "ebtrace -e min" minor
lacks "ebtrace -e min" major
# shellcheck disable=SC2046
rules=$("$O/ebtrace" list --events | awk '$1 == "phase" || $2 == "pause" { print $2 ">1ms" }')
for line in "ebtrace --trigger " "ebtrace trace -q --trigger="; do
	# shellcheck disable=SC2086
	only "$line" $rules
done
has "ebtrace --trigger pau" "pause>1ms"
lacks "ebtrace --trigger=pau" "minor>1ms" pause
# An argument that is attached to its letter, behind other letters, or excludes.
for line in "-emin" "-qemin" "-qe min" "-e !min" "--event=!min" "stat -e!min"; do
	has "ebtrace $line" minor
	lacks "ebtrace $line" major begin --mode
done
has "ebtrace -fte" text
lacks "ebtrace -fte" json
only "ebtrace --rate=" # which trace does not have

# Files and directories.
touch "$TMP/files/alpha.ebt" "$TMP/files/statement.ebt" "$TMP/files/sub/gamma"
for line in "info al" "list al" "stat al" "trace al" "al" "-o al" "--output=al" "mem al" "mem live al" "pages al" \
	"mem record -o al" "stat -q al" "-p 1 al"; do
	has "ebtrace $line" alpha.ebt
done
has "ebtrace stat" stat statement.ebt
lacks "ebtrace version al" alpha.ebt
lacks "ebtrace --mode al" alpha.ebt
has "ebtrace info " alpha.ebt
lacks "ebtrace info " trace
has "ebtrace --ring-dir s" sub
has "ebtrace list --ring-dir=s" sub
lacks "ebtrace --ring-dir " alpha.ebt

# A process that runs, and no thread of the kernel.
cp "$(command -v sleep)" "$TMP/bin/ebt sleeper)"
"$TMP/bin/ebt sleeper)" 600 &
children+=($!)
pid=$!
for line in "-p " "--pid=" "stat -p " "list -p " "mem record -p " "info --pid " "-p${pid:0:1}" "-p 1," "--pid=1,2,"; do has "ebtrace $line" $pid; done
[ "$(cat /proc/2/comm 2>/dev/null)" = kthreadd ] && lacks "ebtrace -p " 2 "$(pgrep -P 2 | head -1)"

# The program's own command line. (Its completion is in the scripts that ask.)
printf '#!/bin/sh\n' >"$TMP/bin/ebt-prog"
chmod 755 "$TMP/bin/ebt-prog"
for line in "" "stat " "mem record -o x " "-e minor "; do
	only "ebtrace $line-- ebt-prog --o" --of-prog
	has "ebtrace $line-- ebt-pr" ebt-prog
	lacks "ebtrace $line-- ebt-prog -" --mode --output -o
done

# ask SHELL FILE: answers to the questions of a file, in which an option has no '=' and no backslash, a
# directory no '/', and an argument nothing that was typed in front of it.
ask() {
	local top=$PWD
	(cd "$TMP/files" && PATH=$TMP/bin:$PATH timeout 300 "$1" "$top/tests/completion/ask.$1" "$TMP/script.$1") <"$2" |
		awk -F'\t' -v OFS='\t' '{
			n = split($1, typed, " ")
			if ($2 ~ /=./) sub(/^--[a-z-]+=/, "", $2)
			if (typed[n] ~ /^-q?[efp]./) sub(/^-q?[efp]/, "", $2)
			if (typed[n] ~ /[,!]/) sub(/^([0-9,]+,|!)/, "", $2)
			sub(/[=\/ ]$/, "", $2); gsub(/\\/, "", $2)
			print
		}'
}
# To ask for options is to ask for those with one dash and with two.
printf '%s\n' "${questions[@]}" | sed -E 'p; s/ --$/ -/' | sort -u >"$TMP/questions"

# judge SHELL KIND LINE WORD...: what of these is offered, and for `only` what else is.
judge() {
	local shell=$1 kind=$2 line=$3 word missing='' other=''
	shift 3
	local offered=" ${offers["$line"]-} " wanted=" $* "
	for word; do [[ $offered == *" $word "* ]] || missing+=" $word"; done
	for word in ${offers["$line"]-}; do [[ $wanted == *" $word "* ]] || other+=" $word"; done
	case $kind in
	only) is "missing$missing, other$other" "missing, other" "$shell: '$line' has exactly: $*" ;;
	has) is "missing$missing" missing "$shell: '$line' has $*" ;;
	lacks) is "missing$missing" "missing${*:+ $*}" "$shell: '$line' has none of $*" ;;
	esac
}
declare -A offers
for shell in $shells; do
	ask $shell "$TMP/questions" >"$TMP/answers.$shell"
	offers=()
	while IFS=$'\t' read -r line word _; do
		offers["$line"]+=" $word"
		[[ $line == *" -" ]] && offers["$line-"]+=" $word"
	done <"$TMP/answers.$shell"
	for i in "${!questions[@]}"; do
		read -ra words <<<"${answers[i]}"
		judge $shell "${kinds[i]}" "${questions[i]}" "${words[@]}"
	done
done

echo "ebtrace -p " | ASK_TYPE=63 bash tests/completion/ask.bash "$TMP/script.bash" >"$TMP/listed" 2>&1
grep -qxF "$(printf 'ebtrace -p \t%s (ebt sleeper))' $pid)" "$TMP/listed"
ok $? "bash shows the name of a process where it lists them" || diag "$(grep -F "$pid" "$TMP/listed")"
grep -q "^ebtrace -p $(printf '\t')$pid\$" "$TMP/answers.bash"
ok $? "and has the pid alone where it inserts one"

printf 'ebtrace --trigger %s\n' "pau" "'pau" >"$TMP/question"
bash tests/completion/ask.bash "$TMP/script.bash" <"$TMP/question" >"$TMP/quoted"
is "$(cut -f2 "$TMP/quoted" | paste -sd' ')" 'pause\>1ms pause>1ms' "bash: a rule is quoted, unless it is already"
# What is described, and how.
for shell in zsh fish; do
	grep -qP "^ebtrace -p \t$pid\t.*ebt sleeper\)" "$TMP/answers.$shell"
	ok $? "$shell shows the name of a process" || diag "$(grep -P "^ebtrace -p \t$pid" "$TMP/answers.$shell")"
	grep -qP "^ebtrace \tstat\t.*pause percentiles" "$TMP/answers.$shell"
	ok $? "$shell shows what a command is for"
	grep -qP "^ebtrace -e \tminor\t.*phase" "$TMP/answers.$shell"
	ok $? "$shell shows what an event is"
	grep -qP "^ebtrace stat --\t--mode\t.*auto, ring" "$TMP/answers.$shell"
	ok $? "$shell shows what an option is for"
done

# Each shell loads the script from its own folder when it is needed.
mkdir -p "$TMP/fpath" "$TMP/user/completions" "$HOME/.config/fish/completions" "$TMP/loaded"
cp "$TMP/script.zsh" "$TMP/fpath/_ebtrace"
cp "$TMP/script.bash" "$TMP/user/completions/ebtrace"
cp "$TMP/script.fish" "$HOME/.config/fish/completions/ebtrace.fish"
echo "fpath=($TMP/fpath \$fpath)" >"$TMP/autoload"
mv "$TMP"/script.* "$TMP/loaded"
echo "BASH_COMPLETION_USER_DIR=$TMP/user; _completion_loader ebtrace" >"$TMP/script.bash"
: >"$TMP/script.zsh" >"$TMP/script.fish"
ln -s "$PWD/$O/ebtrace" "$TMP/bin" # fish has none of what is no command
echo "ebtrace stat --mode " >"$TMP/question"
for shell in $shells; do
	is "$(EBT_BEFORE=$TMP/autoload ask $shell "$TMP/question" | wc -l)" 6 "$shell loads the script by itself"
done
mv "$TMP"/loaded/* "$TMP"

# Another user is offered his own processes.
if [ "$(id -u)" = 0 ]; then
	setpriv --reuid 65534 --clear-groups sleep 600 &
	children+=($!)
	theirs=$!
	echo "ebtrace -p " >"$TMP/pids"
	wait_for grep -q '^Uid:.65534' /proc/$theirs/status
	cp tests/completion/ask.* "$TMP" && chmod 644 "$TMP"/ask.* "$TMP"/script.*
	mkdir -m 777 "$TMP/nobody"
	for shell in $shells; do
		(cd "$TMP/files" && HOME=$TMP/nobody setpriv --reuid 65534 --clear-groups $shell "$TMP/ask.$shell" "$TMP/script.$shell") \
			<"$TMP/pids" | cut -f2 | grep -xE "$pid|$theirs" | sort -u >"$TMP/out"
		is "$(cat "$TMP/out")" "$theirs" "$shell: a user is offered his own processes"
	done
fi
done_testing
