/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A session written as a capture and read back through the pump: what sinks can ask for at each
 * event, and the totals, must be what they were.
 */
#include "source/file/capture.h"
#include <ebtrace/cursor.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "format/ebt/ebt.h"
#include "session/language.h"
#include "session/names.h"
#include "session/versions.h"
#include "stream/loss.h"
#include "stream/pump.h"
#include "tests/tap.h"
#include "tests/unit/processes_fixture.h"
#include "tests/unit/watcher.h"

/* What a sink sees of an event and of the session at that moment. */
struct view {
	struct ebt_event ev;
	char name[64], payload[16];
	uint32_t raw;
};

#define VIEWS 512

struct viewer {
	struct watcher watch;
	struct view views[VIEWS];
	unsigned count;
};

static void note_view(struct watcher *base, const struct ebt_event *ev)
{
	struct viewer *w = (struct viewer *)base;
	struct view *v = &w->views[w->count++ % VIEWS];
	memset(v, 0, sizeof(*v));
	v->ev = *ev;
	v->ev.pid = processes_pid(&w->watch.session->processes, ev->process);
	v->ev.flags |= EBT_F_FINAL;
	const char *name = names_event(w->watch.session, ev);
	snprintf(v->name, sizeof(v->name), "%s", name ? name : "(none)");
	v->raw = processes_raw_phase(&w->watch.session->processes, ev->process, ev->id);
	size_t bytes = 0;
	const void *payload = session_blob(w->watch.session, ev, &bytes);
	if (payload)
		memcpy(v->payload, payload, bytes < 16 ? bytes : 16);
	if (payload)
		v->ev.arg[0] = 0; /* the number of a blob means nothing elsewhere */
}

static void emit(struct viewer *w, struct ebt_event ev)
{
	static uint64_t ts = 1000;
	struct totals *t = &w->watch.session->totals;
	ev.ts = ts += 10;
	ev.pos = ev.kind == EBT_LOST ? ts - 10 : ts * 3;
	if (ev.kind == EBT_LOST) {
		t->lost_events += ev.arg[0];
		t->lost_words += ev.arg[1];
	} else {
		t->events++;
	}
	t->late += !!(ev.flags & EBT_F_LATE);
	t->first_ns = t->timed++ ? t->first_ns : ev.ts;
	t->last_ns = ev.ts;
	if (sink_events(&w->watch.base, &ev, 1))
		abort();
}

/* Names come late, change and are given to two processes; a loss turns out smaller. */
static void tell_story(struct viewer *w)
{
	struct session *s = w->watch.session;
	if (enter_processes(s, 99))
		abort();
	struct process *p = processes_announce(&s->processes, 42);
	struct process *q = processes_announce(&s->processes, 7);
	strcpy(p->producer, "ocaml 5.1");
	strcpy(p->comm, "story");
	strcpy(q->runtime, "other");
	p->traits = versions_traits(versions_by_release(EBT_RELEASE_OCAML_5_1));
	s->origins = ORIGIN_RING | ORIGIN_BPF;
	s->run_begin = moment_at(0);
	s->timebase.at[TIMEBASE_MONOTONIC] = moment_at(0); /* a machine that has just started */
	s->timebase.at[TIMEBASE_REALTIME] = moment_at(2);
	s->start = moment_at(0);
	emit(w, (struct ebt_event){.kind = EBT_BEGIN, .pid = 42, .id = 10});
	emit(w, (struct ebt_event){.kind = EBT_BEGIN, .pid = 7, .id = 10});
	emit(w, (struct ebt_event){.kind = EBT_UNIT, .pid = 42, .id = 1});
	processes_set_user_name(&s->processes, 42, 1, "first");
	processes_set_user_name(&s->processes, 7, 1, "of another");
	emit(w, (struct ebt_event){.kind = EBT_UNIT, .pid = 42, .id = 1});
	emit(w, (struct ebt_event){.kind = EBT_UNIT, .pid = 7, .id = 1});
	processes_set_user_name(&s->processes, 42, 1, "second");
	emit(w, (struct ebt_event){.kind = EBT_UNIT, .pid = 42, .id = 1});
	q->traits = versions_traits(versions_by_release(EBT_RELEASE_OCAML_5_2));
	emit(w, (struct ebt_event){.kind = EBT_END, .pid = 7, .id = 48});
	emit(w, (struct ebt_event){.kind = EBT_LOST, .pid = 7, .arg = {5, 20}});
	for (unsigned i = 0; i < 2; i++) {
		s->totals.lost_events--;
		s->totals.lost_words -= 4;
		emit(w, (struct ebt_event){.kind = EBT_END, .pid = 7, .flags = EBT_F_LATE});
	}
	for (unsigned i = 0; i < 300; i++) {
		struct ebt_event ev = {.kind = EBT_CUSTOM, .pid = 42, .id = i % 3};
		if (session_put_blob(s, &ev, &i, sizeof(i)))
			abort();
		struct ebt_event copy = ev;
		emit(w, ev);
		session_drop_event(s, &copy);
	}
	emit(w, (struct ebt_event){.kind = EBT_END, .pid = 99, .cpu = 3, .tid = 100});
	processes_announce(&s->processes, 8)->usage =
		(struct process_usage){1, 2, 0, true, true, 0};
	processes_at(&s->processes, 8)->end = moment_at(0);
	s->run_end = moment_at(99000);
}

static void init(struct viewer *w)
{
	memset(w, 0, sizeof(*w));
	watcher_init(&w->watch, note_view);
}

static unsigned differing_views(const struct viewer *a, const struct viewer *b)
{
	unsigned bad = a->count != b->count;
	for (unsigned i = 0; i < a->count && i < b->count; i++) {
		if (!memcmp(&a->views[i], &b->views[i], sizeof(a->views[i])))
			continue;
		if (!bad++)
			diag("event %u: '%s' and '%s'", i, a->views[i].name, b->views[i].name);
	}
	return bad;
}

static bool same_moment(const struct moment *a, const struct moment *b)
{
	return a->ns == b->ns && a->known == b->known;
}

static bool same_session(const struct session *a, const struct session *b)
{
	const struct processes *of_a = &a->processes, *of_b = &b->processes;
	const struct process *p = processes_next(of_a, NULL), *q = processes_next(of_b, NULL);
	if (a->origins != b->origins || !same_moment(&a->start, &b->start) ||
	    !same_moment(&a->run_begin, &b->run_begin) || !same_moment(&a->run_end, &b->run_end) ||
	    a->timebase.clock != b->timebase.clock || p->pid != q->pid)
		return false;
	for (unsigned i = 0; i < TIMEBASE_CLOCKS; i++)
		if (!same_moment(&a->timebase.at[i], &b->timebase.at[i]))
			return false;
	size_t n = 0, m = 0;
	for (p = NULL; (p = processes_next(of_a, p));) {
		q = processes_announced(of_b, processes_find(of_b, p->pid));
		if (!q || strcmp(p->producer, q->producer) || strcmp(p->runtime, q->runtime) ||
		    strcmp(p->comm, q->comm) || p->traits.raw_phase != q->traits.raw_phase ||
		    !runtime_version_is(p->traits.runtime, q->traits.runtime) ||
		    p->usage.known != q->usage.known || p->usage.user_ns != q->usage.user_ns ||
		    p->usage.system_ns != q->usage.system_ns ||
		    p->usage.peak_rss_bytes != q->usage.peak_rss_bytes ||
		    p->usage.has_peak_rss != q->usage.has_peak_rss ||
		    !same_moment(&p->end, &q->end))
			return false;
		n++;
	}
	for (q = NULL; (q = processes_next(of_b, q)); m++)
		;
	return n == m;
}

/* Of one pid, with a name each; the first has events behind those of the second, too. */
static void test_incarnations(void)
{
	static struct viewer w, back;
	int fd = memfd_create("capture", MFD_CLOEXEC);
	struct sink *k;
	uint32_t first, second;
	init(&w);
	struct processes *ps = &w.watch.session->processes;
	struct process_start start = {12340000000, true};
	if (ebt_new(w.watch.session, fd, &k) || processes_begin(ps, 42, NULL, &first))
		abort();
	w.watch.next = k;
	processes_end(ps, first);
	if (processes_begin(ps, 42, &start, &second))
		abort();
	processes_set_user_name(ps, first, 1, "of the first");
	processes_set_user_name(ps, second, 1, "of the second");
	strcpy(processes_announce(ps, first)->comm, "first");
	strcpy(processes_announce(ps, second)->comm, "second");
	for (unsigned i = 0; i < 400; i++) {
		uint32_t process = i % 7 < 3 ? first : second;
		emit(&w, (struct ebt_event){.kind = EBT_UNIT, .process = process, .id = 1});
	}
	sink_end(k);
	sink_free(k);
	init(&back);
	is(watcher_read(&back.watch, fd), 0, "a capture of two processes that had one pid is read");
	is(differing_views(&w, &back), 0, "each event has the name that its own process gave it");
	ps = &back.watch.session->processes;
	const struct process *p = processes_next(ps, NULL);
	const struct process *q = p ? processes_next(ps, p) : NULL;
	ok(q && !strcmp(p->comm, "first") && !strcmp(q->comm, "second") && p->pid == 42 &&
		   q->pid == 42 && p->number < q->number,
	   "they are two processes again");
	ok(q && !p->start.known && q->start.known && q->start.boot_ns == start.boot_ns,
	   "with what is known of their starts");
	close(fd);
	session_free(w.watch.session);
	session_free(back.watch.session);
}

/* A loss of which the block that told it is damaged; of the time before the trace, if `flags` say
 * so. */
static void test_lost_loss(uint16_t flags)
{
	static struct viewer w;
	static uint8_t file[4096];
	size_t len = CAPTURE_HEAD_BYTES;
	struct capture_writer *writer;
	const void *block;
	struct ebt_event events[] = {{.ts = 5, .kind = EBT_LOST, .flags = flags, .arg = {5, 20}},
				     {.ts = 6, .kind = EBT_BEGIN, .id = 1}};
	const struct ebt_event in_damage = {.ts = 4, .kind = EBT_END, .id = 1};
	struct capture_item end = {.what = CAPTURE_TOTALS};
	struct totals want = {.events = 1};
	loss_count(&want, &events[0]);
	totals_pack(&want, end.totals);
	if (capture_writer_new(1, &writer) || capture_put_event(writer, &in_damage, NULL, 0))
		abort();
	capture_put_head(file);
	for (unsigned i = 0; i < 3; i++) {
		if (i < 2)
			capture_put_event(writer, &events[i], NULL, 0);
		else
			capture_put_item(writer, &end);
		ssize_t n = capture_close_block(
			writer, i < 2 ? CAPTURE_BLOCK_EVENTS : CAPTURE_BLOCK_END, &block);
		memcpy(file + len, block, (size_t)n);
		len += (size_t)n;
	}
	capture_writer_free(writer);
	file[CAPTURE_HEAD_BYTES + 50] ^= 1;
	int fd = memfd_create("damaged", MFD_CLOEXEC);
	if (write(fd, file, len) != (ssize_t)len)
		abort();
	init(&w);
	is(watcher_read(&w.watch, fd), 0, "a capture whose first block is damaged is read");
	const struct totals *t = &w.watch.session->totals;
	/* The event of the damaged block is lost by that alone. */
	ok(t->events == 1 && t->damaged == 1 && t->lost_events == want.lost_events + 1 &&
		   t->lost_words == want.lost_words && t->history_events == want.history_events &&
		   t->history_words == want.history_words,
	   "what its end says was %s is in the totals, though the block that said when is not",
	   flags ? "there before" : "lost");
	session_free(w.watch.session);
	close(fd);
}

/* One that has neither releases of runtimes nor what is known, but the texts and zeroes. */
static void test_older(void)
{
	static struct viewer w;
	int fd = open("tests/fuzz/seeds/capture/file", O_RDONLY | O_CLOEXEC);
	init(&w);
	is(watcher_read(&w.watch, fd), 0, "an older capture is read");
	const struct session *s = w.watch.session;
	struct runtime_version v = processes_next(&s->processes, NULL)->traits.runtime;
	ok(v.language == &language_ocaml.traits && v.major == 5 && v.minor == 3 &&
		   versions_release(v) == EBT_RELEASE_OCAML_5_3,
	   "the runtime and the release are read from its producer's text");
	ok(!s->run_begin.known && !s->run_end.known && !s->start.known &&
		   !s->timebase.at[TIMEBASE_REALTIME].known &&
		   !processes_next(&s->processes, NULL)->end.known,
	   "what is 0 in it is not known");
	ok(s->totals.timed && s->totals.first_ns == 1715037448913, "its first time is");
	session_free(w.watch.session);
	close(fd);
}

static unsigned left_out;

__attribute__((format(printf, 3, 0))) static void count_line(void *ctx, enum log_level level,
							     const char *fmt, va_list ap)
{
	(void)ctx;
	(void)level;
	(void)ap;
	left_out += strstr(fmt, "are left out") != NULL;
}

enum repeated { PROCESSES, GONE_PROCESSES, MAPPINGS, ALLOC_TRACES };

static void append_block(int fd, struct capture_writer *w, enum capture_block_type type)
{
	const void *block;
	ssize_t n = capture_close_block(w, type, &block);
	if (n < 0 || write(fd, block, (size_t)n) != n)
		abort();
}

/* The i-th one: an event of a process of its own, with more or less of it. */
static void put_repeated(struct capture_writer *w, enum repeated what, uint32_t i)
{
	static char text[CAPTURE_TEXT_MAX];
	const struct ebt_event ev = {.ts = 10 + i, .pid = i + 1, .kind = EBT_BEGIN, .id = 1};
	struct capture_item item = {.what = CAPTURE_GONE, .gone = i + 1};
	int err = what == MAPPINGS ? 0 : capture_put_event(w, &ev, NULL, 0);
	if (!err && what == GONE_PROCESSES)
		err = capture_put_item(w, &item);
	item = (struct capture_item){.what = CAPTURE_MAPPING};
	item.mapping = (struct capture_mapping){.pid = 1, .addr = 8192ull * i, .bytes = 4096};
	snprintf(item.mapping.name, sizeof(item.mapping.name), "m%u", i % 7);
	if (!err && what == MAPPINGS)
		err = capture_put_item(w, &item);
	item = (struct capture_item){.what = CAPTURE_ALLOC_TRACE, .alloc_trace.pid = i + 1};
	for (unsigned k = 0; k < CAPTURE_ALLOC_TEXTS; k++)
		item.alloc_trace.text[k] = (struct capture_text){text, sizeof(text)};
	memset(text, 't', sizeof(text));
	if (!err && what == ALLOC_TRACES)
		err = capture_put_item(w, &item);
	if (err)
		abort();
}

/* Returns how many mappings the process 1 then has. */
static uint32_t read_repeated(enum repeated what, uint32_t n)
{
	static struct viewer w;
	struct capture_writer *writer;
	struct capture_item end = {.what = CAPTURE_TOTALS};
	uint8_t head[CAPTURE_HEAD_BYTES];
	int fd = memfd_create("repeated", MFD_CLOEXEC);
	capture_put_head(head);
	if (write(fd, head, sizeof(head)) != sizeof(head) || capture_writer_new(1, &writer))
		abort();
	for (uint32_t i = 0; i < n; i++) {
		put_repeated(writer, what, i);
		if (capture_is_full(writer, 1 << 18))
			append_block(fd, writer, CAPTURE_BLOCK_EVENTS);
	}
	const struct totals want = {.events = what == MAPPINGS ? 0 : n};
	totals_pack(&want, end.totals);
	capture_put_item(writer, &end);
	append_block(fd, writer, CAPTURE_BLOCK_END);
	capture_writer_free(writer);
	left_out = 0;
	init(&w);
	w.watch.session->messages.line = count_line;
	is(watcher_read(&w.watch, fd), 0, "a capture of much of the same is read");
	const struct processes *ps = &w.watch.session->processes;
	uint32_t one = processes_find(ps, 1);
	uint32_t mappings = one ? processes_at(ps, one)->mappings.count : 0;
	session_free(w.watch.session);
	close(fd);
	return mappings;
}

/* What is kept of a file's processes is limited; what is given back does not count. */
static void test_kept(void)
{
	read_repeated(GONE_PROCESSES, 20000);
	is(left_out, 0, "processes that are gone leave their room to others");
	read_repeated(PROCESSES, 20000);
	is(left_out, 1, "of as many that stay some are left out, which is told once");
	is(read_repeated(MAPPINGS, 100000), MAPPINGS_MAX, "a process has some mappings");
	is(left_out, 0, "those beyond their own limit take no room from others");
	read_repeated(ALLOC_TRACES, 500);
	is(left_out, 1, "texts of traces count as names do");
}

static struct viewer first, second, third;

int main(void)
{
	int fd = memfd_create("capture", MFD_CLOEXEC), again = memfd_create("again", MFD_CLOEXEC);
	struct sink *out;
	init(&first);
	if (ebt_new(first.watch.session, fd, &out))
		abort();
	first.watch.next = out;
	tell_story(&first);
	is(sink_end(&first.watch.base), 0, "a session is written");
	sink_free(out);

	init(&second);
	if (ebt_new(second.watch.session, again, &out))
		abort();
	second.watch.next = out;
	is(watcher_read(&second.watch, fd), 0, "and read to its end");
	is(sink_end(&second.watch.base), 0, "and written again");
	sink_free(out);
	is(differing_views(&first, &second), 0,
	   "each event has the name, the number and the payload that it had when it was written");
	ok(!memcmp(&first.watch.session->totals, &second.watch.session->totals,
		   sizeof(struct totals)),
	   "the totals are the same, with what came late out of a loss");
	is(second.watch.session->totals.lost_events, 3, "which is then no longer lost");
	ok(same_session(first.watch.session, second.watch.session),
	   "processes, clocks and times are the same");

	init(&third);
	is(watcher_read(&third.watch, again), 0, "the capture of a capture is read");
	is(differing_views(&first, &third), 0, "and each of its events is the same, too");
	ok(!memcmp(&first.watch.session->totals, &third.watch.session->totals,
		   sizeof(struct totals)),
	   "and so are its totals");
	ok(same_session(first.watch.session, third.watch.session),
	   "and its processes, clocks and times");
	session_free(first.watch.session);
	session_free(second.watch.session);
	session_free(third.watch.session);
	close(fd);
	close(again);
	test_lost_loss(0);
	test_lost_loss(EBT_F_HISTORY);
	test_incarnations();
	test_older();
	test_kept();
	return tap_done();
}
