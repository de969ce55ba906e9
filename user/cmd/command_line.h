/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The order of a command line. The words that name a command, and a report of it, may stand behind
 * options: "ebtrace -v stat -p 1" is "ebtrace stat -v -p 1".
 */
#ifndef CMD_COMMAND_LINE_H
#define CMD_COMMAND_LINE_H

/*
 * Moves these words to the begin of argv[1..argc), as far as they come before any other word; what
 * follows "--" stays. A word behind an option that is the name of a file remains one.
 */
void command_line_order(int argc, char **argv);

#endif
