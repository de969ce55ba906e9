/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * write_kinds FILE: a capture with events of the kinds that come from no ring, and of one that only
 * tests/kinds/ebtrace/events.def has.
 */
#include "codec/capture/capture.h"

#include <stdio.h>

#define PID	4711
#define READING 60

/* A kind whose pos is an argument sets it. */
#define EVENT .cpu = EBT_NO_CPU, .pid = PID, .pos = EBT_NO_POS

static const struct ebt_event events[] = {
	{EVENT, .ts = 1000, .kind = READING, .arg = {(uint64_t)-5, 0xc000100000}, .seq = 7},
	{EVENT, .ts = 1100, .kind = EBT_BEGIN, .id = 11},
	{EVENT, .ts = 1200, .kind = READING, .arg = {42, UINT64_MAX}, .seq = UINT32_MAX, .size = 9},
	{EVENT, .ts = 1300, .kind = EBT_END, .id = 11},
	{.cpu = EBT_NO_CPU, .pid = PID, .ts = 1400, .kind = EBT_ALLOC, .arg = {0, 3}, .pos = 1},
	{.cpu = EBT_NO_CPU,
	 .pid = PID,
	 .pos = 2,
	 .ts = 1500,
	 .kind = EBT_ALLOC,
	 .arg = {1, 4096},
	 .seq = 12,
	 .id = EBT_ALLOC_EXTERNAL},
	{EVENT, .ts = 1600, .kind = EBT_PROMOTE},
	{EVENT, .ts = 1700, .kind = EBT_COLLECT, .arg = {1}},
	{EVENT, .ts = 1800, .kind = EBT_PAGE_ALLOC, .domain = 3, .arg = {0xc000000000, 512}},
	{EVENT, .ts = 1900, .kind = EBT_PAGE_FREE, .domain = 3, .arg = {0xc000002000, 1}},
	{EVENT, .ts = 2000, .kind = EBT_PAGE_SCAVENGE, .domain = EBT_NO_DOMAIN,
	 .arg = {0xc000000000, 64}},
};

static int put_events(struct capture_writer *w)
{
	struct capture_item session = {.what = CAPTURE_SESSION,
				       .session = {.source = "capture", .clock = "monotonic"}};
	struct capture_item process = {.what = CAPTURE_PROCESS,
				       .process = {.pid = PID, .comm = "reader"}};
	int err = capture_put_item(w, &session);
	if (!err)
		err = capture_put_item(w, &process);
	for (size_t i = 0; !err && i < sizeof(events) / sizeof(*events); i++)
		err = capture_put_event(w, &events[i], NULL, 0);
	return err;
}

int main(int argc, char **argv)
{
	FILE *out = argc == 2 ? fopen(argv[1], "wb") : NULL;
	struct capture_writer *w = NULL;
	if (!out || capture_writer_new(1, &w) || put_events(w))
		return 1;
	uint8_t head[CAPTURE_HEAD_BYTES];
	const void *block = NULL;
	capture_put_head(head);
	ssize_t n = capture_close_block(w, CAPTURE_BLOCK_EVENTS, &block);
	bool written =
		n > 0 && fwrite(head, sizeof(head), 1, out) && fwrite(block, (size_t)n, 1, out);
	capture_writer_free(w);
	return fclose(out) || !written;
}
