/* SPDX-License-Identifier: BSD-2-Clause */
/* Damaged rings: never a crash, all that is good is delivered, and the damage has an offset. */
#include "tests/random.h"
#include "tests/tap.h"
#include "tests/unit/ring_fixture.h"

#include <ebtrace/ring.h>
#include <errno.h>
#include <stdbool.h>

#define FIXTURE_DATA 10304 /* 64 + 80 * 128 */

struct count {
	size_t events, damage, lost;
	uint64_t offset; /* of the last damage */
	uint64_t at;	 /* set by the caller: a word of ring 0 */
	size_t before;	 /* events that end before it */
	uint64_t last_ts[128];
	bool sorted;
};

static int count(const struct ebt_event *ev, const void *payload, size_t bytes, void *ctx)
{
	struct count *n = ctx;
	volatile unsigned char sum = 0;
	for (size_t i = 0; i < bytes; i++) /* a sanitizer sees a payload out of bounds */
		sum = (unsigned char)(sum + ((const unsigned char *)payload)[i]);
	if (ev->kind == EBT_DAMAGE) {
		n->damage++;
		n->offset = ev->arg[0];
	} else if (ev->kind == EBT_LOST)
		n->lost++;
	else
		n->events++;
	n->before += ev->size && !ev->domain && ev->pos + ev->size <= n->at;
	if (ev->domain < 128) {
		n->sorted &= ev->ts >= n->last_ts[ev->domain];
		n->last_ts[ev->domain] = ev->ts;
	}
	return 0;
}

/* Reads all that a file holds; -errno when it does not open. The descriptor stays the caller's. */
static int read_all(int fd, struct count *n, char *reason)
{
	struct ebt_cursor *c;
	*n = (struct count){.sorted = true, .at = n->at};
	int err = ebt_cursor_open_fd(dup(fd), "test", EBT_RELEASE_OCAML_5_3, &c, reason);
	if (err)
		return err;
	ssize_t got = ebt_cursor_poll(c, count, n, 0);
	ebt_cursor_close(c);
	return got < 0 ? (int)got : 0;
}

static void check_samples(void)
{
	/* events: at least what OCaml's reader delivers, without what it makes up (9 lines of
	 * max_domains-4096) and the bad record itself; 0: it must not open. A phase record that
	 * replaced a longer one leaves a word of damage. */
	static const struct {
		const char *name;
		size_t events, damage;
	} rows[] = {
		{"zero-length-event", 57, 1},
		{"length1-user", 57, 1},
		{"custom-len2", 57, 1},
		{"custom-len500", 57, 1},
		{"custom-len1000", 57, 1},
		{"custom-pad-byte-255", 252, 1},
		{"tail-huge", 217, 1},
		{"headgttail", 37, 1},
		{"ring-size-not-pow2", 253, 1},
		{"max_domains-huge", 253, 1},
		{"max_domains-4096", 253, 1},
		{"max_domains-0", 253, 1},
		{"data_offset-end", 253, 1},
		{"custom_offset-wrap", 253, 1},
		{"hdr-size-0", 253, 1},
		{"phase-id-8191", 253, 1},
		{"phase-id-60", 253, 1},
		{"lifecycle-id-99", 253, 0},
		{"counter-len2", 1, 1},
		{"alloc-len3", 252, 1},
		{"runtime-type-9", 1, 1},
		{"user-type-9", 1, 1},
		{"version-2", 253, 1},
		{"misaligned-offsets", 253, 1},
		{"truncated-file", 253, 1},
		{"truncated-100", 0, 0},
		{"empty", 0, 0},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char path[128], reason[EBT_REASON_BYTES] = "";
		struct count n = {0};
		snprintf(path, sizeof(path), "ocaml-corrupt/%s.events.xz", rows[i].name);
		int fd = fixture_fd(path), err = read_all(fd, &n, reason);
		off_t bytes = lseek(fd, 0, SEEK_END);
		close(fd);
		if (!rows[i].events) {
			ok(err == -EBADMSG && strstr(reason, "at byte"), "%s is refused: %s",
			   rows[i].name, reason);
			continue;
		}
		ok(!err && n.events >= rows[i].events && n.sorted,
		   "%s delivers what is good, in order", rows[i].name);
		ok(rows[i].damage ? n.damage >= 1 : !n.damage, "%s names %s", rows[i].name,
		   rows[i].damage ? "its damage" : "no damage");
		if (!strcmp(rows[i].name, "truncated-file"))
			is(n.offset, (uint64_t)bytes, "which is where the file ends");
		diag("%zu events, %zu damage, %zu lost %s", n.events, n.damage, n.lost, reason);
	}
}

/* Puts a word in, reads all, puts the old one back. */
static int with_word(int fd, uint64_t offset, uint64_t value, struct count *n)
{
	uint64_t old;
	if (pread(fd, &old, 8, (off_t)offset) != 8 || pwrite(fd, &value, 8, (off_t)offset) != 8)
		abort();
	int err = read_all(fd, n, NULL);
	if (pwrite(fd, &old, 8, (off_t)offset) != 8)
		abort();
	return err;
}

static void check_header_words(int fd, const struct count *good)
{
	static const uint64_t values[] = {0, 1, 7, 127, 4096, 1 << 27, 1ull << 40, UINT64_MAX};
	bool opens = true, whole = true, sorted = true;
	for (uint64_t at = 0; at < 64; at += 8)
		for (size_t v = 0; v < sizeof(values) / sizeof(*values); v++) {
			struct count n = {0};
			opens &= !with_word(fd, at, values[v], &n);
			whole &= n.events == good->events;
			sorted &= n.sorted;
		}
	ok(opens && whole, "any one word of the file's header may be wrong and all is delivered");
	for (uint64_t at = 64; at < 64 + 160; at += 8)
		for (size_t v = 0; v < sizeof(values) / sizeof(*values); v++) {
			struct count n = {0};
			opens &= !with_word(fd, at, values[v], &n);
			sorted &= n.sorted;
		}
	ok(opens && sorted,
	   "any one word of a ring's header may be wrong and reading ends, in order");
}

static void check_data_words(int fd)
{
	uint64_t seed = 0x9e3779b97f4a7c15;
	bool opens = true, sorted = true, enough = true;
	for (uint64_t i = 0; i < 4096; i++) {
		struct count n = {.at = i}, good = {.at = i};
		opens &= !read_all(fd, &good, NULL);
		opens &= !with_word(fd, FIXTURE_DATA + 8 * i, random_next(&seed), &n);
		sorted &= n.sorted;
		enough &= n.before == good.before;
	}
	ok(opens && sorted && enough,
	   "any one word of a ring may be anything: what is before it stays");
}

/* A file that is truncated behind its headers when it is open already. */
static void check_truncated(void)
{
	struct count n = {.sorted = true};
	struct ebt_cursor *c;
	int fd = fixture_fd("ocaml-5.3.0/c-user.events.xz");
	ok(!ebt_cursor_open_fd(dup(fd), "test", EBT_RELEASE_OCAML_5_3, &c, NULL) &&
		   !ftruncate(fd, FIXTURE_DATA),
	   "a file is opened, and then has no words any more");
	ok(ebt_cursor_poll(c, count, &n, 0) >= 0 && n.damage && !n.events, "its ring is damaged");
	is(n.offset, FIXTURE_DATA, "where the file ends");
	ebt_cursor_close(c);
	close(fd);
}

int main(void)
{
	struct count good = {0};
	check_samples();
	check_truncated();
	int fd = fixture_fd("ocaml-5.3.0/c-user.events.xz");
	ok(!read_all(fd, &good, NULL) && good.events >= 253 && !good.damage,
	   "the sound ring is sound");
	check_header_words(fd, &good);
	check_data_words(fd);
	close(fd);
	return tap_done();
}
