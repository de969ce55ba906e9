/* SPDX-License-Identifier: BSD-2-Clause */
/* The commands with reports. The name of a report is the first word behind that of the command. */
#ifndef CMD_REPORTS_H
#define CMD_REPORTS_H

#include "cmd/commands.h"
#include "cmd/report_form.h"

extern const struct report_list mem_reports, pages_reports, profile_reports;

/* NULL: the command has no reports by name. */
static inline const struct report_list *reports_of(const struct command *c)
{
	return c->options == OPTS_MEM	    ? &mem_reports
	       : c->options == OPTS_PAGES   ? &pages_reports
	       : c->options == OPTS_PROFILE ? &profile_reports
					    : NULL;
}

/* The default report of a command; NULL: its formats are those of events. */
static inline const struct report_row *report_default(const struct command *c)
{
	const struct report_list *l = reports_of(c);
	return l ? l->reports : NULL;
}

#endif
