/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a run reads once: files, pipes and FIFOs, each of the kind that its first bytes say. A kind is
 * a row of the table in inputs.c. Nothing here waits: a pipe is read when the loop finds it readable,
 * and a FIFO that nobody has opened for writing yet is an input that has not begun, not an empty
 * one. So inputs are added, the loop runs until they are ready, then they are opened as sources.
 */
#ifndef ENGINE_INPUTS_H
#define ENGINE_INPUTS_H

#include "core/pump.h"
#include "engine/input.h"

struct inputs;

/* 0 or -ENOMEM. The engine and the loop outlive it. */
int inputs_new(const struct engine *e, struct loop *l, struct inputs **ret);
/* Frees the sources that were opened, too. NULL is allowed. */
void inputs_free(struct inputs *ins);

/* Adds a file, FIFO or the like; "-" is standard input. ENGINE_OK, or the reason has been reported. */
enum engine_end inputs_add(struct inputs *ins, const char *path);
/* Adds what the rings of a process hold now; it is open at once. Likewise. */
enum engine_end inputs_add_process(struct inputs *ins, pid_t pid);
/* True when all can be opened, or one has failed. */
bool inputs_ready(const struct inputs *ins);
/* Runs the loop until they are. 0 or -errno. */
int inputs_wait(struct inputs *ins);
/* Opens all, in the order in which they were added. ENGINE_OK, or the reason has been reported. */
enum engine_end inputs_open(struct inputs *ins);
/* The input with this index; NULL: there are no more. */
struct input *inputs_at(struct inputs *ins, unsigned i);
/* Adds the sources to a pump, which must be freed before the inputs. 0 or -errno. */
int inputs_pump(struct inputs *ins, struct pump *p);
/* What all of them are: a set of enum origin. */
unsigned inputs_origins(const struct inputs *ins);
bool inputs_have_pipe(const struct inputs *ins);
/* Reports faults. ENGINE_FAILED if a source could not be read at all. */
enum engine_end inputs_faults(const struct inputs *ins);

#endif
