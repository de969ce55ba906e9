/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A capture of many processes that come and go is converted: each is released where the capture
 * says that nothing of it follows, and its pid may come again.
 */
#include "format/ebt/ebt.h"
#include "report/stat/stat.h"
#include "tests/tap.h"
#include "tests/unit/watcher.h"

#include <fcntl.h>
#include <malloc.h>
#include <string.h>
#include <sys/mman.h>

#define PROCESSES 20000
#define AT_ONCE	  20
#define EVENTS	  6   /* of a process */
#define PIDS	  700 /* far fewer than processes: each comes again and again */

/* What an event was in the eyes of a sink, of all events in order. */
struct reader {
	struct watcher watch;
	uint64_t seen; /* a hash of what each was */
	uint64_t events, unnamed;
	uint32_t entries, lanes; /* of the registry, at most */
	size_t early_bytes, late_bytes;
};

static void mix(struct reader *r, const void *data, size_t n)
{
	for (size_t i = 0; i < n; i++)
		r->seen = (r->seen ^ ((const uint8_t *)data)[i]) * 0x100000001b3;
}

static void note(struct watcher *w, const struct ebt_event *ev)
{
	struct reader *r = (struct reader *)w;
	const struct processes *ps = &w->session->processes;
	const struct process *p = processes_announced(ps, ev->process);
	const char *name = processes_user_name(ps, ev->process, ev->id);
	const char *comm = p ? p->comm : "(none)";
	r->unnamed += !name;
	mix(r, name ? name : "", name ? strlen(name) : 0);
	mix(r, &ev->ts, sizeof(ev->ts));
	mix(r, &ev->domain, sizeof(ev->domain));
	mix(r, comm, strlen(comm));
	mix(r, &(uint32_t){processes_pid(ps, ev->process)}, 4);
	if (ps->count > r->entries)
		r->entries = ps->count;
	if (ps->lanes->count > r->lanes)
		r->lanes = ps->lanes->count;
	if (r->events++ % 5000)
		return;
	size_t bytes = mallinfo2().uordblks;
	size_t *most = r->events < PROCESSES * EVENTS / 10 ? &r->early_bytes : &r->late_bytes;
	*most = bytes > *most ? bytes : *most;
}

static void begin(struct session *s, unsigned number, uint32_t *ret)
{
	struct processes *ps = &s->processes;
	char name[32];
	if (processes_begin(ps, 1 + number % PIDS, NULL, ret))
		abort();
	processes_ref(ps, *ret);
	struct process *p = processes_announce(ps, *ret);
	snprintf(p->comm, sizeof(p->comm), "program %u", number % 7);
	snprintf(name, sizeof(name), "span of process %u", number);
	if (processes_set_user_name(ps, *ret, 1, name))
		abort();
}

/* As a live run does it: what is known at its end is written, then it is released. */
static void end(struct session *s, struct sink *k, uint32_t process)
{
	struct processes *ps = &s->processes;
	processes_at(ps, process)->usage = (struct process_usage){process, 2, 3, true, true, 0};
	processes_end(ps, process);
	processes_unref(ps, process);
	while (processes_gone(ps)) {
		uint32_t gone = processes_take_gone(ps);
		if (gone && sink_forget(k, gone))
			abort();
		if (gone)
			processes_release(ps, gone);
	}
}

/* Groups of processes, of which the last ones still run at the end. */
static void record(struct reader *r, int fd)
{
	uint32_t process[AT_ONCE];
	uint64_t ts = 1000;
	watcher_init(&r->watch, note);
	struct session *s = r->watch.session;
	if (ebt_new(s, fd, &r->watch.next))
		abort();
	for (unsigned first = 0; first < PROCESSES; first += AT_ONCE) {
		for (unsigned i = 0; i < AT_ONCE; i++)
			begin(s, first + i, &process[i]);
		for (unsigned i = 0; i < AT_ONCE * EVENTS; i++) {
			struct ebt_event ev = {.ts = ts += 10,
					       .pos = EBT_NO_POS,
					       .process = process[i % AT_ONCE],
					       .kind = i / AT_ONCE % 2 ? EBT_SPAN_END
								       : EBT_SPAN_BEGIN,
					       .id = 1,
					       .domain = (uint16_t)(i % 3)};
			s->totals.events++;
			s->totals.timed++;
			s->totals.last_ns = ts;
			if (sink_events(&r->watch.base, &ev, 1))
				abort();
		}
		for (unsigned i = 0; i < AT_ONCE && first + AT_ONCE < PROCESSES; i++)
			end(s, r->watch.next, process[i]);
	}
	s->totals.first_ns = 1010;
	if (sink_end(&r->watch.base))
		abort();
	sink_free(r->watch.next);
}

static unsigned count_gone(int fd)
{
	struct capture_reader *reader;
	struct capture_item item;
	unsigned n = 0;
	int got;
	if (capture_reader_new(&reader) || lseek(fd, 0, SEEK_SET))
		abort();
	while ((got = capture_reader_next(reader, &item)) > 0 || got == -EAGAIN) {
		size_t room;
		void *into = got > 0 ? NULL : capture_reader_room(reader, &room);
		if (into)
			capture_reader_put(reader, (size_t)read(fd, into, room));
		n += got > 0 && item.what == CAPTURE_GONE;
	}
	capture_reader_free(reader);
	return n;
}

static void check(const struct reader *r, const struct reader *made, const char *what)
{
	const struct session *s = r->watch.session;
	ok(r->events == made->events && r->seen == made->seen && !r->unnamed,
	   "%s: each event has its time, its process and that process's names", what);
	/* Those that have ended wait for an event that is younger than their last. */
	ok(r->entries < 8 * AT_ONCE && r->lanes < 4 * 8 * AT_ONCE,
	   "%s: the registry holds those that live (%u entries, %u lanes)", what, r->entries,
	   r->lanes);
	/* The first of all and the last stay. */
	ok(s->processes.released == PROCESSES - AT_ONCE - 1,
	   "%s: all that have ended are released (%u)", what, s->processes.released);
	/* A process that was kept would take 600 bytes; output on its way comes and goes. */
	ok(r->late_bytes < r->early_bytes + 240ull * PROCESSES,
	   "%s: memory does not grow with their number (%zu bytes, then %zu)", what, r->early_bytes,
	   r->late_bytes);
}

#define FORGED 20000

static size_t put_block(int fd, struct capture_writer *w, enum capture_block_type type)
{
	const void *block;
	ssize_t n = capture_close_block(w, type, &block);
	if (n < 0 || write(fd, block, (size_t)n) != n)
		abort();
	return (size_t)n;
}

/* Processes that go as they come, between two events of each block, and events behind their end. */
static void check_forged(void)
{
	static struct reader r;
	struct capture_writer *w;
	uint8_t head[CAPTURE_HEAD_BYTES];
	size_t bytes = sizeof(head);
	int fd = memfd_create("forged", MFD_CLOEXEC);
	capture_put_head(head);
	if (capture_writer_new(1, &w) || write(fd, head, sizeof(head)) != sizeof(head))
		abort();
	for (uint32_t i = 1; i <= FORGED; i++) {
		struct capture_item in = {.what = CAPTURE_INCARNATION,
					  .incarnation = {.pid = 1 + i % 3, .number = i}};
		struct capture_item name = {.what = CAPTURE_NAME,
					    .name = {.pid = 1 + i % 3, .id = 1}};
		struct capture_item gone = {.what = CAPTURE_GONE, .gone = 1 + i % 3};
		struct ebt_event ev = {.ts = 10 + i / 2000, .kind = EBT_UNIT, .id = 1, .pid = 2};
		memset(name.name.text, 'x', CAPTURE_NAME_MAX - 8);
		snprintf(name.name.text + CAPTURE_NAME_MAX - 8, 8, "%u", i);
		if (capture_put_item(w, &in) || capture_put_item(w, &name) ||
		    capture_put_item(w, &gone) || capture_put_item(w, &gone) ||
		    (i % 1000 < 3 && capture_put_event(w, &ev, NULL, 0)))
			abort();
		if (i % 1000 == 0)
			bytes += put_block(fd, w, CAPTURE_BLOCK_EVENTS);
	}
	struct capture_item totals = {.what = CAPTURE_TOTALS, .totals = {FORGED / 1000 * 3}};
	if (capture_put_item(w, &totals))
		abort();
	bytes += put_block(fd, w, CAPTURE_BLOCK_END);
	watcher_init(&r.watch, note);
	ok(!watcher_read(&r.watch, fd), "a forged capture, of %zu bytes, is read to its end",
	   bytes);
	ok(r.entries < ((4u << 20) + 16 * bytes) / 1000,
	   "those that have gone count until they are released: %u entries at most", r.entries);
	capture_writer_free(w);
	session_free(r.watch.session);
	close(fd);
}

/* A recording of two lanes: a process ends in the first one; in the other its last event is later,
 * and was read before. */
struct pair {
	struct source base;
	struct processes *registry;
	uint32_t process, other;
	unsigned reads[2];
};

static int pair_poll(struct source *s)
{
	(void)s;
	return 0;
}

static int pair_read(struct source *base, uint32_t lane, struct ebt_event *ev, size_t cap)
{
	struct pair *p = (struct pair *)base;
	unsigned n = p->reads[lane]++;
	(void)cap;
	if (lane || n >= 20) {
		*ev = (struct ebt_event){.ts = 1000, .kind = EBT_UNIT, .process = p->process};
		return lane && !n ? 1 : 0;
	}
	if (n == 5) {
		processes_end(p->registry, p->process);
		processes_unref(p->registry, p->process);
	}
	*ev = (struct ebt_event){.ts = 100 * n, .kind = EBT_UNIT, .process = p->other};
	return 1;
}

static uint64_t pair_horizon(struct source *base, uint32_t lane)
{
	(void)base, (void)lane;
	return UINT64_MAX;
}

static int pair_stop(struct source *base)
{
	(void)base;
	return 0;
}

static const struct source_ops pair_ops = {
	.poll = pair_poll, .read = pair_read, .horizon = pair_horizon, .stop = pair_stop};

static struct processes *registry;
static unsigned strays, forgotten;

static int check_event(struct sink *k, const struct ebt_event *ev, size_t n)
{
	(void)k;
	for (size_t i = 0; i < n; i++)
		strays += !processes_at(registry, ev[i].process);
	return 0;
}

static int note_forgotten(struct sink *k, uint32_t process)
{
	(void)k, (void)process;
	forgotten++;
	return 0;
}

static const struct sink_ops pair_sink = {.events = check_event, .forget = note_forgotten};

static void check_pair(void)
{
	struct pair p = {.base = {.ops = &pair_ops, .lanes = 2}};
	struct sink sink = {.ops = &pair_sink};
	struct session *s;
	struct pump *pump;
	int moved;
	if (session_new(&s) || pump_new(s, &pump) || pump_add_source(pump, &p.base) ||
	    pump_add_sink(pump, &sink))
		abort();
	p.registry = registry = &s->processes;
	pump_replay(pump);
	if (processes_begin(registry, 1, NULL, &p.other) ||
	    processes_begin(registry, 2, NULL, &p.process))
		abort();
	processes_announce(registry, p.other);
	processes_ref(registry, p.process);
	while ((moved = pump_step(pump)) > 0 || moved == -EAGAIN)
		;
	ok(!moved && s->totals.events == 21 && !strays && forgotten == 1,
	   "a process is not released before an event of it that was read by then");
	pump_free(pump);
	session_free(s);
}

static struct reader made, first, second, third;

int main(void)
{
	int fd = memfd_create("capture", MFD_CLOEXEC), again = memfd_create("again", MFD_CLOEXEC);
	record(&made, fd);
	is(count_gone(fd), PROCESSES - AT_ONCE - 1,
	   "a capture says of each process that was released that nothing of it follows");
	watcher_init(&first.watch, note);
	if (ebt_new(first.watch.session, again, &first.watch.next))
		abort();
	is(watcher_read(&first.watch, fd), 0, "it is converted to a capture");
	is(sink_end(&first.watch.base), 0, "which is written");
	sink_free(first.watch.next);
	check(&first, &made, "a capture");
	is(count_gone(again), PROCESSES - AT_ONCE - 1, "the second capture says the same");
	watcher_init(&second.watch, note);
	is(watcher_read(&second.watch, again), 0, "and is read");
	check(&second, &made, "a capture of a capture");
	watcher_init(&third.watch, note);
	int out = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (stat_new(third.watch.session, out, &(struct stat_options){.json = true},
		     &third.watch.next))
		abort();
	is(watcher_read(&third.watch, fd), 0, "statistics are made of it");
	sink_end(&third.watch.base);
	sink_free(third.watch.next);
	check(&third, &made, "statistics");
	session_free(made.watch.session);
	session_free(first.watch.session);
	session_free(second.watch.session);
	session_free(third.watch.session);
	close(fd);
	close(again);
	close(out);
	check_forged();
	check_pair();
	return tap_done();
}
