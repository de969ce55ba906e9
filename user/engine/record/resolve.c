/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/record/resolve.h"

#include <ebtrace/memtrace.h>
#include <ebtrace/recorder.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file.h"
#include "base/ptrmap.h"
#include "engine/program/rundir.h"
#include "session/alloc_trace.h"
#include "source/file/mem_modules.h"

#define BATCH 256

/* A trace of the recorder: that of one program. */
struct program_trace {
	struct ebt_memtrace_reader *reader;
	struct ebt_memtrace_reader *head; /* read for its info alone */
	int fd;
	uint64_t left;		  /* bytes that `reader` did not get yet */
	uint64_t events, dropped; /* as the recorder counted them */
};

/* The positions of a code, as they are written. */
struct site {
	struct ebt_memtrace_location *location;
	size_t count;
	bool is_operator_new;
};

struct resolver {
	const struct mem_resolve *run;
	struct mem_resolve_result *result;
	struct mem_modules *modules;
	struct program_trace *program; /* by number */
	unsigned count;
	struct ebt_memtrace_trace trace;
	struct ebt_memtrace_writer *writer;
	PTRMAP(struct site) sites;
	struct map alive;   /* of the program that is read: numbers of objects */
	uint64_t first_obj; /* that of its object 0 in the trace */
	uint64_t next_obj;
	uint64_t now_us;
	uint64_t written_bytes; /* whole packets of the trace */
	/* The head of the trace; it is written again if more is missing than the recorder
	 * counted. */
	struct ebt_memtrace_info info;
	char lack[ALLOC_TRACE_LACK_BYTES]; /* "": the head has no room for it */
	uint64_t lost;			   /* events, as it has them */
	off_t begin;			   /* of the trace in the file; -1: of a pipe */
	bool rewrites;
	/* Backtraces as they are read and as they are written. */
	int64_t *stack, *written;
	size_t depth, stack_cap, written_depth, written_cap;
};

static int open_file(const struct resolver *r, unsigned n, const char *suffix)
{
	char name[32];
	snprintf(name, sizeof(name), "%u.%s", n, suffix);
	return file_open(r->run->dir_fd, name, O_NOFOLLOW);
}

/* *left: of the bytes at the file's offset, those that belong to the trace. */
static int read_more(int fd, uint64_t *left, struct ebt_memtrace_reader *reader)
{
	size_t room;
	void *to = ebt_memtrace_room(reader, &room);
	size_t want = *left < room ? (size_t)*left : room;
	ssize_t n = want ? file_read(fd, to, want) : 0;
	if (n < 0)
		return (int)n;
	*left -= (uint64_t)n;
	ebt_memtrace_put(reader, (size_t)n);
	if (!n || !*left)
		ebt_memtrace_finish(reader);
	return 0;
}

/* As ebt_memtrace_read(), with the bytes of the file. */
static ssize_t read_events(struct program_trace *p, struct ebt_memtrace_event *ev, size_t cap)
{
	ssize_t n;
	while ((n = ebt_memtrace_read(p->reader, ev, cap)) == -EAGAIN) {
		int err = read_more(p->fd, &p->left, p->reader);
		if (err)
			return err;
	}
	return n;
}

static int open_program(struct resolver *r, unsigned n)
{
	const struct ebt_recorder_state *state = &r->run->programs->state[n];
	if (!array_more(r->program, r->count))
		return -ENOMEM;
	int fd = open_file(r, n, "ctf");
	if (fd < 0)
		return fd;
	if (state->err && !r->result->dropped_err)
		r->result->dropped_err = state->err;
	r->result->own_malloc = state->own_malloc;
	struct program_trace *p = &r->program[r->count++];
	*p = (struct program_trace){
		.fd = fd,
		.left = state->bytes,
		.events = state->events,
		.dropped = state->dropped,
	};
	return ebt_memtrace_reader_new(0, &p->reader);
}

static int open_programs(struct resolver *r)
{
	const struct mem_programs *p = r->run->programs;
	int err = 0;
	for (unsigned n = 0; n < p->count && !err; n++)
		if (p->process[n] == r->run->process)
			err = open_program(r, n);
	return err;
}

/* The positions of a code of the trace; NULL: no memory. */
static const struct site *find_site(struct resolver *r, int64_t code)
{
	bool is_new;
	struct site *s = ptrmap_make(&r->sites, (uint64_t)code, &is_new);
	if (!s || !is_new)
		return s;
	static const struct ebt_memtrace_location unknown;
	unsigned n = (unsigned)((uint64_t)code >> EBT_RECORDER_CODE_BITS);
	int64_t own = code & (((int64_t)1 << EBT_RECORDER_CODE_BITS) - 1);
	const struct ebt_memtrace_location *frame;
	if (n >= r->count || !ebt_memtrace_locations(r->program[n].reader, own, &frame))
		frame = &unknown;
	s->count = mem_modules_find(r->modules, frame, &s->location);
	s->is_operator_new = s->count == 1 && (!strncmp(s->location->function, "_Znw", 4) ||
					       !strncmp(s->location->function, "_Zna", 4));
	return s;
}

static size_t find_locations(void *ctx, int64_t code, const struct ebt_memtrace_location **ret)
{
	const struct site *s = find_site(ctx, code);
	*ret = s ? s->location : NULL;
	return s ? s->count : 0;
}

/* What was written before a full disk is a trace: part of a packet is none. */
static int write_packet(void *ctx, const void *packet, size_t bytes)
{
	struct resolver *r = ctx;
	if (r->rewrites)
		return pwrite(r->run->fd, packet, bytes, r->begin) == (ssize_t)bytes ? 0 : -EIO;
	int err = file_write(r->run->fd, packet, bytes);
	if (!err)
		r->written_bytes += bytes;
	else if (ftruncate(r->run->fd, (off_t)r->written_bytes) < 0 && errno != EINVAL)
		messages_at(r->run->messages, LOG_VERBOSE, "cannot cut the trace: %s",
			    strerror(errno));
	return err;
}

/* The backtrace of an allocation into r->stack. */
static int take_stack(struct resolver *r, const struct ebt_memtrace_event *e, unsigned n)
{
	if (e->again)
		return 0;
	size_t shared = e->common < r->depth ? e->common : r->depth;
	if (!array_reserve(r->stack, r->stack_cap, shared + e->frames))
		return -ENOMEM;
	for (uint32_t i = 0; i < e->frames; i++)
		r->stack[shared + i] =
			e->frame[i] | (int64_t)((uint64_t)n << EBT_RECORDER_CODE_BITS);
	r->depth = shared + e->frames;
	return 0;
}

/* Writes the allocation with the backtrace without operator new. */
static int write_alloc(struct resolver *r, struct ebt_memtrace_event *e)
{
	size_t depth = r->depth, common = 0;
	while (depth > 1) {
		const struct site *s = find_site(r, r->stack[depth - 1]);
		if (!s)
			return -ENOMEM;
		if (!s->is_operator_new)
			break;
		depth--;
	}
	if (!array_reserve(r->written, r->written_cap, depth))
		return -ENOMEM;
	while (common < depth && common < r->written_depth &&
	       r->stack[common] == r->written[common])
		common++;
	e->common = (uint32_t)common;
	e->frame = r->stack + common;
	e->frames = (uint32_t)(depth - common);
	if (e->frames)
		memcpy(r->written + common, e->frame, e->frames * sizeof(*e->frame));
	r->written_depth = depth;
	r->result->allocs++;
	if (!map_put(&r->alive, e->obj))
		return -ENOMEM;
	if (e->obj >= r->next_obj)
		r->next_obj = e->obj + 1;
	return ebt_memtrace_write(r->writer, e);
}

static int write_collect(struct resolver *r, uint64_t obj)
{
	struct ebt_memtrace_event e = {
		.what = EBT_MEMTRACE_COLLECT, .time_us = r->now_us, .obj = obj};
	r->result->collects++;
	return ebt_memtrace_write(r->writer, &e);
}

static int write_event(struct resolver *r, struct ebt_memtrace_event *e, unsigned n)
{
	if (e->what == EBT_MEMTRACE_DAMAGE) {
		r->result->damaged++;
		return 0;
	}
	if (e->time_us > r->now_us)
		r->now_us = e->time_us;
	e->time_us = r->now_us;
	e->obj += r->first_obj;
	if (e->what == EBT_MEMTRACE_ALLOC) {
		int err = take_stack(r, e, n);
		return err ? err : write_alloc(r, e);
	}
	return map_delete(&r->alive, e->obj) ? write_collect(r, e->obj) : 0;
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

/* The memory of a program is released when the process runs the next one. */
static int release_all(struct resolver *r)
{
	size_t at = 0, count = 0;
	int err = 0;
	uint64_t *obj = calloc(r->alive.count + 1, sizeof(*obj));
	if (!obj)
		return -ENOMEM;
	for (struct map_slot *s; (s = map_next(&r->alive, &at));)
		obj[count++] = s->key;
	qsort(obj, count, sizeof(*obj), by_number);
	for (size_t i = 0; i < count && !err; i++)
		err = write_collect(r, obj[i]);
	free(obj);
	map_done(&r->alive);
	r->alive = (struct map){0};
	r->first_obj = r->next_obj;
	r->depth = 0;
	return err;
}

static int write_program(struct resolver *r, unsigned n)
{
	struct ebt_memtrace_event ev[BATCH];
	ssize_t count = 0;
	int err = n ? release_all(r) : 0;
	uint64_t events = 0;
	while (!err && (count = read_events(&r->program[n], ev, BATCH)) > 0)
		for (ssize_t i = 0; i < count && !err; i++) {
			events += ev[i].what != EBT_MEMTRACE_DAMAGE;
			err = write_event(r, &ev[i], n);
		}
	/* What was buffered when the program was killed, or could not be written, is missing,
	 * too. */
	struct program_trace *p = &r->program[n];
	uint64_t missing = p->events > events ? p->events - events : 0;
	r->result->dropped += missing > p->dropped ? missing : p->dropped;
	/* A program that was killed before the head of its trace was written has no events. */
	return err ? err : count == -EBADMSG ? 0 : (int)count;
}

/* NULL: it has none, or there is no memory. */
static const struct ebt_memtrace_info *read_info(struct program_trace *p)
{
	struct ebt_memtrace_event first;
	uint64_t left = p->left;
	if (ebt_memtrace_reader_new(EBT_MEMTRACE_SKIP_BACKTRACES, &p->head))
		return NULL;
	while (ebt_memtrace_read(p->head, &first, 1) == -EAGAIN)
		if (read_more(p->fd, &left, p->head))
			break;
	return lseek(p->fd, 0, SEEK_SET) ? NULL : ebt_memtrace_info(p->head);
}

static void set_lack(struct resolver *r, uint64_t lost)
{
	const struct mem_programs *p = r->run->programs;
	bool is_first = !r->run->process;
	r->lost = lost;
	snprintf(r->lack, sizeof(r->lack), ALLOC_TRACE_LACK, is_first ? p->lost_execs : 0,
		 is_first && p->cut, (unsigned long long)lost);
	r->info.runtime_params = r->lack;
}

/* The parameters of the trace: what it lacks as far as that is known, or may turn out. */
static void begin_lack(struct resolver *r)
{
	const struct mem_programs *p = r->run->programs;
	bool lacks = !r->run->process && (p->lost_execs || p->cut);
	uint64_t lost = 0;
	for (unsigned n = 0; n < p->count; n++) {
		if (p->process[n] != r->run->process)
			continue;
		lost += p->state[n].dropped;
		lacks |= !p->state[n].ended;
	}
	r->begin = lseek(r->run->fd, 0, SEEK_CUR);
	if (lacks || lost)
		set_lack(r, lost);
}

/* What was lost is known for sure when all is read. */
static int end_lack(struct resolver *r)
{
	if (!*r->lack || r->lost == r->result->dropped || r->begin < 0)
		return 0;
	set_lack(r, r->result->dropped);
	r->rewrites = true;
	return ebt_memtrace_write_info(&r->trace, &r->info);
}

static int begin_trace(struct resolver *r)
{
	struct ebt_memtrace_info info = {0};
	void *memory = calloc(1, ebt_memtrace_writer_bytes());
	if (!memory)
		return -ENOMEM;
	for (unsigned n = 0; n < r->count; n++) {
		const struct ebt_memtrace_info *own = read_info(&r->program[n]);
		uint64_t start_us = info.start_us;
		if (!own)
			continue;
		info = *own; /* the trace is called by the last program */
		if (r->result->programs++)
			info.start_us = start_us;
	}
	info.context = r->run->context;
	r->info = info;
	begin_lack(r);
	r->trace = (struct ebt_memtrace_trace){
		.write = write_packet, .locations = find_locations, .ctx = r};
	r->now_us = info.start_us;
	r->writer = ebt_memtrace_writer_init(memory, &r->trace, 0, r->now_us);
	return r->result->programs ? ebt_memtrace_write_info(&r->trace, &r->info) : -ENODATA;
}

static void resolver_done(struct resolver *r)
{
	size_t at = 0;
	for (struct site *s; (s = ptrmap_next(&r->sites, &at));)
		free(s->location);
	ptrmap_free(&r->sites);
	for (unsigned n = 0; n < r->count; n++) {
		ebt_memtrace_reader_free(r->program[n].reader);
		ebt_memtrace_reader_free(r->program[n].head);
		close(r->program[n].fd);
	}
	free(r->program);
	map_done(&r->alive);
	free(r->stack);
	free(r->written);
	free(r->writer);
	mem_modules_free(r->modules);
}

int mem_resolve(const struct mem_resolve *run, struct mem_resolve_result *ret)
{
	struct resolver r = {.run = run, .result = ret};
	*ret = (struct mem_resolve_result){0};
	int err = mem_modules_new(run->messages, &r.modules);
	if (!err)
		err = open_programs(&r);
	/* However ebtrace ends, they do not take memory then. */
	if (run->remove)
		rundir_remove_traces(run->dir_fd);
	if (!err)
		err = begin_trace(&r);
	for (unsigned n = 0; n < r.count && !err; n++)
		err = write_program(&r, n);
	if (!err)
		err = ebt_memtrace_write_flush(r.writer, r.now_us);
	if (!err)
		err = end_lack(&r);
	const char *changed = r.modules ? mem_modules_changed(r.modules) : NULL;
	if (changed)
		messages_at(run->messages, LOG_NORMAL,
			    "'%s' cannot be read, or is not the file that the program ran: its "
			    "functions are offsets",
			    changed);
	if (run->programs->count == EBT_RECORDER_PROGRAMS && !run->process)
		messages_at(run->messages, LOG_NORMAL,
			    "%u programs were recorded: any after them are not recorded",
			    run->programs->count);
	resolver_done(&r);
	return err;
}
