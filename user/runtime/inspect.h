/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inspects the files that processes map: which runtimes they contain, and where these can be
 * probed. A file is read once a run, however many processes map it; it is identified by device,
 * inode, time of change and size. The files are not trusted: bytes read and CPU time are bounded
 * for one file, for one process, and in the long run for all, and files that were not read for that
 * reason are reported. A struct inspect caches the results of a run; where it is NULL, nothing is
 * cached.
 */
#ifndef RUNTIME_INSPECT_H
#define RUNTIME_INSPECT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "proc/maps.h"
#include "runtime/runtime.h"

/* Mappings of a process that are inspected at most: twice the kernel's default limit. */
#define INSPECT_MAPPINGS 131072

struct inspect;
struct marker_requests;
struct memory_reader;

struct inspect *inspect_new(void); /* NULL: no memory */
void inspect_free(struct inspect *in);
/* Files of processes are opened when this reader has had an answer; it outlives `in`. NULL: at
 * once. */
void inspect_read_by(struct inspect *in, struct memory_reader *memory);
/* From now on the markers of these requests count, too; they outlive `in`. */
void inspect_ask(struct inspect *in, const struct marker_requests *asked);
/* Where markers are asked for: those of the inspected files, as marker_names_text() has them. */
unsigned inspect_marker_names(const struct inspect *in, char *ret, size_t bytes);
/* Opens the file of a mapping, as memory_reader_open() does. The last few are kept open for a
 * while, for the next process that maps them; a descriptor shares its file's offset with others. */
int inspect_open(struct inspect *in, pid_t pid, const struct maps_entry *e);

/* The rest of the budget of one process. */
struct inspect_budget {
	uint64_t bytes, cpu_ns;
	uint32_t files;
	bool spent; /* a file was not read for want of it */
};

void inspect_budget_init(struct inspect_budget *b);
/* Inspects an open regular file, which stays open. 0; -EDQUOT: beyond the budget; -errno. */
int inspect_file(struct inspect *in, int fd, struct inspect_budget *b, struct runtime_file *ret);

/* The cached result; -ENOENT: not inspected before. */
int inspect_peek(const struct inspect *in, int fd, struct runtime_file *ret);
/* 1 if the newest inspected file with this device and inode has markers or a runtime, else 0;
 * -ENOENT: none was inspected. allocs: markers of sampled allocations are some, too. */
int inspect_has_probes(const struct inspect *in, uint64_t dev, uint64_t inode, bool allocs);
/* The runtime in the newest inspected file with this device and inode; zeroes: none found. */
struct runtime_version inspect_found(const struct inspect *in, uint64_t dev, uint64_t inode);
/*
 * Inspects the file at a path if it has this device and inode, for the two functions above: of a
 * program that has ended only the path may be left. 0 or -errno; -ESTALE: another file, or one that
 * is not regular.
 */
int inspect_path(struct inspect *in, const char *path, uint64_t dev, uint64_t inode);
/* The runtime in the file that execvp() would run, ebtrace-probes apart; zeroes: none found. */
struct runtime_version inspect_program(struct inspect *in, const char *name);
/* Number of inspected files. The cached results do not change until it does. */
uint32_t inspect_files(const struct inspect *in);

#define INSPECT_PATH_BYTES 256

struct inspect_process {
	uint32_t markers; /* in all files that it has mapped executable, each counted once */
	struct marker_counts asked;	/* likewise, those that the user asks for */
	struct runtime_version runtime; /* the first one, ebtrace-probes apart */
	bool incomplete;		/* some mappings or files were not inspected */
	uint32_t leased; /* files that were not, since another program holds a lease on them */
	char leased_path[INSPECT_PATH_BYTES]; /* of the first of these; cut */
};

/* Inspects all files that a process has mapped executable. 0 or -errno. */
int inspect_process(struct inspect *in, pid_t pid, struct inspect_process *ret);
/* The runtime in what a process has mapped, ebtrace-probes apart; zeroes: none found. maps: NULL:
 * they are read. */
struct runtime_version inspect_runtime(struct inspect *in, pid_t pid, const struct maps_list *maps);

#endif
