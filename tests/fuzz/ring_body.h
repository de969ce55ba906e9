/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Reads a ring file of any bytes to its end: layout, extension block, fetching and decoding,
 * payloads, names. Shared by the fuzz target and by the test that shows how far its seeds reach.
 *
 * The names table of a ring file is 1 MiB, nearly all of it zero, far more than a fuzzer can work
 * on. So an input that goes on behind the first names is also taken as a packed file: what follows
 * the first RING_BODY_NAMES names is what stands behind the table.
 *
 * The seeds are made so: the file of a program that recorded with EBTRACE_MAX_DOMAINS=1 and
 * EBTRACE_LOG_WSIZE=9, without the names from RING_BODY_NAMES on.
 */
#ifndef FUZZ_RING_BODY_H
#define FUZZ_RING_BODY_H

#include <ebtrace/cursor.h>
#include <ebtrace/ring.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define RING_BODY_NAMES	     8
#define RING_BODY_NAME_BYTES (RING_BODY_NAMES * EBT_RING_NAME_BYTES)

struct ring_body {
	volatile uint8_t sink;
	size_t events, payloads, bad; /* bad: lost and damage */
	size_t names;
	size_t ours; /* files with an extension block */
};

static int ring_body_event(const struct ebt_event *ev, const void *payload, size_t bytes, void *ctx)
{
	struct ring_body *b = ctx;
	for (size_t i = 0; i < bytes; i++)
		b->sink = ((const uint8_t *)payload)[i];
	bool is_bad = ev->kind == EBT_LOST || ev->kind == EBT_DAMAGE;
	b->bad += is_bad;
	b->events += !is_bad;
	b->payloads += payload != NULL;
	return 0;
}

static void ring_body_read(int fd, struct ring_body *b)
{
	struct ebt_cursor *c;
	struct ebt_cursor_info info;

	if (ebt_cursor_open_fd(fd, "fuzz", EBT_RELEASE_AUTO, &c, NULL))
		return;
	ebt_cursor_poll(c, ring_body_event, b, 0);
	for (uint32_t id = 0; id < RING_BODY_NAMES; id++)
		b->names += ebt_cursor_user_name(c, id) != NULL;
	ebt_cursor_info(c, &info);
	b->ours += info.release == EBT_RELEASE_EBTRACE;
	ebt_cursor_close(c);
}

/* Where the first names end, if the input goes on behind them and is too short to be all; else
 * 0. */
static size_t ring_body_cut(const uint8_t *data, size_t size)
{
	struct ebt_ring_file head;
	if (size < sizeof(head))
		return 0;
	memcpy(&head, data, sizeof(head));
	uint64_t names = head.custom_events_offset;
	return names < size && size - names > RING_BODY_NAME_BYTES ? names + RING_BODY_NAME_BYTES
								   : 0;
}

static struct ring_body ring_body(const uint8_t *data, size_t size)
{
	struct ring_body b = {0};
	size_t cut = ring_body_cut(data, size);
	int fd = memfd_create("ring", MFD_CLOEXEC);

	if (pwrite(fd, data, size, 0) == (ssize_t)size)
		ring_body_read(fd, &b);
	else
		close(fd);
	if (!cut)
		return b;
	size_t behind = cut - RING_BODY_NAME_BYTES + EBT_RING_NAMES_BYTES;
	fd = memfd_create("ring", MFD_CLOEXEC);
	if (pwrite(fd, data, cut, 0) == (ssize_t)cut &&
	    pwrite(fd, data + cut, size - cut, (off_t)behind) == (ssize_t)(size - cut))
		ring_body_read(fd, &b);
	else
		close(fd);
	return b;
}

#endif
