/* SPDX-License-Identifier: BSD-2-Clause */
/* One input of a run, and the table of functions of a kind of input. */
#ifndef ENGINE_INPUT_INPUT_H
#define ENGINE_INPUT_INPUT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/file_id.h"
#include "engine/context.h"
#include "engine/loop.h"
#include "stream/source.h"

#define INPUT_HEAD_BYTES 16 /* that determine the kind */

struct inputs;
struct input_info;

struct input {
	const char *path;	       /* as the user named it */
	const char *name;	       /* for messages */
	int fd;			       /* at its begin, or behind the head; -1 after open() */
	struct source *source;	       /* set by open(); may be shared with an earlier input */
	const struct input_kind *kind; /* NULL: not known yet */
	/* The bytes that were read so far from a pipe. */
	uint8_t head[INPUT_HEAD_BYTES];
	size_t head_bytes;
	bool is_pipe;	 /* or a socket or a terminal */
	bool alone;	 /* there is no other input */
	bool ready;	 /* open() may be called */
	bool guessed;	 /* its release was guessed from its content */
	bool recognised; /* its head is that of its kind; else it is opened as a ring file */
	/* private: */
	const char *foreign; /* what it is, if no input can be that; NULL */
	bool is_stdin;
	bool is_regular; /* id is known */
	struct file_id id;
	struct inputs *inputs;
	struct loop_fd watch;
	int copy_fd; /* memory that a pipe is copied to; -1 */
	uint64_t copied_bytes;
};

/* A kind of input. */
struct input_kind {
	unsigned origin;	   /* of enum origin */
	enum timebase_clock clock; /* of its times, unless it names another one */
	bool at_offsets;	   /* is read with pread(): a pipe is copied to memory first */
	bool (*recognise)(const void *head, size_t bytes);
	/*
	 * Opens an input that is ready, and owns its descriptor, also on failure. *source: in, the
	 * source of the last input of this kind, or NULL; out, that of this one, which may be the
	 * same. ENGINE_OK, or the reason has been reported.
	 */
	enum engine_end (*open)(const struct engine *e, struct input *in, struct source **source);
	/* Reports the damage that a source found. False: it could not be read at all. */
	bool (*damage)(const struct messages *r, struct source *source);
	/*
	 * Instead of open(): describes an input that is ready, the only one, and owns its
	 * descriptor. ret is all zero; the caller frees ret->by_domain. ENGINE_OK, or the reason
	 * has been reported.
	 */
	enum engine_end (*info)(const struct engine *e, struct loop *l, struct input *in,
				struct input_info *ret);
};

#endif
