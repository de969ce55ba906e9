/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/file/memtrace.h"

#include "base/array.h"
#include "codec/memtrace/memtrace.h"
#include "codec/memtrace/read.h"
#include "source/file/mem_modules.h"
#include "source/file/memtrace_domains.h"
#include "source/file/memtrace_index.h"
#include "source/file/memtrace_stacks.h"
#include "source/file/pipe_lanes.h"
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define BATCH	   128
#define POLL_BYTES (1u << 20) /* of a pipe at most, between two rounds of read() */
#define NS_OF_US   1000
/* Of all lanes of a file; of one at least. */
#define BUFFERS_BYTES ((size_t)16 << 20)
#define BUFFER_MIN    ((size_t)4 << 10)
#define DOMAINS_FEW   64 /* each reader keeps positions and their tables of all others */
#define PEEK_BYTES    ((size_t)1 << 10)

/* The events of a domain. */
struct lane {
	uint16_t domain;
	struct ebt_memtrace_reader *reader; /* its own, or the pipe's */
	off_t offset;			    /* of a file: the next byte for the reader */
	struct memtrace_index_at at;	    /* there */
	uint64_t last_ns;		    /* of its last event */
	struct memtrace_backtrace last;
};

struct memtrace_source {
	struct source base;
	struct session *session;
	char *name;
	int fd;
	bool alone, is_file, finished, has_head;
	/* Of a pipe; of a file with many domains it has read all positions. */
	struct ebt_memtrace_reader *reader;
	struct memtrace_index *index; /* of a file with many domains; NULL: none */
	struct lane *lane;
	uint32_t lane_cap;
	struct pipe_lanes queues; /* of a pipe, each of the lane with its number */
	struct memtrace_codes codes;
	uint32_t process;
	struct ebt_event blank;	      /* the fields that all events have in common */
	struct alloc_trace_lack lack; /* by its head */
	bool has_lack;		      /* it is not delivered yet */
	int err;
	char reason[160]; /* of the first damage or the error */
};

static struct memtrace_source *of(struct source *base)
{
	return (struct memtrace_source *)base;
}

bool memtrace_is(const void *head, size_t bytes)
{
	return bytes >= 4 && memtrace_u32(head) == MEMTRACE_MAGIC;
}

static int add_lane(struct memtrace_source *s, struct lane **ret)
{
	if (!array_reserve(s->lane, s->lane_cap, s->base.lanes))
		return -ENOMEM;
	*ret = &s->lane[s->base.lanes++];
	**ret = (struct lane){0};
	return 0;
}

/* The lane of a domain of the pipe. */
static int lane_of(struct memtrace_source *s, uint16_t domain, struct lane **ret)
{
	uint32_t index;
	int err = pipe_lanes_of(&s->queues, domain, &index);
	if (!err && index < s->base.lanes)
		*ret = &s->lane[index];
	else if (!err)
		err = add_lane(s, ret);
	if (err)
		return err;
	(*ret)->domain = domain;
	(*ret)->reader = s->reader;
	return 0;
}

static uint32_t put_text(struct memtrace_source *s, const char *text)
{
	return strings_put(s->session->strings, text, strlen(text));
}

/* Enters what the head of the trace records. 0 or -ENOMEM. */
static int enter_head(struct memtrace_source *s, const struct ebt_memtrace_reader *r)
{
	const struct ebt_memtrace_info *info = ebt_memtrace_info(r);
	struct processes *ps = &s->session->processes;
	if (s->has_head || !info)
		return 0;
	s->has_head = true;
	s->blank = (struct ebt_event){.pos = EBT_NO_POS, .cpu = EBT_NO_CPU};
	uint32_t pid = info->pid <= INT32_MAX ? (uint32_t)info->pid : 0;
	int err = processes_of(ps, pid, &s->process);
	if (err)
		return err;
	s->blank.process = s->process;
	processes_ref(ps, s->process);
	struct process *p = processes_announce(ps, s->process);
	const char *slash = strrchr(info->executable, '/');
	snprintf(p->comm, sizeof(p->comm), "%s", slash ? slash + 1 : info->executable);
	snprintf(p->producer, sizeof(p->producer), "memtrace %u", info->version);
	if (!p->alloc_trace.known)
		p->alloc_trace = (struct alloc_trace){
			.known = true,
			.sample_rate = info->sample_rate,
			.word_bits = info->word_bits,
			.domain = info->domain,
			.executable = put_text(s, info->executable),
			.host = put_text(s, info->host),
			.parameters = put_text(s, info->runtime_params),
			.context = put_text(s, info->context),
		};
	s->has_lack = alloc_trace_lacks(info->runtime_params, &s->lack);
	if (s->alone)
		s->session->start = moment_at(info->start_us * NS_OF_US);
	return 0;
}

static uint64_t to_ns(uint64_t us)
{
	return us < UINT64_MAX / NS_OF_US ? us * NS_OF_US : UINT64_MAX - 1;
}

/* What an alloc has that others have not. */
static inline int convert_alloc(struct memtrace_source *s, struct lane *l,
				struct ebt_memtrace_event *e, struct ebt_event *ret)
{
	uint32_t stack;
	ret->id = e->source;
	ret->arg[1] = (uint64_t)e->words;
	ret->pos = (uint64_t)e->samples;
	ret->seq = e->common;
	const struct ebt_memtrace_reader *positions = s->reader ? s->reader : l->reader;
	int err = memtrace_backtrace_add(&l->last, &s->codes, positions, e, &stack);
	if (!err && stack)
		session_put_stack(s->session, ret, stack);
	return err;
}

/* What the trace lacks by its own head, behind its last event. */
static void convert_lack(struct memtrace_source *s, const struct lane *l, struct ebt_event *ret)
{
	bool is_counted = !s->lack.programs && !s->lack.cut;
	*ret = s->blank;
	ret->kind = EBT_LOST;
	ret->domain = EBT_NO_DOMAIN;
	ret->ts = EBT_LOST_SINCE(ret) = l->last_ns;
	ret->arg[0] = is_counted ? s->lack.events : EBT_LOST_UNCOUNTED;
	s->has_lack = false;
}

static inline int convert(struct memtrace_source *s, struct lane *l, struct ebt_memtrace_event *e,
			  struct ebt_event *ret)
{
	static const uint16_t kind[] = {
		[EBT_MEMTRACE_ALLOC] = EBT_ALLOC,
		[EBT_MEMTRACE_PROMOTE] = EBT_PROMOTE,
		[EBT_MEMTRACE_COLLECT] = EBT_COLLECT,
		[EBT_MEMTRACE_DAMAGE] = EBT_DAMAGE,
	};
	*ret = s->blank;
	ret->ts = l->last_ns = to_ns(e->time_us);
	ret->kind = kind[e->what];
	ret->domain = e->domain;
	ret->arg[0] = e->obj;
	if (e->what == EBT_MEMTRACE_ALLOC)
		return convert_alloc(s, l, e, ret);
	if (e->what == EBT_MEMTRACE_DAMAGE) {
		ret->arg[1] = ((uint64_t)e->words + 7) / 8;
		ret->seq = e->samples < UINT32_MAX ? (uint32_t)e->samples : UINT32_MAX;
		memtrace_backtrace_forget(&l->last, s->session);
	}
	return 0;
}

/* Whether a damage is this lane's to return. Each lane of a file reads all packets: damage between
 * packets is the first one's. Keeps the reason of the first damage. */
static bool keep_damage(struct memtrace_source *s, const struct lane *l,
			const struct ebt_memtrace_event *e)
{
	if (e->domain == EBT_NO_DOMAIN)
		for (uint32_t i = 0; i < s->base.lanes; i++)
			if (s->lane[i].reader == l->reader)
				memtrace_backtrace_forget(&s->lane[i].last, s->session);
	if (e->domain != l->domain && (e->domain != EBT_NO_DOMAIN || l != s->lane))
		return false;
	if (!*s->reason)
		snprintf(s->reason, sizeof(s->reason), "%s", ebt_memtrace_reason(l->reader));
	return true;
}

/* Remembers the first error; the lanes' readers are at their end then. */
static int fail(struct memtrace_source *s, const struct ebt_memtrace_reader *r, int err)
{
	if (!s->err && *ebt_memtrace_reason(r))
		snprintf(s->reason, sizeof(s->reason), "%s", ebt_memtrace_reason(r));
	s->err = s->err ? s->err : err;
	return err;
}

/* Moves a lane on to the next bytes that its reader needs. How many of them to read at most; 0:
 * there are none. */
static size_t follow_index(struct memtrace_source *s, struct lane *l, size_t room)
{
	struct memtrace_extent e;
	uint64_t offset = (uint64_t)l->offset;
	bool more = memtrace_index_next(s->index, &l->at, l->domain, offset, &e);
	if (!ebt_memtrace_info(l->reader))
		return room < PEEK_BYTES ? room : PEEK_BYTES;
	uint64_t gap = more && e.begin > offset ? e.begin - offset : 0;
	if ((gap || !more) && !memtrace_reader_leave_out(l->reader, gap))
		return room;
	l->offset += (off_t)gap;
	uint64_t most = more ? e.end - (offset + gap) : 0;
	return room < most ? room : (size_t)most;
}

/* Reads more bytes of the file for a lane. 0 or -errno. */
static int fill(struct memtrace_source *s, struct lane *l)
{
	size_t room;
	void *to = ebt_memtrace_room(l->reader, &room);
	/* Damage between packets is the first lane's, which reads all. */
	bool reads_all = l == s->lane || l->reader == s->reader;
	uint64_t skip = reads_all ? 0 : memtrace_reader_skip(l->reader);
	l->offset += (off_t)skip;
	if (skip && room > PEEK_BYTES)
		room = PEEK_BYTES; /* the next packet may be another domain's, too */
	if (s->index && !reads_all)
		room = follow_index(s, l, room);
	ssize_t n = pread(s->fd, to, room, l->offset);
	if (n < 0)
		return errno == EINTR ? 0 : -errno;
	if (!n)
		ebt_memtrace_finish(l->reader);
	ebt_memtrace_put(l->reader, (size_t)n);
	l->offset += n;
	return 0;
}

static int read_file(struct memtrace_source *s, struct lane *l, struct ebt_event *ev, size_t cap)
{
	struct ebt_memtrace_event from[BATCH];
	size_t n = 0;
	while (!n && !s->finished) {
		ssize_t got = ebt_memtrace_read(l->reader, from, cap < BATCH ? cap : BATCH);
		int err = got == -EAGAIN ? fill(s, l) : got < 0 ? (int)got : 0;
		if (got >= 0)
			err = enter_head(s, l->reader);
		for (ssize_t i = 0; i < got && !err; i++)
			if (from[i].what != EBT_MEMTRACE_DAMAGE || keep_damage(s, l, &from[i]))
				err = convert(s, l, &from[i], &ev[n++]);
		if (err)
			return fail(s, l->reader, err);
		if (!got && s->has_lack && l == s->lane)
			convert_lack(s, l, &ev[n++]);
		if (!got)
			break;
	}
	return (int)n;
}

static int append(struct memtrace_source *s, struct lane *l, struct ebt_memtrace_event *e)
{
	uint32_t index = (uint32_t)(l - s->lane);
	struct ebt_event *to = pipe_lanes_room(&s->queues, index);
	int err = to ? convert(s, l, e, to) : -ENOMEM;
	if (!err)
		pipe_lanes_put(&s->queues, index);
	return err;
}

static int queue_lack(struct memtrace_source *s)
{
	struct ebt_event *to = s->has_lack ? pipe_lanes_room(&s->queues, 0) : NULL;
	if (!to)
		return s->has_lack ? -ENOMEM : 0;
	convert_lack(s, s->lane, to);
	pipe_lanes_put(&s->queues, 0);
	return 0;
}

/* The events that the bytes of the pipe so far hold. 0 or -errno. */
static int queue_events(struct memtrace_source *s)
{
	struct ebt_memtrace_event from[BATCH];
	for (;;) {
		ssize_t n = ebt_memtrace_read(s->reader, from, BATCH);
		if (n == -EAGAIN)
			return 0;
		s->finished |= n <= 0;
		int err = n >= 0 ? enter_head(s, s->reader) : (int)n;
		for (ssize_t i = 0; i < n && !err; i++) {
			struct lane *l = s->lane;
			if (from[i].domain != EBT_NO_DOMAIN)
				err = lane_of(s, from[i].domain, &l);
			bool is_kept =
				from[i].what != EBT_MEMTRACE_DAMAGE || keep_damage(s, l, &from[i]);
			if (!err && is_kept)
				err = append(s, l, &from[i]);
		}
		if (err)
			return fail(s, s->reader, err);
		if (!n)
			return queue_lack(s);
	}
}

static int memtrace_poll(struct source *base)
{
	struct memtrace_source *s = of(base);
	struct pollfd pfd = {.fd = s->fd, .events = POLLIN};
	size_t bytes = 0;
	while (!s->is_file && !s->finished && bytes < POLL_BYTES && !pipe_lanes_full(&s->queues) &&
	       poll(&pfd, 1, 0) > 0) {
		size_t room;
		void *to = ebt_memtrace_room(s->reader, &room);
		ssize_t n = read(s->fd, to, room);
		if (n < 0 && (errno == EINTR || errno == EAGAIN))
			return 0;
		if (n < 0) {
			s->finished = true;
			fail(s, s->reader, -errno);
			return 0;
		}
		if (!n)
			ebt_memtrace_finish(s->reader);
		ebt_memtrace_put(s->reader, (size_t)n);
		bytes += (size_t)n;
		if (queue_events(s))
			s->finished = true;
	}
	return 0;
}

static int memtrace_read(struct source *base, uint32_t lane, struct ebt_event *ev, size_t cap)
{
	struct memtrace_source *s = of(base);
	if (s->is_file)
		return read_file(s, &s->lane[lane], ev, cap);
	int n = pipe_lanes_take(&s->queues, lane, ev, cap);
	return n ? n : s->finished ? s->err : -EAGAIN;
}

static uint64_t memtrace_horizon(struct source *base, uint32_t lane)
{
	const struct memtrace_source *s = of(base);
	return s->is_file || s->finished ? UINT64_MAX : pipe_lanes_horizon(&s->queues, lane);
}

static int memtrace_stop(struct source *base)
{
	of(base)->finished = true;
	return 0;
}

static void memtrace_free(struct source *base)
{
	struct memtrace_source *s = of(base);
	for (uint32_t i = 0; i < base->lanes; i++) {
		struct lane *l = &s->lane[i];
		memtrace_backtrace_done(&l->last, s->session);
		if (s->is_file)
			ebt_memtrace_reader_free(l->reader);
	}
	pipe_lanes_done(&s->queues, s->session);
	ebt_memtrace_reader_free(s->reader);
	memtrace_codes_done(&s->codes);
	memtrace_index_free(s->index);
	if (s->has_head)
		processes_unref(&s->session->processes, s->process);
	close(s->fd);
	free(s->lane);
	free(s->name);
	free(s);
}

static const struct source_ops memtrace_ops = {
	.poll = memtrace_poll,
	.read = memtrace_read,
	.horizon = memtrace_horizon,
	.stop = memtrace_stop,
	.free = memtrace_free,
};

/* So that many readers together have as much as a few. */
static size_t buffer_bytes(uint32_t readers)
{
	size_t bytes = BUFFERS_BYTES / readers;
	bytes = bytes > BUFFER_MIN ? bytes : BUFFER_MIN;
	return bytes < MEMTRACE_BUFFER_BYTES ? bytes : MEMTRACE_BUFFER_BYTES;
}

/* Reads the whole file for its positions and its index. Errors and damage are not reported here:
 * the first lane finds them, too. 0 or -ENOMEM. */
static int read_whole(struct memtrace_source *s)
{
	struct ebt_memtrace_event unused[BATCH];
	struct lane all = {0};
	int err = ebt_memtrace_reader_new(EBT_MEMTRACE_SKIP_BACKTRACES, &s->reader);
	all.reader = s->reader;
	while (!err) {
		ssize_t n = ebt_memtrace_read(s->reader, unused, BATCH);
		if (n != -EAGAIN && n <= 0)
			return n == -ENOMEM ? -ENOMEM : memtrace_index_new(s->fd, &s->index);
		err = n == -EAGAIN ? fill(s, &all) : 0;
	}
	return err;
}

/* A lane with a reader for each domain of the file. */
static int open_lanes(struct memtrace_source *s)
{
	struct memtrace_domains domains;
	int err = memtrace_domains_read(s->fd, &domains);
	bool many = domains.count > DOMAINS_FEW;
	if (!err && many)
		err = read_whole(s);
	for (uint32_t i = 0; i < domains.count && !err; i++) {
		struct lane *l;
		err = add_lane(s, &l);
		if (err)
			break;
		l->domain = domains.domain[i];
		err = memtrace_reader_new_small(0, buffer_bytes(domains.count), &l->reader);
		if (!err && many)
			memtrace_reader_select_alone(l->reader, l->domain);
		else if (!err && domains.count > 1)
			ebt_memtrace_select(l->reader, l->domain);
	}
	free(domains.domain);
	return err;
}

static int open_pipe(struct memtrace_source *s, const struct memtrace_options *o)
{
	struct lane *l;
	size_t room;
	int err = ebt_memtrace_reader_new(0, &s->reader);
	if (!err)
		err = pipe_lanes_init(&s->queues, MEMTRACE_WINDOW_NS, MEMTRACE_QUEUE, false);
	if (!err)
		err = add_lane(s, &l);
	if (err)
		return err;
	l->reader = s->reader;
	memcpy(ebt_memtrace_room(s->reader, &room), o->head, o->head_bytes);
	ebt_memtrace_put(s->reader, o->head_bytes);
	return 0;
}

int memtrace_source_new(struct session *session, int fd, const struct memtrace_options *o,
			struct memtrace_source **ret)
{
	struct memtrace_source *s = calloc(1, sizeof(*s));
	struct stat st;
	if (!s) {
		close(fd);
		return -ENOMEM;
	}
	s->base.ops = &memtrace_ops;
	s->base.timebase.clock = TIMEBASE_REALTIME;
	s->session = s->codes.session = session;
	s->fd = fd;
	s->alone = o->alone;
	s->is_file = !fstat(fd, &st) && S_ISREG(st.st_mode);
	s->name = strdup(o->name);
	int err = !s->name ? -ENOMEM : s->is_file ? open_lanes(s) : open_pipe(s, o);
	if (err) {
		memtrace_free(&s->base);
		return err;
	}
	if (s->alone)
		session->timebase.clock = TIMEBASE_REALTIME;
	*ret = s;
	return 0;
}

struct source *memtrace_source_base(struct memtrace_source *s)
{
	return &s->base;
}

struct memtrace_source *memtrace_source_of(struct source *base)
{
	return of(base);
}

const char *memtrace_source_name(const struct memtrace_source *s)
{
	return s->name;
}

int memtrace_source_error(const struct memtrace_source *s)
{
	return s->err;
}

const char *memtrace_source_reason(const struct memtrace_source *s)
{
	return s->reason;
}

uint64_t memtrace_source_cut(const struct memtrace_source *s)
{
	return s->codes.cut;
}

const char *memtrace_source_changed(const struct memtrace_source *s)
{
	return s->codes.modules ? mem_modules_changed(s->codes.modules) : NULL;
}

struct alloc_trace_lack memtrace_source_lack(const struct memtrace_source *s)
{
	return s->lack;
}

struct ebt_memtrace_counts memtrace_source_counts(const struct memtrace_source *s)
{
	struct ebt_memtrace_counts sum = ebt_memtrace_counts(s->lane[0].reader);
	for (uint32_t i = 1; i < s->base.lanes && s->is_file; i++) {
		struct ebt_memtrace_counts n = ebt_memtrace_counts(s->lane[i].reader);
		sum.lost_allocs += n.lost_allocs;
		sum.raised += n.raised;
	}
	return sum;
}
