/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The executable mappings that the kernel records as a program and its children make them (perf's
 * MMAP2 records): a program that ends at once, and a library that it has unloaded, have none in
 * /proc any more when a stack is read. It is known where code was, not until when: of addresses
 * that two files had, neither is returned. A child that has not executed anything has only what it
 * mapped itself.
 *
 * Needs CAP_PERFMON: the kernel records what all processes map.
 */
#ifndef SOURCE_STACKS_MAPPED_CODE_H
#define SOURCE_STACKS_MAPPED_CODE_H

#include "proc/maps.h"

struct mapped_code;

/* Records those of a process, and of its children, from now on. 0 or -errno: it is not permitted,
 * or there is no memory. */
int mapped_code_new(pid_t pid, struct mapped_code **ret);
void mapped_code_free(struct mapped_code *m); /* NULL is allowed */
/* Reads what has been recorded: before the kernel's buffers are full, after which records are lost.
 * How many there were so far. */
uint64_t mapped_code_read(struct mapped_code *m);
/* The mapping that has, or had, an address of a process. True and *ret, which is valid until the
 * next mapped_code_read(); false: none, or several. */
bool mapped_code_find(const struct mapped_code *m, pid_t pid, uint64_t address,
		      struct maps_entry *ret);

#endif
