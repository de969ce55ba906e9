#!/bin/zsh
# SPDX-License-Identifier: BSD-2-Clause
# ask.zsh SCRIPT: for each command line of standard input, "LINE<tab>WORD<tab>DESCRIPTION" for each
# word that an interactive zsh, in a pseudo-terminal, offers at a Tab behind it.
zmodload zsh/zpty || exit 1
answers=$(mktemp)
setup=$(mktemp)
trap 'rm -f $answers $setup' EXIT
cat >$setup <<'END'
	PROMPT= RPROMPT=
	[[ -z ${EBT_BEFORE-} ]] || source $EBT_BEFORE
	autoload -Uz compinit && compinit -u -D
	zmodload zsh/zutil
	[[ -z ${EBT_BEFORE-} ]] && source $EBT_SCRIPT
	_ebt_prog() { compadd -- --of-prog }
	compdef _ebt_prog ebt-prog
	# What is added as a match is what is offered.
	compadd() {
		if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then
			builtin compadd "$@"
			return
		fi
		# No name of the function that calls: it passes names of arrays.
		local -a ask_hits ask_shown ask_prefix
		local ask_i
		if ((${@[(I)-d]})); then
			ask_shown=${@[${@[(i)-d]} + 1]}
			[[ $ask_shown == \(* ]] && eval "ask_shown=$ask_shown" || ask_shown=("${(@P)ask_shown}")
		fi
		builtin compadd -A ask_hits -D ask_shown "$@"
		zparseopts -E -a ask_prefix P: p: # of what is inserted
		for ((ask_i = 1; ask_i <= $#ask_hits; ask_i++)); do
			printf '%s\t%s%s\t%s\n' $BUFFER "${${ask_prefix[2]-}%%-}" $ask_hits[ask_i] \
				${ask_shown[ask_i]-} >>$EBT_ANSWERS
		done
		builtin compadd "$@"
	}
	ask() {
		_main_complete
		compstate[insert]= compstate[list]=
		print -rn -- '<answered>' >$TTY
	}
	zle -C ask complete-word ask
	bindkey '^I' ask
	bindkey '^U' kill-whole-line
	print -rn -- '<answered>'
END
export EBT_SCRIPT=$1 EBT_ANSWERS=$answers
zpty shell zsh -f -i
zpty -w shell "source $setup"
zpty -r shell ignored '*<answered>*' || exit 1
while IFS= read -r line; do
	zpty -w -n shell $'\C-u'$line$'\t'
	zpty -r shell ignored '*<answered>*' || exit 1
done
cat $answers
zpty -d shell
