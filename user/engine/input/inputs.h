/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The inputs that a run reads once: files, pipes and FIFOs. The first bytes of one determine its
 * kind, a row of the table in inputs.c. Only inputs_wait() waits: a pipe is read when the loop
 * finds it readable, and a FIFO without a writer is an input that has not begun, not an empty one.
 * So inputs are added, the loop runs until they are ready, then they are opened as sources.
 */
#ifndef ENGINE_INPUT_INPUTS_H
#define ENGINE_INPUT_INPUTS_H

#include "engine/input/input.h"
#include "stream/pump.h"

struct inputs;

/* 0 or -ENOMEM. The engine and the loop outlive it. */
int inputs_new(const struct engine *e, struct loop *l, struct inputs **ret);
/* Also frees the opened sources. NULL is allowed. */
void inputs_free(struct inputs *ins);

/* Adds a file, FIFO or the like; "-" is standard input. ENGINE_OK, or the reason has been
 * reported. */
enum engine_end inputs_add(struct inputs *ins, const char *path);
/* Adds the current content of the rings of a process, and opens it. ENGINE_OK, or the reason has
 * been reported. */
enum engine_end inputs_add_process(struct inputs *ins, pid_t pid);
/* Runs the loop until all can be opened, or one has failed. 0 or -errno. */
int inputs_wait(struct inputs *ins);
/* Opens all in the order of their addition. ENGINE_OK, or the reason has been reported. */
enum engine_end inputs_open(struct inputs *ins);
/* The input with this index; NULL: beyond the last. */
struct input *inputs_at(struct inputs *ins, unsigned i);
/* Adds the sources to a pump, which must be freed before the inputs. 0 or -errno. */
int inputs_pump(struct inputs *ins, struct pump *p);
/* The set of enum origin of all of them. */
unsigned inputs_origins(const struct inputs *ins);
/* After inputs_wait(): one is a ring file, or may become one. */
bool inputs_have_ring(const struct inputs *ins);
bool inputs_have_pipe(const struct inputs *ins);
/* Reports their damage. ENGINE_FAILED if a source could not be read at all. */
enum engine_end inputs_damage(const struct inputs *ins);

#endif
