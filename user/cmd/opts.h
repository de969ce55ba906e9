/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The command line, parsed once into one struct. Each option is a row that says which commands take
 * it. A wrong one, or one of another command, ends the program with status 2 and a line on stderr,
 * as argp does.
 */
#ifndef CMD_OPTS_H
#define CMD_OPTS_H

#include "cmd/formats.h"
#include "cmd/option_rows.h"
#include "engine/options.h"
#include "sink/stat.h"
#include "sink/text.h"
#include <stdbool.h>
#include <stdint.h>

struct opts {
	struct engine_options engine; /* what is traced, and how */
	enum text_time time;
	bool time_given;
	const char *output; /* NULL or "-": stdout */
	uint64_t max_bytes; /* of an output; 0: no limit */
	unsigned rotate;    /* so many outputs of that size are kept; 0: it ends the recording */
	const struct format *format; /* NULL: as the output is called */
	uint64_t interval_ns;	     /* of stat's lines; 0: none */
	bool json;
	bool json_schema;
	bool fail_on_loss;
	bool prune;
	enum stat_by by;
	uint32_t top;
	bool events; /* list their names */
	enum opts_commands command;
};

struct opts_command {
	enum opts_commands command; /* one of them */
	const char *args;	    /* of the usage line */
	const char *doc;	    /* argp's: before and after the options, separated by \v */
};

/* Parses the options that the command takes. What *ret holds is freed by opts_done(). */
void opts_parse(struct opts *ret, const struct opts_command *cmd, int argc, char **argv);
void opts_done(struct opts *o);

#endif
