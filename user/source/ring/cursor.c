/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/ring/cursor.h"

#include "base/file.h"
#include "proc/ringfile.h"
#include "session/kinds.h"
#include "source/ring/reader.h"

#include <ebtrace/ring.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK_WORDS  8192 /* stays in the L2 cache between the copy and the decoding */
#define STASH_EVENTS 128

struct ebt_cursor {
	struct ring_reader reader;
	int fd;
	enum ebt_release release;
	int release_assumed;
	uint32_t pid;
	uint32_t process; /* the `process` of events */

	/* poll and read; dec, buf and stash are made when the first of them is called */
	struct ring_decoder *dec;
	uint32_t repairs_reported;
	uint32_t turn;
	struct ring_batch batch; /* of ring `turn`, in buf */
	uint64_t *buf;
	uint32_t stash_next, stash_n;
	struct ebt_event *stash; /* STASH_EVENTS */
	char name[EBT_RING_NAME_BYTES];
};

const struct ring_layout *cursor_layout(const struct ebt_cursor *c)
{
	return &c->reader.layout;
}
const struct ring_ext *cursor_ext(const struct ebt_cursor *c)
{
	return c->reader.has_ext ? &c->reader.ext : NULL;
}
uint64_t cursor_ringless(const struct ebt_cursor *c)
{
	return ring_reader_ringless(&c->reader);
}

const struct cursor_ring *cursor_ring(const struct ebt_cursor *c, uint32_t domain)
{
	return ring_reader_ring(&c->reader, domain);
}

void cursor_set_process(struct ebt_cursor *c, uint32_t process)
{
	c->process = process;
	for (uint32_t d = 0; c->dec && d < c->reader.layout.max_domains; d++)
		c->dec[d].blank.process = process;
}

static void set_pid(struct ebt_cursor *c, uint32_t pid)
{
	c->pid = pid;
	cursor_set_process(c, pid);
}

uint64_t cursor_touched_bytes(const struct ebt_cursor *c)
{
	struct stat st;
	return fstat(c->reader.fd, &st) ? 0 : (uint64_t)st.st_blocks * 512;
}

size_t cursor_bytes(const struct ebt_cursor *c)
{
	return sizeof(*c) + ring_reader_bytes(&c->reader);
}

void cursor_decoder_init(const struct ebt_cursor *c, uint32_t domain, struct ring_decoder *ret)
{
	uint32_t phases;
	const uint16_t *phase = ring_canonical_phases(c->release, &phases);
	uint32_t number = c->reader.ext.first_domain + domain;
	ring_decoder_init(ret, number, c->reader.layout.ring_words,
			  ring_layout_word(&c->reader.layout, domain, 0), phase, phases,
			  c->reader.has_ext);
	ret->blank.process = c->process;
}

struct ebt_event cursor_repair_event(const struct ebt_cursor *c, uint32_t i)
{
	return (struct ebt_event){
		.pos = EBT_NO_POS,
		.process = c->process,
		.kind = EBT_DAMAGE,
		.domain = EBT_NO_DOMAIN,
		.cpu = EBT_NO_CPU,
		.flags = EBT_F_RING,
		.arg = {c->reader.layout.repair[i].offset, 0},
	};
}

bool cursor_is_still(const struct ebt_cursor *c)
{
	return ring_reader_is_still(&c->reader);
}

struct iovec cursor_mapped(struct ebt_cursor *c)
{
	return ring_reader_mapped(&c->reader);
}

bool cursor_was_still(const struct ebt_cursor *c, const void *copy)
{
	return ring_reader_was_still(&c->reader, copy);
}

int cursor_update(struct ebt_cursor *c, bool all)
{
	return ring_reader_update(&c->reader, all);
}

uint32_t cursor_used(const struct ebt_cursor *c)
{
	return c->reader.used;
}

int cursor_fetch(struct ebt_cursor *c, uint32_t domain, uint64_t *words, size_t cap,
		 struct cursor_fetch *ret)
{
	return ring_reader_fetch(&c->reader, domain, words, cap, ret);
}

uint64_t cursor_skip(struct ebt_cursor *c, uint32_t domain)
{
	return ring_reader_skip(&c->reader, domain);
}

/* Allocated when first used: a source that decodes elsewhere needs none. 0 or -ENOMEM. */
static int make_decoders(struct ebt_cursor *c)
{
	uint32_t n = c->reader.layout.max_domains;
	if (c->dec)
		return 0;
	struct ring_decoder *dec = calloc(n, sizeof(*dec));
	c->buf = c->buf ? c->buf : malloc(CHUNK_WORDS * sizeof(*c->buf));
	if (!dec || !c->buf) {
		free(dec);
		return -ENOMEM;
	}
	for (uint32_t d = 0; d < n; d++)
		cursor_decoder_init(c, d, &dec[d]);
	c->dec = dec;
	return 0;
}

/* Fetches the next words of the next ring that has any. 1; 0: all are read up to the last look. */
static int next_batch(struct ebt_cursor *c)
{
	/* a record cut by the end of the buffer is fetched again, whole */
	if (c->batch.n)
		c->reader.ring[c->turn].pos -= c->batch.n;
	bool used = c->batch.words;
	c->batch = (struct ring_batch){0};
	if (used)
		c->turn = (c->turn + 1) % c->reader.layout.max_domains;
	for (uint32_t i = 0; i < c->reader.layout.max_domains; i++) {
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
		c->turn = (c->turn + 1) % c->reader.layout.max_domains;
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
 * Returns up to cap events, of one ring and one piece of it, so that payloads stay where they are.
 * *updated: this call has updated the rings. 0: no event is left since the update.
 */
static ssize_t next_events(struct ebt_cursor *c, struct ebt_event *ev, size_t cap, bool *updated)
{
	size_t got = 0;
	int err = make_decoders(c);
	if (err)
		return err;

	while (c->repairs_reported < c->reader.layout.repairs && got < cap)
		ev[got++] = cursor_repair_event(c, c->repairs_reported++);
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
		if (!r && *updated)
			return 0;
		if (!r) {
			r = cursor_update(c, true);
			if (r < 0)
				return r;
			*updated = true;
		}
	}
}

ssize_t ebt_cursor_read(struct ebt_cursor *c, struct ebt_event *ev, size_t cap)
{
	bool updated = false;
	uint32_t left = c->stash_n - c->stash_next;

	if (!left)
		return cap ? next_events(c, ev, cap, &updated) : 0;
	/* a poll that was ended by its callback left these */
	size_t n = left < cap ? left : cap;
	if (n)
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
	bool updated = false;

	if (!c->stash && !(c->stash = malloc(STASH_EVENTS * sizeof(*c->stash))))
		return -ENOMEM;
	while (!max || (size_t)done < max) {
		if (c->stash_next == c->stash_n) {
			size_t room = max ? max - (size_t)done : STASH_EVENTS;
			ssize_t n = next_events(
				c, c->stash, room < STASH_EVENTS ? room : STASH_EVENTS, &updated);
			if (n <= 0)
				return done ? done : n;
			c->stash_next = 0;
			c->stash_n = (uint32_t)n;
		}
		/* The callback may read the counts: its event is counted. */
		const struct ebt_event *ev = &c->stash[c->stash_next];
		const struct ebt_event *end = &c->stash[c->stash_n];
		if (max && (size_t)(end - ev) > max - (size_t)done)
			end = ev + (max - (size_t)done);
		done += end - ev;
		for (; ev < end; ev++) {
			c->stash_next = (uint32_t)(ev - c->stash) + 1;
			int ended = !(ev->flags & EBT_F_PAYLOAD)
					    ? fn(ev, NULL, 0, ctx)
					    : fn(ev, (const char *)c->buf + ev->arg[0], ev->arg[1],
						 ctx);
			if (ended)
				return done - (end - ev - 1);
		}
	}
	return done;
}

const char *ebt_cursor_user_name(struct ebt_cursor *c, uint32_t id)
{
	if (!c->reader.layout.names_offset || id >= EBT_RING_NAMES)
		return NULL;
	uint64_t offset = c->reader.layout.names_offset + (uint64_t)EBT_RING_NAME_BYTES * id;
	if (file_read_at(c->reader.fd, c->name, sizeof(c->name), offset) != sizeof(c->name))
		return NULL;
	return c->name[0] && memchr(c->name, 0, sizeof(c->name)) ? c->name : NULL;
}

void ebt_cursor_info(struct ebt_cursor *c, struct ebt_cursor_info *ret)
{
	struct ebt_cursor_info info = {
		.max_domains = c->reader.layout.max_domains,
		.ring_words = c->reader.layout.ring_words,
		.release = c->release,
		.release_assumed = c->release_assumed,
		.pid = c->reader.has_ext ? c->reader.ext.pid : c->pid,
		.start_ns = c->reader.ext.start_ns,
		.start_known = c->reader.has_ext && c->reader.ext.start_ns,
		.first_domain = c->reader.ext.first_domain,
		.damaged = c->repairs_reported,
	};
	if (c->reader.has_ext) {
		memcpy(info.producer, c->reader.ext.producer, sizeof(info.producer));
		memcpy(info.runtime, c->reader.ext.runtime, sizeof(info.runtime));
	} else {
		snprintf(info.producer, sizeof(info.producer), "%s", ring_release_name(c->release));
	}
	for (uint32_t d = 0; c->dec && d < c->reader.layout.max_domains; d++) {
		info.events += c->dec[d].events;
		info.lost_events += c->dec[d].lost_events;
		info.lost_words += c->dec[d].lost_words;
		info.damaged += c->dec[d].damaged;
	}
	/* decoded, but not returned yet */
	for (uint32_t i = c->stash_next; i < c->stash_n; i++) {
		const struct ebt_event *ev = &c->stash[i];
		if (ev->kind == EBT_DAMAGE) {
			info.damaged--;
		} else if (ev->kind == EBT_LOST) {
			info.lost_events -= ev->arg[0] == EBT_LOST_UNCOUNTED ? 0 : ev->arg[0];
			info.lost_words -= ev->arg[1];
		} else {
			info.events--;
		}
	}
	*ret = info;
}

void ebt_cursor_close(struct ebt_cursor *c)
{
	if (!c)
		return;
	if (c->fd >= 0)
		close(c->fd);
	ring_reader_done(&c->reader);
	free(c->dec);
	free(c->buf);
	free(c->stash);
	free(c);
}

static int fail(char *reason, const char *name, int err)
{
	if (reason)
		snprintf(reason, EBT_REASON_BYTES, "ring file '%s': %s", name, strerror(-err));
	return err;
}

static void choose_release(struct ebt_cursor *c, enum ebt_release release)
{
	/* A process may have OCaml's and our producer at once: the file shows which one made it. */
	if (c->reader.has_ext)
		release = EBT_RELEASE_EBTRACE;
	if (release == EBT_RELEASE_AUTO) {
		release = EBT_RELEASE_OCAML_5_5;
		if (!c->reader.layout.names_offset)
			release = EBT_RELEASE_OCAML_5_0;
		else
			c->release_assumed = 1;
	}
	c->release = release;
}

/* The pid in the file, else in its name, PID.events. 0: in neither. 0 or -errno. */
static int find_pid(const struct ebt_cursor *c, const char *name, uint32_t *ret)
{
	uint64_t pid = c->reader.ext.pid;

	int err = c->reader.has_ext ? 0 : ring_reader_first_pid(&c->reader, &pid);
	if (!pid) {
		const char *slash = strrchr(name, '/');
		const char *base = slash ? slash + 1 : name;
		size_t digits = strspn(base, "0123456789");
		if (digits && digits < 10 && !strcmp(base + digits, ".events"))
			pid = strtoul(base, NULL, 10);
	}
	*ret = pid <= INT32_MAX ? (uint32_t)pid : 0;
	return err;
}

int ebt_cursor_open_fd(int fd, const char *name, enum ebt_release release, struct ebt_cursor **ret,
		       char *reason)
{
	struct ebt_cursor *c = calloc(1, sizeof(*c));
	if (!c) {
		close(fd);
		return fail(reason, name, -ENOMEM);
	}
	c->fd = fd;
	int err = ring_reader_init(&c->reader, fd, name, reason);
	if (err) {
		ebt_cursor_close(c);
		return err;
	}
	choose_release(c, release);
	uint32_t pid;
	err = find_pid(c, name, &pid);
	if (err) {
		ebt_cursor_close(c);
		return fail(reason, name, err);
	}
	set_pid(c, pid);
	*ret = c;
	return 0;
}

int ebt_cursor_open(const char *path, enum ebt_release release, struct ebt_cursor **ret,
		    char *reason)
{
	int fd = file_open(AT_FDCWD, path, 0);
	if (fd < 0)
		return fail(reason, path, fd);
	return ebt_cursor_open_fd(fd, path, release, ret, reason);
}

int ebt_cursor_open_pid(pid_t pid, const char *dir, enum ebt_release release,
			struct ebt_cursor **ret, char *reason)
{
	struct ringfile found[RINGFILE_MAX];
	char why[EBT_REASON_BYTES];

	if (!pid)
		pid = getpid();
	int n = ringfile_find(NULL, pid, dir, found, RINGFILE_MAX, why);
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
		set_pid(*ret, (uint32_t)pid);
	return err;
}

const char *ebt_phase_name(uint32_t id)
{
	return kinds_phase_name(id);
}

const char *ebt_counter_name(uint32_t id)
{
	return kinds_counter_name(id);
}

const char *ebt_lifecycle_name(uint32_t id)
{
	return kinds_lifecycle_name(id);
}
