/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tries to make whoever reads a small capture slow or big: many of what a reader keeps, in the
 * order and with the numbers that suit it least.
 *
 *   forge_capture threads N     a phase on each of N threads
 *   forge_capture tracks N      user spans whose domain and id cancel each other out in a key
 *   forge_capture homes N       names whose keys fall on one place of a table hashed without a seed
 *   forge_capture processes N   descriptions of N processes, of which nothing else is known
 *   forge_capture forks N       a phase in each of N processes
 *   forge_capture names N       N user events, each of a name of its own
 *   forge_capture losses N      N open phases, then N losses that concern none of them
 *   forge_capture holes N       N threads, then N losses that concern all of them
 *   forge_capture floods N      N processes, then N losses that concern all of them
 *   forge_capture pauses N      N domains, then recording that is paused and resumed N times
 *   forge_capture deep N        N phases with one stack of 256,000 frames, 100 functions each
 *   forge_capture stacks N      N phases with two such stacks in turn
 *   forge_capture names_long N  N phases, in turn with seven stacks of a frame of 255 long names
 *   forge_capture lines N       N threads, then N phases, each for a line of `stat --interval 1ms`
 *
 * The capture goes to standard output.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "codec/capture/capture.h"

#define BLOCK_BYTES (256u << 10)

static struct capture_writer *writer;
static uint64_t now = 1000000000, step = 1000;

static void put(const void *bytes, size_t n)
{
	if (fwrite(bytes, 1, n, stdout) != n)
		exit(1);
}

static void close_block(enum capture_block_type type)
{
	const void *bytes;
	ssize_t n = capture_close_block(writer, type, &bytes);
	if (n < 0)
		exit(1);
	put(bytes, (size_t)n);
}

static void make_room(void)
{
	if (capture_is_full(writer, SIZE_MAX) || capture_open_bytes(writer) > BLOCK_BYTES)
		close_block(CAPTURE_BLOCK_EVENTS);
}

static void put_event(struct ebt_event ev)
{
	ev.ts = now += step;
	ev.cpu = EBT_NO_CPU;
	ev.pos = ev.kind == EBT_LOST ? now - 500 : EBT_NO_POS;
	make_room();
	if (capture_put_event(writer, &ev, NULL, 0))
		exit(1);
}

static void put_item(const struct capture_item *item)
{
	make_room();
	if (capture_put_item(writer, item))
		exit(1);
}

static void put_name(uint32_t pid, uint32_t id)
{
	struct capture_item item = {.what = CAPTURE_NAME};
	item.name.pid = pid;
	item.name.id = id;
	snprintf(item.name.text, sizeof(item.name.text), "%x", id);
	put_item(&item);
}

static void put_process(uint32_t pid)
{
	struct capture_item item = {.what = CAPTURE_PROCESS};
	item.process.pid = pid;
	put_item(&item);
}

static void put_phase(uint16_t kind, uint32_t pid, uint32_t tid, uint16_t domain)
{
	put_event((struct ebt_event){
		.kind = kind, .pid = pid, .tid = tid, .domain = domain, .flags = EBT_F_BPF});
}

static void threads(uint32_t n)
{
	for (uint32_t i = 1; i <= n; i++)
		put_phase(EBT_BEGIN, 1, i, EBT_NO_DOMAIN);
	for (uint32_t i = 1; i <= n; i++)
		put_phase(EBT_END, 1, i, EBT_NO_DOMAIN);
}

static void tracks(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		put_event((struct ebt_event){.kind = EBT_SPAN_BEGIN,
					     .pid = 1,
					     .domain = (uint16_t)(i % 65535),
					     .id = (i % 65535) << 13 ^ i / 65535});
}

/* Multiplication by an odd number can be undone: keys are made from the places they are to get. */
static void homes(uint32_t n)
{
	const uint64_t factor = 0x9e3779b97f4a7c15ull;
	uint64_t inverse = factor;
	for (int i = 0; i < 5; i++)
		inverse *= 2 - factor * inverse;
	for (uint32_t i = 0; i < n; i++) {
		uint64_t key = (uint64_t)(i + 1) * inverse;
		key ^= key >> 32;
		put_name((uint32_t)(key >> 32), (uint32_t)key);
	}
}

static void processes(uint32_t n)
{
	for (uint32_t i = 1; i <= n; i++)
		put_process(i);
}

static void forks(uint32_t n)
{
	for (uint32_t i = 1; i <= n; i++) {
		put_phase(EBT_BEGIN, i, i, 0);
		put_phase(EBT_END, i, i, 0);
	}
}

static void names(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		put_name(1, i);
		put_event((struct ebt_event){.kind = EBT_UNIT, .pid = 1, .id = i});
	}
}

static void lose(uint32_t n, uint32_t pid, uint16_t domain)
{
	for (uint32_t i = 0; i < n; i++)
		put_event((struct ebt_event){.kind = EBT_LOST,
					     .pid = pid,
					     .domain = domain,
					     .flags = EBT_F_BPF,
					     .arg = {1, 0}});
}

static void losses(uint32_t n)
{
	for (uint32_t i = 1; i <= n; i++)
		put_phase(EBT_BEGIN, 1, i, EBT_NO_DOMAIN);
	lose(n / 2, 1, 7);
	lose(n - n / 2, 2, EBT_NO_DOMAIN);
}

static void holes(uint32_t n)
{
	for (uint32_t i = 1; i <= n; i++)
		put_phase(EBT_BEGIN, 1, i, EBT_NO_DOMAIN);
	lose(n, 1, EBT_NO_DOMAIN);
}

static void floods(uint32_t n)
{
	forks(n);
	lose(n, 0, EBT_NO_DOMAIN);
}

static void pauses(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		put_phase(EBT_BEGIN, 1, 1, (uint16_t)(i % 65535));
	for (uint32_t i = 0; i < n; i++)
		put_event((struct ebt_event){.kind = EBT_LIFECYCLE, .pid = 1, .id = i % 2 ? 3 : 2});
}

static void lines(uint32_t n)
{
	threads(n);
	step = 1000000;
	threads(n);
}

#define FUNCTIONS 100

static uint32_t put_name_of_stack(const char *text, size_t bytes)
{
	struct capture_item item = {.what = CAPTURE_STRING,
				    .string = {.text = text, .bytes = bytes}};
	if (capture_put_item(writer, &item))
		exit(1);
	return capture_last_number(writer, CAPTURE_STRING);
}

/* A frame of functions. Each name has so many bytes; new: no other frame has these names. */
static uint32_t put_frame(uint32_t number, uint32_t functions, size_t bytes, bool new)
{
	struct capture_position position[CAPTURE_POSITIONS_MAX] = {0};
	char text[CAPTURE_STRING_MAX];
	memset(text, 'x', sizeof(text));
	for (uint32_t i = 0; i < functions; i++) {
		uint32_t name = new ? number * 1000 + i : i;
		for (int at = 0; at < 6; at++, name /= 10)
			text[at] = (char)('0' + name % 10);
		position[i].function =
			new || capture_last_number(writer, CAPTURE_STRING) < functions
				? put_name_of_stack(text, bytes)
				: i + 1;
		position[i].line = number;
		position[i].has_line = true;
	}
	struct capture_item item = {.what = CAPTURE_FRAME,
				    .frame = {.count = functions, .position = position}};
	if (capture_put_item(writer, &item))
		exit(1);
	return capture_last_number(writer, CAPTURE_FRAME);
}

/* A stack of frames 1 to `frames`, over and over, from `first` on. */
static uint32_t put_stack(uint32_t depth, uint32_t first, uint32_t frames)
{
	uint32_t frame[CAPTURE_RUN_MAX], parent = 0;
	for (uint32_t at = 0, n; at < depth; at += n) {
		n = depth - at < CAPTURE_RUN_MAX ? depth - at : CAPTURE_RUN_MAX;
		for (uint32_t i = 0; i < n; i++)
			frame[i] = 1 + (first + at + i) % frames;
		struct capture_item item = {
			.what = CAPTURE_STACK,
			.stack = {.parent = parent, .count = n, .frame = frame}};
		if (capture_put_item(writer, &item))
			exit(1);
		parent = capture_last_number(writer, CAPTURE_STACK);
	}
	return parent;
}

static void put_phases(uint32_t n, const uint32_t *stack, uint32_t stacks)
{
	for (uint32_t i = 0; i < 2 * n; i++) {
		struct ebt_event ev = {.kind = i % 2 ? EBT_END : EBT_BEGIN,
				       .pid = 1,
				       .tid = 1,
				       .ts = now += step,
				       .cpu = EBT_NO_CPU,
				       .pos = EBT_NO_POS,
				       .flags = EBT_F_BPF,
				       .stack = stack[i / 2 % stacks]};
		if (capture_put_event(writer, &ev, NULL, 0))
			exit(1);
	}
}

static void deep(uint32_t n)
{
	for (uint32_t i = 1; i <= 1000; i++)
		put_frame(i, FUNCTIONS, 8, false);
	uint32_t stack = put_stack(256000, 0, 1000);
	put_phases(n, &stack, 1);
}

static void stacks(uint32_t n)
{
	uint32_t stack[2];
	for (uint32_t i = 1; i <= 4000; i++)
		put_frame(i, FUNCTIONS, 8, false);
	for (uint32_t i = 0; i < 2; i++)
		stack[i] = put_stack(128000, i, 4000);
	put_phases(n, stack, 2);
}

static void names_long(uint32_t n)
{
	uint32_t stack[7];
	for (uint32_t i = 0; i < 7; i++) {
		put_frame(i + 1, 255, CAPTURE_STRING_MAX, true);
		stack[i] = put_stack(1, i, 7);
	}
	put_phases(n, stack, 7);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*forge)(uint32_t n);
	} kinds[] = {
		{"threads", threads},	  {"tracks", tracks},	      {"homes", homes},
		{"processes", processes}, {"forks", forks},	      {"names", names},
		{"losses", losses},	  {"holes", holes},	      {"floods", floods},
		{"pauses", pauses},	  {"lines", lines},	      {"deep", deep},
		{"stacks", stacks},	  {"names_long", names_long},
	};
	uint8_t head[CAPTURE_HEAD_BYTES];
	if (argc != 3 || capture_writer_new(1, &writer))
		return 1;
	capture_put_head(head);
	put(head, sizeof(head));
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(argv[1], kinds[i].name))
			kinds[i].forge((uint32_t)atoi(argv[2]));
	close_block(CAPTURE_BLOCK_END);
	capture_writer_free(writer);
	return fflush(stdout) != 0;
}
