// SPDX-License-Identifier: BSD-2-Clause
#include "source/ring/left.h"

bool ring_left_applies(const struct ring_file *f, uint32_t domain, const struct ring_lane *lane)
{
	return !cursor_ring(f->cursor, domain)->notice && lane->decoder.events;
}

bool ring_left_skip(struct ring_file *f, uint32_t domain, struct ring_lane *lane, bool reports,
		    struct ring_loss *ret)
{
	const struct cursor_ring *r = cursor_ring(f->cursor, domain);
	struct ebt_event ev;
	if (!ring_lane_is_drained(lane)) {
		f->undrained = true;
		return false;
	}
	uint64_t words = cursor_skip(f->cursor, domain);
	if (words)
		ring_decoder_gap(&lane->decoder, words, false);
	/* A writer that has ended inside of an event has used its ordinal. */
	bool known = r->settled || !f->live;
	if (!reports || (f->counted && !known) ||
	    !ring_decoder_report(&lane->decoder, f->counted ? &r->ordinals : NULL, f->update_ns,
				 &ev))
		return false;
	/* Before the end of the process, or of its program, which a file at rest is behind. */
	uint64_t ts = f->live ? f->update_ns : f->before_ns;
	uint64_t since_ns = f->left_ns ? f->left_ns : f->began_ns;
	*ret = (struct ring_loss){.process = f->process,
				  .since_ns = since_ns < ts ? since_ns : ts,
				  .ts = ts,
				  .events = ev.arg[0],
				  .words = ev.arg[1],
				  .is_of_ring = ev.arg[0] != EBT_LOST_UNCOUNTED,
				  .domain = lane->decoder.blank.domain,
				  .seq = (uint32_t)r->ordinals};
	return true;
}
