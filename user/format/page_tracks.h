/* SPDX-License-Identifier: BSD-2-Clause */
/* What is derived of page events: counters of a heap's pages by state, and of those allocated by
 * each P, up to PAGE_TRACKS_PS of them. */
#ifndef FORMAT_PAGE_TRACKS_H
#define FORMAT_PAGE_TRACKS_H

#include "format/derived.h"
#include "report/pages/model/counters.h"

#define PAGE_TRACKS_PS 64

struct page_tracks {
	const struct derived_visitor *visitor;
	void *ctx;
	struct page_counters counters;
};

/* All three are kept. */
void page_tracks_init(struct page_tracks *t, const struct session *s,
		      const struct derived_visitor *v, void *ctx);
void page_tracks_done(struct page_tracks *t);
/* 0, or the error of the visitor, or -ENOMEM. */
int page_tracks_event(struct page_tracks *t, const struct ebt_event *ev);
int page_tracks_forget(struct page_tracks *t, uint32_t process);
/* The last values. */
int page_tracks_end(struct page_tracks *t);

#endif
