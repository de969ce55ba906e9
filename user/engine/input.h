/* SPDX-License-Identifier: BSD-2-Clause */
/* One input of a run, and what a kind of inputs must tell of itself. */
#ifndef ENGINE_INPUT_H
#define ENGINE_INPUT_H

#include <stddef.h>
#include <stdint.h>

#include "core/source.h"
#include "engine/context.h"
#include "engine/loop.h"

#define INPUT_HEAD_BYTES 16 /* that tell the kind */

struct inputs;
struct input_info;

struct input {
	const char *path;      /* as it was named */
	const char *name;      /* for messages */
	int fd;		       /* at its begin, or behind the head; -1 once it has been opened */
	struct source *source; /* once it has been opened; that of an input before, perhaps */
	const struct input_kind *kind; /* NULL: not known yet */
	/* Of a pipe: what was read already. */
	uint8_t head[INPUT_HEAD_BYTES];
	size_t head_bytes;
	bool is_pipe; /* or a socket or a terminal */
	bool alone;   /* there is no other input */
	bool ready;   /* to be opened */
	bool guessed; /* its release, by its content */
	/* private: */
	bool is_stdin;
	struct inputs *inputs;
	struct loop_fd watch;
	int copy_fd; /* memory that a pipe is copied to; -1 */
	uint64_t copied_bytes;
};

/* A kind of input. */
struct input_kind {
	unsigned origin; /* as outputs call it: of enum origin */
	bool at_offsets; /* is read at offsets, which a pipe has not: it is copied to memory first */
	bool (*recognise)(const void *head, size_t bytes);
	/*
	 * Opens an input that is ready; its descriptor is taken, also on failure. *source: that of
	 * the last input of this kind, or NULL; then, that of this one, which may be the same.
	 * ENGINE_OK, or the reason has been reported.
	 */
	enum engine_end (*open)(const struct engine *e, struct input *in, struct source **source);
	/* Reports what a source has found damaged. False: it could not be read at all. */
	bool (*faults)(const struct report *r, struct source *source);
	/*
	 * Instead of open(): describes an input that is ready, the only one; its descriptor is taken.
	 * ret is all zero; the caller frees ret->by_domain. ENGINE_OK, or the reason has been
	 * reported.
	 */
	enum engine_end (*info)(const struct engine *e, struct loop *l, struct input *in,
				struct input_info *ret);
};

#endif
