/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The options, a row each: the commands that accept an option, its type, and its field of struct
 * opts. The command line is parsed once into that struct. A wrong option, or one that the command
 * does not accept, ends the program with status 2 and a line on stderr, as argp does.
 */
#ifndef CMD_OPTS_H
#define CMD_OPTS_H

#include "cmd/commands.h"
#include "cmd/formats.h"
#include "engine/options.h"
#include "format/ebt/span_watch.h"
#include "format/text/text.h"
#include "report/mem/model/diff.h"
#include "report/profile/model/profile.h"
#include "report/spans/model/grouping.h"
#include "report/stat/stat.h"
#include "report/top/rows.h"
#include <stdbool.h>
#include <stdint.h>

/* The keys of options without a letter. */
enum {
	OPT_MIN_DURATION = 256,
	OPT_DOMAIN,
	OPT_MODE,
	OPT_SNAPSHOT,
	OPT_JSON,
	OPT_JSON_SCHEMA,
	OPT_FAIL_ON_LOSS,
	OPT_RING_DIR,
	OPT_BPF_BUFFER,
	OPT_BUFFER,
	OPT_ATTACH,
	OPT_RING_REQUEST,
	OPT_NO_FOLLOW,
	OPT_CHILDREN,
	OPT_NO_REALTIME,
	OPT_RUNTIME_VERSION,
	OPT_PRUNE,
	OPT_INTERVAL,
	OPT_MAX_SIZE,
	OPT_ROTATE,
	OPT_WAIT,
	OPT_TIME,
	OPT_MAX_STACK,
	OPT_EVENTS,
	OPT_BY,
	OPT_TOP,
	OPT_ONCE,
	OPT_SORT,
	OPT_GROUP,
	OPT_TREE,
	OPT_RATE,
	OPT_PER,
	OPT_LIVE,
	OPT_FILTER,
	OPT_AT,
	OPT_WRAPPER,
	OPT_NO_WRAPPERS,
	OPT_FROM,
	OPT_TO,
	OPT_PAGES,
	OPT_TRIGGER,
	OPT_BEFORE,
	OPT_AFTER,
	OPT_MAX,
	OPT_TRIGGER_MEMORY,
	OPT_BLAME,
	OPT_MMU,
	OPT_STACK,
	OPT_KERNEL,
	OPT_USAGE,
	OPT_MANY,
	OPT_KERNEL_STACKS,
	OPT_CPU,
	OPT_MEMORY,
	OPT_FIBERS,
	OPT_OFF_CPU,
	OPT_WALL,
};

#define OPTION_ROWS_MAX 128

/* What the argument of an option is, for completion. */
enum option_value {
	OPTION_VALUE, /* a number, a time, a pattern: anything else */
	OPTION_WORDS,
	OPTION_PID,
	OPTION_FILE,
	OPTION_DIR,
	OPTION_EVENT,
	OPTION_RULE,   /* of a trigger */
	OPTION_FORMAT, /* of the command, or of its report */
};

struct option_argument {
	const char *name; /* in --help */
	enum option_value value;
	/* Of OPTION_WORDS, NULL-terminated: in the order of the enum that is parsed; those of a
	 * release are the usual ones. */
	const char *const *words;
	bool is_optional;
};

/* How an argument is read, and what it becomes. */
enum option_into {
	INTO_OWN,    /* parsed by a function of opts.c */
	INTO_TRUE,   /* bool: it has none */
	INTO_FALSE,  /* likewise; true if the option is not given */
	INTO_TEXT,   /* const char * */
	INTO_TEXTS,  /* const char **, one more */
	INTO_WORD,   /* an enum: the number of the word */
	INTO_NUMBER, /* uint32_t, from min to max */
	INTO_SHARE,  /* double, a percentage above 0 */
	INTO_RATE,   /* double, above 0 and at most 1 */
	INTO_TIME,   /* uint64_t, ns */
	INTO_MOMENT, /* struct moment, since the begin */
	INTO_SIZE,   /* uint64_t, bytes */
	INTO_POWER,  /* a size that is a power of two, from least to most */
};

struct option_field {
	enum option_into into;
	unsigned short at;    /* its offset in struct opts */
	unsigned short count; /* of INTO_TEXTS: that of an unsigned, their number */
	long min, max;
	const char *least, *most; /* as it would be given; NULL: any */
	const char *preset;	  /* likewise, of an option that is not given; NULL: zeroes */
	bool is_live;		  /* it means nothing with a FILE */
};

/* In the order of --help. */
struct option_row {
	unsigned commands; /* of enum opts_commands; 0: the heading of a group */
	const char *name;  /* NULL: the key is one more letter of the option above */
	int key;
	const struct option_argument *argument; /* NULL: it has none */
	const char *help;			/* NULL: end of the table */
	int group;				/* of --help, by its number */
	struct option_field field;
};

extern const struct option_row option_rows[];

/* Of a key; never NULL for a key of the table. */
const struct option_row *option_row_of(int key);
/* True if a key is a letter, by which the option can be given, too. */
static inline bool option_is_letter(int key)
{
	return key < OPT_MIN_DURATION;
}

/* The argument of an option, as one command has it: its words may be others. */
const struct option_argument *option_argument(const struct option_row *r,
					      enum opts_commands command);
/* The help text of an option, for one command: its own, or that of all. Static. */
const char *option_help(const struct option_row *r, enum opts_commands command);
/* True if a command accepts an option of the group with this heading. */
bool option_group_has(const struct option_row *heading, enum opts_commands command);

#define OPTION_REFUSAL_BYTES 384
/* True if a command does not accept the option with this key; writes a sentence with the commands
 * that do to why (OPTION_REFUSAL_BYTES). */
bool option_refusal(int key, enum opts_commands command, char *why);

/* --trigger and its limits. */
struct opts_trigger {
	struct span_rule rule[SPAN_WATCH_RULES];
	unsigned rules; /* 0: no --trigger */
	uint64_t before_ns, after_ns, memory;
	unsigned max;
};

struct opts {
	struct engine_options engine; /* inputs, selection, mode, limits */
	/* The rows of options, a bit each; private: see opts_given(). */
	uint64_t given[OPTION_ROWS_MAX / 64];
	enum text_time time;
	uint32_t max_stack; /* as of struct session */
	const char *output; /* NULL or "-": stdout */
	uint64_t max_bytes; /* of an output file; 0: no limit */
	unsigned rotate; /* number of files of that size to keep; 0: the limit ends the recording */
	const struct format *format; /* NULL: by the suffix of the output */
	const char *report_format;   /* of a report; NULL: likewise */
	uint64_t interval_ns;	     /* of stat's lines, and of top's frames; 0: none */
	bool mmu;		     /* of stat: windows of the mutator */
	bool svg;		     /* set by stat: its form is a picture */
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
	enum profile_by profile_by;
	uint32_t hz;	    /* of profile */
	bool off_cpu, wall; /* likewise */
	uint32_t top;
	bool once, tree;      /* of top */
	enum top_column sort; /* likewise */
	enum top_group group; /* likewise */
	double rate;	      /* of mem record: 0: the default; of mem: 0: not given */
	enum mem_per per;     /* of mem diff */
	bool live;	      /* likewise */
	bool compares;	      /* set by mem and profile: the report compares FILEs */
	bool captures;	      /* set by trace: the output is a capture */
	const char **filters; /* of mem */
	unsigned filter_count;
	const char **names; /* of spans: patterns */
	unsigned name_count;
	bool fibers; /* of spans: these in place of spans */
	struct span_grouping spans_by;
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
