/* SPDX-License-Identifier: BSD-2-Clause */
/* What a capture says of a process: each field, with a value of its own. */
#include "format/ebt/items.h"

#include <ebtrace/cursor.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "codec/capture/block.h"
#include "format/ebt/blocks.h"
#include "session/versions.h"
#include "tests/tap.h"
#include "tests/unit/processes_fixture.h"

static uint32_t put(struct session *s, const char *text)
{
	return strings_put(s->strings, text, strlen(text));
}

static bool is_text(const struct capture_text *t, const char *want)
{
	return t->bytes == strlen(want) && !memcmp(t->text, want, t->bytes);
}

static void fill(struct session *s, struct process *p)
{
	p->traits.runtime = versions_by_release(EBT_RELEASE_OCAML_5_1);
	p->page_bytes = 8192;
	p->usage.known = p->usage.has_peak_rss = true;
	p->usage.user_ns = 11;
	p->usage.system_ns = 12;
	p->usage.peak_rss_bytes = 13;
	p->end = moment_at(14);
	snprintf(p->producer, sizeof(p->producer), "the producer");
	snprintf(p->runtime, sizeof(p->runtime), "the runtime");
	snprintf(p->comm, sizeof(p->comm), "the programming");
	p->alloc_trace = (struct alloc_trace){.known = true,
					      .domain = 15,
					      .word_bits = 32,
					      .sample_rate = 0.25,
					      .executable = put(s, "the executable"),
					      .host = put(s, "the host"),
					      .parameters = put(s, "the parameters"),
					      .context = put(s, "the context")};
}

static void test_process(void)
{
	struct session *s;
	struct capture_reader *r;
	struct capture_item item;
	struct capture_writer *w;
	const void *block;
	size_t room;
	if (capture_writer_new(1, &w) || session_new(&s) || enter_processes(s, 3) ||
	    capture_reader_new(&r))
		abort();
	fill(s, processes_announce(&s->processes, 2));
	if (ebt_items_put_process(w, s, processes_at(&s->processes, 2)) ||
	    capture_reader_next(r, &item) != -EAGAIN)
		abort();
	ssize_t bytes = capture_close_block(w, CAPTURE_BLOCK_END, &block);
	uint8_t *into = capture_reader_room(r, &room);
	if (bytes < 0 || room < CAPTURE_HEAD_BYTES + (size_t)bytes)
		abort();
	capture_put_head(into);
	memcpy(into + CAPTURE_HEAD_BYTES, block, (size_t)bytes);
	capture_reader_put(r, CAPTURE_HEAD_BYTES + (size_t)bytes);
	const struct capture_process *c = &item.process;
	ok(capture_reader_next(r, &item) == 1 && item.what == CAPTURE_PROCESS && c->pid == 2,
	   "a process has its pid");
	ok(c->own_release == EBT_RELEASE_OCAML_5_1 && !c->release,
	   "the release of its runtime, and that its phases have canonical numbers");
	ok(!strcmp(c->producer, "the producer") && !strcmp(c->runtime, "the runtime") &&
		   !strcmp(c->comm, "the programming"),
	   "its names");
	ok(c->usage_known && c->user_ns == 11 && c->system_ns == 12 && c->peak_rss_known &&
		   c->peak_rss_bytes == 13 && c->end_known && c->end_ns == 14 &&
		   c->page_bytes == 8192,
	   "what it used, when it ended, and its size of pages");
	const struct capture_alloc_trace *t = &item.alloc_trace;
	ok(capture_reader_next(r, &item) == 1 && item.what == CAPTURE_ALLOC_TRACE && t->pid == 2 &&
		   t->domain == 15 && t->word_bits == 32 && t->sample_rate == 0.25,
	   "what its allocations are samples of");
	ok(is_text(&t->text[CAPTURE_EXECUTABLE], "the executable") &&
		   is_text(&t->text[CAPTURE_HOST], "the host") &&
		   is_text(&t->text[CAPTURE_PARAMETERS], "the parameters") &&
		   is_text(&t->text[CAPTURE_CONTEXT], "the context"),
	   "with each text in its place");
	capture_reader_free(r);
	capture_writer_free(w);
	session_free(s);
}

/* A capture in memory. */
struct written {
	uint8_t bytes[1 << 16];
	size_t count;
};

static int take(void *ctx, const void *block, size_t bytes)
{
	struct written *w = ctx;
	if (bytes > sizeof(w->bytes) - w->count)
		return -ENOSPC;
	memcpy(w->bytes + w->count, block, bytes);
	w->count += bytes;
	return 0;
}

/* The number of the capture's items of a kind, and the last of them. */
static unsigned count_items(const struct written *w, enum capture_what what,
			    struct capture_item *ret)
{
	struct capture_reader *r;
	struct capture_item item;
	unsigned n = 0;
	size_t at = 0;
	if (capture_reader_new(&r))
		abort();
	for (int got; (got = capture_reader_next(r, &item)) == 1 || got == -EAGAIN;) {
		size_t room, left = w->count - at;
		if (got == 1 && item.what == what) {
			*ret = item;
			n++;
		}
		if (got == 1)
			continue;
		void *to = capture_reader_room(r, &room);
		room = room < left ? room : left;
		memcpy(to, w->bytes + at, room);
		capture_reader_put(r, room);
		at += room;
	}
	capture_reader_free(r);
	return n;
}

enum change { NONE, USER, SYSTEM, PEAK, END, PAGES, PRODUCER, RUNTIME, COMM, CHANGES };
static const char *const change_names[CHANGES] = {
	"nothing",	     "the user time", "the system time", "the peak RSS",       "the end",
	"the size of pages", "the producer",  "the runtime",	 "the program's name",
};

static void change(struct process *p, enum change what)
{
	p->usage.user_ns += what == USER;
	p->usage.system_ns += what == SYSTEM;
	p->usage.peak_rss_bytes += what == PEAK;
	p->end.ns += what == END;
	p->page_bytes *= what == PAGES ? 2 : 1;
	*p->producer = what == PRODUCER ? 'T' : 't';
	*p->runtime = what == RUNTIME ? 'T' : 't';
	*p->comm = what == COMM ? 'T' : 't';
}

static struct ebt_blocks *begin(struct session *s, struct written *w)
{
	struct ebt_blocks_options o = {.take = take, .ctx = w};
	struct ebt_blocks *b;
	if (ebt_blocks_new(s, &o, &b))
		abort();
	capture_put_head(w->bytes);
	w->count = CAPTURE_HEAD_BYTES;
	return b;
}

/* What becomes known of a process behind its last event. */
static void test_change(enum change what)
{
	struct session *s;
	struct capture_item last;
	struct written *w = calloc(1, sizeof(*w));
	struct ebt_event ev = {.kind = EBT_BEGIN, .process = 2, .ts = 5, .pos = EBT_NO_POS};
	if (!w || session_new(&s) || enter_processes(s, 3))
		abort();
	struct process *p = processes_announce(&s->processes, 2);
	fill(s, p);
	struct ebt_blocks *b = begin(s, w);
	int err = ebt_blocks_events(b, &ev, 1);
	change(p, what);
	if (err || ebt_blocks_close(b) || ebt_blocks_end(b, &s->totals))
		abort();
	is(count_items(w, CAPTURE_PROCESS, &last), what ? 2 : 1, change_names[what]);
	ebt_blocks_free(b);
	session_free(s);
	free(w);
}

/* Events of a hole arrive late: what its loss counted too much is in the capture, once. */
static void test_recovered(uint32_t flags, const char *name)
{
	struct session *s;
	struct capture_item item = {0};
	bool is_history = flags & EBT_F_HISTORY;
	struct written *w = calloc(1, sizeof(*w));
	struct ebt_event ev = {.kind = EBT_LOST,
			       .process = 2,
			       .ts = 50,
			       .pos = 40,
			       .flags = (uint16_t)flags,
			       .arg = {100, 1000}};
	if (!w || session_new(&s) || enter_processes(s, 3))
		abort();
	struct ebt_blocks *b = begin(s, w);
	struct totals *t = &s->totals;
	*(is_history ? &t->history_events : &t->lost_events) = 100;
	*(is_history ? &t->history_words : &t->lost_words) = 1000;
	int err = ebt_blocks_events(b, &ev, 1);
	*(is_history ? &t->history_events : &t->lost_events) = 97;
	*(is_history ? &t->history_words : &t->lost_words) = 960;
	ev = (struct ebt_event){.kind = EBT_BEGIN, .process = 2, .ts = 60, .pos = EBT_NO_POS};
	if (err || ebt_blocks_events(b, &ev, 1) || ebt_blocks_end(b, t))
		abort();
	ok(count_items(w, CAPTURE_RECOVERED, &item) == 1 && item.recovered.events == 3 &&
		   item.recovered.words == 40 &&
		   item.recovered.history_events == (is_history ? 3 : 0) &&
		   item.recovered.history_words == (is_history ? 40 : 0),
	   "%s: events and words that were not lost after all", name);
	ebt_blocks_free(b);
	session_free(s);
	free(w);
}

/* A user event with another name each time, and one whose name each block has anew. */
static void test_names(void)
{
	struct session *s;
	struct capture_item last;
	char name[32];
	int err = 0;
	struct written *w = calloc(1, sizeof(*w));
	struct ebt_event ev = {.kind = EBT_UNIT, .process = 2, .ts = 5, .pos = EBT_NO_POS};
	if (!w || session_new(&s) || enter_processes(s, 3))
		abort();
	struct processes *ps = &s->processes;
	processes_announce(ps, 2);
	struct ebt_blocks *b = begin(s, w);
	for (unsigned i = 0; i < 100 && !err; i++) {
		snprintf(name, sizeof(name), "request %u", i);
		err = processes_set_user_name(ps, 2, 1, name);
		err = err ? err : processes_set_user_name(ps, 2, 2, "work");
		ev.id = 1 + i % 2;
		err = err ? err : ebt_blocks_events(b, &ev, 1);
		err = err || i % 4 ? err : ebt_blocks_close(b);
	}
	ok(!err && strings_count(s->strings) <= 3, "names that are gone are not kept (%u)",
	   strings_count(s->strings));
	if (err || ebt_blocks_end(b, &s->totals))
		abort();
	is(count_items(w, CAPTURE_NAME, &last), 50 + 25, "a block has a name that is new to it");
	ebt_blocks_free(b);
	processes_set_user_name(ps, 2, 1, "work");
	is(strings_count(s->strings), 1, "the writer keeps none when it has ended");
	session_free(s);
	free(w);
}

/* A process that ends, with a mapping that no block has yet, when the open block has an event with
 * so many bytes of payload. The number of its blocks; 0: an item is missing. */
static uint64_t blocks_of_end(size_t bytes)
{
	static char payload[256 << 10];
	struct session *s;
	struct capture_item item = {0};
	struct written *w = calloc(1, sizeof(*w));
	struct ebt_event ev = {.kind = EBT_CUSTOM, .process = 2, .ts = 5, .pos = EBT_NO_POS};
	if (!w || session_new(&s) || enter_processes(s, 3) || bytes > sizeof(payload))
		abort();
	struct process *p = processes_announce(&s->processes, 2);
	struct ebt_blocks *b = begin(s, w);
	session_put_blob(s, &ev, payload, bytes);
	int err = ebt_blocks_events(b, &ev, 1);
	session_drop_event(s, &ev);
	if (err || mappings_add(&p->mappings, 4096, 8192, "/usr/lib/libmoth.so"))
		abort();
	err = ebt_blocks_forget(b, 2);
	uint64_t blocks = ebt_blocks_number(b);
	if (err || ebt_blocks_close(b) || ebt_blocks_finish(b))
		abort();
	bool mapped = count_items(w, CAPTURE_MAPPING, &item) == 1 && item.mapping.addr == 4096;
	bool gone = count_items(w, CAPTURE_GONE, &item) == 1 && item.gone == 2;
	ebt_blocks_free(b);
	session_free(s);
	free(w);
	return mapped && gone ? blocks : 0;
}

/* Wherever in what is written of its end the block is full. */
static void test_end_between_blocks(void)
{
	enum { FULL = 256 << 10, BEFORE = 400, STEP = 4 };
	unsigned missing = 0, by_blocks[3] = {0};
	for (size_t bytes = FULL - BEFORE; bytes <= FULL; bytes += STEP) {
		uint64_t blocks = blocks_of_end(bytes);
		if (blocks && blocks < 3)
			by_blocks[blocks]++;
		else
			missing++;
	}
	is(missing, 0,
	   "the mapping and the end of a process are in a capture, wherever a block ends");
	ok(by_blocks[1] && by_blocks[2], "which is behind them, or before (%u, %u)", by_blocks[1],
	   by_blocks[2]);
}

static int add_raw(void *ctx, const void *block, size_t bytes)
{
	uint64_t *raw = ctx;
	struct capture_block b;
	if (bytes < CAPTURE_BLOCK_BYTES || !capture_block_get(block, &b))
		return -EBADMSG;
	*raw += b.raw;
	return 0;
}

/* Two stacks that do not fit one block together, in turn: each event would have its whole stack in
 * a block of its own. */
static void test_stacks_in_turn(void)
{
	enum { FRAMES = 20000, DEPTH = 200000, EVENTS = 250, LIMIT = 64 << 20 };
	struct session *s;
	uint64_t raw = 0;
	uint32_t stack[2] = {0}, frame[FRAMES];
	int err = 0;
	struct ebt_blocks_options o = {.take = add_raw, .ctx = &raw};
	struct ebt_event ev = {.kind = EBT_UNIT, .process = 2, .ts = 5, .pos = EBT_NO_POS};
	struct ebt_blocks *b;
	if (session_new(&s) || enter_processes(s, 3) || ebt_blocks_new(s, &o, &b))
		abort();
	processes_announce(&s->processes, 2);
	for (uint32_t i = 0; i < FRAMES; i++)
		frame[i] = frames_put(s->frames,
				      &(struct frame){.address = i + 1, .has_address = true});
	for (uint32_t i = 0; i < 2 * DEPTH; i++)
		stack[i % 2] =
			stacks_push(s->stacks, stack[i % 2], frame[(i / 2 + i % 2) % FRAMES]);
	for (unsigned i = 0; i < 2; i++)
		stacks_hold(s->stacks, stack[i]);
	for (unsigned i = 0; i < EVENTS && !err; i++) {
		ev.stack = stack[i % 2];
		err = ebt_blocks_events(b, &ev, 1);
	}
	if (err || ebt_blocks_end(b, &s->totals))
		abort();
	ok(raw > LIMIT && raw < LIMIT + 2 * CAPTURE_RAW_MAX,
	   "stacks that each block would repeat take 64 MiB in all (%" PRIu64 " bytes)", raw);
	ebt_blocks_free(b);
	session_free(s);
}

int main(void)
{
	test_process();
	diag("a process is described again at the end if this has changed:");
	for (enum change what = 0; what < CHANGES; what++)
		test_change(what);
	test_recovered(0, "a loss of the run");
	test_recovered(EBT_F_HISTORY, "one of before");
	test_names();
	test_end_between_blocks();
	test_stacks_in_turn();
	return tap_done();
}
