/* SPDX-License-Identifier: BSD-2-Clause */
/* Traces that memtrace wrote, against what its own dump prints of them, and written again. */
#include "tests/fuzz/memtrace_body.h"

#include "tests/tap.h"

#include <glob.h>

#define DOMAINS 8

struct bytes {
	uint8_t *data;
	size_t len, cap;
};

static void append(struct bytes *b, const void *data, size_t n)
{
	if (b->cap - b->len < n) {
		b->cap = 2 * (b->cap + n);
		b->data = realloc(b->data, b->cap);
		if (!b->data)
			abort();
	}
	memcpy(b->data + b->len, data, n);
	b->len += n;
}

__attribute__((format(printf, 2, 3))) static void print(struct bytes *b, const char *fmt, ...)
{
	char line[4096];
	va_list ap;
	va_start(ap, fmt);
	int n = vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	append(b, line, (size_t)n);
}

static struct bytes unpack(const char *path)
{
	struct bytes b = {0};
	char command[512], part[65536];
	snprintf(command, sizeof(command), "xz -dc '%s'", path);
	FILE *f = popen(command, "r");
	if (!f)
		abort();
	for (size_t n; (n = fread(part, 1, sizeof(part), f)) > 0;)
		append(&b, part, n);
	if (pclose(f))
		b.len = 0;
	return b;
}

/* The text that memtrace's dump prints, and the trace as our writer writes it. */
struct copy {
	struct bytes text, trace;
	struct bytes domain_text[DOMAINS];
	struct bytes stack[DOMAINS]; /* the last backtrace: codes */
	struct ebt_memtrace_trace out;
	struct ebt_memtrace_writer *writer[DOMAINS];
	struct ebt_memtrace_reader *reader;
	uint64_t last_us;
};

static void print_frame(struct bytes *text, struct ebt_memtrace_reader *r, int64_t code)
{
	const struct ebt_memtrace_location *l;
	size_t n = ebt_memtrace_locations(r, code, &l);
	if (!n)
		print(text, " $%lld", (long long)code);
	for (size_t i = 0; i < n; i++)
		print(text, " %s@%s:%u:%u-%u", l[i].function, l[i].file, l[i].line, l[i].first_char,
		      l[i].last_char);
}

static void print_event(struct copy *c, const struct ebt_memtrace_event *e)
{
	static const char *const source[] = {"", "_major", "_ext"};
	struct bytes *t = &c->text, *stack = &c->stack[e->domain % DOMAINS];
	size_t from = t->len;
	uint64_t us = e->time_us - ebt_memtrace_info(c->reader)->start_us;
	print(t, "%010llu %010llu ", (unsigned long long)us, (unsigned long long)e->obj);
	switch (e->what) {
	case EBT_MEMTRACE_ALLOC:
		print(t, "alloc%s %lld len=%lld dom=%u  %3u:", source[e->source],
		      (long long)e->samples, (long long)e->words, e->domain, e->common);
		if (!e->again) {
			stack->len = e->common * sizeof(int64_t);
			append(stack, e->frame, e->frames * sizeof(int64_t));
		}
		for (size_t i = 0; i < stack->len / sizeof(int64_t); i++)
			print_frame(t, c->reader, ((int64_t *)stack->data)[i]);
		break;
	case EBT_MEMTRACE_PROMOTE:
		print(t, "promote");
		break;
	case EBT_MEMTRACE_COLLECT:
		print(t, "collect");
		break;
	default:
		print(t, "damage");
	}
	print(t, "\n");
	append(&c->domain_text[e->domain % DOMAINS], t->data + from, t->len - from);
}

static int store(void *ctx, const void *packet, size_t bytes)
{
	append(ctx, packet, bytes);
	return 0;
}

static size_t locations(void *ctx, int64_t code, const struct ebt_memtrace_location **ret)
{
	struct copy *c = (void *)((char *)ctx - offsetof(struct copy, trace));
	return ebt_memtrace_locations(c->reader, code, ret);
}

static void copy_event(void *ctx, struct ebt_memtrace_reader *r, struct ebt_memtrace_event *e)
{
	struct copy *c = ctx;
	struct ebt_memtrace_writer **w = &c->writer[e->domain % DOMAINS];
	const struct ebt_memtrace_info *info = ebt_memtrace_info(r);
	c->reader = r;
	c->last_us = e->time_us;
	print_event(c, e);
	if (!c->out.write) {
		c->out = (struct ebt_memtrace_trace){store, locations, &c->trace, 0, 0, 0};
		ebt_memtrace_write_info(&c->out, info);
	}
	if (!*w)
		*w = ebt_memtrace_writer_init(calloc(1, ebt_memtrace_writer_bytes()), &c->out,
					      e->domain, info->start_us);
	if (e->what != EBT_MEMTRACE_DAMAGE)
		ebt_memtrace_write(*w, e);
}

static struct memtrace_body read_trace(struct copy *c, const struct bytes *trace, size_t piece)
{
	struct memtrace_body b = {.on_event = copy_event, .ctx = c};
	memtrace_body(&b, trace->data, trace->len, piece, 0);
	for (int i = 0; i < DOMAINS; i++)
		if (c->writer[i])
			ebt_memtrace_write_flush(c->writer[i], c->last_us);
	return b;
}

static void done(struct copy *c, struct memtrace_body *b)
{
	for (int i = 0; i < DOMAINS; i++) {
		free(c->writer[i]);
		free(c->stack[i].data);
		free(c->domain_text[i].data);
	}
	free(c->text.data);
	free(c->trace.data);
	ebt_memtrace_reader_free(b->reader);
}

static bool same(const struct bytes *a, const struct bytes *b)
{
	return a->len && a->len == b->len && !memcmp(a->data, b->data, a->len);
}

/* Each domain's lines, in order: how domains interleave is not part of a trace's meaning. */
static bool same_domains(const struct copy *a, const struct copy *b)
{
	size_t events = 0;
	for (int i = 0; i < DOMAINS; i++) {
		if (a->domain_text[i].len && !same(&a->domain_text[i], &b->domain_text[i]))
			return false;
		events += b->domain_text[i].len;
	}
	return events == a->text.len;
}

static void check_trace(const char *name)
{
	char path[512];
	snprintf(path, sizeof(path), "tests/data/memtrace/%s.ctf.xz", name);
	struct bytes trace = unpack(path);
	snprintf(path, sizeof(path), "tests/data/memtrace/%s.dump.xz", name);
	struct bytes truth = unpack(path);
	struct copy c = {0}, again = {0};
	struct memtrace_body b = read_trace(&c, &trace, 1u << 20);
	ok(b.end == 0 && same(&c.text, &truth), "%s: the events are those of memtrace's own dump",
	   name);
	struct memtrace_body second = read_trace(&again, &c.trace, 1000);
	ok(second.end == 0 && same_domains(&c, &again),
	   "%s: written again, and read in small pieces, it has the same events", name);
	bool single =
		strcmp(name, "multidomain") && strcmp(name, "synth") && strcmp(name, "wrongpid");
	if (single)
		ok(same(&c.trace, &trace), "%s: written again, it has the same bytes", name);
	struct memtrace_body skip = {0};
	memtrace_body(&skip, trace.data, trace.len, 1u << 20, EBT_MEMTRACE_SKIP_BACKTRACES);
	ok(skip.events == b.events && !skip.frames, "%s: without backtraces it has as many events",
	   name);
	struct ebt_memtrace_counts n = ebt_memtrace_counts(b.reader);
	ok(n.other_pid == (strcmp(name, "wrongpid") ? 0 : 2) && !n.damaged && !n.truncated,
	   "%s: packets of another process are skipped and counted, and no damage is found", name);
	ebt_memtrace_reader_free(skip.reader);
	done(&again, &second);
	done(&c, &b);
	free(truth.data);
	free(trace.data);
}

/* A clock that steps back by 5 ms, 2 s, an hour and 40 s: memtrace's own reader refuses the trace.
 * The truth is that of the same trace with a clock that does not step. */
static void check_stepped(void)
{
	struct bytes trace = unpack("tests/data/memtrace/stepped.ctf.xz");
	struct bytes truth = unpack("tests/data/memtrace/stepped.dump.xz");
	struct copy c = {0};
	struct memtrace_body b = read_trace(&c, &trace, 1u << 20);
	struct ebt_memtrace_counts n = ebt_memtrace_counts(b.reader);
	size_t lines = 0, same_times = 0, behind = 0;
	const uint8_t *last = NULL;
	ok(c.text.len == truth.len, "stepped: all events are there, and no more");
	for (size_t at = 0; at + 10 < truth.len && truth.len == c.text.len; lines++) {
		uint8_t *got = c.text.data + at, *want = truth.data + at;
		same_times += !memcmp(got, want, 10);
		behind += last && memcmp(got, last, 10) < 0;
		last = got;
		memset(want, '0', 10);
		at = (size_t)((uint8_t *)memchr(want, '\n', truth.len - at) + 1 - truth.data);
	}
	for (size_t at = 0, i = 0; i < lines; i++) {
		memset(c.text.data + at, '0', 10);
		at = (size_t)((uint8_t *)memchr(c.text.data + at, '\n', c.text.len - at) + 1 -
			      c.text.data);
	}
	ok(lines && !behind, "stepped: no time is before the last one");
	ok(same(&c.text, &truth), "stepped: the objects and backtraces are the true ones");
	is(same_times, 499, "stepped: up to the first step so are the times");
	is(n.raised, lines - 499, "stepped: the others were raised, and are counted");
	is(n.damaged + n.lost_allocs, 0, "stepped: nothing is damaged");
	done(&c, &b);
	free(truth.data);
	free(trace.data);
}

int main(void)
{
	glob_t found;
	if (glob("tests/data/memtrace/*.ctf.xz", 0, NULL, &found) || found.gl_pathc < 7)
		return ok(0, "the traces are there"), tap_done();
	for (size_t i = 0; i < found.gl_pathc; i++) {
		char *name = strrchr(found.gl_pathv[i], '/') + 1;
		*strchr(name, '.') = 0;
		if (!strcmp(name, "stepped"))
			check_stepped();
		else
			check_trace(name);
	}
	globfree(&found);
	return tap_done();
}
