/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tries to mix names up: fills every table of names with user events, then uses those that never
 * change, some for the first time; and gives other names to events in the middle, while a span of
 * one of them is open, within a block of a capture and across two.
 *
 *   many_names FILE    writes a capture; prints a line an event: TS KIND NAME
 */
#include <ebtrace/cursor.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "codec/capture/capture.h"
#include "session/totals.h"

#define NAMES 6000

static struct capture_writer *writer;
static int out_fd;
static uint64_t now = 1000, events;
static char names[NAMES][64];

static void must(int good, const char *what)
{
	if (good)
		return;
	perror(what);
	exit(1);
}

static void close_block(enum capture_block_type type)
{
	const void *block;
	ssize_t n = capture_close_block(writer, type, &block);
	must(n >= 0 && write(out_fd, block, (size_t)n) == n, "block");
}

static void rename_event(uint32_t id, const char *name)
{
	struct capture_item item = {.what = CAPTURE_NAME, .name = {.pid = 42, .id = id}};
	snprintf(item.name.text, sizeof(item.name.text), "%s", name);
	if (name != names[id])
		snprintf(names[id], sizeof(names[id]), "%s", name);
	must(capture_put_item(writer, &item) == 0, "name");
}

static void emit(uint16_t kind, uint32_t id, const char *kind_name, const char *name)
{
	struct ebt_event ev = {
		.ts = now += 10, .kind = kind, .id = id, .pid = 42, .pos = EBT_NO_POS};
	must(capture_put_event(writer, &ev, NULL, 0) == 0, "event");
	printf("%" PRIu64 "\t%s\t%s\n", now, kind_name, name);
	events++;
}

static void begin_block(void)
{
	struct capture_item process = {.what = CAPTURE_PROCESS, .process.pid = 42};
	strcpy(process.process.comm, "names");
	must(capture_put_item(writer, &process) == 0, "process");
}

static void use_fixed_names(void)
{
	for (uint32_t id = 0; ebt_phase_name(id); id++)
		emit(EBT_BEGIN, id, "begin", ebt_phase_name(id));
	for (uint32_t id = 50; id-- > 0;)
		emit(EBT_END, id, "end", ebt_phase_name(id));
	for (uint32_t id = 0; ebt_counter_name(id); id++)
		emit(EBT_COUNTER, id, "counter", ebt_counter_name(id));
	for (uint32_t id = 0; ebt_lifecycle_name(id); id++)
		emit(EBT_LIFECYCLE, id, "lifecycle", ebt_lifecycle_name(id));
}

static void change_names(void)
{
	emit(EBT_UNIT, 1, "unit", names[1]);
	rename_event(1, "second name");
	emit(EBT_UNIT, 1, "unit", names[1]);
	emit(EBT_INT, 1, "int", names[1]);
	rename_event(2, "a span's name");
	emit(EBT_SPAN_BEGIN, 2, "span_begin", names[2]);
	emit(EBT_SPAN_BEGIN, 2, "span_begin", names[2]);
	rename_event(2, "its other name");
	emit(EBT_SPAN_END, 2, "span_end", names[2]);
	emit(EBT_SPAN_BEGIN, 2, "span_begin", names[2]);
	close_block(CAPTURE_BLOCK_EVENTS);
	begin_block();
	rename_event(1, "third name");
	rename_event(2, "its last name");
	emit(EBT_UNIT, 1, "unit", names[1]);
	emit(EBT_SPAN_END, 2, "span_end", names[2]);
	emit(EBT_SPAN_END, 2, "span_end", names[2]);
	emit(EBT_SPAN_BEGIN, 2, "span_begin", names[2]);
	emit(EBT_SPAN_END, 2, "span_end", names[2]);
	rename_event(1, "second name");
	emit(EBT_UNIT, 1, "unit", names[1]);
}

int main(int argc, char **argv)
{
	uint8_t head[CAPTURE_HEAD_BYTES];
	if (argc != 2)
		return 2;
	out_fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	must(out_fd >= 0 && capture_writer_new(1, &writer) == 0, argv[1]);
	capture_put_head(head);
	must(write(out_fd, head, sizeof(head)) == sizeof(head), argv[1]);
	begin_block();
	/* One phase and one counter are known before the tables are full, the others are not. */
	emit(EBT_BEGIN, 11, "begin", ebt_phase_name(11));
	emit(EBT_END, 11, "end", ebt_phase_name(11));
	emit(EBT_COUNTER, 4, "counter", ebt_counter_name(4));
	for (uint32_t id = 1; id < NAMES; id++) {
		char name[32];
		snprintf(name, sizeof(name), "a user event, number %u", id);
		rename_event(id, name);
		emit(EBT_UNIT, id, "unit", names[id]);
		if (capture_is_full(writer, SIZE_MAX)) {
			close_block(CAPTURE_BLOCK_EVENTS);
			begin_block();
			for (uint32_t i = 1; i <= id; i++)
				rename_event(i, names[i]);
		}
	}
	use_fixed_names();
	use_fixed_names();
	change_names();
	close_block(CAPTURE_BLOCK_EVENTS);
	struct totals totals = {.events = events, .first_ns = 1010, .last_ns = now};
	struct capture_item item = {.what = CAPTURE_TOTALS};
	totals_pack(&totals, item.totals);
	must(capture_put_item(writer, &item) == 0, "totals");
	close_block(CAPTURE_BLOCK_END);
	capture_writer_free(writer);
	close(out_fd);
	return 0;
}
