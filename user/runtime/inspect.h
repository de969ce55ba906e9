/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the files that processes map are: whether they hold markers of ours, or an OCaml 5 runtime and
 * where that can be probed. A file is looked into once a run, whichever processes map it and however
 * often; it is known by device, inode, time of change and size. The files are anybody's: what is
 * spent on one, on all of one process, and in the long run on all of them is bounded, in bytes read
 * and in CPU time, and what was left out for that reason is reported. A struct inspect is what a run knows;
 * where it is NULL nothing is remembered from one call to the next.
 */
#ifndef RUNTIME_INSPECT_H
#define RUNTIME_INSPECT_H

#include <ebtrace/cursor.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "proc/maps.h"
#include "runtime/runtime.h"

/* Mappings of a process that are looked at: twice as many as the kernel allows by default. */
#define INSPECT_MAPPINGS 131072

struct inspect;

struct inspect *inspect_new(void); /* NULL: no memory */
void inspect_free(struct inspect *in);

/* What one process may still cost. */
struct inspect_budget {
	uint64_t bytes, cpu_ns;
	uint32_t files;
	bool spent; /* a file was left out */
};

void inspect_budget_init(struct inspect_budget *b);
/* Looks into a regular file that stays open. 0; -EDQUOT: the budget does not allow it; -errno. */
int inspect_file(struct inspect *in, int fd, struct inspect_budget *b, struct runtime_file *ret);

/* The same if it was looked into before; else -ENOENT. */
int inspect_peek(const struct inspect *in, int fd, struct runtime_file *ret);
/* Whether a file has markers or a runtime, whatever became of it since: 1 or 0, or -ENOENT if it was
 * not looked into. */
int inspect_has_probes(const struct inspect *in, uint64_t dev, uint64_t inode);
/*
 * Looks into the file at a path, if that is the one with this device and inode, so that the functions
 * above know it: of a program that has ended nothing but its path may be left. 0 or -errno; -ESTALE:
 * there is another file, or one that is not regular.
 */
int inspect_path(struct inspect *in, const char *path, uint64_t dev, uint64_t inode);
/* The release of the OCaml 5 runtime in the file that execvp() would execute; AUTO: none is known. */
enum ebt_release inspect_program(struct inspect *in, const char *name);
/* Files that were looked into: where that has not changed, what is known has not either. */
uint32_t inspect_files(const struct inspect *in);

struct inspect_process {
	uint32_t markers;	  /* in all files that it has mapped as code, each counted once */
	enum ebt_release release; /* of the first OCaml 5 runtime */
	bool incomplete;	  /* more is mapped than is looked at */
};

/* Looks into all that a process has mapped as code. 0 or -errno. */
int inspect_process(struct inspect *in, pid_t pid, struct inspect_process *ret);
/* The release of the OCaml 5 runtime in a process; AUTO: none is known. */
enum ebt_release inspect_release(struct inspect *in, pid_t pid);

#endif
