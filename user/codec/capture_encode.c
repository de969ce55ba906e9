/* SPDX-License-Identifier: BSD-2-Clause */
#include "codec/capture_block.h"

#include "base/leb128.h"
#include <string.h>

/* More than the longest item without a list, a string of a stack or a text, and than one entry of a
 * list. */
#define ITEM_ROOM  2112
#define ENTRY_ROOM 64

static inline uint8_t *put_v(uint8_t *p, uint64_t v)
{
	return leb128_put(p, v);
}

static uint8_t *put_s(uint8_t *p, const char *s, size_t max)
{
	size_t len = strnlen(s, max);
	p = put_v(p, len);
	memcpy(p, s, len);
	return p + len;
}

static uint8_t *put_session(uint8_t *p, const struct capture_session *s)
{
	p = put_s(p, s->source, sizeof(s->source));
	p = put_s(p, s->clock, sizeof(s->clock));
	p = put_v(p, s->start_ns);
	p = put_v(p, s->run_begin_ns);
	p = put_v(p, s->run_end_ns);
	p = put_v(p, s->monotonic_ns);
	p = put_v(p, s->realtime_ns);
	p = put_v(p, s->boottime_ns);
	return put_v(p, s->known);
}

static uint8_t *put_process(uint8_t *p, const struct capture_process *s)
{
	p = put_v(p, s->pid);
	p = put_s(p, s->producer, sizeof(s->producer));
	p = put_s(p, s->runtime, sizeof(s->runtime));
	p = put_s(p, s->comm, sizeof(s->comm));
	p = put_v(p, s->release);
	p = put_v(p, s->usage_known);
	p = put_v(p, s->user_ns);
	p = put_v(p, s->system_ns);
	p = put_v(p, s->peak_rss_bytes);
	p = put_v(p, s->end_ns);
	p = put_v(p, (s->peak_rss_known ? 1u : 0u) | (s->end_known ? 2u : 0u));
	p = put_v(p, s->own_release);
	return put_v(p, s->page_bytes);
}

static uint8_t *put_incarnation(uint8_t *p, const struct capture_incarnation *i)
{
	p = put_v(p, i->pid);
	p = put_v(p, i->number);
	p = put_v(p, i->start_known);
	return put_v(p, i->start_boot_ns);
}

static uint8_t *put_name(uint8_t *p, const struct capture_name *n)
{
	p = put_v(p, n->pid);
	p = put_v(p, n->id);
	return put_s(p, n->text, sizeof(n->text));
}

static uint8_t *put_string(uint8_t *p, const struct capture_string *s)
{
	return put_s(p, s->text, s->bytes < CAPTURE_STRING_MAX ? s->bytes : CAPTURE_STRING_MAX);
}

static uint8_t *put_frame(uint8_t *p, const struct capture_frame *f)
{
	p = put_v(p, f->has_address);
	p = put_v(p, f->address);
	p = put_v(p, f->count);
	for (uint32_t i = 0; i < f->count; i++) {
		const struct capture_position *at = &f->position[i];
		p = put_v(p, at->function);
		p = put_v(p, at->file);
		p = put_v(p, (at->has_line ? CAPTURE_HAS_LINE : 0u) |
				     (at->has_chars ? CAPTURE_HAS_CHARS : 0u));
		p = put_v(p, at->line);
		p = put_v(p, at->start_char);
		p = put_v(p, at->end_char);
	}
	return p;
}

static uint8_t *put_stack(uint8_t *p, const struct capture_stack *s)
{
	p = put_v(p, s->parent);
	p = put_v(p, s->count);
	for (uint32_t i = 0; i < s->count; i++)
		p = put_v(p, s->frame[i]);
	return p;
}

static size_t kept_bytes(const struct capture_text *t)
{
	return t->bytes < CAPTURE_TEXT_MAX ? t->bytes : CAPTURE_TEXT_MAX;
}

static uint8_t *put_alloc_trace(uint8_t *p, const struct capture_alloc_trace *t)
{
	uint64_t rate;
	memcpy(&rate, &t->sample_rate, sizeof(rate));
	p = put_v(p, t->pid);
	p = put_v(p, rate);
	p = put_v(p, t->word_bits);
	p = put_v(p, t->domain);
	for (unsigned i = 0; i < CAPTURE_ALLOC_TEXTS; i++)
		p = put_s(p, t->text[i].text, kept_bytes(&t->text[i]));
	return p;
}

uint8_t *capture_item_put(uint8_t *p, const struct capture_item *item)
{
	switch (item->what) {
	case CAPTURE_SESSION:
		return put_session(p, &item->session);
	case CAPTURE_PROCESS:
		return put_process(p, &item->process);
	case CAPTURE_INCARNATION:
		return put_incarnation(p, &item->incarnation);
	case CAPTURE_NAME:
		return put_name(p, &item->name);
	case CAPTURE_RECOVERED:
		return put_v(put_v(p, item->recovered.events), item->recovered.words);
	case CAPTURE_TOTALS:
		for (unsigned i = 0; i < CAPTURE_TOTAL_COUNT; i++)
			p = put_v(p, item->totals[i]);
		return p;
	case CAPTURE_STRING:
		return put_string(p, &item->string);
	case CAPTURE_FRAME:
		return put_frame(p, &item->frame);
	case CAPTURE_STACK:
		return put_stack(p, &item->stack);
	case CAPTURE_GONE:
		return put_v(p, item->gone);
	case CAPTURE_ALLOC_TRACE:
		return put_alloc_trace(p, &item->alloc_trace);
	case CAPTURE_EVENT:
		break;
	}
	return p;
}

size_t capture_item_room(const struct capture_item *item)
{
	size_t bytes = ITEM_ROOM;
	switch (item->what) {
	case CAPTURE_FRAME:
		return bytes + ENTRY_ROOM * item->frame.count;
	case CAPTURE_STACK:
		return bytes + ENTRY_ROOM * item->stack.count;
	case CAPTURE_ALLOC_TRACE:
		for (unsigned i = 0; i < CAPTURE_ALLOC_TEXTS; i++)
			bytes += kept_bytes(&item->alloc_trace.text[i]);
		return bytes;
	default:
		return bytes;
	}
}
