/* SPDX-License-Identifier: BSD-2-Clause */
#include "codec/capture/block.h"

#include "base/leb128.h"
#include <errno.h>
#include <string.h>

#define FLAGS_KNOWN (0xff | EBT_F_NO_SINCE)

void capture_decoder_start(struct capture_decoder *d, const void *raw, size_t len,
			   uint64_t first_ns)
{
	d->at = raw;
	d->end = d->at + len;
	d->ts = first_ns;
	d->events = 0;
	d->lane = UINT32_MAX;
	d->lane_count = d->shape_count = 0;
	d->strings = d->frames = d->stacks = 0;
}

/* The pad behind the records ends every number. */
static inline uint64_t get_v(struct capture_decoder *d)
{
	uint64_t v;
	d->at = leb128_get(d->at, &v);
	return v;
}

static inline uint64_t get_z(struct capture_decoder *d)
{
	return leb128_unfold(get_v(d));
}

static int get_lane(struct capture_decoder *d)
{
	uint64_t lane = get_v(d);
	if (lane > d->lane_count || lane == CAPTURE_LANES)
		return -EBADMSG;
	d->lane = (uint32_t)lane;
	if (lane < d->lane_count)
		return 0;
	uint64_t pid = get_v(d), domain = get_v(d);
	if (pid > UINT32_MAX || domain > UINT16_MAX)
		return -EBADMSG;
	d->lanes[d->lane_count++] = (struct capture_lane){
		.pid = (uint32_t)pid,
		.domain = (uint16_t)(domain - 1),
		.cpu = EBT_NO_CPU,
		.next_pos = EBT_NO_POS,
	};
	return 0;
}

static int get_shape(struct capture_decoder *d, struct capture_shape **ret)
{
	uint64_t shape = get_v(d);
	if (shape > d->shape_count || shape == CAPTURE_SHAPES)
		return -EBADMSG;
	struct capture_shape *s = &d->shapes[shape];
	if (shape == d->shape_count) {
		uint64_t kind = get_v(d), id = get_v(d), flags = get_v(d), size = get_v(d);
		if (kind > UINT16_MAX || id > UINT32_MAX || flags > UINT16_MAX || size > UINT32_MAX)
			return -EBADMSG;
		*s = (struct capture_shape){
			.kind = (uint16_t)kind,
			.id = (uint32_t)id,
			.flags = (uint16_t)(flags & FLAGS_KNOWN),
			.size = (uint32_t)size,
		};
		d->shape_count++;
	}
	*ret = s;
	return 0;
}

static int get_where(struct capture_decoder *d, struct capture_lane *l)
{
	uint64_t tid = get_v(d), cpu = get_v(d), stack = get_v(d);
	if (tid > UINT32_MAX || cpu > UINT16_MAX || stack > UINT32_MAX)
		return -EBADMSG;
	l->tid = (uint32_t)tid;
	l->cpu = (uint16_t)(cpu - 1);
	l->stack = (uint32_t)stack;
	return 0;
}

static int get_payload(struct capture_decoder *d, struct capture_item *ret)
{
	uint64_t size = get_v(d), bytes = get_v(d);
	if (size > UINT32_MAX || d->at > d->end || bytes > (size_t)(d->end - d->at))
		return -EBADMSG;
	ret->event.size = (uint32_t)size;
	ret->payload = d->at;
	ret->payload_bytes = bytes;
	ret->event.arg[0] = 0;
	ret->event.arg[1] = bytes;
	d->at += bytes;
	return 0;
}

static inline __attribute__((always_inline)) int
get_event(struct capture_decoder *d, unsigned brings, struct capture_item *ret)
{
	struct ebt_event *ev = &ret->event;
	struct capture_shape *s;
	if (brings & CAPTURE_LANE ? get_lane(d) : d->lane >= d->lane_count)
		return -EBADMSG;
	if (get_shape(d, &s))
		return -EBADMSG;
	uint64_t difference = get_v(d);
	d->ts += brings & CAPTURE_BACK ? -difference : difference;
	struct capture_lane *l = &d->lanes[d->lane];
	if (brings & CAPTURE_WHERE && get_where(d, l))
		return -EBADMSG;
	ret->what = CAPTURE_EVENT;
	ret->payload = NULL;
	ret->payload_bytes = 0;
	/* All of its fields; one by one, since each is in memory once. */
	ev->ts = d->ts;
	ev->pos = l->next_pos + (brings & CAPTURE_POS ? get_z(d) : 0);
	ev->pid = l->pid;
	ev->tid = l->tid;
	ev->kind = s->kind;
	ev->domain = l->domain;
	ev->cpu = l->cpu;
	ev->flags = s->flags | EBT_F_FINAL;
	ev->id = s->id;
	ev->stack = l->stack <= d->stacks ? l->stack : 0;
	ev->size = s->size;
	/* Files written before the flag existed have 0 where the time is not known. */
	if (s->kind == EBT_LOST && !EBT_LOST_SINCE(ev))
		ev->flags |= EBT_F_NO_SINCE;
	uint64_t seq = capture_expected_seq(l, s->flags);
	ev->seq = (uint32_t)(seq + (brings & CAPTURE_SEQ ? get_z(d) : 0));
	if (s->flags & EBT_F_PAYLOAD) {
		if (get_payload(d, ret))
			return -EBADMSG;
	} else {
		s->arg[0] += brings & CAPTURE_ARG0 ? get_z(d) : 0;
		s->arg[1] += brings & CAPTURE_ARG1 ? get_z(d) : 0;
		ev->arg[0] = s->arg[0];
		ev->arg[1] = s->arg[1];
	}
	if (capture_counts(s->kind))
		capture_lane_passed(l, ev);
	return d->at <= d->end ? 0 : -EBADMSG;
}

/* A string into a buffer of `cap` bytes, cut if it is longer. */
static int get_s(struct capture_decoder *d, char *ret, size_t cap)
{
	uint64_t len = get_v(d);
	if (d->at > d->end || len > (size_t)(d->end - d->at))
		return -EBADMSG;
	size_t kept = len < cap ? len : cap - 1;
	memcpy(ret, d->at, kept);
	ret[kept] = 0;
	d->at += len;
	return 0;
}

static int get_session(struct capture_decoder *d, const uint8_t *end, struct capture_session *s)
{
	if (get_s(d, s->source, sizeof(s->source)) || get_s(d, s->clock, sizeof(s->clock)))
		return -EBADMSG;
	s->start_ns = get_v(d);
	s->run_begin_ns = get_v(d);
	s->run_end_ns = get_v(d);
	s->monotonic_ns = get_v(d);
	s->realtime_ns = get_v(d);
	s->boottime_ns = get_v(d);
	const uint64_t numbers[] = {s->start_ns,     s->run_begin_ns, s->run_end_ns,
				    s->monotonic_ns, s->realtime_ns,  s->boottime_ns};
	uint32_t known = 0;
	for (unsigned i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		known |= numbers[i] ? 1u << i : 0;
	s->known = d->at < end ? (uint32_t)get_v(d) : known;
	return 0;
}

static int get_process(struct capture_decoder *d, const uint8_t *end, struct capture_process *p)
{
	uint64_t pid = get_v(d);
	if (pid > UINT32_MAX || get_s(d, p->producer, sizeof(p->producer)) ||
	    get_s(d, p->runtime, sizeof(p->runtime)) || get_s(d, p->comm, sizeof(p->comm)))
		return -EBADMSG;
	uint64_t release = get_v(d);
	p->pid = (uint32_t)pid;
	p->release = release > UINT32_MAX ? 0 : (uint32_t)release;
	p->usage_known = get_v(d);
	p->user_ns = get_v(d);
	p->system_ns = get_v(d);
	p->peak_rss_bytes = get_v(d);
	/* Absent in files written before they existed. */
	p->end_ns = d->at < end ? get_v(d) : 0;
	uint64_t known = (p->peak_rss_bytes ? 1u : 0u) | (p->end_ns ? 2u : 0u);
	known = d->at < end ? get_v(d) : known;
	release = d->at < end ? get_v(d) : 0;
	p->peak_rss_known = known & 1;
	p->end_known = known & 2;
	p->own_release = release > UINT32_MAX ? 0 : (uint32_t)release;
	uint64_t page_bytes = d->at < end ? get_v(d) : 0;
	p->page_bytes = page_bytes > UINT32_MAX ? 0 : (uint32_t)page_bytes;
	return 0;
}

static int get_incarnation(struct capture_decoder *d, struct capture_incarnation *i)
{
	uint64_t pid = get_v(d), number = get_v(d);
	if (pid > UINT32_MAX || number > UINT32_MAX)
		return -EBADMSG;
	i->pid = (uint32_t)pid;
	i->number = (uint32_t)number;
	i->start_known = get_v(d);
	i->start_boot_ns = get_v(d);
	return 0;
}

static int get_gone(struct capture_decoder *d, uint32_t *ret_pid)
{
	uint64_t pid = get_v(d);
	if (pid > UINT32_MAX)
		return -EBADMSG;
	*ret_pid = (uint32_t)pid;
	return 0;
}

static int get_name(struct capture_decoder *d, struct capture_name *n)
{
	uint64_t pid = get_v(d), id = get_v(d);
	if (pid > UINT32_MAX || id > UINT32_MAX)
		return -EBADMSG;
	n->pid = (uint32_t)pid;
	n->id = (uint32_t)id;
	return get_s(d, n->text, sizeof(n->text));
}

static int get_string(struct capture_decoder *d, struct capture_string *s)
{
	uint64_t bytes = get_v(d);
	if (d->at > d->end || bytes > (size_t)(d->end - d->at) || d->strings == CAPTURE_STRINGS)
		return -EBADMSG;
	s->number = ++d->strings;
	s->text = (const char *)d->at;
	s->bytes = strnlen(s->text, bytes < CAPTURE_STRING_MAX ? bytes : CAPTURE_STRING_MAX);
	d->at += bytes;
	return 0;
}

static int get_position(struct capture_decoder *d, struct capture_position *p)
{
	uint64_t function = get_v(d), file = get_v(d), known = get_v(d);
	uint64_t line = get_v(d), start_char = get_v(d), end_char = get_v(d);
	if (function > d->strings || file > d->strings || line > UINT32_MAX ||
	    start_char > UINT32_MAX || end_char > UINT32_MAX)
		return -EBADMSG;
	*p = (struct capture_position){
		.function = (uint32_t)function,
		.file = (uint32_t)file,
		.line = (uint32_t)line,
		.start_char = (uint32_t)start_char,
		.end_char = (uint32_t)end_char,
		.has_line = known & CAPTURE_HAS_LINE,
		.has_chars = known & CAPTURE_HAS_CHARS,
	};
	return 0;
}

static int get_frame(struct capture_decoder *d, const uint8_t *end, struct capture_frame *f)
{
	f->has_address = get_v(d);
	f->address = get_v(d);
	uint64_t count = get_v(d);
	if (count > CAPTURE_POSITIONS_MAX || d->frames == CAPTURE_FRAMES)
		return -EBADMSG;
	for (uint32_t i = 0; i < count; i++)
		if (d->at >= end || get_position(d, &d->position[i]))
			return -EBADMSG;
	uint64_t path = d->at < end ? get_v(d) : 0, build_id = d->at < end ? get_v(d) : 0;
	if (path > d->strings || build_id > d->strings)
		return -EBADMSG;
	f->path = (uint32_t)path;
	f->build_id = (uint32_t)build_id;
	f->offset = d->at < end ? get_v(d) : 0;
	f->number = ++d->frames;
	f->count = (uint32_t)count;
	f->position = d->position;
	return 0;
}

static int get_stack(struct capture_decoder *d, const uint8_t *end, struct capture_stack *s)
{
	uint64_t parent = get_v(d), count = get_v(d);
	if (parent > d->stacks || !count || count > CAPTURE_RUN_MAX ||
	    count > CAPTURE_STACKS - d->stacks)
		return -EBADMSG;
	for (uint32_t i = 0; i < count; i++) {
		uint64_t frame = d->at < end ? get_v(d) : 0;
		if (!frame || frame > d->frames)
			return -EBADMSG;
		d->frame[i] = (uint32_t)frame;
	}
	s->number = d->stacks + 1;
	s->parent = (uint32_t)parent;
	s->count = (uint32_t)count;
	s->frame = d->frame;
	d->stacks += s->count;
	return 0;
}

static int get_text(struct capture_decoder *d, struct capture_text *t)
{
	uint64_t bytes = get_v(d);
	if (d->at > d->end || bytes > (size_t)(d->end - d->at))
		return -EBADMSG;
	t->text = (const char *)d->at;
	t->bytes = strnlen(t->text, bytes < CAPTURE_TEXT_MAX ? bytes : CAPTURE_TEXT_MAX);
	d->at += bytes;
	return 0;
}

static int get_alloc_trace(struct capture_decoder *d, struct capture_alloc_trace *t)
{
	uint64_t pid = get_v(d), rate = get_v(d), word_bits = get_v(d), domain = get_v(d);
	if (pid > UINT32_MAX || word_bits > UINT8_MAX || domain > UINT16_MAX)
		return -EBADMSG;
	t->pid = (uint32_t)pid;
	memcpy(&t->sample_rate, &rate, sizeof(rate));
	t->word_bits = (uint8_t)word_bits;
	t->domain = (uint16_t)domain;
	for (unsigned i = 0; i < CAPTURE_ALLOC_TEXTS; i++)
		if (get_text(d, &t->text[i]))
			return -EBADMSG;
	return 0;
}

static int get_trigger(struct capture_decoder *d, const uint8_t *end, struct capture_trigger *t)
{
	uint64_t pid = get_v(d), domain = get_v(d);
	if (pid > UINT32_MAX || domain > UINT16_MAX)
		return -EBADMSG;
	t->pid = (uint32_t)pid;
	t->domain = (uint16_t)(domain - 1);
	t->begin_ns = get_v(d);
	t->end_ns = get_v(d);
	t->from_ns = get_v(d);
	t->kept_ns = get_v(d);
	if (get_s(d, t->span, sizeof(t->span)) || get_s(d, t->condition, sizeof(t->condition)))
		return -EBADMSG;
	t->ns = d->at < end ? get_v(d) : t->end_ns - t->begin_ns;
	return 0;
}

static int get_recovered(struct capture_decoder *d, const uint8_t *end, struct capture_item *ret)
{
	ret->recovered.events = get_v(d);
	ret->recovered.words = get_v(d);
	ret->recovered.history_events = d->at < end ? get_v(d) : 0;
	ret->recovered.history_words = d->at < end ? get_v(d) : 0;
	return ret->recovered.history_events > ret->recovered.events ||
			       ret->recovered.history_words > ret->recovered.words
		       ? -EBADMSG
		       : 0;
}

static int get_mapping(struct capture_decoder *d, struct capture_mapping *m)
{
	uint64_t pid = get_v(d);
	if (pid > UINT32_MAX)
		return -EBADMSG;
	m->pid = (uint32_t)pid;
	m->addr = get_v(d);
	m->bytes = get_v(d);
	return get_s(d, m->name, sizeof(m->name));
}

/* 1: a known item; 0: an unknown one, which was skipped. */
static int get_item(struct capture_decoder *d, unsigned type, struct capture_item *ret)
{
	uint64_t len = get_v(d);
	if (d->at > d->end || len > (size_t)(d->end - d->at))
		return -EBADMSG;
	const uint8_t *end = d->at + len;
	int err = 0, known = 1;
	ret->what = type;
	switch (type) {
	case CAPTURE_SESSION:
		err = get_session(d, end, &ret->session);
		break;
	case CAPTURE_PROCESS:
		err = get_process(d, end, &ret->process);
		break;
	case CAPTURE_INCARNATION:
		err = get_incarnation(d, &ret->incarnation);
		break;
	case CAPTURE_NAME:
		err = get_name(d, &ret->name);
		break;
	case CAPTURE_RECOVERED:
		err = get_recovered(d, end, ret);
		break;
	case CAPTURE_TOTALS:
		for (unsigned i = 0; i < CAPTURE_TOTAL_COUNT; i++)
			ret->totals[i] = d->at < end ? get_v(d) : 0;
		break;
	case CAPTURE_STRING:
		err = get_string(d, &ret->string);
		break;
	case CAPTURE_FRAME:
		err = get_frame(d, end, &ret->frame);
		break;
	case CAPTURE_STACK:
		err = get_stack(d, end, &ret->stack);
		break;
	case CAPTURE_GONE:
		err = get_gone(d, &ret->gone);
		break;
	case CAPTURE_ALLOC_TRACE:
		err = get_alloc_trace(d, &ret->alloc_trace);
		break;
	case CAPTURE_TRIGGER:
		err = get_trigger(d, end, &ret->trigger);
		break;
	case CAPTURE_MAPPING:
		err = get_mapping(d, &ret->mapping);
		break;
	default:
		known = 0;
	}
	if (err || d->at > end)
		return -EBADMSG;
	d->at = end;
	return known;
}

int capture_decode(struct capture_decoder *d, struct capture_item *ret)
{
	while (d->at < d->end) {
		unsigned first = *d->at++;
		if (first & CAPTURE_ITEM) {
			int got = get_item(d, first & 0x7f, ret);
			if (got)
				return got;
			continue;
		}
		if (get_event(d, first, ret))
			return -EBADMSG;
		/* A kind of a later version: it is not delivered, and so counted as lost. */
		if (!capture_knows(ret->event.kind))
			continue;
		d->events += capture_counts(ret->event.kind);
		return 1;
	}
	return 0;
}
