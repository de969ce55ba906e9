/* SPDX-License-Identifier: BSD-2-Clause */
/* The domains of a trace that is written: live programs may report any. */
#include "sink/memtrace.h"

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
} out;

static void begin(void)
{
	out.fd = memfd_create("trace", 0);
	out.events = 0;
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

static void put(uint16_t domain, unsigned stack)
{
	struct ebt_event ev = {.kind = EBT_ALLOC,
			       .ts = ++out.events * 1000,
			       .domain = domain,
			       .arg = {out.events, 1},
			       .pos = 1,
			       .stack = out.stack[stack]};
	if (out.sink->ops->events(out.sink, &ev, 1))
		abort();
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
	ebt_memtrace_reader_new(0, &r);
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
		if (got > 0 && e.what == EBT_MEMTRACE_ALLOC)
			has[e.domain] = true;
	}
	*ret_domains = 0;
	for (unsigned i = 0; i < 65536; i++)
		*ret_domains += has[i];
	ebt_memtrace_reader_free(r);
	out.sink->ops->free(out.sink);
	session_free(out.session);
	close(out.fd);
	return damaged ? 0 : n;
}

int main(void)
{
	unsigned domains;
	begin();
	for (unsigned i = 0; i < 5000; i++)
		put(i & 1 ? EBT_NO_DOMAIN : 0, i / 2 % 2);
	ok(end(&domains) == 5000 && domains == 1, "events of no domain are domain 0's");
	begin();
	for (unsigned i = 1; i < 600; i++)
		put((uint16_t)i, i % 2);
	is(end(&domains), 599, "more domains than there may be are written");
	is(domains, 512, "as domain 0 but for the first 511");
	return tap_done();
}
