/* SPDX-License-Identifier: BSD-2-Clause */
#include "codec/capture/block.h"

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

#define PUT_ALL(p, ...)                             \
	put_all(p, (const uint64_t[]){__VA_ARGS__}, \
		sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

static uint8_t *put_all(uint8_t *p, const uint64_t *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		p = put_v(p, v[i]);
	return p;
}

static uint8_t *put_session(uint8_t *p, const struct capture_session *s)
{
	p = put_s(p, s->source, sizeof(s->source));
	p = put_s(p, s->clock, sizeof(s->clock));
	return PUT_ALL(p, s->start_ns, s->run_begin_ns, s->run_end_ns, s->monotonic_ns,
		       s->realtime_ns, s->boottime_ns, s->known);
}

static uint8_t *put_process(uint8_t *p, const struct capture_process *s)
{
	p = put_v(p, s->pid);
	p = put_s(p, s->producer, sizeof(s->producer));
	p = put_s(p, s->runtime, sizeof(s->runtime));
	p = put_s(p, s->comm, sizeof(s->comm));
	return PUT_ALL(p, s->release, s->usage_known, s->user_ns, s->system_ns, s->peak_rss_bytes,
		       s->end_ns, (s->peak_rss_known ? 1u : 0u) | (s->end_known ? 2u : 0u),
		       s->own_release, s->page_bytes);
}

static uint8_t *put_incarnation(uint8_t *p, const struct capture_incarnation *i)
{
	return PUT_ALL(p, i->pid, i->number, i->start_known, i->start_boot_ns);
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
	p = PUT_ALL(p, f->has_address, f->address, f->count);
	for (uint32_t i = 0; i < f->count; i++) {
		const struct capture_position *at = &f->position[i];
		p = PUT_ALL(p, at->function, at->file,
			    (at->has_line ? CAPTURE_HAS_LINE : 0u) |
				    (at->has_chars ? CAPTURE_HAS_CHARS : 0u),
			    at->line, at->start_char, at->end_char);
	}
	return PUT_ALL(p, f->path, f->build_id, f->offset);
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
	p = PUT_ALL(p, t->pid, rate, t->word_bits, t->domain);
	for (unsigned i = 0; i < CAPTURE_ALLOC_TEXTS; i++)
		p = put_s(p, t->text[i].text, kept_bytes(&t->text[i]));
	return p;
}

static uint8_t *put_trigger(uint8_t *p, const struct capture_trigger *t)
{
	p = PUT_ALL(p, t->pid, (uint16_t)(t->domain + 1), t->begin_ns, t->end_ns, t->from_ns,
		    t->kept_ns);
	p = put_s(p, t->span, sizeof(t->span));
	p = put_s(p, t->condition, sizeof(t->condition));
	return put_v(p, t->ns);
}

static uint8_t *put_mapping(uint8_t *p, const struct capture_mapping *m)
{
	p = PUT_ALL(p, m->pid, m->addr, m->bytes);
	return put_s(p, m->name, sizeof(m->name));
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
		return PUT_ALL(p, item->recovered.events, item->recovered.words,
			       item->recovered.history_events, item->recovered.history_words);
	case CAPTURE_TOTALS:
		return put_all(p, item->totals, CAPTURE_TOTAL_COUNT);
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
	case CAPTURE_TRIGGER:
		return put_trigger(p, &item->trigger);
	case CAPTURE_MAPPING:
		return put_mapping(p, &item->mapping);
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
