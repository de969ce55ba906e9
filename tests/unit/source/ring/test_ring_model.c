/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ring protocol under a weak memory model, exhaustively: x86 orders loads with loads and stores
 * with stores, so no race on it can show that a fence is missing. The writer is ring_writer.h and
 * the reader source/ring/reader.c themselves, compiled here over atomics, fences and a pread() of
 * the model's own: a fence taken out of either fails this test. So that the model is known to see,
 * it also runs with each of them switched off, and must then find a violation.
 *
 * Memory is C11's, as views: a store is a message that stays readable; a load may return any
 * message of its word that is not older than what this reader has read there (coherence) or has
 * acquired. A message carries what its writer had released: for a release store all that was
 * stored before it, for a relaxed one all that was before the last release fence. An acquire fence
 * takes over what the messages read so far carry. The writer reads only its own words, so one run
 * of it gives all its messages, and the readers' choices among them cover every interleaving.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/tap.h"

static void model_store(uint64_t *word, uint64_t value, int order);
static uint64_t model_load(const uint64_t *word);
__attribute__((unused)) static void model_writer_fence(void);
__attribute__((unused)) static void model_reader_fence(void);
static ssize_t model_read_at(int fd, void *to, size_t bytes, uint64_t offset);

#define __atomic_store_n(word, value, order) model_store(word, value, order)
#define __atomic_load_n(word, order)	     model_load(word)
#define __atomic_thread_fence(order)	     model_writer_fence()
#include "usdt-probes/ring_writer.h"
#undef __atomic_store_n
#undef __atomic_load_n
#undef __atomic_thread_fence

#undef atomic_thread_fence
#define atomic_thread_fence(order) model_reader_fence()
#define file_read_at		   model_read_at
#include "user/source/ring/reader.c"

#define ELEMENTS     8
#define BLOCK	     2
#define HEADER_WORDS (sizeof(struct ebt_ring_header) / 8)
#define DATA_WORD    HEADER_WORDS
#define MEM_WORDS    (DATA_WORD + ELEMENTS)
#define MAX_MESSAGES 32 /* of one word */
#define MAX_CHOICES  64

enum { HEAD_WORD, TAIL_WORD, WRITING_WORD = 6 };

/* What is switched off. */
enum fault { SOUND, NO_F1, NO_W3, NO_R1, NO_F2, NO_WRITING_ORDER };

struct message {
	uint64_t time, value;
	uint64_t view; /* whoever acquires it has seen all stores up to this time */
};

static enum fault fault;
static uint64_t mem[MEM_WORDS]; /* as the writer sees it */
static struct message message[MEM_WORDS][MAX_MESSAGES];
static unsigned count[MEM_WORDS];
static uint64_t now, released;

static void model_store(uint64_t *word, uint64_t value, int order)
{
	size_t w = (size_t)(word - mem);
	if (w >= MEM_WORDS || count[w] == MAX_MESSAGES)
		abort();
	bool release = order == __ATOMIC_RELEASE && !(fault == NO_W3 && w == TAIL_WORD);
	now++;
	message[w][count[w]++] = (struct message){now, value, release ? now : released};
	*word = value;
}

static uint64_t model_load(const uint64_t *word)
{
	return *word;
}

__attribute__((unused)) static void model_writer_fence(void)
{
	if (fault != NO_F1)
		released = now;
}

/* What the writer put at each position; a word of padding may hold anything. */
#define MAX_POS 64
static uint64_t truth[MAX_POS];
static bool is_record[MAX_POS], is_any[MAX_POS];
static uint64_t commit_time[MAX_POS], commit_tail[MAX_POS];
static unsigned commits;
static uint64_t final_tail;

/* A record as record.h writes it: `writing`, room, header, stamp and payload, tail, `writing`. */
static void write_record(struct ebt_ring *r, uint64_t n)
{
	uint64_t from = r->tail;
	ebt_ring_store(&r->h->writing, 1);
	uint64_t *words = ebt_ring_reserve(r, n);
	is_record[from] = is_record[r->tail] = true;
	for (uint64_t p = from; p < r->tail; p++)
		is_any[p] = true;
	for (uint64_t i = 0; i < n; i++) {
		uint64_t p = r->tail + i;
		truth[p] = i ? 1000 + p : ebt_ring_event_header(n, 0, EBT_RING_BEGIN, 1, 0);
		ebt_ring_store(&words[i], truth[p]);
	}
	ebt_ring_commit(r, n);
	model_store(&r->h->writing, 0, __ATOMIC_RELEASE);
	commit_time[commits] = now;
	commit_tail[commits++] = final_tail = r->tail;
}

static void run_writer(const unsigned char *lengths)
{
	uint16_t first[EBT_RING_BLOCKS] = {0};
	struct ebt_ring r;
	memset(mem, 0, sizeof(mem));
	ebt_ring_open(&r, (struct ebt_ring_header *)mem, mem + DATA_WORD, ELEMENTS, BLOCK, first);
	memset(is_record, 0, sizeof(is_record));
	memset(is_any, 0, sizeof(is_any));
	now = released = commits = 0;
	for (size_t w = 0; w < MEM_WORDS; w++) {
		message[w][0] = (struct message){0};
		count[w] = 1;
	}
	commit_time[0] = commit_tail[0] = 0;
	commits = 1;
	is_record[0] = true;
	for (; *lengths; lengths++)
		write_record(&r, *lengths);
	is_record[final_tail] = true;
}

/* The choices of this run: those it repeats, then the first of each that is new. */
static unsigned choice[MAX_CHOICES], options[MAX_CHOICES], depth, known;

static unsigned choose(unsigned n)
{
	if (n < 2)
		return 0;
	if (depth == MAX_CHOICES)
		abort();
	if (depth == known) {
		choice[known] = 0;
		options[known++] = n;
	}
	return choice[depth++];
}

static bool next_run(void)
{
	while (known && choice[known - 1] + 1 == options[known - 1])
		known--;
	if (known)
		choice[known - 1]++;
	depth = 0;
	return known;
}

/* The reader: what it has acquired, what the messages it read carry, what it read of each word. */
static uint64_t acquired, pending, limit;
static unsigned seen[MEM_WORDS];
static unsigned free_headers; /* this many copies of the header may be of any age */
static bool in_look, free_words, with_ext;
static uint64_t writing_time; /* of the message of `writing` that the look read first */

__attribute__((unused)) static void model_reader_fence(void)
{
	bool first = in_look && with_ext && free_headers == 1;
	if ((fault == NO_F2 && !in_look) || (fault == NO_R1 && in_look && !first) ||
	    (fault == NO_WRITING_ORDER && first))
		return;
	acquired = pending > acquired ? pending : acquired;
}

static unsigned oldest(size_t w)
{
	unsigned m = seen[w];
	while (m + 1 < count[w] && message[w][m + 1].time <= acquired)
		m++;
	return m;
}
static unsigned newest(size_t w)
{
	unsigned m = count[w] - 1;
	while (m && message[w][m].time > limit)
		m--;
	return m;
}

static uint64_t take(size_t w, unsigned m)
{
	seen[w] = m;
	pending = message[w][m].view > pending ? message[w][m].view : pending;
	return message[w][m].value;
}

static uint64_t load(size_t w, bool any)
{
	unsigned from = oldest(w), to = newest(w);
	return take(w, any && from < to ? from + choose(to - from + 1) : to > from ? to : from);
}

/*
 * A tail only matters by itself in a look. Read again it is held against head: the oldest that
 * agrees and the oldest that does not stand for all of them.
 */
static uint64_t load_second_tail(uint64_t head)
{
	unsigned pick[2], n = 0;
	for (unsigned m = oldest(TAIL_WORD); m <= newest(TAIL_WORD); m++) {
		uint64_t tail = message[TAIL_WORD][m].value;
		bool sane = head <= tail && tail - head <= ELEMENTS;
		if (n < 2 && (!n || sane != (pick[0] & 1)))
			pick[n++] = m << 1 | sane;
	}
	return take(TAIL_WORD, pick[choose(n)] >> 1);
}

/* A copy of the header that is only to be read again is believed to be of now: time passes. */
static void copy_header(uint64_t *to)
{
	bool any = free_headers > 0, early = any && in_look && with_ext && free_headers == 2;
	for (size_t w = 0; w < HEADER_WORDS; w++)
		if (early)
			to[w] = w == WRITING_WORD ? load(w, true) : take(w, oldest(w));
		else if (w == WRITING_WORD)
			to[w] = take(w, oldest(w));
		else if (w == TAIL_WORD && any && !in_look)
			to[w] = load_second_tail(to[HEAD_WORD]);
		else
			to[w] = load(w, any);
	if (early)
		writing_time = message[WRITING_WORD][seen[WRITING_WORD]].time;
	free_headers -= any;
}

static ssize_t model_read_at(int fd, void *to, size_t bytes, uint64_t offset)
{
	(void)fd;
	uint64_t copy[MEM_WORDS];
	size_t first = (size_t)offset / 8, n = bytes / 8;
	if (first + n > MEM_WORDS)
		abort();
	if (first < DATA_WORD)
		copy_header(copy);
	else
		for (size_t i = 0; i < n; i++)
			copy[i] = load(first + i, free_words);
	memcpy(to, copy, bytes);
	return (ssize_t)bytes;
}

struct checked {
	uint64_t at; /* all below it was delivered or lost */
	bool torn, silent, damaged;
};

static void check(struct checked *c, const struct cursor_fetch *f, const uint64_t *words)
{
	c->damaged |= f->damage;
	c->silent |= f->pos != c->at + f->lost || f->pos > final_tail || !is_record[f->pos];
	for (uint32_t i = 0; i < f->words; i++)
		c->torn |= f->pos + i >= final_tail ||
			   (!is_any[f->pos + i] && words[i] != truth[f->pos + i]) ||
			   (is_record[f->pos + i] && !words[i]);
	c->at = f->pos + f->words;
}

static void look(struct ring_reader *rr, bool any)
{
	in_look = true;
	free_headers = any ? 1 + with_ext : 0;
	ring_reader_update(rr, true);
	in_look = false;
}

static void fetch_all(struct ring_reader *rr, struct checked *c, bool any)
{
	struct cursor_fetch f;
	uint64_t words[ELEMENTS];
	for (int i = 0; i < 2 * ELEMENTS; i++) {
		free_headers = free_words = any;
		if (ring_reader_fetch(rr, 0, words, ELEMENTS, &f) <= 0)
			return;
		check(c, &f, words);
	}
	c->silent = true; /* it does not end */
}

static void reader_start(struct ring_reader *rr, uint64_t first)
{
	static struct cursor_ring ring;
	static struct ring_state state;
	ring = (struct cursor_ring){0};
	state = (struct ring_state){0};
	*rr = (struct ring_reader){.fd = -1,
				   .layout = {.max_domains = 1,
					      .ring_words = ELEMENTS,
					      .header_bytes = sizeof(struct ebt_ring_header),
					      .data_offset = 8 * DATA_WORD},
				   .has_ext = with_ext,
				   .ring = &ring,
				   .state = &state,
				   .rings = 1};
	acquired = pending = 0;
	memset(seen, 0, sizeof(seen));
	limit = first;
}

/* Reads what was there after `first` records, then at any time later, then all that is left. */
static void run_reader(unsigned first, struct checked *c)
{
	struct ring_reader rr;
	*c = (struct checked){0};
	reader_start(&rr, commit_time[first]);
	look(&rr, false);
	fetch_all(&rr, c, false);
	limit = now;
	look(&rr, true);
	if (with_ext) {
		bool quiet = !rr.ring[0].writing;
		for (unsigned i = 0; quiet && i < commits; i++)
			c->silent |=
				commit_time[i] <= writing_time && rr.ring[0].tail < commit_tail[i];
		return;
	}
	fetch_all(&rr, c, true);
	look(&rr, false);
	fetch_all(&rr, c, false);
	c->silent |= c->at != final_tail;
}

struct result {
	uint64_t runs, torn, silent, damaged;
};

/* All runs; with a fault, until one that shows it. */
static struct result explore(enum fault f, bool ext)
{
	static const unsigned char lengths[][16] = {{2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2},
						    {3, 2, 3, 2, 3, 3, 2, 4, 2},
						    {2, 4, 3, 2, 4, 4, 2, 3}};
	struct result r = {0};
	fault = f;
	with_ext = ext;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		run_writer(lengths[i]);
		for (unsigned first = 0; first < commits; first++) {
			depth = known = 0;
			do {
				struct checked c;
				run_reader(first, &c);
				r.runs++;
				r.torn += c.torn;
				r.silent += c.silent;
				r.damaged += c.damaged;
				if (f && (c.torn || c.silent))
					return r;
			} while (next_run());
		}
	}
	return r;
}

int main(void)
{
	struct result r = explore(SOUND, false);
	diag("%llu runs", (unsigned long long)r.runs);
	ok(r.runs > 1000, "the model has many runs");
	is(r.torn, 0, "as it is, no run accepts a torn record");
	is(r.silent, 0, "and none loses a word silently");
	is(r.damaged, 0, "nor takes a sound ring for a damaged one");
	ok(explore(NO_F1, false).torn, "without the writer's fence F1 a torn record is accepted");
	ok(explore(NO_W3, false).torn, "so it is if the writer's tail is no release");
	ok(explore(NO_R1, false).torn, "and if the reader's tail is no acquire");
	ok(explore(NO_F2, false).torn, "and without the reader's fence F2");
	is(explore(SOUND, true).silent, 0,
	   "a ring that says nobody writes shows all that was written");
	ok(explore(NO_WRITING_ORDER, true).silent, "but not if its tail may be older than that");
	return tap_done();
}
