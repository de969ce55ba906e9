/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/live/ring_notes.h"

#include <ctype.h>
#include <dirent.h>
#include <ebtrace/ring.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "engine/live/inbox.h"
#include "engine/program/recording.h"

#define NOTES_MAX  65536 /* of entries of the directory, read at most */
#define COMM_BYTES 16
#define ERRNO_MAX  4095
#define SMALLER	   "EBTRACE_LOG_WSIZE=12 makes its rings smaller"

struct note {
	pid_t pid;
	int err; /* an errno */
	char comm[COMM_BYTES];
};

/* A number above 0 and up to `max`, and the character behind it. *at is moved on. 0: there is
 * none. */
static int parse_number(const char **at, long max, char end)
{
	char *behind;
	long n = isdigit((unsigned char)**at) ? strtol(*at, &behind, 10) : 0;
	if (n <= 0 || n > max || *behind != end)
		return 0;
	*at = behind + 1;
	return (int)n;
}

/* False: the name is none of a note of this run. */
static bool parse_name(const char *name, struct note *ret)
{
	const char *run = recording_run(), *at = name + 1 + strlen(run) + 1;
	if (*name != '.' || strncmp(name + 1, run, strlen(run)) || at[-1] != '.')
		return false;
	ret->pid = parse_number(&at, INT32_MAX, '.');
	ret->err = ret->pid ? parse_number(&at, ERRNO_MAX, '.') : 0;
	return ret->err && !strcmp(at - 1, EBT_RING_NOTE_END);
}

/* Reads a note and removes it. False: it is not of a user of this run. */
static bool take(const struct inbox *in, int dir, const char *name, struct note *n)
{
	struct stat st;
	int fd = file_open(dir, name, O_NOFOLLOW);
	bool ours =
		fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) && inbox_is_user(in, st.st_uid);
	ssize_t bytes = ours ? read(fd, n->comm, sizeof(n->comm) - 1) : 0;
	n->comm[bytes > 0 ? bytes : 0] = 0;
	for (char *at = n->comm; *at; at++)
		*at = isprint((unsigned char)*at) ? *at : '?';
	if (fd >= 0)
		close(fd);
	if (ours)
		unlinkat(dir, name, 0);
	return ours;
}

static const char *advice(int err)
{
	switch (err) {
	case ENOMEM:
		return "; 'ulimit -v' or a cgroup limits its memory; " SMALLER;
	case ENOSPC:
	case EDQUOT:
		return "; EBTRACE_DIR names another directory";
	case EFBIG:
		return "; 'ulimit -f' limits its files; " SMALLER;
	default:
		return "";
	}
}

unsigned ring_notes_report(const struct inbox *in, const struct messages *r)
{
	struct note first = {0};
	unsigned count = 0;
	DIR *d = *in->path ? opendir(in->path) : NULL;
	const struct dirent *e;
	for (unsigned i = 0; d && i < NOTES_MAX && (e = readdir(d)); i++) {
		struct note n;
		if (!parse_name(e->d_name, &n) || !take(in, dirfd(d), e->d_name, &n))
			continue;
		if (!count++)
			first = n;
	}
	if (d)
		closedir(d);
	if (count == 1)
		messages_at(r, LOG_NORMAL, "process %d (%s) could not make its ring: %s%s",
			    first.pid, first.comm, strerror(first.err), advice(first.err));
	else if (count)
		messages_at(r, LOG_NORMAL,
			    "%u processes could not make their rings, one of them %d (%s): %s%s",
			    count, first.pid, first.comm, strerror(first.err), advice(first.err));
	return count;
}
