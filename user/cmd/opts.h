/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The command line: what every command understands, parsed once into one struct. A wrong one ends
 * the program with status 2 and a line on stderr, as argp does.
 */
#ifndef CMD_OPTS_H
#define CMD_OPTS_H

#include "cmd/formats.h"
#include "sink/stat.h"
#include "sink/text.h"
#include <ebtrace/cursor.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#define OPTS_MAX 64 /* of each repeatable option */

enum opts_mode { MODE_AUTO, MODE_RING, MODE_WATERMARK, MODE_STREAM, MODE_PROBES };
enum opts_ring_request { RING_REQUEST_AUTO, RING_REQUEST_ALWAYS, RING_REQUEST_NEVER };
enum opts_attach { ATTACH_AUTO, ATTACH_MULTI, ATTACH_PERF };

struct opts {
	pid_t pids[OPTS_MAX];
	unsigned pid_count;
	char *files[OPTS_MAX];
	unsigned file_count;
	char **program; /* NULL-terminated, or NULL */
	const char *globs[OPTS_MAX];
	unsigned glob_count;
	uint16_t domains[OPTS_MAX];
	unsigned domain_count;
	uint32_t threads[OPTS_MAX];
	unsigned thread_count;
	enum text_time time;
	bool time_given;
	const char *output; /* NULL or "-": stdout */
	uint64_t max_bytes; /* of an output; 0: no limit */
	unsigned rotate;    /* so many outputs of that size are kept; 0: it ends the recording */
	const char *ring_dir;
	const struct format *format; /* NULL: as the output is called */
	enum opts_mode mode;
	enum opts_attach attach;
	enum opts_ring_request ring_request;
	enum ebt_release release;
	uint64_t duration_ns;	  /* 0: no limit */
	uint64_t min_duration_ns; /* 0: none */
	uint64_t interval_ns;	  /* of stat's lines; 0: none */
	uint64_t bpf_buffer_bytes;
	uint64_t buffer_bytes; /* of the backlog of all rings; 0: the default */
	int nice;	       /* as ebtrace was started; a program that it starts gets it */
	rlim_t open_files;     /* soft limit, likewise */
	bool follow;
	bool snapshot;
	bool wait;   /* for something to trace */
	bool counts; /* of events; who saw each and where does not matter */
	bool json;
	bool json_schema;
	bool fail_on_loss;
	bool prune;
	enum stat_by by;
	uint32_t top;
	bool events; /* list their names */
	const char *command;
};

struct opts_command {
	const char *name;
	const char *args; /* of the usage line */
	const char *doc;  /* argp's: before and after the options, separated by \v */
};

size_t opts_buffer(const struct opts *o);	 /* of rings, in bytes */
bool opts_watermarks(const struct opts *o);	 /* of our own markers, those alone */
const char *opts_mode_name(enum opts_mode mode); /* as --mode has it; static */
void opts_parse(struct opts *ret, const struct opts_command *cmd, int argc, char **argv);

#endif
