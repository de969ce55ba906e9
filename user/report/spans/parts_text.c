/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/spans/show.h"

#include <stdio.h>

#include "report/text.h"
#include "session/phases.h"

const char *span_name_text(const struct span_sums *s, const struct span_name *n)
{
	const char *text = strings_text(s->texts, n->text);
	return text ? text : "(other names)";
}

static const char *block_text(uint32_t detail, char scratch[SPAN_DETAIL_BYTES])
{
	int32_t call = span_block_call(detail);
	const char *name = call == BLAME_NO_CALL ? NULL : blame_call_name(call);
	if (call == BLAME_NO_CALL)
		return span_block_part(detail) == BLAME_IO ? "input or output" : NULL;
	if (!name)
		snprintf(scratch, SPAN_DETAIL_BYTES, "system call %d", (int)call);
	return name ? name : scratch;
}

const char *span_detail(const struct span_sums *s, uint32_t kind, uint32_t detail,
			char scratch[SPAN_DETAIL_BYTES])
{
	if (detail == SPAN_DETAIL_OTHER)
		return "others";
	switch ((enum span_part_kind)kind) {
	case SPAN_COLLECTED:
		return phases_name(detail);
	case SPAN_BLOCKED:
		return block_text(detail, scratch);
	case SPAN_WAITING:
	case SPAN_SUSPENDED:
		return strings_text(s->texts, detail);
	default:
		return NULL;
	}
}

bool span_put_detail(struct buf *b, const struct span_sums *s, uint32_t kind, uint32_t detail)
{
	static const char *const before[SPAN_PART_KINDS] = {
		[SPAN_COLLECTED] = "",
		[SPAN_WAITING] = "behind ",
		[SPAN_BLOCKED] = "in ",
		[SPAN_SUSPENDED] = "in ",
	};
	char scratch[SPAN_DETAIL_BYTES];
	const char *of = span_detail(s, kind, detail, scratch);
	if (!of || kind >= SPAN_PART_KINDS || !before[kind])
		return false;
	buf_puts(b, before[kind]);
	buf_put_plain(b, of);
	return true;
}

void span_put_part(struct buf *b, const struct span_sums *s, uint32_t kind, uint32_t detail)
{
	buf_puts(b, span_part_text(kind));
	size_t end = b->len;
	buf_puts(b, kind == SPAN_COLLECTED ? ": " : " ");
	if (!span_put_detail(b, s, kind, detail) && !b->err)
		b->len = end;
}
