/* SPDX-License-Identifier: BSD-2-Clause */
/* Items to a capture and back: any items, in portions of any size, and as small as they should
 * be. */
#include "tests/unit/capture_file.h"

#include "tests/random.h"
#include "tests/tap.h"

static uint64_t random_state = 1;
static uint64_t rnd(void)
{
	return random_next(&random_state);
}

/* Small, large and extreme numbers alike. */
static uint64_t wild(void)
{
	uint64_t r = rnd();
	return r % 8 == 0 ? UINT64_MAX : r % 8 == 1 ? 0 : rnd() >> r / 8 % 64;
}

static const uint16_t kinds[] = {EBT_BEGIN,	  EBT_END,	 EBT_COUNTER,	    EBT_LIFECYCLE,
				 EBT_ALLOC_SIZES, EBT_UNIT,	 EBT_INT,	    EBT_SPAN_BEGIN,
				 EBT_SPAN_END,	  EBT_CUSTOM,	 EBT_LOST,	    EBT_DAMAGE,
				 EBT_PROCESS,	  EBT_ALLOC,	 EBT_PROMOTE,	    EBT_COLLECT,
				 EBT_PAGE_ALLOC,  EBT_PAGE_FREE, EBT_PAGE_SCAVENGE, EBT_OFFCPU,
				 EBT_PAUSE};

static void wild_event(struct capture_item *item)
{
	*item = (struct capture_item){.what = CAPTURE_EVENT};
	struct ebt_event *ev = &item->event;
	ev->kind = kinds[rnd() % (sizeof(kinds) / sizeof(*kinds))];
	ev->ts = wild();
	ev->pos = wild();
	ev->pid = (uint32_t)(rnd() % 4 ? rnd() % 3 : wild());
	ev->tid = (uint32_t)wild();
	ev->domain = (uint16_t)(rnd() % 4 ? rnd() % 3 : wild());
	ev->cpu = (uint16_t)wild();
	ev->flags = (uint16_t)(rnd() & 0xff & ~EBT_F_FINAL & ~EBT_F_PAYLOAD);
	if (ev->kind == EBT_LOST && !EBT_LOST_SINCE(ev))
		ev->flags |= EBT_F_NO_SINCE;
	ev->id = (uint32_t)wild();
	ev->stack = 0; /* see test_capture_stacks */
	ev->seq = (uint32_t)wild();
	ev->size = (uint32_t)wild();
	ev->arg[0] = wild();
	ev->arg[1] = wild();
	if (rnd() % 4)
		return;
	ev->flags |= EBT_F_PAYLOAD;
	item->payload_bytes = rnd() % 3 ? rnd() % 200 : 0;
	uint8_t *payload = malloc(item->payload_bytes + 1);
	if (!payload)
		abort();
	for (size_t i = 0; i < item->payload_bytes; i++)
		payload[i] = (uint8_t)rnd();
	item->payload = payload;
}

static void wild_text(char *ret, size_t cap)
{
	size_t len = rnd() % cap;
	for (size_t i = 0; i < len; i++)
		ret[i] = (char)(1 + rnd() % 255);
	ret[len] = 0;
}

static void wild_item(struct capture_item *item)
{
	memset(item, 0, sizeof(*item));
	static const enum capture_what others[] = {CAPTURE_GONE, CAPTURE_TRIGGER, CAPTURE_MAPPING};
	item->what = rnd() % 7 ? 1 + rnd() % 6 : others[rnd() % 3];
	struct capture_trigger *t = &item->trigger;
	struct capture_mapping *m = &item->mapping;
	struct capture_session *s = &item->session;
	struct capture_process *p = &item->process;
	switch (item->what) {
	case CAPTURE_SESSION:
		wild_text(s->source, sizeof(s->source));
		wild_text(s->clock, sizeof(s->clock));
		s->start_ns = wild(), s->run_begin_ns = wild(), s->run_end_ns = wild();
		s->known = (uint32_t)rnd() % 64;
		s->monotonic_ns = wild(), s->realtime_ns = wild(), s->boottime_ns = wild();
		break;
	case CAPTURE_PROCESS:
		wild_text(p->producer, sizeof(p->producer));
		wild_text(p->runtime, sizeof(p->runtime));
		wild_text(p->comm, sizeof(p->comm));
		p->pid = (uint32_t)wild(), p->release = (uint32_t)wild(),
		p->usage_known = rnd() & 1;
		p->user_ns = wild(), p->system_ns = wild(), p->peak_rss_bytes = wild();
		p->end_ns = wild(), p->own_release = (uint32_t)wild();
		p->page_bytes = (uint32_t)wild();
		p->peak_rss_known = rnd() & 1, p->end_known = rnd() & 1;
		break;
	case CAPTURE_NAME:
		item->name.pid = (uint32_t)wild(), item->name.id = (uint32_t)wild();
		wild_text(item->name.text, sizeof(item->name.text));
		break;
	case CAPTURE_INCARNATION:
		item->incarnation = (struct capture_incarnation){(uint32_t)wild(), (uint32_t)wild(),
								 rnd() & 1, wild()};
		break;
	case CAPTURE_RECOVERED:
		item->recovered.events = wild(), item->recovered.words = wild();
		item->recovered.history_events = item->recovered.events / 3;
		item->recovered.history_words = item->recovered.words / 3;
		break;
	case CAPTURE_GONE:
		item->gone = (uint32_t)wild();
		break;
	case CAPTURE_TRIGGER:
		t->pid = (uint32_t)wild(), t->domain = (uint16_t)wild();
		t->begin_ns = wild(), t->end_ns = wild();
		t->from_ns = wild(), t->kept_ns = wild(), t->ns = wild();
		wild_text(t->span, sizeof(t->span));
		wild_text(t->condition, sizeof(t->condition));
		break;
	case CAPTURE_MAPPING:
		m->pid = (uint32_t)wild(), m->addr = wild(), m->bytes = wild();
		wild_text(m->name, sizeof(m->name));
		break;
	default:
		for (unsigned i = 0; i < CAPTURE_TOTAL_COUNT; i++)
			item->totals[i] = wild();
		break;
	}
}

static bool same_text(const char *a, const char *b, size_t cap)
{
	return !memcmp(a, b, strnlen(a, cap - 1) + 1);
}

static bool same_item(const struct capture_item *a, const struct capture_item *b)
{
	const struct capture_process *p = &a->process, *q = &b->process;
	const struct capture_session *s = &a->session, *t = &b->session;
	const struct capture_incarnation *i = &a->incarnation, *k = &b->incarnation;
	const struct capture_trigger *x = &a->trigger, *y = &b->trigger;
	if (a->what != b->what)
		return false;
	switch (a->what) {
	case CAPTURE_EVENT:
		return same_event(a, b);
	case CAPTURE_SESSION:
		return same_text(s->source, t->source, sizeof(s->source)) &&
		       same_text(s->clock, t->clock, sizeof(s->clock)) &&
		       !memcmp(&s->start_ns, &t->start_ns, 6 * sizeof(uint64_t)) &&
		       s->known == t->known;
	case CAPTURE_PROCESS:
		return same_text(p->producer, q->producer, sizeof(p->producer)) &&
		       same_text(p->runtime, q->runtime, sizeof(p->runtime)) &&
		       same_text(p->comm, q->comm, sizeof(p->comm)) && p->pid == q->pid &&
		       p->release == q->release && p->own_release == q->own_release &&
		       p->page_bytes == q->page_bytes && p->peak_rss_known == q->peak_rss_known &&
		       p->end_known == q->end_known && p->usage_known == q->usage_known &&
		       !memcmp(&p->user_ns, &q->user_ns, 3 * sizeof(uint64_t));
	case CAPTURE_NAME:
		return a->name.pid == b->name.pid && a->name.id == b->name.id &&
		       !strcmp(a->name.text, b->name.text);
	case CAPTURE_INCARNATION:
		return i->pid == k->pid && i->number == k->number &&
		       i->start_known == k->start_known && i->start_boot_ns == k->start_boot_ns;
	case CAPTURE_RECOVERED:
		return !memcmp(&a->recovered, &b->recovered, sizeof(a->recovered));
	case CAPTURE_GONE:
		return a->gone == b->gone;
	case CAPTURE_TOTALS:
		return !memcmp(a->totals, b->totals, sizeof(a->totals));
	case CAPTURE_TRIGGER:
		return x->pid == y->pid && x->domain == y->domain &&
		       !memcmp(&x->begin_ns, &y->begin_ns, 5 * sizeof(uint64_t)) &&
		       same_text(x->span, y->span, sizeof(x->span)) &&
		       same_text(x->condition, y->condition, sizeof(x->condition));
	case CAPTURE_MAPPING:
		return a->mapping.pid == b->mapping.pid && a->mapping.addr == b->mapping.addr &&
		       a->mapping.bytes == b->mapping.bytes &&
		       same_text(a->mapping.name, b->mapping.name, sizeof(a->mapping.name));
	case CAPTURE_STRING: /* see test_capture_stacks */
	case CAPTURE_FRAME:
	case CAPTURE_STACK:
	case CAPTURE_ALLOC_TRACE: /* see test_alloc_trace() */
		break;
	}
	return false;
}

#define WILD 6000

static void test_round_trip(void)
{
	static struct capture_item items[WILD];
	struct capture_writer *w = new_writer();
	struct bytes file = {0};
	append_head(&file);
	for (unsigned i = 0; i < WILD; i++) {
		struct capture_item *it = &items[i];
		if (rnd() % 10) {
			wild_event(it);
			if (capture_put_event(w, &it->event, it->payload, it->payload_bytes))
				abort();
		} else {
			wild_item(it);
			if (capture_put_item(w, it))
				abort();
		}
		if (rnd() % 700 == 0 || capture_is_full(w, SIZE_MAX))
			append_block(&file, w, CAPTURE_BLOCK_EVENTS);
	}
	append_block(&file, w, CAPTURE_BLOCK_END);
	static const size_t portions[] = {1, 7, 4096, SIZE_MAX};
	for (unsigned p = 0; p < 4; p++) {
		struct result r = read_all(file.data, file.len, portions[p]);
		size_t same = 0;
		while (same < r.count && same < WILD && same_item(&items[same], &r.items[same]))
			same++;
		is(same, WILD, "every item comes back as it was, in its order");
		ok(r.count == WILD && !r.end && r.stats.whole && !r.fault.count,
		   "and nothing else does, in portions of %zu bytes", portions[p]);
		done(&r);
	}
	for (unsigned i = 0; i < WILD; i++)
		if (items[i].what == CAPTURE_EVENT)
			free((void *)items[i].payload);
	capture_writer_free(w);
	free(file.data);
}

static void test_size(void)
{
	struct capture_writer *w = new_writer();
	for (unsigned i = 0; i < 1000; i++) {
		struct ebt_event ev = tame_event(i);
		capture_put_event(w, &ev, NULL, 0);
	}
	ok(capture_open_bytes(w) < 5000, "an event of a ring takes less than 5 bytes before zstd");
	diag("%zu bytes for 1000 events", capture_open_bytes(w));
	capture_writer_free(w);
}

/* The bytes that an event with so many of payload takes. */
static size_t put_payload(struct capture_writer *w, size_t bytes)
{
	static uint8_t payload[CAPTURE_PAYLOAD_MAX];
	struct ebt_event ev = {.kind = EBT_CUSTOM, .flags = EBT_F_PAYLOAD};
	size_t before = capture_open_bytes(w);
	capture_put_event(w, &ev, payload, bytes);
	return capture_open_bytes(w) - before;
}

/* Events with the longest payloads, as many as a block takes. */
static void test_full(void)
{
	struct capture_writer *w = new_writer();
	unsigned n = 0;
	while (!capture_is_full(w, SIZE_MAX) && n++ < 100)
		put_payload(w, CAPTURE_PAYLOAD_MAX);
	ok(n > 1 && capture_open_bytes(w) <= CAPTURE_RAW_MAX,
	   "a block is full before the largest event is more than it may have (%u)", n);
	capture_writer_free(w);
}

/* A block of exactly so many bytes. */
static struct capture_writer *filled(size_t bytes)
{
	enum { SHORT = 10, MARGIN = 64 };
	struct capture_writer *w = new_writer();
	put_payload(w, SHORT);
	size_t beside = put_payload(w, SHORT) - SHORT, left;
	while ((left = bytes - capture_open_bytes(w)) > 2 * MARGIN)
		put_payload(w, left / 2 < CAPTURE_PAYLOAD_MAX ? left / 2 : CAPTURE_PAYLOAD_MAX);
	put_payload(w, left - 2 * beside);
	put_payload(w, bytes - capture_open_bytes(w) - beside);
	ok(capture_open_bytes(w) == bytes, "a block is filled with %zu bytes", bytes);
	return w;
}

static void test_full_exactly(void)
{
	size_t room = CAPTURE_RAW_MAX - CAPTURE_PAYLOAD_MAX - CAPTURE_ITEM_MAX;
	struct capture_writer *w = filled(room);
	ok(!capture_is_full(w, SIZE_MAX),
	   "with room for the largest event and item it is not full");
	ok(capture_is_full(w, room) && !capture_is_full(w, room + 1),
	   "unless so many bytes are enough");
	capture_writer_free(w);
	w = filled(room + 1);
	ok(capture_is_full(w, SIZE_MAX), "with a byte less it is");
	capture_writer_free(w);
}

/* What is full stays so, whatever comes then. */
static void test_full_tables(void)
{
	for (unsigned by_lane = 0; by_lane < 2; by_lane++) {
		struct capture_writer *w = new_writer();
		struct ebt_event ev = {.kind = EBT_UNIT};
		unsigned limit = by_lane ? CAPTURE_LANES : CAPTURE_SHAPES;
		for (unsigned i = 0; i < limit && !capture_is_full(w, SIZE_MAX); i++) {
			ev.pid = by_lane ? i : 0;
			ev.id = by_lane ? 0 : i;
			capture_put_event(w, &ev, NULL, 0);
		}
		bool was_full = capture_is_full(w, SIZE_MAX);
		ev.id = by_lane;
		ev.pid = !by_lane;
		capture_put_event(w, &ev, NULL, 0);
		ok(was_full && capture_is_full(w, SIZE_MAX),
		   "a block of as many %s as it may have is full", by_lane ? "lanes" : "shapes");
		capture_writer_free(w);
	}
}

static void test_limits(void)
{
	static uint8_t payload[2 * CAPTURE_PAYLOAD_MAX];
	struct capture_writer *w = new_writer();
	struct bytes file = {0};
	append_head(&file);
	for (unsigned i = 0; i < 10000; i++) {
		struct ebt_event ev = {.kind = EBT_UNIT, .pid = i % 5000, .id = i};
		capture_put_event(w, &ev, NULL, 0);
		if (capture_is_full(w, SIZE_MAX))
			append_block(&file, w, CAPTURE_BLOCK_EVENTS);
	}
	struct ebt_event ev = {.kind = EBT_CUSTOM, .flags = EBT_F_PAYLOAD};
	capture_put_event(w, &ev, payload, CAPTURE_PAYLOAD_MAX);
	capture_put_event(w, &ev, payload, sizeof(payload));
	append_block(&file, w, CAPTURE_BLOCK_END);
	struct result r = read_all(file.data, file.len, SIZE_MAX);
	unsigned same = 0;
	while (same < 10000 && same < r.count && r.items[same].event.id == same &&
	       r.items[same].event.pid == same % 5000)
		same++;
	is(same, 10000, "more processes and ids than a block has room for take more blocks");
	const struct capture_item *last = &r.items[r.count - 1], *whole = last - 1;
	ok(whole->payload_bytes == CAPTURE_PAYLOAD_MAX && !(whole->event.flags & EBT_F_CUT),
	   "a payload of 1 MiB is whole");
	ok(last->payload_bytes == CAPTURE_PAYLOAD_MAX && last->event.flags & EBT_F_CUT,
	   "a payload of more than 1 MiB is cut, and says so");
	done(&r);
	capture_writer_free(w);
	free(file.data);
}

/* Reads the one item of a file of one block. */
static void read_item(const struct bytes *file, struct capture_reader *r, struct capture_item *ret)
{
	size_t room;
	if (capture_reader_next(r, ret) != -EAGAIN)
		abort();
	void *into = capture_reader_room(r, &room);
	if (room < file->len)
		abort();
	memcpy(into, file->data, file->len);
	capture_reader_put(r, file->len);
	if (capture_reader_next(r, ret) != 1)
		abort();
}

static void test_alloc_trace(void)
{
	static char longer[CAPTURE_TEXT_MAX + 100];
	struct capture_writer *w = new_writer();
	struct bytes file = {0};
	struct capture_reader *r;
	struct capture_item in = {.what = CAPTURE_ALLOC_TRACE}, out;
	memset(longer, 'x', sizeof(longer));
	in.alloc_trace = (struct capture_alloc_trace){
		.pid = UINT32_MAX,
		.domain = 3,
		.word_bits = 32,
		.sample_rate = 1.0 / 3,
		.text = {{"/bin/prog", 9}, {"", 0}, {longer, sizeof(longer)}, {"a, b", 4}},
	};
	append_head(&file);
	if (capture_put_item(w, &in) || capture_reader_new(&r))
		abort();
	append_block(&file, w, CAPTURE_BLOCK_END);
	read_item(&file, r, &out);
	const struct capture_alloc_trace *t = &out.alloc_trace;
	ok(out.what == CAPTURE_ALLOC_TRACE && t->pid == UINT32_MAX && t->domain == 3 &&
		   t->word_bits == 32 && t->sample_rate == 1.0 / 3,
	   "the numbers of an allocation trace's head come back, the sample rate exactly");
	ok(t->text[CAPTURE_EXECUTABLE].bytes == 9 &&
		   !memcmp(t->text[CAPTURE_EXECUTABLE].text, "/bin/prog", 9) &&
		   !t->text[CAPTURE_HOST].bytes && t->text[CAPTURE_CONTEXT].bytes == 4,
	   "and its texts");
	is(t->text[CAPTURE_PARAMETERS].bytes, CAPTURE_TEXT_MAX, "one that is too long is cut");
	capture_reader_free(r);
	capture_writer_free(w);
	free(file.data);
}

/* A string of a stack that is longer than a capture keeps, and what a block takes of its stacks. */
static void test_stack_limits(void)
{
	static char text[5 * CAPTURE_STRING_MAX];
	struct capture_writer *w = new_writer();
	struct bytes file = {0};
	struct capture_item string = {.what = CAPTURE_STRING},
			    frame = {.what = CAPTURE_FRAME, .frame = {.has_address = true}};
	memset(text, 'x', sizeof(text));
	append_head(&file);
	string.string.text = text;
	string.string.bytes = sizeof(text);
	if (capture_put_item(w, &string) || capture_put_item(w, &frame))
		abort();
	ok(capture_open_bytes(w) < CAPTURE_STRING_MAX + 64,
	   "no item takes more room than was made for it");
	append_block(&file, w, CAPTURE_BLOCK_END);
	struct result r = read_all(file.data, file.len, SIZE_MAX);
	ok(r.count == 2 && r.items[0].string.bytes == CAPTURE_STRING_MAX &&
		   r.items[1].what == CAPTURE_FRAME && r.items[1].frame.has_address,
	   "a string of a stack that is too long is cut, and what follows it is whole");
	done(&r);
	free(file.data);

	for (uint32_t i = 0; i < CAPTURE_FRAMES - 1; i++)
		if (capture_put_item(w, &frame))
			abort();
	ok(capture_takes_run(w), "a block with room for one more frame takes a stack");
	if (capture_put_item(w, &frame))
		abort();
	ok(!capture_takes_run(w) && capture_last_number(w, CAPTURE_FRAME) == CAPTURE_FRAMES,
	   "one that has all its frames does not");
	capture_writer_free(w);
	w = new_writer();
	string.string.bytes = 1;
	for (uint32_t i = 0; i < CAPTURE_STRINGS - 2 * CAPTURE_POSITIONS_MAX; i++)
		if (capture_put_item(w, &string))
			abort();
	ok(capture_takes_run(w), "so does one with room for the strings of a frame");
	if (capture_put_item(w, &string))
		abort();
	ok(!capture_takes_run(w), "but not with one less");
	capture_writer_free(w);
}

int main(void)
{
	test_stack_limits();
	test_alloc_trace();
	test_round_trip();
	test_size();
	test_full();
	test_full_exactly();
	test_full_tables();
	test_limits();
	return tap_done();
}
