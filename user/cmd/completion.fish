# The programs that the user may trace, not kernel threads (PF_KTHREAD).
function __ebtrace_pids
	set -l before (string match -r '^(?:--[a-z-]+=|-[a-z]+)?((?:\d+,)*)' -- (commandline -ct))[2]
	set -l root (test (command id -u) -eq 0; and echo yes)
	for line in (command cat (string match -r '^/proc/\d+$' /proc/*)/stat 2>/dev/null)
		set -l parts (string match -r '^(\d+) \((.*)\) . (?:-?\d+ ){5}(\d+)' -- $line); or continue
		test -n "$root" -o -O /proc/$parts[2]; or continue
		test (math "bitand($parts[4], 0x200000)") -ne 0; and continue
		printf '%s%s\t%s\n' "$before" $parts[2] (string replace -ra '[[:cntrl:]]' '?' -- $parts[3])
	end
end

# What -e can match, also behind '!'.
function __ebtrace_events
	set -l before (string match -r '^(?:--[a-z-]+=|-[a-z]+)?(!?)' -- (commandline -ct))[2]
	string replace -r '^' -- "$before" (__ebtrace_list_of events)
end

# The command or report that the line names before the cursor; fails behind "--".
function __ebtrace_name
	set -l typed (commandline -opc)
	contains -- -- $typed; and return 1
	set -l name ebtrace
	for word in $typed[2..]
		contains -- $word (__ebtrace_words $name | string replace -r '\t.*' ''); or break
		set name "$name $word"
	end
	echo $name
end

# The command whose options and files they are.
function __ebtrace_command
	set -l name (__ebtrace_name); or return
	set -l commands (__ebtrace_list_of commands | string replace \t '')
	while not contains -- $name $commands
		set name (string replace -r ' [^ ]*$' '' $name)
	end
	echo $name
end

function __ebtrace_is
	contains -- "$(__ebtrace_command)" $argv
end

# A command or a report may be here: files come to mind only when a letter was typed.
function __ebtrace_is_word
	set -l name (__ebtrace_name); or return
	test (count (commandline -opc)) -eq (count (string split ' ' $name))
	and test -n "$(__ebtrace_words $name)"
end

function __ebtrace_is_file
	not string match -q -- '-*' (commandline -ct)
	and contains -- "$(__ebtrace_command)" (__ebtrace_list_of files | string replace \t '')
	and begin
		not __ebtrace_is_word
		or test -n "$(commandline -ct)"
	end
end

# The command line behind "--", completed as that of its program.
function __ebtrace_program
	set -l words (commandline -opc) (commandline -ct)
	set -l dashes (contains -i -- -- $words); or return
	complete -C "$(string escape -- $words[(math $dashes + 1)..-2]) $words[-1]"
end

complete -c ebtrace -e
complete -c ebtrace -f
complete -c ebtrace -n 'contains -- -- (commandline -opc)' -k -a '(__ebtrace_program)'
complete -c ebtrace -n __ebtrace_is_word -k -a '(__ebtrace_words (__ebtrace_name))'
complete -c ebtrace -n __ebtrace_is_file -F
