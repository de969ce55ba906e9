/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/guess.h"

#include <stdint.h>
#include <unistd.h>

#include "codec/ring_ids.h"

#define MAX_EVENTS 50000 /* that are looked at */
#define MAX_DEPTH  16
#define DOMAINS	   64

/*
 * In every release a minor collection takes in the remembered set and the local roots. The numbers of
 * the three, as they stand in the file:
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

static int take(const struct ebt_event *ev, const void *payload, size_t bytes, void *ctx)
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

enum ebt_release guess_release(int fd, const char *name)
{
	struct ebt_cursor *c;
	struct evidence e = {0};
	fd = dup(fd);
	/* As 5.5, whose numbers are the canonical ones: what comes is what stands in the file. */
	if (fd < 0 || ebt_cursor_open_fd(fd, name, EBT_RELEASE_OCAML_5_5, &c, NULL))
		return EBT_RELEASE_AUTO;
	ebt_cursor_poll(c, take, &e, MAX_EVENTS);
	ebt_cursor_close(c);
	if (!e.old == !e.recent)
		return EBT_RELEASE_AUTO;
	return e.old ? EBT_RELEASE_OCAML_5_2 : EBT_RELEASE_OCAML_5_5;
}

void guess_report_assumed(const struct report *r, struct ebt_cursor *c, const char *name)
{
	struct ebt_cursor_info info;
	ebt_cursor_info(c, &info);
	if (info.release_assumed)
		report_at(r, LOG_NORMAL,
			  "'%s' does not tell which OCaml wrote it; taken as %s; --ocaml-version "
			  "says otherwise",
			  name, ring_release_name(info.release));
}
