/* SPDX-License-Identifier: BSD-2-Clause */
/* What options exclude and what they need: a table of rules, each with its message. */
#ifndef CMD_OPTION_RULES_H
#define CMD_OPTION_RULES_H

#include "cmd/opts.h"

/* 0, or EXIT_USAGE after a line on stderr: the first rule that the command line breaks. */
int option_rules_check(const struct opts *o);

#endif
