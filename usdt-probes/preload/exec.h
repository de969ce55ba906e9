/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program that the process is about to run, itself or in a child: decides by its file whether it
 * is recorded, and counts it in the state of the trace, where ebtrace finds out how many programs
 * left no trace of their own. Allocation-free; a child of vfork() may call all of it.
 */
#ifndef EBT_EXEC_H
#define EBT_EXEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ebt_exec {
	uint32_t *counter;  /* NULL: the process is not recorded, nor was its parent */
	bool is_child;	    /* not the recorded process itself */
	bool is_recordable; /* it is to get the variables */
};

/* in_child: the program runs in a child that is not made yet. path NULL: not known. */
struct ebt_exec ebt_exec_begin(int dir, const char *path, bool in_child);
/* Of a program that is found in PATH. */
struct ebt_exec ebt_exec_search(const char *name, bool in_child);
/* Of an open program. */
struct ebt_exec ebt_exec_open(int fd);
/* Bytes of the environment's memory; 0: the program gets the environment as it is. */
size_t ebt_exec_bytes(const struct ebt_exec *x, char *const envp[]);
/* memory NULL: of no bytes. */
char *const *ebt_exec_environment(const struct ebt_exec *x, void *memory, char *const envp[]);
/* It was not run. */
void ebt_exec_failed(const struct ebt_exec *x);

#endif
