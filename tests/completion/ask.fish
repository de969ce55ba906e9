# SPDX-License-Identifier: BSD-2-Clause
# ask.fish SCRIPT: for each command line of standard input, "LINE<tab>WORD<tab>DESCRIPTION" for each
# word that fish offers behind its last blank.
source $argv[1]
complete -c ebt-prog -f -l of-prog
while read line
	for answer in (complete -C $line)
		printf '%s\t%s\n' $line $answer
	end
end
