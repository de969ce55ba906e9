/* SPDX-License-Identifier: BSD-2-Clause */
#include "format/memtrace.h"

#include "base/array.h"
#include "base/log.h"
#include "base/plural.h"
#include "base/ptrmap.h"
#include "codec/memtrace/memtrace.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define US_NS	      1000
#define POSITIONS_MAX 255
#define UNKNOWN_NAME  "??"
/* Codes of frames without an address, and of frames that share the address of another frame. */
#define MADE_CODE   (1ll << 61)
#define ADDRESS_MAX ((1ull << 61) - 1)

/* The events of a domain. */
struct domain {
	struct ebt_memtrace_writer *writer; /* in memory of its own */
	uint64_t last_us;
	uint32_t stack; /* of the last alloc, held */
	/* The frames of that stack, and of the next one. */
	uint32_t *frame, *next;
	size_t depth, cap;
	int64_t *codes; /* cap of them */
};

struct memtrace {
	struct sink base;
	struct session *session;
	struct buf buf;
	struct ebt_memtrace_trace trace;
	PTRMAP(struct domain) domains;
	uint32_t process; /* PROCESS_UNKNOWN: none so far */
	uint64_t shift_ns, last_us;
	struct map codes;  /* frame → code; the frames are held */
	struct map frames; /* code → frame */
	struct ebt_memtrace_location location[POSITIONS_MAX];
	bool has_head, reported_others;
	uint64_t moved; /* events of domains beyond the limit */
	double rounded; /* samples for a word where they are words; 0: they are not */
	uint64_t drawn; /* the last random number */
	int err;
};

static int write_packet(void *ctx, const void *packet, size_t bytes)
{
	struct memtrace *m = ctx;
	buf_put(&m->buf, packet, bytes);
	return m->buf.err;
}

static const char *name_of(const struct memtrace *m, uint32_t string)
{
	const char *text = strings_text(m->session->strings, string);
	return text ? text : UNKNOWN_NAME;
}

static size_t locations(void *ctx, int64_t code, const struct ebt_memtrace_location **ret)
{
	struct memtrace *m = ctx;
	const uint64_t *frame = map_get(&m->frames, (uint64_t)code);
	if (!frame)
		return 0;
	const struct frame *f = frames_get(m->session->frames, (uint32_t)*frame);
	for (uint32_t i = 0; i < f->count; i++) {
		const struct frame_position *p = &f->position[i];
		m->location[i] = (struct ebt_memtrace_location){
			.file = name_of(m, p->file),
			.function = name_of(m, p->function),
			.line = p->line,
			.first_char =
				(uint16_t)(p->start_char < UINT16_MAX ? p->start_char : UINT16_MAX),
			.last_char =
				(uint16_t)(p->end_char < UINT16_MAX ? p->end_char : UINT16_MAX),
		};
	}
	*ret = m->location;
	return f->count;
}

/* The code of a frame: its address where it has one of its own. 0: no memory. */
static int64_t code_of(struct memtrace *m, uint32_t frame)
{
	const uint64_t *known = map_get(&m->codes, frame);
	if (known)
		return (int64_t)*known;
	const struct frame *f = frames_get(m->session->frames, frame);
	int64_t code = MADE_CODE + frame;
	/* memtrace's are integers of OCaml: the address shifted, of any sign. */
	if (f->has_address && f->address &&
	    (f->address <= ADDRESS_MAX || -f->address <= ADDRESS_MAX) &&
	    !map_get(&m->frames, f->address))
		code = (int64_t)f->address;
	uint64_t *of_frame = map_put(&m->codes, frame),
		 *of_code = map_put(&m->frames, (uint64_t)code);
	if (!of_frame || !of_code)
		return 0;
	*of_code = frame;
	*of_frame = (uint64_t)code;
	frames_hold(m->session->frames, frame);
	return code;
}

static int put_head(struct memtrace *m, uint32_t process, uint64_t us)
{
	const struct process *p = processes_at(&m->session->processes, process);
	const struct alloc_trace *t = &p->alloc_trace;
	const struct strings *strings = m->session->strings;
	const char *text[] = {strings_text(strings, t->executable), strings_text(strings, t->host),
			      strings_text(strings, t->parameters),
			      strings_text(strings, t->context)};
	bool has_words = alloc_trace_has_words(t, strings);
	char rounded[64];
	if (has_words) /* they end there */
		snprintf(rounded, sizeof(rounded), "%.*s",
			 (int)(strlen(text[2]) - strlen(ALLOC_TRACE_WORDS)), text[2]);
	m->rounded = has_words ? t->sample_rate : 0;
	struct ebt_memtrace_info info = {
		.sample_rate = t->known ? t->sample_rate : 1,
		.word_bits = t->known ? t->word_bits : 64,
		.domain = t->domain,
		.pid = p->pid,
		.start_us =
			m->session->start.known ? (m->session->start.ns + m->shift_ns) / US_NS : us,
		.executable = text[0] ? text[0] : p->comm,
		.host = text[1] ? text[1] : "",
		.runtime_params = has_words ? rounded
				  : text[2] ? text[2]
					    : "",
		.context = text[3] ? text[3] : "",
	};
	m->process = process;
	m->has_head = true;
	m->last_us = info.start_us;
	return ebt_memtrace_write_info(&m->trace, &info);
}

/* Events of no domain, and of more domains than a reader takes, are domain 0's. Each domain in use
 * takes about 200 kB. */
static struct domain *domain_of(struct memtrace *m, uint16_t number)
{
	bool is_new;
	struct domain *d = ptrmap_get(&m->domains, number);
	if (d)
		return d;
	bool is_full = m->domains.words.count + !ptrmap_get(&m->domains, 0) >= MEMTRACE_DOMAINS_MAX;
	if (number && (number == EBT_NO_DOMAIN || is_full)) {
		m->moved += number != EBT_NO_DOMAIN;
		return domain_of(m, 0);
	}
	d = ptrmap_make(&m->domains, number, &is_new);
	void *memory = d ? calloc(1, ebt_memtrace_writer_bytes()) : NULL;
	if (!memory)
		return NULL;
	d->writer = ebt_memtrace_writer_init(memory, &m->trace, number, m->trace.start_us);
	d->last_us = m->trace.start_us;
	return d;
}

static int reserve(struct domain *d, size_t depth)
{
	if (depth <= d->cap)
		return 0;
	size_t frames = d->cap, next = d->cap, codes = d->cap;
	if (!array_reserve(d->frame, frames, depth - 1) ||
	    !array_reserve(d->next, next, depth - 1) || !array_reserve(d->codes, codes, depth - 1))
		return -ENOMEM;
	d->cap = frames;
	return 0;
}

/* What the backtrace has more than the last one. */
static int set_backtrace(struct memtrace *m, struct domain *d, const struct ebt_event *ev,
			 struct ebt_memtrace_event *e)
{
	struct stacks *stacks = m->session->stacks;
	if (ev->stack == d->stack) {
		/* A common part that is longer than the stack is of one that was cut. */
		e->common = ev->seq > d->depth ? ev->seq : (uint32_t)d->depth;
		return 0;
	}
	size_t depth = stacks_frames(stacks, ev->stack, NULL, 0), common = 0;
	if (reserve(d, depth))
		return -ENOMEM;
	stacks_frames(stacks, ev->stack, d->next, depth);
	while (common < depth && common < d->depth && d->frame[common] == d->next[common])
		common++;
	for (size_t i = common; i < depth; i++)
		if (!(d->codes[i - common] = code_of(m, d->next[i])))
			return -ENOMEM;
	e->common = (uint32_t)common;
	e->frame = d->codes;
	e->frames = (uint32_t)(depth - common);
	stacks_hold(stacks, ev->stack);
	stacks_drop(stacks, d->stack);
	d->stack = ev->stack;
	uint32_t *last = d->frame;
	d->frame = d->next;
	d->next = last;
	d->depth = depth;
	return 0;
}

/* The clocks of the session are known with the first event. */
static uint64_t to_us(struct memtrace *m, uint64_t ns)
{
	const struct timebase realtime = {.clock = TIMEBASE_REALTIME};
	if (!m->has_head)
		timebase_shift(&m->session->timebase, &realtime, &m->shift_ns);
	return (ns + m->shift_ns) / US_NS;
}

/* Below 1. The same numbers in each run, so that a capture always becomes the same trace
 * (splitmix64). */
static double draw(struct memtrace *m)
{
	uint64_t z = m->drawn += 0x9e3779b97f4a7c15;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

/* The samples of an object; words are rounded to such at random. */
static int64_t samples_of(struct memtrace *m, const struct ebt_event *ev)
{
	double samples = (double)ev->pos * m->rounded;
	if (!m->rounded)
		return (int64_t)ev->pos;
	return samples < 0x1p62 ? (int64_t)(samples + draw(m)) : INT64_C(1) << 62;
}

static int put_event(struct memtrace *m, const struct ebt_event *ev)
{
	static const uint8_t what[EBT_KINDS] = {
		[EBT_ALLOC] = EBT_MEMTRACE_ALLOC,
		[EBT_PROMOTE] = EBT_MEMTRACE_PROMOTE,
		[EBT_COLLECT] = EBT_MEMTRACE_COLLECT,
	};
	struct ebt_memtrace_event e = {.what = what[ev->kind], .obj = ev->arg[0]};
	if (!e.what)
		return 0;
	e.time_us = to_us(m, EBT_OWN_TS(ev));
	int err = m->has_head ? 0 : put_head(m, ev->process, e.time_us);
	if (ev->process != m->process) {
		if (!m->reported_others)
			messages_at(&m->session->messages, LOG_NORMAL,
				    "a memtrace trace holds one process: the allocations of "
				    "others are left out");
		m->reported_others = true;
		return err;
	}
	struct domain *d = err ? NULL : domain_of(m, ev->domain);
	if (!d)
		return err ? err : -ENOMEM;
	if (ev->kind == EBT_ALLOC) {
		e.words = (int64_t)ev->arg[1];
		e.samples = samples_of(m, ev);
		if (m->rounded && !e.samples)
			return err;
		e.source = (uint8_t)ev->id;
		err = set_backtrace(m, d, ev, &e);
	}
	/* A late event is older than those of other domains only. */
	e.time_us = e.time_us > d->last_us ? e.time_us : d->last_us;
	d->last_us = e.time_us;
	m->last_us = e.time_us > m->last_us ? e.time_us : m->last_us;
	return err ? err : ebt_memtrace_write(d->writer, &e);
}

static int memtrace_events(struct sink *k, const struct ebt_event *ev, size_t n)
{
	struct memtrace *m = (struct memtrace *)k;
	for (size_t i = 0; i < n && !m->err; i++)
		m->err = put_event(m, &ev[i]);
	return m->err;
}

/* The index may be assigned to another process from now on. */
static int memtrace_forget(struct sink *k, uint32_t process)
{
	struct memtrace *m = (struct memtrace *)k;
	if (m->process == process)
		m->process = PROCESS_UNKNOWN;
	return 0;
}

static int memtrace_flush(struct sink *k)
{
	return buf_flush(&((struct memtrace *)k)->buf);
}

static void report_changes(const struct memtrace *m)
{
	uint64_t cut = 0;
	size_t at = 0;
	for (struct domain *d; (d = ptrmap_next(&m->domains, &at));)
		cut += d->writer ? ebt_memtrace_writer_cut(d->writer) : 0;
	if (cut)
		messages_at(&m->session->messages, LOG_NORMAL,
			    "%" PRIu64
			    " frame%s left out, the innermost of deep stacks: a memtrace "
			    "trace has room for 4096 bytes of a stack",
			    cut, plural_of(cut, " is", "s are"));
	if (m->moved)
		messages_at(&m->session->messages, LOG_NORMAL,
			    "%" PRIu64
			    " event%s written as domain 0: a memtrace trace has at most %d "
			    "domains",
			    m->moved, plural_of(m->moved, " is", "s are"), MEMTRACE_DOMAINS_MAX);
}

static int memtrace_end(struct sink *k)
{
	struct memtrace *m = (struct memtrace *)k;
	const struct process *first = processes_next(&m->session->processes, NULL);
	if (!m->has_head && !m->err)
		m->err = put_head(m, first ? first->index : PROCESS_UNKNOWN, 0);
	/* By number: the order of the map is another one in each run. */
	for (uint32_t number = 0; number <= UINT16_MAX; number++) {
		struct domain *d = ptrmap_get(&m->domains, number);
		if (d && d->writer) /* not where there was no memory for one */
			ebt_memtrace_write_flush(d->writer, m->last_us);
	}
	int err = buf_finish(&m->buf);
	report_changes(m);
	return m->err ? m->err : err;
}

static void memtrace_free(struct sink *k)
{
	struct memtrace *m = (struct memtrace *)k;
	size_t at = 0;
	for (struct domain *d; (d = ptrmap_next(&m->domains, &at));) {
		stacks_drop(m->session->stacks, d->stack);
		free(d->writer);
		free(d->frame);
		free(d->next);
		free(d->codes);
	}
	ptrmap_free(&m->domains);
	at = 0;
	for (struct map_slot *s; (s = map_next(&m->codes, &at));)
		frames_drop(m->session->frames, (uint32_t)s->key);
	map_done(&m->codes);
	map_done(&m->frames);
	buf_done(&m->buf);
	free(m);
}

static const struct sink_ops memtrace_ops = {
	.events = memtrace_events,
	.forget = memtrace_forget,
	.flush = memtrace_flush,
	.end = memtrace_end,
	.free = memtrace_free,
};

int memtrace_new(struct session *s, int fd, struct sink **ret)
{
	struct memtrace *m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	m->base.ops = &memtrace_ops;
	m->base.out = &m->buf;
	m->session = s;
	m->trace = (struct ebt_memtrace_trace){write_packet, locations, m, 0, 0, 0};
	int err = buf_init_behind(&m->buf, fd, SINK_BUFFER_BYTES, SINK_BEHIND_BYTES);
	if (err) {
		free(m);
		return err;
	}
	*ret = &m->base;
	return 0;
}
