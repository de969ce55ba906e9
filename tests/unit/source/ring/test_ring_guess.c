/* SPDX-License-Identifier: BSD-2-Clause */
/* Which numbers of phases a ring file has, by their nesting, however deep that is. */
#include "source/ring/guess.h"

#include <ebtrace/cursor.h>
#include <sys/mman.h>

#include "tests/tap.h"
#include "tests/unit/ring_forged.h"

/* Raw numbers: of 5.0 to 5.2, and of 5.3 and later. Both have a phase 20. */
enum { OLD_MINOR = 10, OLD_ROOTS = 11, MINOR = 11, ROOTS = 12, REMEMBERED = 39, OTHER = 20 };
#define DEPTH	16 /* the open phases that are kept */
#define DOMAINS 65 /* of which the last and the first share what is kept */

/* Forges a file; phases are written one after the other. */
struct forged {
	int fd;
	struct ebt_ring_file layout;
	struct ebt_ring_header ring[DOMAINS];
	uint32_t seq[DOMAINS];
};

static struct forged begin_as(bool has_ordinals)
{
	struct forged f = {.fd = memfd_create("ring", MFD_CLOEXEC),
			   .layout = forged_layout(DOMAINS)};
	if (f.fd < 0)
		abort();
	forged_file(f.fd, &f.layout, has_ordinals);
	return f;
}

static struct forged begin(void)
{
	return begin_as(false);
}

static void put(struct forged *f, uint32_t domain, enum ebt_ring_type type, uint32_t id)
{
	uint64_t *tail = (uint64_t *)&f->ring[domain].tail;
	const uint64_t words[] = {ebt_ring_event_header(2, 0, type, id, f->seq[domain]++),
				  1000 + *tail};
	forged_words(f->fd, &f->layout, domain, *tail, words, 2);
	*tail += 2;
}

static void put_minor(struct forged *f, uint32_t domain, uint32_t minor, uint32_t inner)
{
	put(f, domain, EBT_RING_BEGIN, minor);
	put(f, domain, EBT_RING_BEGIN, inner);
	put(f, domain, EBT_RING_END, inner);
	put(f, domain, EBT_RING_END, minor);
}

static void put_others(struct forged *f, uint32_t domain, enum ebt_ring_type type, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		put(f, domain, type, OTHER);
}

static enum ebt_release finish(struct forged *f)
{
	for (uint32_t i = 0; i < DOMAINS; i++)
		forged_header(f->fd, &f->layout, i, &f->ring[i]);
	enum ebt_release guess = ring_guess_release(f->fd, "forged");
	close(f->fd);
	return guess;
}

static void test_numbers(void)
{
	static const struct {
		const char *name;
		uint32_t minor, inner;
		enum ebt_release want;
	} rows[] = {
		{"local roots of 5.3", MINOR, ROOTS, EBT_RELEASE_OCAML_5_5},
		{"the remembered set of 5.3", MINOR, REMEMBERED, EBT_RELEASE_OCAML_5_5},
		{"local roots of 5.2", OLD_MINOR, OLD_ROOTS, EBT_RELEASE_OCAML_5_2},
		{"the remembered set of 5.2", OLD_MINOR, 35, EBT_RELEASE_OCAML_5_2},
		{"another phase in a minor collection", MINOR, OTHER, EBT_RELEASE_AUTO},
		{"local roots of 5.3 in what is minor in 5.2", OLD_MINOR, ROOTS, EBT_RELEASE_AUTO},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct forged f = begin();
		put_minor(&f, 0, rows[i].minor, rows[i].inner);
		is(finish(&f), rows[i].want, rows[i].name);
	}
	struct forged f = begin();
	put_minor(&f, 0, MINOR, ROOTS);
	put_minor(&f, 1, OLD_MINOR, OLD_ROOTS);
	is(finish(&f), EBT_RELEASE_AUTO, "signs of both prove nothing");
	f = begin();
	put(&f, 0, EBT_RING_BEGIN, MINOR);
	put(&f, 1, EBT_RING_BEGIN, ROOTS);
	is(finish(&f), EBT_RELEASE_AUTO, "a phase of another domain is not nested in it");
	f = begin();
	put(&f, 0, EBT_RING_END, OTHER);
	put_minor(&f, 0, MINOR, ROOTS);
	is(finish(&f), EBT_RELEASE_OCAML_5_5, "nor does an end without its begin count");
	f = begin_as(true);
	put(&f, 0, EBT_RING_BEGIN, MINOR);
	put(&f, 0, EBT_RING_BEGIN, ROOTS);
	is(finish(&f), EBT_RELEASE_OCAML_5_5, "in a file with ordinals they are the same");
	f = begin_as(true);
	put(&f, 0, EBT_RING_BEGIN, MINOR);
	f.seq[0] += 3;
	put(&f, 0, EBT_RING_BEGIN, ROOTS);
	is(finish(&f), EBT_RELEASE_AUTO, "what was open before a loss may have ended in it");
}

static void test_depth(void)
{
	struct forged f = begin();
	put_others(&f, 0, EBT_RING_BEGIN, DEPTH - 1);
	put_minor(&f, 0, MINOR, ROOTS);
	is(finish(&f), EBT_RELEASE_OCAML_5_5, "the innermost phase that is kept is a sign");
	f = begin();
	put_others(&f, 0, EBT_RING_BEGIN, DEPTH);
	put_minor(&f, 0, MINOR, ROOTS);
	is(finish(&f), EBT_RELEASE_AUTO, "one inside that is none");
	f = begin();
	put_others(&f, 0, EBT_RING_BEGIN, 5 * DEPTH);
	put_others(&f, 0, EBT_RING_END, 5 * DEPTH);
	put_minor(&f, 0, MINOR, ROOTS);
	is(finish(&f), EBT_RELEASE_OCAML_5_5, "behind five times as many that have ended it is");
	f = begin();
	put_others(&f, 0, EBT_RING_BEGIN, 5 * DEPTH);
	put_others(&f, 0, EBT_RING_END, 4 * DEPTH);
	put_minor(&f, 0, MINOR, ROOTS);
	is(finish(&f), EBT_RELEASE_AUTO, "but not while as many as are kept are open");
	f = begin();
	put(&f, 1, EBT_RING_BEGIN, MINOR);
	put_others(&f, DOMAINS - 1, EBT_RING_BEGIN, DEPTH + 2);
	put(&f, DOMAINS - 1, EBT_RING_BEGIN, ROOTS);
	is(finish(&f), EBT_RELEASE_AUTO, "what is open in another domain is not around it");
	f = begin();
	put(&f, 1, EBT_RING_BEGIN, MINOR);
	put_others(&f, 0, EBT_RING_BEGIN, DEPTH + 1);
	put_minor(&f, 1, OTHER, OTHER);
	put(&f, 1, EBT_RING_BEGIN, ROOTS);
	is(finish(&f), EBT_RELEASE_OCAML_5_5, "depth in one domain is none in the next");
}

int main(void)
{
	test_numbers();
	test_depth();
	return tap_done();
}
