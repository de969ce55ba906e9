/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The two variables that make a program record (<ebtrace/recorder.h>). They are taken out of the
 * environment before the program begins: a child that inherits them may be one that ends with the
 * library preloaded, and the program's environment is what it is without us. A program that is to
 * be recorded next gets them in an environment of its own, made without an allocation, since it may
 * be made by a child of vfork() or in a handler of a signal.
 */
#ifndef EBT_ENVIRONMENT_H
#define EBT_ENVIRONMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ebt_environment {
	const char *dir; /* NULL: this process does not record */
	double rate;
	uint64_t start; /* of the process */
	unsigned filters;
	bool is_child, children;
};

/* Of the environment that the process began with; once. */
void ebt_environment_take(char **envp, struct ebt_environment *ret);

/* What is another one in a child that was forked. False: it cannot record. */
bool ebt_environment_fork(struct ebt_environment *env);

/* Bytes for ebt_environment_make(); 0: it is impossible. */
size_t ebt_environment_bytes(char *const envp[]);
/* The environment `envp` of a program that is recorded: in this process, or in a child of it. */
char **ebt_environment_make(void *memory, char *const envp[], bool is_child);
/* True if a program that is started here and now can load the library and write its trace. */
bool ebt_environment_is_usable(void);

#endif
