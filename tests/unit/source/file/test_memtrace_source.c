/* SPDX-License-Identifier: BSD-2-Clause */
/* A memtrace trace as a source: from a file, exactly in order of time; from a pipe, within a
 * window. */
#include "source/file/memtrace.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include "codec/memtrace/memtrace.h"
#include "source/file/memtrace_index.h"
#include "stream/merge.h"
#include "tests/fuzz/memtrace_body.h"
#include "tests/tap.h"
#include "tests/unit/memtrace_model.h"

struct run {
	struct session *session;
	struct memtrace_source *source;
	struct merge *merge;
	size_t events, damages, damaged_words, late, out_of_order, wrong_stacks, unnamed;
	uint64_t late_ns[2]; /* the own times of late events */
	uint64_t last_ns;
};

static int file_of(const void *bytes, size_t n)
{
	int fd = memfd_create("trace", 0);
	if (fd < 0 || write(fd, bytes, n) != (ssize_t)n)
		abort();
	return fd;
}

static void start(struct run *r, int fd)
{
	struct memtrace_options o = {.name = "a trace", .head = "", .alone = true};
	*r = (struct run){0};
	if (session_new(&r->session) || memtrace_source_new(r->session, fd, &o, &r->source) ||
	    merge_new(&r->session->processes, &r->merge) ||
	    merge_add(r->merge, memtrace_source_base(r->source)))
		abort();
}

/* The innermost frame is that of the model's alloc with this number. */
static bool same_stack(const struct run *r, const struct model *m, const struct ebt_event *ev)
{
	const struct model_event *v = m->event;
	while (v->e.what != EBT_MEMTRACE_ALLOC || v->e.obj != ev->arg[0])
		v++;
	uint32_t frame = stacks_frame(r->session->stacks, ev->stack);
	return stacks_frames(r->session->stacks, ev->stack, NULL, 0) == v->depth &&
	       frames_get(r->session->frames, frame)->address == (uint64_t)v->stack[v->depth - 1];
}

/* Moves what there is. False: the end. */
static bool drain(struct run *r, const struct model *m)
{
	struct ebt_event *ev;
	int n;
	merge_poll(r->merge);
	while ((n = merge_batch(r->merge, &ev)) > 0)
		for (int i = 0; i < n; i++) {
			r->events += ev[i].kind != EBT_DAMAGE;
			r->damages += ev[i].kind == EBT_DAMAGE;
			r->damaged_words += ev[i].kind == EBT_DAMAGE ? ev[i].arg[1] : 0;
			if (ev[i].flags & EBT_F_LATE)
				r->late_ns[r->late++ % 2] = EBT_OWN_TS(&ev[i]);
			r->out_of_order += ev[i].ts < r->last_ns;
			r->last_ns = ev[i].ts;
			if (m && ev[i].kind == EBT_ALLOC)
				r->wrong_stacks += !same_stack(r, m, &ev[i]);
			uint32_t frame =
				ev[i].stack ? stacks_frame(r->session->stacks, ev[i].stack) : 0;
			r->unnamed += frame && !frames_get(r->session->frames, frame)->count;
			session_drop_event(r->session, &ev[i]);
		}
	return n == -EAGAIN;
}

static void end(struct run *r)
{
	merge_free(r->merge);
	source_free(memtrace_source_base(r->source));
	stacks_free_unheld(r->session->stacks);
	is(stacks_count(r->session->stacks), 0, "no backtrace is held any more");
	is(frames_count(r->session->frames), 0, "nor is a frame");
	ok(strings_count(r->session->strings) < 10, "nor are their names (%u)",
	   strings_count(r->session->strings));
	session_free(r->session);
}

static void test_file(void)
{
	struct model *m = model_new(1, 3000, 40, 3);
	struct run r;
	start(&r, file_of(m->trace, m->bytes));
	is(memtrace_source_base(r.source)->lanes, 3, "a file has a lane for each domain");
	while (drain(&r, m))
		;
	ok(r.events == m->events && !r.out_of_order && !r.late,
	   "all events come in order of time, none of them late (%zu of %zu)", r.events, m->events);
	is(r.wrong_stacks, 0, "each alloc has its backtrace");
	end(&r);
	model_done(m);
}

/* Packets of domain 0 alone, then those of all. */
static void test_pipe(void)
{
	struct model *m = model_new(2, 3000, 40, 3);
	struct run r;
	int fd[2];
	if (pipe(fd) || fcntl(fd[1], F_SETPIPE_SZ, 1 << 20) < (int)m->bytes)
		abort();
	start(&r, fd[0]);
	size_t half = m->packet[m->packets / 2];
	if (write(fd[1], m->trace, half) != (ssize_t)half)
		abort();
	bool more = drain(&r, m);
	ok(more && r.events > m->events / 4 && r.events < m->events,
	   "a pipe that is still written gives what it has so far");
	if (write(fd[1], m->trace + half, m->bytes - half) < 0)
		abort();
	close(fd[1]);
	while (drain(&r, m))
		;
	ok(r.events == m->events && !r.out_of_order && !r.wrong_stacks, "and then the rest");
	end(&r);
	model_done(m);
}

/* A trace of two domains: the second one writes what is 100 s old by then. */
static void test_late(void)
{
	struct model *m = calloc(1, sizeof(*m));
	struct ebt_memtrace_trace t = {model_store, model_locations, m, 0, 0, 0};
	void *memory[2] = {calloc(1, ebt_memtrace_writer_bytes()),
			   calloc(1, ebt_memtrace_writer_bytes())};
	ebt_memtrace_write_info(&t, &(struct ebt_memtrace_info){.start_us = MODEL_START,
								.pid = 7,
								.executable = "a",
								.host = "b",
								.runtime_params = "c",
								.context = ""});
	struct ebt_memtrace_writer *w[2];
	for (uint16_t d = 0; d < 2; d++)
		w[d] = ebt_memtrace_writer_init(memory[d], &t, d, MODEL_START);
	for (uint64_t s = 0; s < 200; s++) {
		struct ebt_memtrace_event e = {.what = EBT_MEMTRACE_ALLOC,
					       .time_us = MODEL_START + s * 1000000,
					       .words = 1,
					       .samples = 1,
					       .obj = EBT_MEMTRACE_NEW_OBJ};
		ebt_memtrace_write(w[s == 3 || s == 13], &e);
		if (s != 3 && s != 13)
			ebt_memtrace_write_flush(w[0], e.time_us);
	}
	size_t before = m->bytes;
	ebt_memtrace_write_flush(w[1], MODEL_START + 200 * 1000000);
	struct run r;
	int fd[2];
	if (pipe(fd) || fcntl(fd[1], F_SETPIPE_SZ, 1 << 20) < (int)m->bytes)
		abort();
	start(&r, fd[0]);
	if (write(fd[1], m->trace, before) != (ssize_t)before)
		abort();
	drain(&r, NULL);
	ok(r.events == 198, "a domain that was never seen holds back nothing (%zu events)",
	   r.events);
	if (write(fd[1], m->trace + before, m->bytes - before) < 0)
		abort();
	close(fd[1]);
	while (drain(&r, NULL))
		;
	ok(r.events == 200 && r.late == 2 && !r.out_of_order, "what it writes then is late (%zu)",
	   r.late);
	ok(r.late_ns[0] == (MODEL_START + 3000000) * 1000 &&
		   r.late_ns[1] == (MODEL_START + 13000000) * 1000,
	   "and it keeps its own time");
	end(&r);
	start(&r, file_of(m->trace, m->bytes));
	while (drain(&r, NULL))
		;
	ok(r.events == 200 && !r.late, "from a file nothing is late");
	end(&r);
	free(memory[0]);
	free(memory[1]);
	model_done(m);
}

/* A packet of an event for each of so many domains, and one of `last` for the last one. */
static struct model *many_domains(uint32_t domains, unsigned last, unsigned frames)
{
	struct model *m = calloc(1, sizeof(*m));
	struct ebt_memtrace_trace t = {model_store, model_locations, m, 0, 0, 0};
	void *memory = calloc(1, ebt_memtrace_writer_bytes());
	int64_t code;
	struct ebt_memtrace_event e = {.what = EBT_MEMTRACE_ALLOC,
				       .frame = &code,
				       .frames = frames,
				       .time_us = MODEL_START,
				       .words = 1,
				       .samples = 1,
				       .obj = EBT_MEMTRACE_NEW_OBJ};
	ebt_memtrace_write_info(&t, &(struct ebt_memtrace_info){.start_us = MODEL_START,
								.executable = "a",
								.host = "b",
								.runtime_params = "c",
								.context = ""});
	for (int i = 0; i < MODEL_NAMES; i++)
		snprintf(m->name[i], sizeof(m->name[i]), "name%d", i);
	for (uint32_t d = 0; d < domains; d++) {
		code = 0x10000001ll * (2 + 3 * d); /* of one position */
		memset(memory, 0, ebt_memtrace_writer_bytes());
		struct ebt_memtrace_writer *w =
			ebt_memtrace_writer_init(memory, &t, (uint16_t)d, MODEL_START);
		for (unsigned i = 0; i < (d + 1 < domains ? 1 : last); i++) {
			e.obj = EBT_MEMTRACE_NEW_OBJ;
			ebt_memtrace_write(w, &e);
		}
		ebt_memtrace_write_flush(w, MODEL_START);
		m->packets = 0; /* where they begin does not matter */
	}
	free(memory);
	return m;
}

/* Domains take turns, so that each one's packets are apart, and `broken` of the packets' heads are
 * not heads: what is in order, and what is lost with them, is known by the number of packets. */
static void test_turns(uint32_t domains, unsigned turns, unsigned broken)
{
	struct model *m = many_domains(domains, 1, 0);
	size_t info = memtrace_u32(m->trace + 4) / 8, turn = m->bytes - info;
	m->trace = realloc(m->trace, info + turns * turn);
	if (!m->trace)
		abort();
	for (unsigned i = 1; i < turns; i++)
		memcpy(m->trace + info + i * turn, m->trace + info, turn);
	size_t step = turns * turn / (broken + 1), at = info, words = 0;
	for (unsigned i = 1; i <= broken; i++) {
		while (at < info + i * step)
			at += memtrace_u32(m->trace + at + 4) / 8;
		m->trace[at] ^= 1;
		words += (memtrace_u32(m->trace + at + 4) / 8 + 7) / 8;
		at += memtrace_u32(m->trace + at + 4) / 8;
	}
	struct run r;
	start(&r, file_of(m->trace, info + turns * turn));
	while (drain(&r, NULL))
		;
	ok(r.events == domains * turns - broken && r.damages == broken,
	   "%u domains in turn, %u heads broken: all other events (%zu)", domains, broken,
	   r.events);
	is(r.damaged_words, words, "a damage has the words of its packet");
	end(&r);
	model_done(m);
}

/* Every second packet of the file has a damaged head. The index keeps so many of these. */
static void test_index(unsigned damages, bool is_full)
{
	struct model *m = many_domains(1, 1, 0);
	struct memtrace_index_at at = {0};
	struct memtrace_extent e = {0};
	struct memtrace_index *x;
	size_t info = memtrace_u32(m->trace + 4) / 8, one = m->bytes - info;
	size_t end = info + 2 * damages * one;
	m->trace = realloc(m->trace, end);
	if (!m->trace)
		abort();
	for (unsigned i = 1; i < 2 * damages; i++) {
		memcpy(m->trace + info + i * one, m->trace + info, one);
		m->trace[info + i * one] ^= i & 1;
	}
	int fd = file_of(m->trace, end);
	if (memtrace_index_new(fd, &x))
		abort();
	ok(memtrace_index_next(x, &at, 5, info, &e) && e.begin == info + one,
	   "%u damages: the first is every domain's", damages);
	bool more = memtrace_index_next(x, &at, 5, end, &e);
	ok(is_full ? more && e.begin == end && e.end == UINT64_MAX : !more, "%s",
	   is_full ? "there may be more: behind them all is read" : "behind the last is nothing");
	memtrace_index_free(x);
	close(fd);
	model_done(m);
}

/* What memtrace_source_new() returns. */
static int open_domains(uint32_t domains)
{
	struct model *m = many_domains(domains, 1, 0);
	struct memtrace_options o = {.name = "a trace", .head = "", .alone = true};
	struct memtrace_source *source;
	struct session *session;
	if (session_new(&session))
		abort();
	int err = memtrace_source_new(session, file_of(m->trace, m->bytes), &o, &source);
	if (!err)
		source_free(memtrace_source_base(source));
	session_free(session);
	model_done(m);
	return err;
}

/* A reader of all domains, as pipes have it. */
static void test_domains(uint32_t domains, uint64_t damaged)
{
	struct model *m = many_domains(domains, 1, 0);
	struct memtrace_body b = {0};
	memtrace_body(&b, m->trace, m->bytes, 1u << 20, 0);
	struct ebt_memtrace_counts n = ebt_memtrace_counts(b.reader);
	ok(!b.end && b.events == domains && n.damaged == damaged, "%u domains in one reader: %s",
	   domains, damaged ? "one is damage" : "all are read");
	ebt_memtrace_reader_free(b.reader);
	model_done(m);
}

static size_t heap_bytes(void)
{
	struct mallinfo2 i = mallinfo2();
	return i.uordblks + i.hblkhd;
}

static void test_memory(uint32_t domains, unsigned last)
{
	struct model *m = many_domains(domains, last, 0);
	int fd = file_of(m->trace, m->bytes);
	struct run r;
	size_t before = heap_bytes();
	start(&r, fd);
	size_t opened = heap_bytes() - before;
	ok(opened < 40u << 20, "%u domains: readers take %zu kB together", domains, opened >> 10);
	while (drain(&r, NULL))
		;
	is(r.events, domains - 1 + last, "and read all events");
	end(&r);
	model_done(m);
}

/* Each domain's packet has positions, which are not kept for each reader again. */
static void test_positions(uint32_t domains, size_t max_mib)
{
	struct model *m = many_domains(domains, 1, 1);
	int fd = file_of(m->trace, m->bytes);
	struct run r;
	size_t before = heap_bytes();
	start(&r, fd);
	while (drain(&r, NULL))
		;
	is(r.events, domains, "all domains have positions");
	is(r.unnamed, 0, "each backtrace has its position");
	size_t mib = (heap_bytes() - before) >> 20;
	ok(mib < max_mib, "%u domains take %zu MiB", domains, mib);
	end(&r);
	model_done(m);
}

/* One that is no Linux pid is not known. */
static void test_pid(void)
{
	static const struct {
		uint64_t pid;
		uint32_t want;
	} rows[] = {{7, 7}, {INT32_MAX, INT32_MAX}, {1ull << 31, 0}, {(1ull << 32) + 7, 0}};
	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct model m = {0};
		struct ebt_memtrace_trace t = {model_store, model_locations, &m, 0, 0, 0};
		struct run r;
		ebt_memtrace_write_info(&t, &(struct ebt_memtrace_info){.start_us = MODEL_START,
									.pid = rows[i].pid,
									.executable = "a",
									.host = "b",
									.runtime_params = "c",
									.context = ""});
		start(&r, file_of(m.trace, m.bytes));
		while (drain(&r, NULL))
			;
		const struct process *p = processes_next(&r.session->processes, NULL);
		ok(p && p->pid == rows[i].want, "the pid %llu is %s",
		   (unsigned long long)rows[i].pid, rows[i].want ? "that" : "not known");
		merge_free(r.merge);
		source_free(memtrace_source_base(r.source));
		session_free(r.session);
		free(m.trace);
	}
}

/* Packets of two domains, and then one of each that begins before: its events are raised, but not
 * the positions that are written with them. */
static void test_raised(void)
{
	struct model *m = calloc(1, sizeof(*m));
	struct ebt_memtrace_trace t = {model_store, model_locations, m, 0, 0, 0};
	struct run r;
	if (!m)
		abort();
	for (int i = 0; i < MODEL_NAMES; i++)
		snprintf(m->name[i], sizeof(m->name[i]), "name%d", i);
	ebt_memtrace_write_info(&t, &(struct ebt_memtrace_info){.start_us = MODEL_START,
								.executable = "a",
								.host = "b",
								.runtime_params = "c",
								.context = ""});
	for (unsigned i = 0; i < 4; i++) {
		uint64_t us = MODEL_START + (i < 2 ? 5000 : 1000);
		int64_t code = 0x10000001ll * (2 + 3 * i);
		void *memory = calloc(1, ebt_memtrace_writer_bytes());
		struct ebt_memtrace_writer *w =
			ebt_memtrace_writer_init(memory, &t, (uint16_t)(i % 2), us);
		for (unsigned k = 0; k < 2 + i; k++) {
			struct ebt_memtrace_event e = {.what = EBT_MEMTRACE_ALLOC,
						       .frame = &code,
						       .frames = 1,
						       .time_us = us,
						       .words = 1,
						       .samples = 1,
						       .obj = EBT_MEMTRACE_NEW_OBJ};
			ebt_memtrace_write(w, &e);
		}
		ebt_memtrace_write_flush(w, us);
		free(memory);
	}
	start(&r, file_of(m->trace, m->bytes));
	while (drain(&r, NULL))
		;
	struct ebt_memtrace_counts n = memtrace_source_counts(r.source);
	ok(r.events == 2 + 3 + 4 + 5 && !r.damages && !r.unnamed && n.raised == 4 + 5,
	   "events of two domains whose clock stepped back are raised, and counted (%zu of %zu)",
	   (size_t)n.raised, r.events);
	end(&r);
	model_done(m);
}

int main(void)
{
	test_pid();
	test_raised();
	test_positions(64, 200);
	test_positions(400, 400);
	is(open_domains(300), 0, "a file may have many domains");
	is(open_domains(4097), -E2BIG, "but not so many that their readers take all memory");
	test_turns(100, 30, 0);
	test_turns(100, 30, 7);
	/* More damaged places than the index of a file keeps. */
	test_turns(2, 80000, 65540);
	test_domains(4096, 0);
	test_domains(4097, 1);
	test_index(65535, false);
	test_index(65536, true);
	test_index(65537, true);
	test_memory(2000, 1);
	test_memory(1000, 4000); /* a packet has more than a reader's buffer at first */
	test_file();
	test_pipe();
	test_late();
	return tap_done();
}
