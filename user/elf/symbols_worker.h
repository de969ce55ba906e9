/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A process that reads debug information (debug_info.h) and answers lookups over a socket. ebtrace
 * may run as root and the file belong to another user, so the process has no privileges, no
 * descriptor but its files and its socket, no system calls but those for memory and for what is
 * open, and limits of time and memory. Whatever the file makes it do, it can only answer wrongly or
 * end. What it answers is as little trusted as the file.
 */
#ifndef ELF_SYMBOLS_WORKER_H
#define ELF_SYMBOLS_WORKER_H

#include <stdint.h>
#include <sys/types.h>

#include "elf/debug_info.h"

/*
 * Request: a uint64_t offset in the file. Answer: a uint32_t number of the bytes behind it, at most
 * SYMBOLS_WORKER_ANSWER. With SYMBOLS_WORKER_UNWIND they are a struct unwind_rule. Else they are a
 * uint8_t count, and as many positions, the outermost first: function, file, uint32_t line, column.
 * A string is a uint32_t number; 0: not known. The first time that a number occurs, which is one
 * more than all before, a uint16_t length and the bytes follow; a longer one is cut, as a file may
 * have one long name for each byte of its end.
 */
#define SYMBOLS_WORKER_TEXT   4096
#define SYMBOLS_WORKER_UNWIND (1ull << 63)
#define SYMBOLS_WORKER_ANSWER (1u << 20)

/* Starts the process with a limit of memory: what we have, and `memory` bytes more. The caller
 * closes *ret_socket and reaps *ret_pid. 0 or -errno. */
int symbols_worker_start(const struct debug_info_files *files, uint64_t memory, int *ret_socket,
			 pid_t *ret_pid);

#endif
