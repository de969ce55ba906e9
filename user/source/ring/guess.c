/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/ring/guess.h"

#include <stdint.h>
#include <unistd.h>

#define MAX_EVENTS 50000 /* that are read */
#define MAX_DEPTH  16
#define DOMAINS	   64

/*
 * In every release a minor collection contains the phases of the remembered set and of the local
 * roots. The raw numbers of the three in both numberings:
 */
static const struct {
	uint32_t minor, remembered_set, local_roots;
} old = {10, 35, 11}, recent = {11, 39, 12};

struct nesting {
	uint32_t depth, open[MAX_DEPTH];
};

struct evidence {
	struct nesting domain[DOMAINS];
	uint64_t old, recent;
};

static int note_nesting(const struct ebt_event *ev, const void *payload, size_t bytes, void *ctx)
{
	struct evidence *e = ctx;
	struct nesting *n = &e->domain[ev->domain % DOMAINS];
	(void)payload;
	(void)bytes;
	if (ev->kind == EBT_LOST || ev->kind == EBT_DAMAGE)
		n->depth = 0;
	if (ev->kind == EBT_END && n->depth)
		n->depth--;
	if (ev->kind != EBT_BEGIN)
		return 0;
	if (n->depth && n->depth <= MAX_DEPTH) {
		uint32_t outer = n->open[n->depth - 1], id = ev->id;
		e->old += outer == old.minor && (id == old.remembered_set || id == old.local_roots);
		e->recent += outer == recent.minor &&
			     (id == recent.remembered_set || id == recent.local_roots);
	}
	if (n->depth < MAX_DEPTH)
		n->open[n->depth] = ev->id;
	n->depth++;
	return 0;
}

enum ebt_release ring_guess_release(int fd, const char *name)
{
	struct ebt_cursor *c;
	struct evidence e = {0};
	fd = dup(fd);
	/* As 5.5, which has canonical numbers: each event then has the number that is in the
	 * file. */
	if (fd < 0 || ebt_cursor_open_fd(fd, name, EBT_RELEASE_OCAML_5_5, &c, NULL))
		return EBT_RELEASE_AUTO;
	ebt_cursor_poll(c, note_nesting, &e, MAX_EVENTS);
	ebt_cursor_close(c);
	if (!e.old == !e.recent)
		return EBT_RELEASE_AUTO;
	return e.old ? EBT_RELEASE_OCAML_5_2 : EBT_RELEASE_OCAML_5_5;
}
