/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The machine of an ELF file. Only files of the machine that we run on are read further: in others
 * sites, registers and pointers differ.
 */
#ifndef ELF_MACHINE_H
#define ELF_MACHINE_H

#include <elf.h>
#include <stddef.h>

#define MACHINE_NAME_BYTES 64

/* The e_machine that we run on. */
#if defined(__x86_64__)
#define MACHINE_OURS EM_X86_64
#elif defined(__aarch64__)
#define MACHINE_OURS EM_AARCH64
#else
#error "which e_machine is ours?"
#endif

/* Checks the first 20 bytes of a file. 0: an ELF file of this machine; -ENOEXEC: not an ELF file;
 * -ENOTSUP: an ELF file of another machine. Its name is written to `ret` unless that is NULL. */
int machine_check_head(const unsigned char *head, size_t bytes, char *ret);
/* Checks an open file as machine_check_head() does, and does not change its offset. Also -errno: it
 * cannot be read. */
int machine_check(int fd, char *ret);

#endif
