/* SPDX-License-Identifier: BSD-2-Clause */
/* write_moth FILE: a capture of a program in the language that only tests/languages has. */
#include "codec/capture/capture.h"

#include <stdio.h>

#define PID 4711
enum { COLLECT = 100, STOP, MARK, MEET, UNKNOWN };

#define EVENT .cpu = EBT_NO_CPU, .pid = PID, .pos = EBT_NO_POS

static const struct ebt_event events[] = {
	{EVENT, .ts = 1000, .kind = EBT_BEGIN, .id = COLLECT},
	{EVENT, .ts = 1400, .kind = EBT_END, .id = COLLECT},
	{EVENT, .ts = 2000, .kind = EBT_BEGIN, .id = MARK},
	{EVENT, .ts = 2100, .kind = EBT_BEGIN, .id = COLLECT},
	{EVENT, .ts = 2200, .kind = EBT_END, .id = COLLECT},
	{EVENT, .ts = 3000, .kind = EBT_END, .id = MARK},
	{EVENT, .ts = 4000, .kind = EBT_BEGIN, .id = STOP},
	{EVENT, .ts = 4500, .kind = EBT_END, .id = STOP},
	/* One of two arrives 600 ns late. */
	{EVENT, .ts = 5000, .kind = EBT_BEGIN, .id = MEET},
	{EVENT, .ts = 5600, .kind = EBT_BEGIN, .id = MEET, .domain = 1},
	{EVENT, .ts = 5700, .kind = EBT_END, .id = MEET},
	{EVENT, .ts = 5700, .kind = EBT_END, .id = MEET, .domain = 1},
	{EVENT, .ts = 6000, .kind = EBT_BEGIN, .id = UNKNOWN},
	{EVENT, .ts = 6010, .kind = EBT_END, .id = UNKNOWN},
};

static int put_events(struct capture_writer *w)
{
	struct capture_item session = {.what = CAPTURE_SESSION,
				       .session = {.source = "capture", .clock = "monotonic"}};
	struct capture_item process = {
		.what = CAPTURE_PROCESS,
		.process = {.pid = PID, .comm = "lamp", .producer = "moth 1.2.9"}};
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
