# The pids of programs that the user may trace, not those of kernel threads (PF_KTHREAD); with their
# names, if the shell lists what there is and inserts nothing (COMP_TYPE '?').
_ebtrace_pids()
{
	local dir status fields name
	for dir in /proc/[1-9]*; do
		((EUID == 0)) || [[ -O $dir ]] || continue
		status=
		IFS= read -r -d '' status 2>/dev/null <"$dir/stat"
		read -ra fields <<<"${status##*) }"
		((fields[6] & 0x200000)) || [[ ! $status ]] && continue
		name=${status#*\(}
		name=${name%)*}
		[[ $COMP_TYPE == 63 ]] && name=" (${name//[^[:print:]]/?})" || name=
		[[ ${dir##*/} == "$cur"* ]] && echo "${dir##*/}$name"
	done
}

# Adds those of the words that begin as the one at the cursor.
_ebtrace_offer()
{
	mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -W "$1" -- "$cur")
}

# Of letters in one word, as -qemin: the first one that has an argument in `letter`, what is up to it in
# `head`, the rest in `tail`. Fails if none has.
_ebtrace_letters()
{
	local i
	[[ $1 == -[!-]* ]] || return
	for ((i = 1; i < ${#1}; i++)); do
		letter=-${1:i:1}
		[[ " ${_ebtrace_options[$command]} " == *" $letter "* ]] || return
		[[ ${_ebtrace_arguments[$letter]-} ]] || continue
		head=${1:0:i+1} tail=${1:i+1}
		return
	done
	return 1
}

# Completes the argument of an option, if the word before the cursor, or in front of '=', is one of the
# command's that has one, or the word at the cursor is a letter with its argument.
_ebtrace_argument()
{
	local kind words letter head tail before= quoted=
	if _ebtrace_letters "$cur" && [[ $tail ]]; then
		prev=$letter cur=$tail before=$head
	elif _ebtrace_letters "$prev" && [[ ! $tail ]]; then
		prev=$letter
	fi
	[[ "${_ebtrace_options[$command]} " == *" $prev"[\ =]* ]] || return
	[[ $split == true ]] && prev+='='
	read -r kind words <<<"${_ebtrace_arguments[$command $prev]-${_ebtrace_arguments[$prev]-}}"
	case $kind:$cur in
	pid:*,*) before+=${cur%,*}, cur=${cur##*,} ;;
	event:!*) before+=! cur=${cur#!} ;;
	rule:[\'\"]*) cur=${cur:1} quoted=yes ;;
	rule:*) cur=${cur//\\/} ;;
	esac
	case $kind in
	'') return 1 ;;
	pid) mapfile -t COMPREPLY < <(_ebtrace_pids) ;;
	event) words=${_ebtrace_known[events]} ;;
	rule) words=${_ebtrace_known[rules]} ;;
	format) words=${_ebtrace_formats[$name]-} ;;
	file) _filedir ;;
	dir) _filedir -d ;;
	esac
	_ebtrace_offer "$words"
	[[ $kind == rule && ! $quoted ]] && COMPREPLY=("${COMPREPLY[@]/>/\\>}")
	[[ ! $before ]] || COMPREPLY=("${COMPREPLY[@]/#/$before}")
}

_ebtrace()
{
	local cur prev words cword split i
	# bash-completion's functions.
	declare -F _init_completion >/dev/null && _init_completion -s || return

	for ((i = 1; i < COMP_CWORD; i++)); do
		[[ ${COMP_WORDS[i]} == -- ]] || continue
		_command_offset $((i + 1))
		return
	done

	# The command or report that the line names, and the command, whose options they are.
	local name=ebtrace at=1 command
	while ((at < cword)) && [[ "${_ebtrace_words[$name]-} " == *" ${words[at]} "* ]]; do
		name+=" ${words[at++]}"
	done
	command=$name
	while [[ ! ${_ebtrace_options[$command]-} ]]; do command=${command% *}; done

	_ebtrace_argument && return
	[[ $split == true ]] && return # an option of other commands
	if [[ $cur == -* ]]; then
		_ebtrace_offer "${_ebtrace_options[$command]}"
		[[ ${COMPREPLY-} == *= ]] && compopt -o nospace 2>/dev/null
		return
	fi
	# Where a command or a report may be, files come to mind only when a letter was typed.
	if ((at == cword)) && [[ ${_ebtrace_words[$name]-} ]]; then
		[[ $cur && ${_ebtrace_files[$command]-} ]] && _filedir
		_ebtrace_offer "${_ebtrace_words[$name]}"
	elif [[ ${_ebtrace_files[$command]-} ]]; then
		_filedir
	fi
} && complete -F _ebtrace ebtrace
