/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/mem/model/site_name.h"

#include <inttypes.h>

#include "report/text.h"

#define POSITIONS 3 /* of a site, at most */

void mem_put_function(struct buf *b, const struct session *s, struct display_names *names,
		      const struct mem_function *f)
{
	const char *name = strings_text(s->strings, display_name(names, f->name));
	if (name) {
		buf_put_plain(b, name);
	} else if (f->frame) {
		char scratch[FRAMES_BARE_BYTES];
		buf_puts(b, frames_bare_text(frames_get(s->frames, f->frame), scratch));
	} else {
		buf_puts(b, "(no backtrace)");
	}
}

static void put_position(struct buf *b, const struct mem_position *p)
{
	report_print(b, "%" PRIu32, p->line);
	if (p->has_chars)
		report_print(b, ":%" PRIu32 "-%" PRIu32, p->start_char, p->end_char);
}

void mem_put_site(struct buf *b, const struct session *s, struct display_names *names,
		  const struct mem_function *f)
{
	const char *file = strings_text(s->strings, f->file);
	uint32_t lines = 0;
	mem_put_function(b, s, names, f);
	if (!file)
		return;
	buf_puts(b, " (");
	buf_put_plain(b, file);
	for (uint32_t i = 0; i < f->positions && lines <= POSITIONS; i++) {
		if (!f->position[i].has_line)
			continue;
		if (lines == POSITIONS) {
			buf_puts(b, "...");
			break;
		}
		buf_puts(b, lines++ ? ", " : ":");
		put_position(b, &f->position[i]);
	}
	buf_puts(b, ")");
}
