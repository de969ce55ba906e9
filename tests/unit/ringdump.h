/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A second reading of the ring file's layout, for the tests of the probe library: it shares no
 * code and no header with the product. It works on a copy of a file that nobody writes just then.
 */
#ifndef TESTS_RINGDUMP_H
#define TESTS_RINGDUMP_H

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct dump {
	const uint64_t *w;
	size_t bytes;
};
struct dump_event {
	uint64_t pos, ts;
	unsigned int words, user, type, id, seq;
	const uint64_t *payload;
};

__attribute__((unused)) static int dump_open(struct dump *d, const char *path)
{
	int fd = path ? open(path, O_RDONLY) : -1;
	struct stat st;
	if (fd < 0 || fstat(fd, &st) < 0)
		return 0;
	d->bytes = (size_t)st.st_size;
	d->w = mmap(NULL, d->bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	return d->w != MAP_FAILED;
}
__attribute__((unused)) static void dump_close(struct dump *d)
{
	munmap((void *)d->w, d->bytes);
}

/* Word `field` of the header of ring r: 0 head, 1 tail, 2 events, 3 dropped, 4 tid, 5 generation */
__attribute__((unused)) static uint64_t dump_field(const struct dump *d, unsigned int r, int field)
{
	return d->w[8 + 10 * r + (unsigned int)field];
}
__attribute__((unused)) static const char *dump_name(const struct dump *d, unsigned int id)
{
	return (const char *)d->w + d->w[7] + 128 * id;
}
__attribute__((unused)) static const char *dump_ext(const struct dump *d)
{
	return (const char *)d->w + d->w[7] + 1048576;
}

/* The events of ring r, oldest first; -1 if the ring is not well formed. */
__attribute__((unused)) static int dump_ring(const struct dump *d, unsigned int r,
					     struct dump_event *ev, int cap)
{
	uint64_t elements = d->w[4], head = dump_field(d, r, 0), tail = dump_field(d, r, 1);
	const uint64_t *ring = d->w + d->w[6] / 8 + elements * r;
	int n = 0;
	if (tail - head >= elements && tail != head)
		return -1;
	while (head < tail) {
		const uint64_t *e = ring + head % elements;
		uint64_t h = *e, words = h >> 54;
		if (!words || head % elements + words > elements || head + words > tail)
			return -1;
		if (h >> 49 & 31) { /* padding has type 0 and is not the user's */
			if (words < 2 || n == cap)
				return -1;
			ev[n++] = (struct dump_event){.pos = head,
						      .ts = e[1],
						      .words = (unsigned int)words,
						      .user = h >> 53 & 1,
						      .type = h >> 49 & 15,
						      .id = h >> 36 & 8191,
						      .seq = (unsigned int)h,
						      .payload = e + 2};
		}
		head += words;
	}
	return head == tail ? n : -1;
}

/* A fresh private directory, made the place of the ring files of this process. */
__attribute__((unused)) static const char *dump_own_dir(void)
{
	static char dir[] = "/tmp/ebt-probes-XXXXXX";
	return mkdtemp(dir);
}

/*
 * The library reads its environment when it is loaded: runs the program anew with these settings
 * ("NAME=value", ended by NULL). Returns in the second run only.
 */
__attribute__((unused)) static void dump_rerun(char **argv, const char *const *settings)
{
	if (getenv("RINGDUMP_DIR"))
		return;
	const char *dir = dump_own_dir();
	if (!dir)
		exit(1);
	setenv("RINGDUMP_DIR", dir, 1);
	setenv("EBTRACE_DIR", dir, 1);
	for (; *settings; settings++)
		putenv((char *)(uintptr_t)*settings);
	execv("/proc/self/exe", argv);
	exit(1);
}

/* Removes the directory with what is left in it. */
__attribute__((unused)) static void dump_clean(void)
{
	char command[128];
	snprintf(command, sizeof(command), "rm -rf '%s'", getenv("RINGDUMP_DIR"));
	if (system(command))
		abort();
}

#endif
