/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The command line, parsed once into one struct. A wrong option, or one that the command does not
 * accept, ends the program with status 2 and a line on stderr, as argp does.
 */
#ifndef CMD_OPTS_H
#define CMD_OPTS_H

#include "cmd/formats.h"
#include "cmd/option_rows.h"
#include "engine/options.h"
#include "format/ebt/span_watch.h"
#include "format/text/text.h"
#include "report/mem/model/diff.h"
#include "report/stat/stat.h"
#include <stdbool.h>
#include <stdint.h>

/* --trigger and its limits. */
struct opts_trigger {
	struct span_rule rule[SPAN_WATCH_RULES];
	unsigned rules; /* 0: no --trigger */
	uint64_t before_ns, after_ns, memory;
	unsigned max;
};

struct opts {
	struct engine_options engine; /* inputs, selection, mode, limits */
	uint64_t given; /* the rows of options, a bit each; private: see opts_given() */
	enum text_time time;
	uint32_t max_stack; /* as of struct session */
	const char *output; /* NULL or "-": stdout */
	uint64_t max_bytes; /* of an output file; 0: no limit */
	unsigned rotate; /* number of files of that size to keep; 0: the limit ends the recording */
	const struct format *format; /* NULL: by the suffix of the output */
	const char *report_format;   /* of mem; NULL: likewise */
	uint64_t interval_ns;	     /* of stat's lines; 0: none */
	bool json;
	bool is_data; /* of a report: its form is no text */
	bool json_schema;
	bool fail_on_loss;
	const char *live_option; /* the first given one that is_live; NULL: none */
	bool prune;
	bool children;	 /* of mem record */
	bool kernel;	 /* describe it */
	bool is_private; /* the output: addresses, paths and command lines concern its user alone */
	enum stat_by by;
	uint32_t top;
	double rate;	      /* of mem record: 0: the default; of mem: 0: not given */
	enum mem_per per;     /* of mem diff */
	bool live;	      /* likewise */
	const char **filters; /* of mem */
	unsigned filter_count;
	const char **wrapper_globs;   /* which `wrappers` has */
	struct mem_wrappers wrappers; /* of mem */
	struct moment at, from, to;   /* since the begin */
	bool events;		      /* list their names */
	struct opts_trigger trigger;
	enum opts_commands command;
};

struct opts_command {
	enum opts_commands command; /* one of them */
	const char *args;	    /* of the usage line */
	const char *doc;	    /* argp's: before and after the options, separated by \v */
};

/* Parses the options of the command. opts_done() frees the arrays of *ret. */
void opts_parse(struct opts *ret, const struct opts_command *cmd, int argc, char **argv);
void opts_done(struct opts *o);
/* Whether the option with a key was given. */
bool opts_given(const struct opts *o, int key);
/* Returns the exit status. */
int opts_print_version(void);

#endif
