/* SPDX-License-Identifier: BSD-2-Clause */
/* Items to a capture and back, whole, cut, bent and forged. */
#include "codec/capture_block.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/compress.h"
#include "tests/tap.h"

/* A file in memory. */
struct bytes {
	uint8_t *data;
	size_t len;
};

static void append(struct bytes *b, const void *data, size_t len)
{
	b->data = realloc(b->data, b->len + len + 1);
	if (!b->data)
		abort();
	memcpy(b->data + b->len, data, len);
	b->len += len;
}

static void append_head(struct bytes *b)
{
	uint8_t head[CAPTURE_HEAD_BYTES];
	capture_put_head(head);
	append(b, head, sizeof(head));
}

static void append_block(struct bytes *b, struct capture_writer *w, enum capture_block_type type)
{
	const void *block;
	ssize_t n = capture_close_block(w, type, &block);
	if (n < 0)
		abort();
	append(b, block, (size_t)n);
}

static struct capture_writer *new_writer(void)
{
	struct capture_writer *w;
	if (capture_writer_new(1, &w))
		abort();
	return w;
}

static uint64_t random_state = 1;
static uint64_t rnd(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* Small, large and extreme numbers alike. */
static uint64_t wild(void)
{
	uint64_t r = rnd();
	return r % 8 == 0 ? UINT64_MAX : r % 8 == 1 ? 0 : rnd() >> r / 8 % 64;
}

/* What a reader gives for a file. */
struct result {
	struct capture_item *items; /* payloads copied */
	size_t count, cap;
	size_t events, lost, damaged; /* events that count; as the losses say; places */
	int end;
	struct capture_fault fault;
	struct capture_stats stats;
};

static void keep(struct result *r, const struct capture_item *item)
{
	if (r->count == r->cap) {
		r->cap = r->cap ? 2 * r->cap : 64;
		r->items = realloc(r->items, r->cap * sizeof(*r->items));
		if (!r->items)
			abort();
	}
	struct capture_item *copy = &r->items[r->count++];
	*copy = *item;
	if (item->what != CAPTURE_EVENT)
		return;
	r->events += capture_counts(item->event.kind);
	r->lost += item->event.kind == EBT_LOST && item->event.domain == EBT_NO_DOMAIN
			   ? item->event.arg[0]
			   : 0;
	r->damaged += item->event.kind == EBT_DAMAGE;
	if (!item->payload)
		return;
	void *payload = malloc(item->payload_bytes + 1);
	if (!payload)
		abort();
	memcpy(payload, item->payload, item->payload_bytes);
	copy->payload = payload;
}

/* In portions of at most `portion` bytes, each from memory of its own. */
static struct result read_all(const uint8_t *data, size_t len, size_t portion)
{
	struct result r = {0};
	struct capture_reader *reader;
	struct capture_item item;
	if (capture_reader_new(&reader))
		abort();
	for (;;) {
		r.end = capture_reader_next(reader, &item);
		if (r.end == 1)
			keep(&r, &item);
		else if (r.end != -EAGAIN)
			break;
		if (r.end == 1)
			continue;
		size_t room;
		void *into = capture_reader_room(reader, &room);
		size_t n = len < portion ? len : portion;
		n = n < room ? n : room;
		if (n)
			memcpy(into, data, n);
		capture_reader_put(reader, n);
		data += n;
		len -= n;
	}
	if (capture_reader_fault(reader))
		r.fault = *capture_reader_fault(reader);
	r.stats = *capture_reader_stats(reader);
	capture_reader_free(reader);
	return r;
}

static void done(struct result *r)
{
	for (size_t i = 0; i < r->count; i++)
		if (r->items[i].what == CAPTURE_EVENT)
			free((void *)r->items[i].payload);
	free(r->items);
}

static const uint16_t kinds[] = {EBT_BEGIN,	  EBT_END,	 EBT_COUNTER,	   EBT_LIFECYCLE,
				 EBT_ALLOC_SIZES, EBT_UNIT,	 EBT_INT,	   EBT_SPAN_BEGIN,
				 EBT_SPAN_END,	  EBT_CUSTOM,	 EBT_LOST,	   EBT_DAMAGE,
				 EBT_PROCESS,	  EBT_ALLOC,	 EBT_PROMOTE,	   EBT_COLLECT,
				 EBT_PAGE_ALLOC,  EBT_PAGE_FREE, EBT_PAGE_SCAVENGE};

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
	ev->id = (uint32_t)wild();
	ev->stack = (uint32_t)wild();
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
	item->what = 1 + rnd() % 5;
	struct capture_session *s = &item->session;
	struct capture_process *p = &item->process;
	switch (item->what) {
	case CAPTURE_SESSION:
		wild_text(s->source, sizeof(s->source));
		wild_text(s->clock, sizeof(s->clock));
		s->start_ns = wild(), s->run_begin_ns = wild(), s->run_end_ns = wild();
		s->monotonic_ns = wild(), s->realtime_ns = wild(), s->boottime_ns = wild();
		break;
	case CAPTURE_PROCESS:
		wild_text(p->producer, sizeof(p->producer));
		wild_text(p->runtime, sizeof(p->runtime));
		wild_text(p->comm, sizeof(p->comm));
		p->pid = (uint32_t)wild(), p->release = (uint32_t)wild(),
		p->usage_known = rnd() & 1;
		p->user_ns = wild(), p->system_ns = wild(), p->peak_rss_bytes = wild();
		break;
	case CAPTURE_NAME:
		item->name.pid = (uint32_t)wild(), item->name.id = (uint32_t)wild();
		wild_text(item->name.text, sizeof(item->name.text));
		break;
	case CAPTURE_RECOVERED:
		item->recovered.events = wild(), item->recovered.words = wild();
		break;
	default:
		item->totals = (struct capture_totals){wild(), wild(), wild(), wild(), wild(),
						       wild(), wild(), wild(), wild()};
		break;
	}
}

static bool same_text(const char *a, const char *b, size_t cap)
{
	return !memcmp(a, b, strnlen(a, cap - 1) + 1);
}

static bool same_event(const struct capture_item *a, const struct capture_item *b)
{
	struct ebt_event x = a->event, y = b->event;
	x.flags |= EBT_F_FINAL;
	if (x.flags & EBT_F_PAYLOAD) {
		x.arg[0] = y.arg[0] = 0;
		x.arg[1] = a->payload_bytes;
		if (a->payload_bytes != b->payload_bytes ||
		    memcmp(a->payload, b->payload, a->payload_bytes))
			return false;
	}
	return !memcmp(&x, &y, sizeof(x));
}

static bool same_item(const struct capture_item *a, const struct capture_item *b)
{
	const struct capture_process *p = &a->process, *q = &b->process;
	const struct capture_session *s = &a->session, *t = &b->session;
	if (a->what != b->what)
		return false;
	switch (a->what) {
	case CAPTURE_EVENT:
		return same_event(a, b);
	case CAPTURE_SESSION:
		return same_text(s->source, t->source, sizeof(s->source)) &&
		       same_text(s->clock, t->clock, sizeof(s->clock)) &&
		       !memcmp(&s->start_ns, &t->start_ns, 6 * sizeof(uint64_t));
	case CAPTURE_PROCESS:
		return same_text(p->producer, q->producer, sizeof(p->producer)) &&
		       same_text(p->runtime, q->runtime, sizeof(p->runtime)) &&
		       same_text(p->comm, q->comm, sizeof(p->comm)) && p->pid == q->pid &&
		       p->release == q->release && p->usage_known == q->usage_known &&
		       !memcmp(&p->user_ns, &q->user_ns, 3 * sizeof(uint64_t));
	case CAPTURE_NAME:
		return a->name.pid == b->name.pid && a->name.id == b->name.id &&
		       !strcmp(a->name.text, b->name.text);
	case CAPTURE_RECOVERED:
		return !memcmp(&a->recovered, &b->recovered, sizeof(a->recovered));
	case CAPTURE_TOTALS:
		return !memcmp(&a->totals, &b->totals, sizeof(a->totals));
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
		if (rnd() % 700 == 0 || capture_is_full(w))
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

/* Events as rings bring them: a phase in a domain, now and then a counter. */
static struct ebt_event tame_event(unsigned i)
{
	bool counter = i % 5 == 4;
	return (struct ebt_event){
		.ts = 1000000 + 137ull * i,
		.pos = 2ull * i,
		.pid = 4711,
		.kind = counter ? EBT_COUNTER
			: i & 1 ? EBT_END
				: EBT_BEGIN,
		.cpu = EBT_NO_CPU,
		.flags = EBT_F_RING | EBT_F_SEQ,
		.id = i % 7,
		.seq = i,
		.size = 2,
		.arg = {counter ? i * 1000 : 0, 0},
	};
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

#define BLOCKS	  6
#define PER_BLOCK 20

/* A capture of tame events; starts[i] is where block i begins, the last one is the END. */
static struct bytes tame_file(size_t starts[BLOCKS + 2])
{
	struct capture_writer *w = new_writer();
	struct bytes file = {0};
	append_head(&file);
	for (unsigned b = 0; b < BLOCKS; b++) {
		starts[b] = file.len;
		for (unsigned i = 0; i < PER_BLOCK; i++) {
			struct ebt_event ev = tame_event(b * PER_BLOCK + i);
			capture_put_event(w, &ev, NULL, 0);
		}
		append_block(&file, w, CAPTURE_BLOCK_EVENTS);
	}
	starts[BLOCKS] = file.len;
	struct capture_item totals = {.what = CAPTURE_TOTALS};
	capture_put_item(w, &totals);
	append_block(&file, w, CAPTURE_BLOCK_END);
	starts[BLOCKS + 1] = file.len;
	capture_writer_free(w);
	return file;
}

/* Every event that came is one of the tame ones, and they rise. */
static bool are_tame(const struct result *r, unsigned *ret_missing)
{
	unsigned next = 0, missing = 0;
	for (size_t i = 0; i < r->count; i++) {
		const struct ebt_event *ev = &r->items[i].event;
		if (r->items[i].what != CAPTURE_EVENT || !capture_counts(ev->kind))
			continue;
		struct capture_item want = {.event = tame_event(ev->seq)};
		if (ev->seq < next || !same_event(&want, &r->items[i]))
			return false;
		missing += ev->seq - next;
		next = ev->seq + 1;
	}
	*ret_missing = missing + BLOCKS * PER_BLOCK - next;
	return true;
}

static void test_cut(void)
{
	size_t starts[BLOCKS + 2];
	struct bytes file = tame_file(starts);
	unsigned bad = 0, untold = 0, named = 0;
	for (size_t len = CAPTURE_HEAD_BYTES; len < file.len; len++) {
		struct result r = read_all(file.data, len, SIZE_MAX);
		unsigned blocks = 0, missing;
		while (blocks < BLOCKS && starts[blocks + 1] <= len)
			blocks++;
		bool at_border = len == starts[blocks];
		bad += r.end || r.events != blocks * PER_BLOCK || !are_tame(&r, &missing);
		untold += (r.damaged == 1) == at_border || r.stats.whole || !r.stats.ended;
		/* The head of the cut block says what is missing. */
		bool has_head = len >= starts[blocks] + CAPTURE_BLOCK_BYTES && blocks < BLOCKS;
		named += r.lost != (has_head ? PER_BLOCK : 0);
		done(&r);
	}
	is(bad, 0, "cut at any byte, a capture gives every block before it");
	is(untold, 0, "a block that is cut is told as damage, and the end is missing");
	is(named, 0, "a cut block whose head is there says how many events it had");
	free(file.data);
}

static void test_flips(void)
{
	size_t starts[BLOCKS + 2];
	struct bytes file = tame_file(starts);
	unsigned bad = 0, uneven = 0, misplaced = 0;
	for (size_t at = CAPTURE_HEAD_BYTES; at < file.len; at++) {
		for (unsigned bit = 0; bit < 8; bit += 3) {
			file.data[at] ^= (uint8_t)(1 << bit);
			struct result r = read_all(file.data, file.len, SIZE_MAX);
			unsigned block = 0, missing = 0;
			while (starts[block + 1] <= at)
				block++;
			size_t want = (BLOCKS - (size_t)(block < BLOCKS)) * PER_BLOCK;
			bad += r.end || r.events != want || !are_tame(&r, &missing);
			uneven += r.lost != missing;
			misplaced += r.damaged != 1 || r.fault.offset != starts[block];
			done(&r);
			file.data[at] ^= (uint8_t)(1 << bit);
		}
	}
	is(bad, 0, "a flipped bit costs the block that it is in, and no other");
	is(uneven, 0, "the events of that block are told as lost, every one");
	is(misplaced, 0, "the damage is told once, at the byte where the block begins");
	free(file.data);
}

static void test_shifts(void)
{
	size_t starts[BLOCKS + 2];
	struct bytes file = tame_file(starts);
	unsigned bad = 0;
	for (size_t at = starts[1]; at < starts[2]; at++) {
		/* A byte too few, then some too many. */
		for (size_t more = 0; more < 3; more++) {
			struct bytes bent = {0};
			append(&bent, file.data, at);
			append(&bent, "\xff\xff", more);
			append(&bent, file.data + at + !more, file.len - at - !more);
			struct result r = read_all(bent.data, bent.len, 33);
			unsigned missing = 0;
			bool between = more && at == starts[1];
			bad += r.end || !are_tame(&r, &missing) || r.lost != missing ||
			       r.events != (BLOCKS - (size_t)!between) * PER_BLOCK ||
			       r.damaged != 1;
			done(&r);
			free(bent.data);
		}
	}
	is(bad, 0, "bytes missing or too many cost their block alone: the next one is found");
	free(file.data);
}

int main(void)
{
	test_round_trip();
	test_size();
	test_cut();
	test_flips();
	test_shifts();
	return tap_done();
}
