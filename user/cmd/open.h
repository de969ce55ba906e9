/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Opening what the command line names, and saying why it cannot be opened: the cause, and the next
 * thing to try.
 */
#ifndef CMD_OPEN_H
#define CMD_OPEN_H

#include "cmd/opts.h"
#include "codec/capture.h"
#include "proc/process.h"

/* Prints "ebtrace: ..." to stderr, whatever the log level. */
void complain(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* A file of the command line, and what it is, by its content. */
struct input {
	const char *name; /* for messages */
	int fd;		  /* whoever takes the input over closes it */
	bool guessed;	  /* its release, by open_cursor() */
	bool is_capture;  /* else it is taken for a ring file */
	/* Of a capture in a pipe: what was read of it already. */
	uint8_t head[CAPTURE_HEAD_BYTES];
	size_t head_bytes;
};

/* Opens a file, or standard input for "-", for a command. 0, or an exit status after a line on stderr. */
int open_input(const char *path, const char *command, struct input *ret);
/* A cursor on an input that is no capture. 0, or an exit status after a line on stderr. */
int open_cursor(struct input *in, enum ebt_release release, struct ebt_cursor **ret);

/* Says so if nothing tells the release of OCaml that wrote the rings. */
void open_tell_assumed(struct ebt_cursor *c, const char *name);

/* Checks that a process can be looked into. 0, or an exit status after a line on stderr. */
int open_process(pid_t pid, struct process_status *ret);

struct inspect;
/* Says that a process has neither ring nor anything to probe, why, and what to do. */
void open_nothing(struct inspect *in, pid_t pid, bool privileged);

/* The exit status for an errno of opening something. */
int open_status(int err);

#endif
