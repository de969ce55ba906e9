# The programs that the user may trace, not kernel threads (PF_KTHREAD).
_ebtrace_pids()
{
	local dir stat expl
	local -a pids shown fields
	compset -P '*,'
	for dir in /proc/<1->(N/); do
		((EUID == 0)) || [[ -O $dir ]] || continue
		{ stat=$(<$dir/stat) } 2>/dev/null
		fields=(${(s: :)stat##*\) })
		[[ -z $stat ]] || ((fields[7] & 0x200000)) && continue
		pids+=(${dir:t})
		shown+=("${(V)${stat%\)*}/ \(/  }")
	done
	_wanted -V processes expl process compadd -l -d shown -a pids
}

_ebtrace_events()
{
	local -a reply
	compset -P '(\\|)!'
	_ebtrace_known events
	_describe event reply
}

_ebtrace_rules()
{
	local -a reply
	_ebtrace_known rules
	_describe rule reply
}

_ebtrace_formats()
{
	local -a reply
	_ebtrace_format_words $_ebtrace_name && _describe format reply
}

# Where a command or a report may be, files come to mind only when a letter was typed.
_ebtrace_operands()
{
	local -a reply
	local ret=1
	if ((CURRENT == 2)) && _ebtrace_words $_ebtrace_name; then
		_describe word reply && ret=0
		[[ -n $PREFIX ]] || return ret
	fi
	_ebtrace_known files
	[[ -n ${(M)reply:#$_ebtrace_command} ]] && _files && ret=0
	return ret
}

_ebtrace()
{
	local _ebtrace_name=ebtrace _ebtrace_command
	local -a reply
	integer dashes=${words[(i)--]}
	if ((dashes < CURRENT)); then
		shift $dashes words
		((CURRENT -= dashes))
		_normal
		return
	fi

	# The command or report that the line names, and the command, whose options they are.
	while ((CURRENT > 2)) && _ebtrace_words $_ebtrace_name &&
		[[ -n ${(M)reply:#${(b)words[2]}(|:*)} ]]; do
		_ebtrace_name+=" $words[2]"
		shift words
		((CURRENT--))
	done
	_ebtrace_command=$_ebtrace_name
	until _ebtrace_options $_ebtrace_command; do
		_ebtrace_command=${_ebtrace_command% *}
	done
	_arguments -s -S : $reply '*: :_ebtrace_operands'
}

if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
	_ebtrace "$@"
else
	compdef _ebtrace ebtrace
fi
