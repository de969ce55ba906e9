/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/ring/reader.h"

#include "base/array.h"
#include "base/file.h"
#include "source/ring/header.h"
#include <ebtrace/cursor.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEAR_RETRIES 3
/* Headers that one read copies, and how many are read behind those of the rings in use. */
#define LOOK_RINGS 128
#define LOOK_AHEAD 4

const struct cursor_ring *ring_reader_ring(const struct ring_reader *rr, uint32_t domain)
{
	static const struct cursor_ring unused;
	return domain < rr->rings ? &rr->ring[domain] : &unused;
}

/* Memory for the state of a ring. Most rings of a file are never used. 0 or -ENOMEM. */
static int make_ring(struct ring_reader *rr, uint32_t d)
{
	uint32_t rings = rr->rings, states = rr->rings;
	if (!array_room(rr->ring, rings, d) || !array_room(rr->state, states, d))
		return -ENOMEM;
	rr->rings = rings;
	return 0;
}

static bool is_sane(const struct ring_reader *rr, uint64_t head, uint64_t tail)
{
	return head <= tail && tail - head <= rr->layout.ring_words;
}

/* Head and tail of one ring again: a copy may have torn a word. 0, -EBADMSG: no use, -errno. */
static int read_header(struct ring_reader *rr, uint32_t d, struct ebt_ring_header *ret)
{
	for (int i = 0; i < TEAR_RETRIES; i++) {
		ssize_t n =
			file_read_at(rr->fd, ret, sizeof(*ret), ring_layout_header(&rr->layout, d));
		if (n < 0)
			return (int)n;
		if (n == sizeof(*ret) && is_sane(rr, ret->head, ret->tail))
			return 0;
	}
	return -EBADMSG;
}

/*
 * A header that contradicts itself: one of its words is wrong. If tail is within the first lap,
 * nothing can have been overwritten; else head is believed for one lap. Tried once.
 */
static void guess_window(struct ring_reader *rr, uint32_t d, const struct ebt_ring_header *h)
{
	struct cursor_ring *r = &rr->ring[d];
	struct ring_state *s = &rr->state[d];

	if (s->insane && s->insane_head == h->head && s->insane_tail == h->tail)
		return;
	s->insane = r->notice = true;
	s->damage_offset = ring_layout_header(&rr->layout, d);
	s->insane_head = h->head;
	s->insane_tail = h->tail;
	bool first_lap = h->tail <= rr->layout.ring_words;
	uint64_t from = first_lap ? 0 : h->head, to = first_lap ? h->tail : from;
	if (!first_lap && from <= UINT64_MAX / 2)
		to = from + rr->layout.ring_words;
	r->head = from;
	r->tail = to;
	if (r->pos < from || r->pos > to)
		r->pos = from;
}

/* early_writing: of the header as it was read just before. */
static void look_at(struct ring_reader *rr, uint32_t d, bool early_writing,
		    struct ebt_ring_header *h)
{
	struct cursor_ring *r = &rr->ring[d];
	struct ring_state *s = &rr->state[d];

	r->writing = rr->has_ext && (early_writing || !is_sane(rr, h->head, h->tail));
	if ((h->head || h->tail || r->writing) && rr->used <= d)
		rr->used = d + 1;
	if (!is_sane(rr, h->head, h->tail) && read_header(rr, d, h)) {
		guess_window(rr, d, h);
		return;
	}
	if (s->insane) { /* the header is sane again: the guessed window is dropped */
		s->insane = false;
		r->pos = h->tail;
	}
	if (h->tail < r->pos) { /* a producer with the same pid took the file for its own */
		r->notice = s->restart = true;
		s->damage_offset = ring_layout_header(&rr->layout, d);
		r->pos = h->head;
	}
	s->history = rr->looked ? s->history && h->head == r->head : h->head != 0;
	r->head = h->head;
	r->tail = h->tail;
}

static void note_owner(struct cursor_ring *r, const struct ebt_ring_header *early,
		       const struct ebt_ring_header *now)
{
	bool same = early->generation == now->generation && early->last_tid == now->last_tid;
	r->generation = same ? now->generation : 0;
	/* Libraries before this one have none. */
	r->owner = (uint32_t)(now->last_tid ? now->last_tid : now->owner_tid);
}

/* An event uses its ordinal before it is below tail, while the writer is inside of it: outside, all
 * that have been used are of events below the tail that is read behind them. */
static void note_ordinals(struct cursor_ring *r, const struct ebt_ring_header *early)
{
	r->settled = !early->writing;
	r->ordinals = early->events + early->dropped;
}

/* The present end of the file, at most `missing`, an offset that could not be read. */
static uint64_t file_end(const struct ring_reader *rr, uint64_t missing)
{
	struct stat st;
	if (fstat(rr->fd, &st) < 0 || (uint64_t)st.st_size > missing)
		return missing;
	return (uint64_t)st.st_size;
}

/* The file was truncated inside the headers; ring d is the first without one. Reported once. 0 or
 * -ENOMEM. */
static int report_cut(struct ring_reader *rr, uint32_t d)
{
	int err = rr->cut ? 0 : make_ring(rr, d);
	if (err || rr->cut)
		return err;
	rr->cut = true;
	if (rr->used <= d)
		rr->used = d + 1;
	uint64_t offset = ring_layout_header(&rr->layout, d) + sizeof(struct ebt_ring_header);
	rr->ring[d].notice = true;
	rr->state[d].damage_offset = file_end(rr, offset);
	return 0;
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* One ring, as its header was read twice. 0 or -ENOMEM. */
static int look_at_one(struct ring_reader *rr, uint32_t d, const struct ebt_ring_header *early,
		       struct ebt_ring_header *now)
{
	bool writing = rr->has_ext && early->writing;
	if (d >= rr->rings && !now->head && !now->tail && !writing)
		return 0;
	int err = make_ring(rr, d);
	if (err)
		return err;
	if (rr->has_ext)
		note_owner(&rr->ring[d], early, now);
	if (rr->has_ext)
		note_ordinals(&rr->ring[d], early);
	look_at(rr, d, writing, now);
	return 0;
}

/* Keeps the headers for ring_reader_is_still(), of the n that were read twice. */
static void keep_still(struct ring_reader *rr, const struct ebt_ring_header *early,
		       const struct ebt_ring_header *now, uint32_t n)
{
	/* OCaml's runtime takes a ring before it shows in the header. */
	uint32_t ahead = rr->has_ext ? 1 : LOOK_AHEAD;
	uint32_t kept = least(rr->used + ahead, rr->layout.max_domains);
	bool still = kept <= least(n, STILL_RINGS);
	rr->still_rings = 0;
	for (uint32_t d = 0; still && d < kept; d++) {
		bool writing = rr->has_ext && (early[d].writing || now[d].writing);
		still = !writing && !(d < rr->rings && rr->state[d].insane);
		rr->still[d] = now[d];
	}
	if (still)
		rr->still_rings = kept;
}

/* Reads n headers, from that of ring `first` on. How many of them the file has, or -errno. */
static int look_from(struct ring_reader *rr, uint32_t first, uint32_t n)
{
	struct ebt_ring_header early[LOOK_RINGS], now[LOOK_RINGS];
	size_t bytes = n * sizeof(*now);
	uint64_t at = ring_layout_header(&rr->layout, first);

	/* `writing` must be older than the tails that it covers: two reads, in this order. */
	ssize_t before = rr->has_ext ? file_read_at(rr->fd, early, bytes, at) : (ssize_t)bytes;
	if (before < 0)
		return (int)before;
	/* partner of the release by which a probe ends `writing`: the tails are no older than
	 * that */
	atomic_thread_fence(memory_order_acquire);
	ssize_t got = file_read_at(rr->fd, now, bytes, at);
	if (got < 0)
		return (int)got;
	uint32_t whole = (uint32_t)((size_t)(got < before ? got : before) / sizeof(*now));
	int err = 0;
	for (uint32_t i = 0; i < whole && !err; i++)
		err = look_at_one(rr, first + i, &early[i], &now[i]);
	if (!first)
		keep_still(rr, early, now, err ? 0 : whole);
	/* R1 of ring.h: partner of the writer's W3; the words below the tails read above are
	 * there */
	atomic_thread_fence(memory_order_acquire);
	return err ? err : (int)whole;
}

int ring_reader_update(struct ring_reader *rr, bool all)
{
	uint32_t max = rr->layout.max_domains, done = 0, to;
	while (done < (to = all || !rr->looked ? max : least(max, rr->used + LOOK_AHEAD))) {
		uint32_t n = least(to - done, LOOK_RINGS);
		int whole = look_from(rr, done, n);
		if (whole < 0)
			return whole;
		done += (uint32_t)whole;
		if ((uint32_t)whole == n)
			continue;
		int err = report_cut(rr, done);
		if (err)
			return err;
		break;
	}
	rr->looked = true;
	return to == max;
}

bool ring_reader_was_still(const struct ring_reader *rr, const void *copy)
{
	return rr->still_rings && !memcmp(copy, rr->still, rr->still_rings * sizeof(*rr->still));
}

bool ring_reader_is_still(const struct ring_reader *rr)
{
	struct ebt_ring_header now[STILL_RINGS];
	size_t bytes = rr->still_rings * sizeof(*now);
	ssize_t got =
		bytes ? file_read_at(rr->fd, now, bytes, ring_layout_header(&rr->layout, 0)) : 0;
	/* As in look_from(): the tails that are read next are no older than this `writing`. */
	atomic_thread_fence(memory_order_acquire);
	return got == (ssize_t)bytes && ring_reader_was_still(rr, now);
}

/* The first headers are mapped from the begin of their page. */
static size_t map_bytes(const struct ring_reader *rr, uint64_t *ret_from)
{
	uint64_t at = ring_layout_header(&rr->layout, 0);
	*ret_from = at - at % (uint64_t)sysconf(_SC_PAGESIZE);
	return at - *ret_from + sizeof(rr->still);
}

struct iovec ring_reader_mapped(struct ring_reader *rr)
{
	uint64_t from;
	size_t bytes = map_bytes(rr, &from), len = rr->still_rings * sizeof(*rr->still);
	if (!len)
		return (struct iovec){0};
	if (!rr->map)
		rr->map = mmap(NULL, bytes, PROT_READ, MAP_SHARED, rr->fd, (off_t)from);
	if (rr->map == MAP_FAILED)
		return (struct iovec){0};
	return (struct iovec){(char *)rr->map + bytes - sizeof(rr->still), len};
}

/* Damage and losses to be reported before any word is read. */
static bool fetch_notice(struct ring_reader *rr, uint32_t d, struct cursor_fetch *f)
{
	struct cursor_ring *r = &rr->ring[d];
	struct ring_state *s = &rr->state[d];

	if (r->notice) {
		f->damage = true;
		f->restart = s->restart;
		f->damage_offset = s->damage_offset;
		f->damage_pos = r->pos;
		r->notice = s->restart = false;
	}
	if (r->pos < r->head) {
		f->lost = r->head - r->pos;
		f->history = s->history;
		r->pos = r->head;
	}
	f->pos = r->pos;
	return f->damage || f->lost;
}

/* Removes the words of the copy that may have been overwritten meanwhile. */
static int fetch_verify(struct ring_reader *rr, uint32_t d, uint64_t *words, size_t n,
			struct cursor_fetch *f)
{
	struct cursor_ring *r = &rr->ring[d];
	struct ebt_ring_header h;

	if (rr->state[d].insane) /* no header to compare with */
		h.head = r->head;
	else {
		/* F2 of ring.h: partner of the writer's F1; orders the copy before the new head */
		atomic_thread_fence(memory_order_acquire);
		int err = read_header(rr, d, &h);
		if (err == -EBADMSG) {
			h.head = r->head;
			f->damage = true;
			f->damage_offset = ring_layout_header(&rr->layout, d);
			f->damage_words = n;
			f->damage_pos = f->pos;
			n = 0;
		} else if (err) {
			return err;
		}
	}
	if (h.head > f->pos) {
		uint64_t torn = h.head - f->pos;
		f->lost += torn;
		f->history = rr->state[d].history;
		f->pos = h.head;
		n = torn < n ? n - torn : 0;
		memmove(words, words + torn * (n > 0), 8 * n);
	}
	r->head = h.head;
	f->words = (uint32_t)n;
	rr->state[d].history &= !n;
	return 0;
}

int ring_reader_fetch(struct ring_reader *rr, uint32_t d, uint64_t *words, size_t cap,
		      struct cursor_fetch *ret)
{
	if (d >= rr->rings)
		return 0;
	struct cursor_ring *r = &rr->ring[d];
	struct cursor_fetch f = {.pos = r->pos};

	if (fetch_notice(rr, d, &f)) {
		*ret = f;
		return 1;
	}
	uint64_t want = r->tail - r->pos;
	uint64_t wrap = rr->layout.ring_words - (r->pos & (rr->layout.ring_words - 1));
	if (r->tail <= r->pos)
		return 0;
	want = want < wrap ? want : wrap;
	want = want < cap ? want : cap;

	uint64_t offset = ring_layout_word(&rr->layout, d, r->pos);
	ssize_t bytes = file_read_at(rr->fd, words, 8 * want, offset);
	if (bytes < 0)
		return (int)bytes;
	size_t n = (size_t)bytes / 8;
	if (n) {
		int err = fetch_verify(rr, d, words, n, &f);
		if (err)
			return err;
		r->pos = f.pos + (f.damage ? n : f.words);
	} else { /* the file ends here; behind the wrap of the ring there may be words again */
		uint64_t rest = r->tail - r->pos < wrap ? r->tail - r->pos : wrap;
		f.damage = true;
		f.damage_offset = file_end(rr, offset);
		f.damage_words = rest;
		f.damage_pos = r->pos;
		r->pos = f.pos = r->pos + rest;
	}
	if (r->tail < r->pos) /* all was overwritten, and more */
		r->tail = r->pos;
	f.more = n == want && r->pos < r->tail;
	*ret = f;
	return 1;
}

static int fail_at(char *reason, const char *name, int err, const struct ring_fault *f)
{
	if (reason)
		snprintf(reason, EBT_REASON_BYTES,
			 "ring file '%s': %s is %llu at byte %llu, expected %llu", name, f->what,
			 (unsigned long long)f->found, (unsigned long long)f->offset,
			 (unsigned long long)f->expected);
	return err;
}

static int fail(char *reason, const char *name, int err, const char *what)
{
	if (reason)
		snprintf(reason, EBT_REASON_BYTES, "ring file '%s': %s", name, what);
	return err;
}

static int read_header_of_file(struct ring_reader *rr, const char *name, char *reason)
{
	struct ring_header h;
	struct ring_fault fault;
	int err = ring_header_read(rr->fd, &h, &fault);
	if (err && fault.what)
		return fail_at(reason, name, err, &fault);
	if (err)
		return fail(reason, name, err,
			    err == -EINVAL ? "not a regular file" : strerror(-err));
	rr->layout = h.layout;
	rr->has_ext = h.has_ext;
	rr->ext = h.ext;
	return 0;
}

int ring_reader_init(struct ring_reader *rr, int fd, const char *name, char *reason)
{
	*rr = (struct ring_reader){.fd = fd};
	return read_header_of_file(rr, name, reason);
}

void ring_reader_done(struct ring_reader *rr)
{
	uint64_t from;
	if (rr->map && rr->map != MAP_FAILED)
		munmap(rr->map, map_bytes(rr, &from));
	free(rr->ring);
	free(rr->state);
	*rr = (struct ring_reader){.fd = -1};
}

size_t ring_reader_bytes(const struct ring_reader *rr)
{
	return rr->layout.max_domains * (sizeof(*rr->ring) + sizeof(*rr->state));
}

int ring_reader_first_pid(const struct ring_reader *rr, uint64_t *ret)
{
	struct ebt_ring_header h;
	uint64_t w[3];

	*ret = 0;
	ssize_t n = file_read_at(rr->fd, &h, sizeof(h), ring_layout_header(&rr->layout, 0));
	if (n != sizeof(h) || h.head || h.tail < 3)
		return n < 0 ? (int)n : 0;
	n = file_read_at(rr->fd, w, sizeof(w), ring_layout_word(&rr->layout, 0, 0));
	if (n == sizeof(w) && w[0] == ebt_ring_event_header(3, 0, EBT_RING_LIFECYCLE, 0, 0) &&
	    w[2] <= INT32_MAX)
		*ret = w[2];
	return n < 0 ? (int)n : 0;
}

uint64_t ring_reader_skip(struct ring_reader *rr, uint32_t d)
{
	if (d >= rr->rings || rr->ring[d].tail <= rr->ring[d].pos)
		return 0;
	struct cursor_ring *r = &rr->ring[d];
	uint64_t words = r->tail - r->pos;
	r->pos = r->tail;
	rr->state[d].history = false;
	return words;
}

uint64_t ring_reader_ringless(const struct ring_reader *rr)
{
	uint64_t n, at = rr->layout.end_offset + offsetof(struct ebt_ring_ext, no_ring_events);
	if (!rr->has_ext || file_read_at(rr->fd, &n, sizeof(n), at) != sizeof(n))
		return 0;
	return n;
}
