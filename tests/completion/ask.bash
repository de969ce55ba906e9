#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# ask.bash SCRIPT: for each command line of standard input, "LINE<tab>WORD" for each word that bash's
# completion function of the command offers behind its last blank. ASK_TYPE=63: as readline asks when
# it lists what there is.
. /usr/share/bash-completion/bash_completion
# shellcheck source=/dev/null
. "$1"
complete -W "--of-prog" ebt-prog

shopt -s extglob
while IFS= read -r line; do
	COMP_LINE=$line COMP_POINT=${#line} COMP_TYPE=${ASK_TYPE:-9} COMP_KEY=9 COMPREPLY=()
	# As readline does, '=' is a word of its own.
	read -ra COMP_WORDS <<<"${line//=/ = }"
	[[ $line == *[\ =] ]] && COMP_WORDS+=("")
	COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
	function=$(complete -p ebtrace | sed -E 's/.* -F ([^ ]+) .*/\1/')
	"$function" ebtrace "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}" 2>/dev/null
	for word in "${COMPREPLY[@]}"; do
		printf '%s\t%s\n' "$line" "$word"
	done
done
