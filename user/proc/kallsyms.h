/* SPDX-License-Identifier: BSD-2-Clause */
/* The names of the kernel's functions, from /proc/kallsyms: those of the moment when it is read. */
#ifndef PROC_KALLSYMS_H
#define PROC_KALLSYMS_H

#include <stddef.h>
#include <stdint.h>

struct kallsyms;

/* path: NULL for the kernel that runs. 0 or -errno; -EACCES: it has no addresses, as they are
 * hidden from us. */
int kallsyms_read(const char *path, struct kallsyms **ret);
void kallsyms_free(struct kallsyms *k); /* NULL is allowed */
/* The function that has an address; NULL: none. Valid until free(). */
const char *kallsyms_find(const struct kallsyms *k, uint64_t address);
size_t kallsyms_count(const struct kallsyms *k);

#endif
