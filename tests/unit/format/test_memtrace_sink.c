/* SPDX-License-Identifier: BSD-2-Clause */
/* Domains and processes of a trace that is written: live programs may report any. */
#include "format/memtrace.h"

#include <ebtrace/memtrace.h>
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/tap.h"

static struct {
	int fd;
	struct session *session;
	struct sink *sink;
	uint32_t stack[2];
	uint64_t events;
	uint64_t samples,
		other; /* that were read; allocations with other samples than one or two */
	char parameters[32];
} out;

static void begin(void)
{
	out.fd = memfd_create("trace", 0);
	out.events = out.samples = out.other = 0;
	if (out.fd < 0 || session_new(&out.session) || memtrace_new(out.session, out.fd, &out.sink))
		abort();
	for (unsigned i = 0; i < 2; i++) {
		const char *name = i ? "one" : "other";
		uint32_t text = strings_put(out.session->strings, name, strlen(name));
		struct frame_position at = {.function = text, .file = text};
		struct frame f = {
			.address = i + 1, .has_address = true, .count = 1, .position = &at};
		uint32_t frame = frames_put(out.session->frames, &f);
		out.stack[i] = stacks_push(out.session->stacks, 0, frame);
		stacks_hold(out.session->stacks, out.stack[i]);
	}
}

static void put_samples(uint16_t domain, unsigned stack, uint64_t samples)
{
	struct ebt_event ev = {.kind = EBT_ALLOC,
			       .ts = ++out.events * 1000,
			       .domain = domain,
			       .arg = {out.events, 1},
			       .pos = samples,
			       .stack = out.stack[stack]};
	if (out.sink->ops->events(out.sink, &ev, 1))
		abort();
}

static void put(uint16_t domain, unsigned stack)
{
	put_samples(domain, stack, 1);
}

/* Reads what was written. The number of allocations, 0 if a part is damaged; of the domains that
 * have any in *ret_domains. */
static uint64_t end(unsigned *ret_domains)
{
	static bool has[65536];
	struct ebt_memtrace_event e;
	struct ebt_memtrace_reader *r;
	uint64_t n = 0, damaged = 0;
	ssize_t got;
	memset(has, 0, sizeof(has));
	out.sink->ops->end(out.sink);
	lseek(out.fd, 0, SEEK_SET);
	ebt_memtrace_reader_new(EBT_MEMTRACE_SKIP_BACKTRACES, &r);
	while ((got = ebt_memtrace_read(r, &e, 1)) && (got > 0 || got == -EAGAIN)) {
		size_t room;
		void *to = got > 0 ? NULL : ebt_memtrace_room(r, &room);
		ssize_t bytes = to ? read(out.fd, to, room) : 0;
		if (to && bytes <= 0)
			ebt_memtrace_finish(r);
		else if (to)
			ebt_memtrace_put(r, (size_t)bytes);
		damaged += got > 0 && e.what == EBT_MEMTRACE_DAMAGE;
		n += got > 0 && e.what == EBT_MEMTRACE_ALLOC;
		if (got <= 0 || e.what != EBT_MEMTRACE_ALLOC)
			continue;
		has[e.domain] = true;
		out.samples += (uint64_t)e.samples;
		out.other += e.samples != 1 && e.samples != 2;
	}
	snprintf(out.parameters, sizeof(out.parameters), "%s",
		 ebt_memtrace_info(r)->runtime_params);
	*ret_domains = 0;
	for (unsigned i = 0; i < 65536; i++)
		*ret_domains += has[i];
	ebt_memtrace_reader_free(r);
	out.sink->ops->free(out.sink);
	session_free(out.session);
	close(out.fd);
	return damaged ? 0 : n;
}

/* Words become samples of a period of 1000. */
static void test_rounding(void)
{
	unsigned domains;
	uint64_t n = 0, samples = 0;
	static const char parameters[] = ALLOC_TRACE_PERIODIC "ocaml" ALLOC_TRACE_WORDS;
	for (int again = 0; again < 2; again++) {
		begin();
		struct process *p = processes_announce(&out.session->processes, 0);
		p->alloc_trace = (struct alloc_trace){
			.known = true,
			.sample_rate = 0.001,
			.word_bits = 64,
			.parameters =
				strings_put(out.session->strings, parameters, strlen(parameters)),
		};
		for (unsigned i = 0; i < 10000; i++)
			put_samples(0, 0, i % 2 ? 1300 : 10);
		if (!again) {
			n = end(&domains);
			samples = out.samples;
		}
	}
	ok(samples > 6300 && samples < 6800 && !out.other,
	   "words are rounded to samples of the period at random: 6,550 of them are %llu",
	   (unsigned long long)samples);
	ok(n > 5000 && n < 5100, "an object without any is left out");
	is_str(out.parameters, ALLOC_TRACE_PERIODIC "ocaml", "the parameters say so");
	ok(end(&domains) == n && out.samples == samples, "the same events become the same trace");
}

/* A domain refers to the stack of its last allocation alone. */
static void test_stacks(void)
{
	unsigned domains;
	begin();
	struct stacks *stacks = out.session->stacks;
	uint32_t before = stacks_count(stacks);
	for (uint32_t i = 0; i < 1000; i++) {
		struct ebt_event ev = {.kind = EBT_ALLOC,
				       .ts = ++out.events * 1000,
				       .arg = {out.events, 1},
				       .pos = 1,
				       .stack = out.stack[0]};
		uint32_t frame = stacks_frame(stacks, out.stack[1]);
		for (uint32_t depth = i % 20; depth; depth--)
			ev.stack = stacks_push(stacks, ev.stack, frame);
		if (out.sink->ops->events(out.sink, &ev, 1))
			abort();
	}
	put(0, 0);
	stacks_free_unheld(stacks);
	is(stacks_count(stacks), before, "stacks of written allocations are given back");
	is(end(&domains), 1001, "and all of these are written");
}

static unsigned said;

__attribute__((format(printf, 3, 0))) static void count_line(void *ctx, enum log_level level,
							     const char *fmt, va_list ap)
{
	(void)ctx;
	(void)level;
	(void)ap;
	said += strstr(fmt, "a memtrace trace holds one process") != NULL;
}

static void test_others(void)
{
	unsigned domains;
	begin();
	out.session->messages.line = count_line;
	put(0, 0);
	is(said, 0, "of one process there is nothing to say");
	for (uint32_t process = 1; process < 4; process++) {
		const struct ebt_event ev = {
			.kind = EBT_ALLOC, .ts = 5000, .arg = {1, 1}, .pos = 1, .process = process};
		if (out.sink->ops->events(out.sink, &ev, 1))
			abort();
	}
	is(said, 1, "that others are left out is said once");
	put(0, 1);
	is(end(&domains), 2, "the first one's are written");
}

int main(void)
{
	unsigned domains;
	test_rounding();
	test_stacks();
	test_others();
	begin();
	for (unsigned i = 0; i < 5000; i++)
		put(i & 1 ? EBT_NO_DOMAIN : 0, i / 2 % 2);
	ok(end(&domains) == 5000 && domains == 1, "events of no domain are domain 0's");
	begin();
	for (unsigned i = 1; i < 4200; i++)
		put((uint16_t)i, i % 2);
	is(end(&domains), 4199, "more domains than there may be are written");
	is(domains, 4096, "each as its own domain's up to 4,096, then as domain 0");
	return tap_done();
}
