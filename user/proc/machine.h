/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Of which machine an ELF file is. Only files of the machine that we run on are read further: sites,
 * registers and pointers of all others mean something else.
 */
#ifndef PROC_MACHINE_H
#define PROC_MACHINE_H

#include <elf.h>
#include <stddef.h>

#define MACHINE_NAME_BYTES 64

/* Checks the first 20 bytes of a file. 0: an ELF file of this machine; -ENOEXEC: no ELF file;
 * -ENOTSUP: an ELF file of another machine, which `ret`, if it is not NULL, names. */
int machine_check_head(const unsigned char *head, size_t bytes, char *ret);
/* The same of an open file, whose position stays; -errno: it cannot be read. */
int machine_check(int fd, char *ret);

#endif
