/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/file/memtrace_domains.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"

#define WINDOW_BYTES 65536

/* Domains are 16 bits: a bit each. */
struct seen {
	uint64_t bits[1024];
};

static int add(struct memtrace_domains *d, struct seen *seen, uint16_t domain)
{
	uint64_t bit = 1ull << domain % 64, *bits = &seen->bits[domain / 64];
	if (*bits & bit)
		return 0;
	if (d->count == MEMTRACE_DOMAINS_MAX)
		return -E2BIG;
	*bits |= bit;
	if (!array_more(d->domain, d->count))
		return -ENOMEM;
	d->domain[d->count++] = domain;
	return 0;
}

/* A part of the file in memory. */
struct window {
	int fd;
	uint8_t *bytes;
	off_t at;
	size_t count;
};

/*
 * The bytes at `at`: at least the head of a packet, up to a window's worth if `much` and none of
 * them is in memory. Returns how many, 0 at the end; -errno.
 */
static ssize_t window_at(struct window *w, off_t at, bool much, const uint8_t **ret)
{
	size_t skip =
		at >= w->at && at - w->at < WINDOW_BYTES ? (size_t)(at - w->at) : WINDOW_BYTES;
	if (skip + MEMTRACE_HEAD_BYTES > w->count) {
		ssize_t n;
		do
			n = pread(w->fd, w->bytes, much ? WINDOW_BYTES : MEMTRACE_HEAD_BYTES, at);
		while (n < 0 && errno == EINTR);
		if (n < 0)
			return -errno;
		w->at = at;
		w->count = (size_t)n;
		skip = 0;
	}
	*ret = w->bytes + skip;
	return w->count - skip < MEMTRACE_HEAD_BYTES ? 0 : (ssize_t)(w->count - skip);
}

int memtrace_packets_each(int fd,
			  int (*fn)(void *ctx, uint64_t offset, const struct memtrace_head *h),
			  void *ctx)
{
	struct window w = {.fd = fd, .bytes = malloc(WINDOW_BYTES)};
	int err = w.bytes ? 0 : -ENOMEM;
	bool searching = false;
	for (off_t at = 0; !err;) {
		struct memtrace_head h;
		const char *expected;
		const uint8_t *p = NULL;
		ssize_t n = window_at(&w, at, searching, &p);
		if (n <= 0) {
			err = (int)n;
			break;
		}
		ssize_t packet = memtrace_head(p, (size_t)n, &h, &expected);
		bool is_packet = packet > 0;
		if (is_packet || !searching)
			err = fn(ctx, (uint64_t)at, is_packet ? &h : NULL);
		searching = !is_packet;
		if (is_packet) {
			at += packet;
			continue;
		}
		const uint8_t *next = memchr(p + 1, MEMTRACE_MAGIC & 0xff, (size_t)n - 1);
		at += next ? next - p : n;
	}
	free(w.bytes);
	return err;
}

struct reading {
	struct memtrace_domains *domains;
	struct seen seen;
};

static int note_packet(void *ctx, uint64_t offset, const struct memtrace_head *h)
{
	struct reading *r = ctx;
	(void)offset;
	return h ? add(r->domains, &r->seen, h->domain) : 0;
}

int memtrace_domains_read(int fd, struct memtrace_domains *ret)
{
	struct reading r = {.domains = ret};
	*ret = (struct memtrace_domains){0};
	int err = memtrace_packets_each(fd, note_packet, &r);
	if (!err && !ret->count)
		err = add(ret, &r.seen, 0);
	return err;
}
