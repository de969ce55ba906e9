/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The markers of the files that were attached to last, so that no file is read for each process
 * that runs it. As in runtime/inspect.h a file is identified by device, inode, time of change and
 * size. Initialised by zeroes.
 */
#ifndef SOURCE_BPF_KNOWN_NOTES_H
#define SOURCE_BPF_KNOWN_NOTES_H

#include <stdbool.h>
#include <stdint.h>

#include "elf/notes.h"

#define KNOWN_NOTES 8
/* A file with more markers is read each time. */
#define KNOWN_NOTES_SITES 1024

struct known_file {
	uint64_t dev, inode, ctime_s, ctime_ns, size;
	uint64_t used; /* 0: the entry is free */
	struct notes notes;
	bool *is_ours; /* of each site: a marker of ours, with the arguments that we read */
};

struct known_notes {
	struct known_file file[KNOWN_NOTES];
	uint64_t uses;
};

/* The markers of an open file, of all providers, valid until the next call. 0 or -errno, as
 * notes_read(). */
int known_notes_read(struct known_notes *k, int fd, const struct known_file **ret);
void known_notes_done(struct known_notes *k);

#endif
