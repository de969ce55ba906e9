/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/cursor.h"
#include "proc/ringfile.h"

#include <ebtrace/ring.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK_WORDS  8192 /* stays in the L2 cache between the copy and the decoding */
#define STASH_EVENTS 128
#define TEAR_RETRIES 3

/* What the other side's header made of a ring, beside struct cursor_ring. */
struct ring_state {
	bool history; /* what is below head was overwritten before the first look */
	bool insane;  /* head and tail contradict; a window was guessed once */
	bool damage, restart;
	uint64_t insane_head, insane_tail;
};

struct ebt_cursor {
	int fd;
	enum ebt_release release;
	int release_assumed;
	uint32_t pid;
	bool has_ext;
	struct ring_layout layout;
	struct ring_ext ext;
	struct cursor_ring *ring;
	struct ring_state *state;
	struct ring_decoder *dec;
	struct ebt_ring_header *table, *early; /* all headers; as they were a moment before */
	bool looked;

	/* poll and read */
	uint32_t repairs_told;
	uint32_t turn;
	struct ring_batch batch; /* of ring `turn`, in buf */
	uint64_t *buf;
	uint32_t stash_next, stash_n;
	struct ebt_event stash[STASH_EVENTS];
	char name[EBT_RING_NAME_BYTES];
};

const struct ring_layout *cursor_layout(const struct ebt_cursor *c)
{
	return &c->layout;
}
const struct ring_ext *cursor_ext(const struct ebt_cursor *c)
{
	return c->has_ext ? &c->ext : NULL;
}
enum ebt_release cursor_release(const struct ebt_cursor *c)
{
	return c->release;
}
const struct cursor_ring *cursor_ring(const struct ebt_cursor *c, uint32_t domain)
{
	return &c->ring[domain];
}

void cursor_set_pid(struct ebt_cursor *c, uint32_t pid)
{
	c->pid = pid;
	for (uint32_t d = 0; d < c->layout.max_domains; d++)
		c->dec[d].blank.pid = pid;
}

void cursor_decoder_init(const struct ebt_cursor *c, uint32_t domain, struct ring_decoder *ret)
{
	uint32_t phases;
	const uint16_t *phase = ring_canonical_phases(c->release, &phases);
	ring_decoder_init(ret, domain, c->layout.ring_words,
			  ring_layout_word(&c->layout, domain, 0), phase, phases, c->has_ext);
	ret->blank.pid = c->pid;
}

struct ebt_event cursor_repair_event(const struct ebt_cursor *c, uint32_t i)
{
	return (struct ebt_event){
		.pos = EBT_NO_POS,
		.pid = c->pid,
		.kind = EBT_DAMAGE,
		.domain = EBT_NO_DOMAIN,
		.cpu = EBT_NO_CPU,
		.flags = EBT_F_RING,
		.arg = {c->layout.repair[i].offset, 0},
	};
}

/* Bytes read, fewer only at the end of the file; else -errno. */
static ssize_t read_at(int fd, void *to, size_t n, uint64_t offset)
{
	size_t got = 0;
	while (got < n) {
		ssize_t r = pread(fd, (char *)to + got, n - got, (off_t)(offset + got));
		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return -errno;
		if (!r)
			break;
		got += (size_t)r;
	}
	return (ssize_t)got;
}

static bool is_sane(const struct ebt_cursor *c, uint64_t head, uint64_t tail)
{
	return head <= tail && tail - head <= c->layout.ring_words;
}

/* Head and tail of one ring again: a copy may have torn a word. 0, -EBADMSG: no use, -errno. */
static int read_header(struct ebt_cursor *c, uint32_t d, struct ebt_ring_header *ret)
{
	for (int i = 0; i < TEAR_RETRIES; i++) {
		ssize_t n = read_at(c->fd, ret, sizeof(*ret), ring_layout_header(&c->layout, d));
		if (n < 0)
			return (int)n;
		if (n == sizeof(*ret) && is_sane(c, ret->head, ret->tail))
			return 0;
	}
	return -EBADMSG;
}

/*
 * A header that contradicts itself: one of its words is wrong. If tail is within the first lap,
 * nothing can have been overwritten; else head is believed for one lap. Tried once.
 */
static void guess_window(struct ebt_cursor *c, uint32_t d, const struct ebt_ring_header *h)
{
	struct cursor_ring *r = &c->ring[d];
	struct ring_state *s = &c->state[d];

	if (s->insane && s->insane_head == h->head && s->insane_tail == h->tail)
		return;
	s->insane = s->damage = true;
	s->insane_head = h->head;
	s->insane_tail = h->tail;
	bool first_lap = h->tail <= c->layout.ring_words;
	uint64_t from = first_lap ? 0 : h->head, to = first_lap ? h->tail : from;
	if (!first_lap && from <= UINT64_MAX / 2)
		to = from + c->layout.ring_words;
	r->head = from;
	r->tail = to;
	if (r->pos < from || r->pos > to)
		r->pos = from;
}

static void look_at(struct ebt_cursor *c, uint32_t d, struct ebt_ring_header *h)
{
	struct cursor_ring *r = &c->ring[d];
	struct ring_state *s = &c->state[d];

	r->writing = c->has_ext && (c->early[d].writing || !is_sane(c, h->head, h->tail));
	if (!is_sane(c, h->head, h->tail) && read_header(c, d, h)) {
		guess_window(c, d, h);
		return;
	}
	if (s->insane) { /* it came right again: what was guessed is not trusted any further */
		s->insane = false;
		r->pos = h->tail;
	}
	if (h->tail < r->pos) { /* a producer with the same pid took the file for its own */
		s->damage = s->restart = true;
		r->pos = h->head;
	}
	if (!c->looked && h->head)
		s->history = true;
	r->head = h->head;
	r->tail = h->tail;
}

int cursor_look(struct ebt_cursor *c)
{
	size_t bytes = sizeof(*c->table) * c->layout.max_domains;
	ssize_t n = (ssize_t)bytes;

	/* `writing` must be older than the tails that it is to vouch for: two reads, in this order. */
	if (c->has_ext)
		n = read_at(c->fd, c->early, bytes, c->layout.headers_offset);
	if (n == (ssize_t)bytes)
		n = read_at(c->fd, c->table, bytes, c->layout.headers_offset);
	if (n != (ssize_t)bytes)
		return n < 0 ? (int)n : -EBADMSG;
	for (uint32_t d = 0; d < c->layout.max_domains; d++)
		look_at(c, d, &c->table[d]);
	c->looked = true;
	return 0;
}

/* What is to be told before any word is read. */
static bool fetch_notice(struct ebt_cursor *c, uint32_t d, struct cursor_fetch *f)
{
	struct cursor_ring *r = &c->ring[d];
	struct ring_state *s = &c->state[d];

	if (s->damage) {
		f->damage = true;
		f->restart = s->restart;
		f->damage_offset = ring_layout_header(&c->layout, d);
		f->damage_pos = r->pos;
		s->damage = s->restart = false;
	}
	if (r->pos < r->head) {
		f->lost = r->head - r->pos;
		f->history = s->history;
		r->pos = r->head;
	}
	s->history = false;
	f->pos = r->pos;
	return f->damage || f->lost;
}

/* Takes out of the copy what may have been overwritten while it was made. */
static int fetch_verify(struct ebt_cursor *c, uint32_t d, uint64_t *words, size_t n,
			struct cursor_fetch *f)
{
	struct cursor_ring *r = &c->ring[d];
	struct ebt_ring_header h;

	if (c->state[d].insane) /* nothing to hold the copy against */
		h.head = r->head;
	else {
		/* F2 of ring.h: partner of the writer's F1; orders the copy before the new head */
		atomic_thread_fence(memory_order_acquire);
		int err = read_header(c, d, &h);
		if (err == -EBADMSG) {
			h.head = r->head;
			f->damage = true;
			f->damage_offset = ring_layout_header(&c->layout, d);
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
		f->pos = h.head;
		n = torn < n ? n - torn : 0;
		memmove(words, words + torn * (n > 0), 8 * n);
	}
	r->head = h.head;
	f->words = (uint32_t)n;
	return 0;
}

int cursor_fetch(struct ebt_cursor *c, uint32_t d, uint64_t *words, size_t cap,
		 struct cursor_fetch *ret)
{
	struct cursor_ring *r = &c->ring[d];
	struct cursor_fetch f = {.pos = r->pos};

	if (fetch_notice(c, d, &f)) {
		*ret = f;
		return 1;
	}
	uint64_t want = r->tail - r->pos;
	uint64_t wrap = c->layout.ring_words - (r->pos & (c->layout.ring_words - 1));
	if (r->tail <= r->pos)
		return 0;
	want = want < wrap ? want : wrap;
	want = want < cap ? want : cap;

	uint64_t offset = ring_layout_word(&c->layout, d, r->pos);
	ssize_t bytes = read_at(c->fd, words, 8 * want, offset);
	if (bytes < 0)
		return (int)bytes;
	size_t n = (size_t)bytes / 8;
	if (n) {
		int err = fetch_verify(c, d, words, n, &f);
		if (err)
			return err;
		r->pos = f.pos + (f.damage ? n : f.words);
	} else { /* the file ends here; where the ring wraps there may be words again */
		uint64_t rest = r->tail - r->pos < wrap ? r->tail - r->pos : wrap;
		f.damage = true;
		f.damage_offset = offset + (size_t)bytes;
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

/* Takes the next words of the next ring that has any. 1, 0: all is read up to the last look. */
static int next_batch(struct ebt_cursor *c)
{
	/* a record cut by the end of the buffer is fetched again, whole */
	c->ring[c->turn].pos -= c->batch.n;
	bool used = c->batch.words;
	c->batch = (struct ring_batch){0};
	if (used)
		c->turn = (c->turn + 1) % c->layout.max_domains;
	for (uint32_t i = 0; i < c->layout.max_domains; i++) {
		struct cursor_fetch f;
		int r = cursor_fetch(c, c->turn, c->buf, CHUNK_WORDS, &f);
		if (r < 0)
			return r;
		if (r > 0) {
			struct ring_decoder *d = &c->dec[c->turn];
			if (f.restart)
				ring_decoder_restart(d);
			if (f.damage)
				ring_decoder_damage(d, f.damage_offset, f.damage_words,
						    f.damage_pos);
			if (f.lost)
				ring_decoder_gap(d, f.lost, f.history);
			c->batch = (struct ring_batch){
				.words = c->buf, .n = f.words, .pos = f.pos, .more = f.more};
			return 1;
		}
		c->turn = (c->turn + 1) % c->layout.max_domains;
	}
	return 0;
}

static size_t decode_batch(struct ebt_cursor *c, struct ebt_event *ev, size_t cap)
{
	size_t used, got = ring_decode(&c->dec[c->turn], &c->batch, ev, cap, &used);
	c->batch.words += used;
	c->batch.n -= used;
	c->batch.pos += used;
	c->batch.payload_base += 8 * used;
	return got;
}

/*
 * Events up to cap, of one ring and one piece of it, so that payloads stay where they are. *looked
 * says whether the rings were looked at in this call; 0: nothing is left since.
 */
static ssize_t next_events(struct ebt_cursor *c, struct ebt_event *ev, size_t cap, bool *looked)
{
	size_t got = 0;

	while (c->repairs_told < c->layout.repairs && got < cap)
		ev[got++] = cursor_repair_event(c, c->repairs_told++);
	if (got)
		return (ssize_t)got;
	for (;;) {
		if (c->batch.words)
			got = decode_batch(c, ev, cap);
		if (got)
			return (ssize_t)got;
		int r = next_batch(c);
		if (r < 0)
			return r;
		if (!r && *looked)
			return 0;
		if (!r) {
			r = cursor_look(c);
			if (r)
				return r;
			*looked = true;
		}
	}
}

ssize_t ebt_cursor_read(struct ebt_cursor *c, struct ebt_event *ev, size_t cap)
{
	bool looked = false;
	uint32_t left = c->stash_n - c->stash_next;

	if (!left)
		return cap ? next_events(c, ev, cap, &looked) : 0;
	/* a poll that was ended by its callback left these */
	size_t n = left < cap ? left : cap;
	memcpy(ev, c->stash + c->stash_next, n * sizeof(*ev));
	c->stash_next += (uint32_t)n;
	return (ssize_t)n;
}

const void *ebt_cursor_payloads(const struct ebt_cursor *c)
{
	return c->buf;
}

ssize_t ebt_cursor_poll(struct ebt_cursor *c, ebt_event_fn *fn, void *ctx, size_t max)
{
	ssize_t done = 0;
	bool looked = false;

	while (!max || (size_t)done < max) {
		if (c->stash_next == c->stash_n) {
			size_t room = max ? max - (size_t)done : STASH_EVENTS;
			ssize_t n = next_events(c, c->stash,
						room < STASH_EVENTS ? room : STASH_EVENTS, &looked);
			if (n <= 0)
				return done ? done : n;
			c->stash_next = 0;
			c->stash_n = (uint32_t)n;
		}
		const struct ebt_event *ev = &c->stash[c->stash_next++];
		bool payload = ev->flags & EBT_F_PAYLOAD;
		done++;
		if (fn(ev, payload ? (const char *)c->buf + ev->arg[0] : NULL,
		       payload ? ev->arg[1] : 0, ctx))
			break;
	}
	return done;
}

const char *ebt_cursor_user_name(struct ebt_cursor *c, uint32_t id)
{
	if (!c->layout.names_offset || id >= EBT_RING_NAMES)
		return NULL;
	uint64_t offset = c->layout.names_offset + (uint64_t)EBT_RING_NAME_BYTES * id;
	if (read_at(c->fd, c->name, sizeof(c->name), offset) != sizeof(c->name))
		return NULL;
	return c->name[0] && memchr(c->name, 0, sizeof(c->name)) ? c->name : NULL;
}

void ebt_cursor_info(struct ebt_cursor *c, struct ebt_cursor_info *ret)
{
	struct ebt_cursor_info info = {
		.max_domains = c->layout.max_domains,
		.ring_words = c->layout.ring_words,
		.release = c->release,
		.release_assumed = c->release_assumed,
		.pid = c->has_ext ? c->ext.pid : c->pid,
		.start_ns = c->ext.start_ns,
		.damaged = c->repairs_told,
	};
	if (c->has_ext) {
		memcpy(info.producer, c->ext.producer, sizeof(info.producer));
		memcpy(info.runtime, c->ext.runtime, sizeof(info.runtime));
	} else {
		snprintf(info.producer, sizeof(info.producer), "%s", ring_release_name(c->release));
	}
	for (uint32_t d = 0; d < c->layout.max_domains; d++) {
		info.events += c->dec[d].events;
		info.lost_events += c->dec[d].lost_events;
		info.lost_words += c->dec[d].lost_words;
		info.damaged += c->dec[d].damaged;
	}
	*ret = info;
}

void ebt_cursor_close(struct ebt_cursor *c)
{
	if (!c)
		return;
	if (c->fd >= 0)
		close(c->fd);
	free(c->ring);
	free(c->state);
	free(c->dec);
	free(c->table);
	free(c->early);
	free(c->buf);
	free(c);
}

static int say_fault(char *reason, const char *name, int err, const struct ring_fault *f)
{
	if (reason)
		snprintf(reason, EBT_REASON_BYTES,
			 "ring file '%s': %s is %llu at byte %llu, expected %llu", name, f->what,
			 (unsigned long long)f->found, (unsigned long long)f->offset,
			 (unsigned long long)f->expected);
	return err;
}

static int say(char *reason, const char *name, int err, const char *what)
{
	if (reason)
		snprintf(reason, EBT_REASON_BYTES, "ring file '%s': %s", name, what);
	return err;
}

static int read_layout(struct ebt_cursor *c, const char *name, char *reason)
{
	struct stat st;
	struct ebt_ring_file head;
	struct ebt_ring_ext ext;
	struct ring_fault fault;

	if (fstat(c->fd, &st) < 0)
		return say(reason, name, -errno, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return say(reason, name, -EINVAL, "not a regular file");
	ssize_t n = read_at(c->fd, &head, sizeof(head), 0);
	if (n < 0)
		return say(reason, name, (int)n, strerror((int)-n));
	int err = ring_layout_parse(&head, (size_t)n, (uint64_t)st.st_size, &c->layout, &fault);
	if (err)
		return say_fault(reason, name, err, &fault);
	n = read_at(c->fd, &ext, sizeof(ext), c->layout.end_offset);
	if (n < 0)
		return say(reason, name, (int)n, strerror((int)-n));
	err = c->layout.names_offset
		      ? ring_ext_parse(&ext, (size_t)n, c->layout.end_offset, &c->ext, &fault)
		      : 0;
	if (err < 0)
		return say_fault(reason, name, err, &fault);
	c->has_ext = err;
	return 0;
}

static void choose_release(struct ebt_cursor *c, enum ebt_release release)
{
	if (release == EBT_RELEASE_AUTO) {
		release = EBT_RELEASE_OCAML_5_5;
		if (c->has_ext)
			release = EBT_RELEASE_EBTRACE;
		else if (!c->layout.names_offset)
			release = EBT_RELEASE_OCAML_5_0;
		else
			c->release_assumed = 1;
	}
	c->release = release;
}

static int alloc_rings(struct ebt_cursor *c)
{
	size_t n = c->layout.max_domains;

	c->ring = calloc(n, sizeof(*c->ring));
	c->state = calloc(n, sizeof(*c->state));
	c->dec = calloc(n, sizeof(*c->dec));
	c->table = calloc(n, sizeof(*c->table));
	c->early = calloc(n, sizeof(*c->early));
	c->buf = calloc(CHUNK_WORDS, sizeof(*c->buf));
	if (!c->ring || !c->state || !c->dec || !c->table || !c->early || !c->buf)
		return -ENOMEM;
	for (uint32_t d = 0; d < n; d++)
		cursor_decoder_init(c, d, &c->dec[d]);
	return 0;
}

int ebt_cursor_open_fd(int fd, const char *name, enum ebt_release release, struct ebt_cursor **ret,
		       char *reason)
{
	struct ebt_cursor *c = calloc(1, sizeof(*c));
	if (!c) {
		close(fd);
		return say(reason, name, -ENOMEM, strerror(ENOMEM));
	}
	c->fd = fd;
	int err = read_layout(c, name, reason);
	if (err)
		goto err_close;
	choose_release(c, release);
	err = alloc_rings(c);
	if (err) {
		say(reason, name, err, strerror(-err));
		goto err_close;
	}
	if (c->has_ext && c->ext.pid <= INT32_MAX)
		cursor_set_pid(c, (uint32_t)c->ext.pid);
	*ret = c;
	return 0;
err_close:
	ebt_cursor_close(c);
	return err;
}

int ebt_cursor_open(const char *path, enum ebt_release release, struct ebt_cursor **ret,
		    char *reason)
{
	/* O_NONBLOCK: a FIFO by that name must not hang us */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return say(reason, path, -errno, strerror(errno));
	return ebt_cursor_open_fd(fd, path, release, ret, reason);
}

int ebt_cursor_open_pid(pid_t pid, const char *dir, enum ebt_release release,
			struct ebt_cursor **ret, char *reason)
{
	struct ringfile found[RINGFILE_MAX];
	char why[EBT_REASON_BYTES];

	if (!pid)
		pid = getpid();
	int n = ringfile_find(pid, dir, found, RINGFILE_MAX, why);
	if (n < 0) {
		if (reason)
			snprintf(reason, EBT_REASON_BYTES, "%s", why);
		return n;
	}
	/* the last one is the newest: OCaml maps a new ring after a fork, we after a restart */
	for (int i = 0; i < n - 1; i++)
		ringfile_close(&found[i]);
	int err = ebt_cursor_open_fd(found[n - 1].fd, found[n - 1].path, release, ret, reason);
	if (!err)
		cursor_set_pid(*ret, (uint32_t)pid);
	return err;
}
