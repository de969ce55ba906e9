/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * write_random SEED FILE [fibers | PARAMETERS]: writes a capture of random events, names and texts,
 * with much of what is rare in those of real programs. Phases and spans of a domain are mostly in
 * order, and the last ones are open. The texts have each character that some format escapes.
 * fibers: half of the events are Eio's. Most of its fibers are short, and some are never created.
 * PARAMETERS: those of each trace of allocations. No object of these is promoted or collected.
 */
#include "codec/capture/capture.h"
#include "codec/eio/eio.h"

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "session/marker_values.h"
#include "tests/random.h"

#define EVENTS	  4000
#define PROCESSES 3
#define DOMAINS	  3
#define DEPTH	  5
#define NAMES	  6
#define STACKS	  12
#define EIO_NAMES 16 /* the number of the name of Eio's event 0 */
#define FIBERS	  12 /* numbers of fibers at a time */

struct lane {
	uint32_t phase[DEPTH], depth, span[DEPTH], spans;
};

struct drawing {
	struct capture_writer *w;
	uint64_t state, ts;
	struct lane lane[PROCESSES][DOMAINS];
	uint32_t objects;
	bool has_fibers;
	const char *parameters; /* NULL: random */
	int64_t running[PROCESSES][DOMAINS], oldest;
};

static const char *const texts[] = {
	"a",
	"",
	"plain",
	"two words",
	"qu\"ote'",
	"back\\slash",
	"line\nend",
	"tab\there\r",
	"<b>&amp;",
	"\xc3\xa9t\xc3\xa9",
	"bad\xff\xfe",
	"\033[2J\a\177",
	"semi;colon",
	"0123456789abcde",
	"request_begin",
	"00ff17fe",
	"request_end",
};

static uint64_t below(struct drawing *d, uint64_t n)
{
	return random_next(&d->state) % n;
}

/* Most are small, and some are at the ends. */
static uint64_t number(struct drawing *d)
{
	static const uint64_t ends[] = {0,	   1, UINT64_MAX, INT64_MAX, (uint64_t)INT64_MIN,
					1ull << 32};
	uint64_t kind = below(d, 8);
	return kind ? below(d, 1ull << below(d, 24)) : ends[below(d, sizeof(ends) / sizeof(*ends))];
}

static const char *text(struct drawing *d)
{
	return texts[below(d, sizeof(texts) / sizeof(*texts))];
}

static void put(struct drawing *d, const struct capture_item *item)
{
	if (capture_put_item(d->w, item))
		abort();
}

static uint32_t pid_of(unsigned process)
{
	return 100 + 11 * process;
}

/* What its samples of allocations are of, a mapping, and why the capture was kept. */
static void put_owned(struct drawing *d, uint32_t pid)
{
	struct capture_item trace = {.what = CAPTURE_ALLOC_TRACE,
				     .alloc_trace = {.pid = pid, .word_bits = 64}};
	struct capture_item mapping = {.what = CAPTURE_MAPPING,
				       .mapping = {.pid = pid,
						   .addr = 0xc000000000 + 8192 * below(d, 512),
						   .bytes = 8192 * below(d, 64)}};
	struct capture_item trigger = {.what = CAPTURE_TRIGGER,
				       .trigger = {.pid = pid,
						   .domain = (uint16_t)below(d, DOMAINS),
						   .begin_ns = d->ts + below(d, 1000000),
						   .end_ns = d->ts + 1000000 + below(d, 1000000),
						   .kept_ns = d->ts,
						   .ns = below(d, 1000000)}};
	trace.alloc_trace.sample_rate = (double)(1 + below(d, 100)) / 100;
	if (d->parameters)
		trace.alloc_trace.sample_rate = 0.01;
	for (unsigned i = 0; i < CAPTURE_ALLOC_TEXTS; i++) {
		bool is_given = d->parameters && i == CAPTURE_PARAMETERS;
		const char *string = is_given ? d->parameters : text(d);
		trace.alloc_trace.text[i] = (struct capture_text){string, strlen(string)};
	}
	snprintf(mapping.mapping.name, sizeof(mapping.mapping.name), "%s", text(d));
	snprintf(trigger.trigger.span, sizeof(trigger.trigger.span), "%s", text(d));
	snprintf(trigger.trigger.condition, sizeof(trigger.trigger.condition), "%s", text(d));
	if (d->parameters || below(d, 3))
		put(d, &trace);
	put(d, &mapping);
	if (!below(d, 3))
		put(d, &trigger);
}

static void put_processes(struct drawing *d)
{
	put(d, &(struct capture_item){.what = CAPTURE_SESSION,
				      .session = {.source = "capture",
						  .clock = "monotonic",
						  .start_ns = d->ts,
						  .run_begin_ns = d->ts,
						  .run_end_ns = d->ts + 200000000,
						  .monotonic_ns = d->ts,
						  .realtime_ns = 1700000000123456789,
						  .boottime_ns = d->ts + 5,
						  .known = 63}});
	for (unsigned i = 0; i < PROCESSES; i++) {
		struct capture_item p = {.what = CAPTURE_PROCESS, .process = {.pid = pid_of(i)}};
		struct capture_process *of = &p.process;
		snprintf(of->comm, sizeof(of->comm), "%s", text(d));
		snprintf(of->runtime, sizeof(of->runtime), "%s", text(d));
		of->page_bytes = i ? 4096 : 0;
		of->usage_known = i != 1;
		of->user_ns = below(d, 1u << 30);
		of->system_ns = below(d, 1u << 28);
		of->peak_rss_known = i > 0;
		of->peak_rss_bytes = below(d, 1u << 28);
		put(d, &p);
		put_owned(d, pid_of(i));
		for (uint32_t id = 0; id < NAMES; id++) {
			struct capture_item n = {.what = CAPTURE_NAME,
						 .name = {.pid = pid_of(i), .id = id}};
			snprintf(n.name.text, sizeof(n.name.text), "%s%s", text(d),
				 id % 2 ? "_begin" : "");
			put(d, &n);
		}
		for (unsigned e = EIO_NONE + 1; d->has_fibers && e < EIO_EVENTS; e++) {
			struct capture_item n = {.what = CAPTURE_NAME,
						 .name = {.pid = pid_of(i), .id = EIO_NAMES + e}};
			snprintf(n.name.text, sizeof(n.name.text), "%s",
				 eio_event_name((enum eio_event)e));
			put(d, &n);
		}
	}
}

/* Strings, a frame of each, and stacks of these frames. Some frames have no position. */
static void put_stacks(struct drawing *d)
{
	for (uint32_t i = 0; i < STACKS; i++) {
		const char *name = text(d);
		put(d, &(struct capture_item){
			       .what = CAPTURE_STRING,
			       .string = {.number = i + 1, .text = name, .bytes = strlen(name)}});
		struct capture_position at = {.function = below(d, 8) ? i + 1 : 0,
					      .file = (uint32_t)below(d, i + 1),
					      .line = (uint32_t)below(d, 500),
					      .start_char = (uint32_t)below(d, 40),
					      .end_char = (uint32_t)below(d, 80),
					      .has_line = below(d, 2),
					      .has_chars = below(d, 2)};
		put(d, &(struct capture_item){.what = CAPTURE_FRAME,
					      .frame = {.number = i + 1,
							.address = number(d),
							.has_address = below(d, 4),
							.count = below(d, 4) ? 1 : 0,
							.position = &at,
							.path = (uint32_t)below(d, i + 2),
							.build_id = below(d, 3) ? 0 : i + 1,
							.offset = number(d)}});
	}
	for (uint32_t i = 0; i < STACKS; i++) {
		uint32_t frame = 1 + (uint32_t)below(d, STACKS);
		put(d, &(struct capture_item){.what = CAPTURE_STACK,
					      .stack = {.number = i + 1,
							.parent = (uint32_t)below(d, i + 1),
							.count = 1,
							.frame = &frame}});
	}
}

static void set_nested(struct drawing *d, struct ebt_event *ev, struct lane *l)
{
	bool is_span = ev->kind == EBT_SPAN_BEGIN || ev->kind == EBT_SPAN_END;
	uint32_t *open = is_span ? l->span : l->phase, *depth = is_span ? &l->spans : &l->depth;
	bool begins = *depth < DEPTH && (!*depth || below(d, 2));
	ev->kind = is_span ? begins ? EBT_SPAN_BEGIN : EBT_SPAN_END : begins ? EBT_BEGIN : EBT_END;
	ev->id = begins ? (uint32_t)below(d, is_span ? NAMES : 52) : open[*depth - 1];
	if (begins)
		open[(*depth)++] = ev->id;
	else
		--*depth;
	if (!below(d, 50)) /* an end that fits nothing */
		ev->id = (uint32_t)below(d, 60);
}

static void set_arguments(struct drawing *d, struct ebt_event *ev, struct lane *l)
{
	ev->id = (uint32_t)below(d, NAMES + 2);
	ev->arg[0] = number(d);
	ev->arg[1] = number(d);
	switch (ev->kind) {
	case EBT_BEGIN:
	case EBT_END:
	case EBT_SPAN_BEGIN:
	case EBT_SPAN_END:
		ev->arg[0] = ev->arg[1] = 0;
		set_nested(d, ev, l);
		break;
	case EBT_ALLOC:
		ev->arg[0] = d->objects++;
		ev->arg[1] = 1 + below(d, 5000);
		ev->pos = 1 + below(d, 3);
		ev->id = (uint32_t)below(d, 4);
		break;
	case EBT_PROMOTE:
	case EBT_COLLECT:
		ev->arg[0] = below(d, d->objects + 1);
		break;
	case EBT_PAGE_ALLOC:
	case EBT_PAGE_FREE:
	case EBT_PAGE_SCAVENGE:
		ev->arg[0] = 0xc000000000 + 8192 * below(d, 512);
		ev->arg[1] = 1 + below(d, 20);
		ev->id = (uint32_t)below(d, 3);
		break;
	case EBT_SAMPLE:
		ev->pos = 1000000;
		ev->id = (uint32_t)below(d, 3);
		ev->arg[0] = below(d, 2);
		break;
	case EBT_OFFCPU:
	case EBT_PAUSE:
		ev->pos = below(d, 3000000);
		ev->id = (uint32_t)below(d, 12);
		break;
	case EBT_LOST:
		ev->pos = ev->ts - below(d, 1000000);
		ev->arg[0] = below(d, 3) ? below(d, 100) : EBT_LOST_UNCOUNTED;
		break;
	default:
		break;
	}
}

static uint16_t draw_kind(struct drawing *d)
{
	static const uint16_t others[] = {
		EBT_COUNTER,   EBT_COUNTER,	  EBT_LIFECYCLE, EBT_ALLOC_SIZES, EBT_UNIT,
		EBT_INT,       EBT_CUSTOM,	  EBT_LOST,	 EBT_DAMAGE,	  EBT_ALLOC,
		EBT_ALLOC,     EBT_ALLOC,	  EBT_PROMOTE,	 EBT_COLLECT,	  EBT_PAGE_ALLOC,
		EBT_PAGE_FREE, EBT_PAGE_SCAVENGE, EBT_SAMPLE,	 EBT_SAMPLE,	  EBT_MARKER_HIT,
		EBT_PROCESS,   EBT_OFFCPU,	  EBT_OFFCPU,	 EBT_PAUSE,
	};
	uint64_t nested = below(d, 3);
	if (nested < 2)
		return nested ? EBT_SPAN_BEGIN : EBT_BEGIN;
	uint16_t kind = others[below(d, sizeof(others) / sizeof(*others))];
	if (d->parameters && (kind == EBT_PROMOTE || kind == EBT_COLLECT))
		return EBT_ALLOC;
	/* A loss ends all fibers of its domain. */
	return kind == EBT_LOST && d->has_fibers && below(d, 8) ? EBT_COUNTER : kind;
}

/* The arguments of a marker. Returns their bytes. */
static size_t put_values(struct drawing *d, uint8_t *values)
{
	uint8_t *at = values;
	for (uint64_t n = below(d, 4); n; n--) {
		const char *string = text(d);
		struct marker_value v = {.type = MARKER_UNSIGNED + (uint32_t)below(d, 4),
					 .number = number(d),
					 .text = string,
					 .bytes = strlen(string)};
		at = marker_values_put(at, &v);
	}
	return (size_t)(at - values);
}

static size_t put_payload(struct drawing *d, const struct ebt_event *ev, uint8_t *bytes)
{
	const char *string = text(d);
	uint64_t words[EBT_ALLOC_BUCKETS];
	switch (ev->kind) {
	case EBT_CUSTOM:
		memcpy(bytes, string, strlen(string));
		return strlen(string);
	case EBT_ALLOC_SIZES:
	case EBT_OFFCPU:
	case EBT_PAUSE:
		for (unsigned i = 0; i < EBT_ALLOC_BUCKETS; i++)
			words[i] = number(d);
		memcpy(bytes, words, sizeof(words));
		return sizeof(words);
	case EBT_MARKER_HIT:
	case EBT_SPAN_BEGIN:
	case EBT_SPAN_END:
		return put_values(d, bytes);
	default:
		return 0;
	}
}

static size_t put_id(uint8_t *bytes, int64_t id)
{
	uint64_t word = htole64((uint64_t)id);
	memcpy(bytes, &word, sizeof(word));
	return sizeof(word);
}

/* Makes it an event of Eio, about one of few fibers, contexts and objects. Returns the bytes of its
 * payload. */
static size_t set_fiber(struct drawing *d, struct ebt_event *ev, int64_t *running, uint8_t *bytes)
{
	static const uint8_t frequent[] = {
		EIO_FIBER, EIO_FIBER,	     EIO_SUSPEND_FIBER, EIO_TRY_GET,   EIO_PUT,
		EIO_GET,   EIO_CREATE_FIBER, EIO_CREATE_CC,	EIO_EXIT_CC,   EIO_ENTER_SPAN,
		EIO_NAME,  EIO_EXIT_SPAN,    EIO_EXIT_FIBER,	EIO_CREATE_OBJ};
	enum eio_event e =
		below(d, 4) ? (enum eio_event)frequent[below(d, sizeof(frequent))]
			    : (enum eio_event)(EIO_NONE + 1 + below(d, EIO_EVENTS - EIO_NONE - 1));
	int64_t fiber = d->oldest + (int64_t)below(d, FIBERS), object = 1000 + (int64_t)below(d, 6);
	const char *string = text(d);
	size_t n = 0;
	ev->id = EIO_NAMES + e;
	ev->kind = EBT_CUSTOM;
	switch (e) {
	case EIO_CREATE_FIBER:
		d->oldest += !below(d, 3);
		n = put_id(bytes, fiber);
		return n + put_id(bytes + n, 2000 + (int64_t)below(d, 4));
	case EIO_FIBER:
		*running = fiber;
		ev->kind = EBT_INT;
		ev->arg[0] = (uint64_t)fiber;
		return 0;
	case EIO_EXIT_FIBER:
	case EIO_DOMAIN_SPAWN:
		ev->kind = EBT_INT;
		ev->arg[0] = (uint64_t)(below(d, 3) ? *running : fiber);
		return 0;
	case EIO_GET:
	case EIO_TRY_GET:
	case EIO_PUT:
		ev->kind = EBT_INT;
		ev->arg[0] = (uint64_t)object;
		return 0;
	case EIO_SUSPEND_DOMAIN:
		ev->kind = below(d, 2) ? EBT_SPAN_BEGIN : EBT_SPAN_END;
		return 0;
	case EIO_EXIT_CC:
	case EIO_EXIT_SPAN:
		ev->kind = EBT_UNIT;
		return 0;
	case EIO_CREATE_CC:
	case EIO_CREATE_OBJ:
		n = put_id(bytes, e == EIO_CREATE_OBJ ? object : 2000 + (int64_t)below(d, 4));
		bytes[n] = (uint8_t)below(d, 21);
		return n + 1;
	case EIO_NAME:
	case EIO_ERROR:
		n = put_id(bytes, below(d, 2) ? fiber : 2000 + (int64_t)below(d, 4));
		break;
	default:
		break;
	}
	memcpy(bytes + n, string, strlen(string));
	return n + strlen(string);
}

static void put_event(struct drawing *d)
{
	unsigned process = (unsigned)below(d, PROCESSES), domain = (unsigned)below(d, DOMAINS);
	uint8_t payload[4096];
	size_t bytes;
	d->ts += below(d, 20) ? below(d, 60000) : below(d, 2000000);
	struct ebt_event ev = {.ts = d->ts,
			       .pos = EBT_NO_POS,
			       .pid = pid_of(process),
			       .tid = process ? pid_of(process) + domain : 0,
			       .kind = draw_kind(d),
			       .domain = (uint16_t)domain,
			       .cpu = below(d, 3) ? (uint16_t)below(d, 4) : EBT_NO_CPU,
			       .flags = below(d, 2) ? EBT_F_RING : EBT_F_BPF,
			       .stack = (uint32_t)below(d, 2 * STACKS)};
	ev.stack = ev.stack > STACKS ? 0 : ev.stack;
	if (d->has_fibers && below(d, 2)) {
		bytes = set_fiber(d, &ev, &d->running[process][domain], payload);
	} else {
		set_arguments(d, &ev, &d->lane[process][domain]);
		bytes = put_payload(d, &ev, payload);
	}
	ev.flags |= bytes ? EBT_F_PAYLOAD : 0;
	if (!below(d, 100))
		ev.flags |= EBT_F_LATE;
	if (capture_put_event(d->w, &ev, payload, bytes))
		abort();
}

int main(int argc, char **argv)
{
	const char *more = argc == 4 ? argv[3] : "fibers";
	bool has_fibers = argc == 4 && !strcmp(more, "fibers");
	struct drawing d = {.ts = 5000000000, .oldest = 1, .has_fibers = has_fibers};
	d.parameters = argc == 4 && !has_fibers ? more : NULL;
	FILE *out = argc >= 3 && argc <= 4 ? fopen(argv[2], "wb") : NULL;
	if (!out || capture_writer_new(1, &d.w))
		return 1;
	d.state = (uint64_t)atoi(argv[1]) * 0x9e3779b97f4a7c15ull + 1;
	put_processes(&d);
	put_stacks(&d);
	for (unsigned i = 0; i < EVENTS; i++)
		put_event(&d);
	uint8_t head[CAPTURE_HEAD_BYTES];
	const void *block = NULL;
	capture_put_head(head);
	ssize_t n = capture_close_block(d.w, CAPTURE_BLOCK_EVENTS, &block);
	bool written =
		n > 0 && fwrite(head, sizeof(head), 1, out) && fwrite(block, (size_t)n, 1, out);
	n = capture_close_block(d.w, CAPTURE_BLOCK_END, &block);
	written = written && n > 0 && fwrite(block, (size_t)n, 1, out);
	capture_writer_free(d.w);
	return fclose(out) || !written;
}
