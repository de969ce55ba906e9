/* SPDX-License-Identifier: BSD-2-Clause */
/* What all runtimes together find in a file. The descriptors stay open. */
#ifndef RUNTIME_RUNTIMES_H
#define RUNTIME_RUNTIMES_H

#include "runtime/runtime.h"

/* Calls recognise() of all. elf: the same file; NULL: it is no ELF file. */
void runtimes_recognise(int fd, struct elf *elf, struct runtime_file *ret);
/* The version of the runtime in an ELF file, ebtrace-probes apart; zeroes: none. */
struct runtime_version runtimes_version(int fd);
/* The language of a runtime that the file contains and recognise() cannot find; NULL: none. */
const struct language *runtimes_hidden(int fd);
/* True if a program may have a ring: its own file contains a runtime, or needs a library of one. */
bool runtimes_may_have_ring(int fd);
/* True if the program is of the language: its own file contains the runtime, needs a library of it,
 * or is run by an interpreter that is it. A script that starts one is not. */
bool runtimes_is_of(int fd, const struct language *language);
/* True if it is a program of our own probes alone: its rings name the thread that writes them. */
bool runtimes_rings_have_threads(int fd);
/* is_sampled() of some runtime. */
bool runtimes_are_sampled(int fd);
/* explain() and describe() of struct runtime, of the first that has something to report. */
bool runtimes_explain(int fd, char *ret_text);
bool runtimes_describe(int fd, char *ret_text);

#endif
