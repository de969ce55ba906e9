/* SPDX-License-Identifier: BSD-2-Clause */
#include "proc/memory_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/ending.h"
#include "base/file.h"
#include "base/log.h"
#include "base/regular.h"
#include "proc/maps.h"
#include "proc/pagemap.h"

#define PATIENCE_NS	  1000000000ull
#define PATIENCE_LEAST_NS 20000000ull
#define PAUSE_NS	  10000000000ull /* without another try of the same process */
#define ROUNDS		  10		 /* of that, for a worker that waits for a CPU only */
#define ABANDONED_MAX	  16		 /* workers that not even SIGKILL has ended yet */
#define LOOK_MS		  20		 /* between checks for the user's request to end */
#define SAME_MAX	  3		 /* files of one process that are given up in that pause */
#define FD_WORKER	  3

/* The kernel gives a program at most 6 MiB of arguments and environment, and 65,530 mappings, but
 * their paths may be long. Most environments fit into the first size. */
#define ENVIRON_MAX   (8u << 20)
#define ENVIRON_FIRST 16384
#define MAPS_MAX      (64u << 20)
#define MAPS_FIRST    4096

#define RUNS 512 /* of pages, in a part of an answer */

#define EXPECTED    64	     /* ranges that are likely to be read, of all processes */
#define AHEAD	    4	     /* of one, that are read with its mappings */
#define AHEAD_UP_NS 2000000u /* and are taken so much later at most */

enum asked { ASKED_RANGE, ASKED_FILE, ASKED_PAGES, ASKED_MAPS };

/* A range of a file, the descriptor of a mapping's file, which pages there are, or mappings. */
struct request {
	pid_t pid;
	enum asked asked;
	bool plain;	   /* see pagemap_read() */
	enum maps_set set; /* see maps_each() */
	char name[64];
	uint64_t offset, bytes;
	struct maps_entry mapping;
	uint32_t path_bytes; /* of its path, which is sent behind the request, with its NUL */
};

/* A mapping in an answer; its path is behind it. */
struct packed_mapping {
	struct maps_entry entry;
	uint32_t path_bytes; /* with its NUL, rounded up to 8 */
};

/* What is received, and up to when. */
struct wait {
	uint64_t until_ns; /* later for a worker that runs */
	uint64_t asked_ns; /* see ending_overdue() */
	unsigned rounds;
	int fd; /* what came with it, -1: none */
};

union control {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(sizeof(int))];
};

struct memory_reader {
	int fd; /* -1: there is no worker */
	pid_t worker;
	int own_dir; /* -1: none */
	uint64_t maps_reads, opens;
	unsigned given_up;
	pid_t first_pid, last_pid; /* the processes of reads that were given up */
	uint64_t last_ns;
	unsigned same; /* of last_pid, one after the other */
	pid_t abandoned[ABANDONED_MAX];
	unsigned abandoned_count;
	struct request expected[EXPECTED]; /* pid 0: none */
	unsigned next_expected;
	struct request ahead[AHEAD]; /* sent; their answers have not been received yet */
	unsigned ahead_count;
	uint64_t ahead_ns; /* when they were sent */
};

struct memory_reader *memory_reader_new(void)
{
	struct memory_reader *r = calloc(1, sizeof(*r));
	if (r)
		r->fd = r->own_dir = -1;
	return r;
}

void memory_reader_own_dir(struct memory_reader *r, int dir)
{
	if (r)
		r->own_dir = dir;
}

/* What can be read before an error counts. */
static ssize_t read_file(pid_t pid, const char *name, uint64_t offset, void *ret, size_t n)
{
	char path[96];
	size_t got = 0;
	ssize_t one = 0;
	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	int fd = regular_open(path, 0, 0);
	if (fd < 0)
		return fd;
	while (got < n &&
	       ((one = pread(fd, (char *)ret + got, n - got, (off_t)(offset + got))) > 0 ||
		(one < 0 && errno == EINTR)))
		got += one > 0 ? (size_t)one : 0;
	int err = one < 0 ? -errno : 0;
	close(fd);
	return got ? (ssize_t)got : err;
}

/* ---- the worker ---- */

/* Answers with the number of bytes, or -errno, as 8 bytes, and the bytes: at once, so that the
 * tracer wakes once. */
static int send_answer(int64_t n, char *data)
{
	size_t bytes = n > 0 ? (size_t)n : 0;
	ssize_t sent = writev(FD_WORKER, (struct iovec[]){{&n, sizeof(n)}, {data, bytes}}, 2);
	if (sent < (ssize_t)sizeof(n))
		return -EPIPE;
	size_t done = (size_t)sent - sizeof(n);
	return done < bytes ? file_write(FD_WORKER, data + done, bytes - done) : 0;
}

/* Answers with the bytes read. */
static int answer_read(const struct request *q)
{
	char *data = malloc(q->bytes ? q->bytes : 1);
	int64_t n = data ? read_file(q->pid, q->name, q->offset, data, q->bytes) : -ENOMEM;
	int err = send_answer(n, data);
	free(data);
	return err;
}

/* Answers with 0, beside the descriptor, or -errno. A file system without a block device may be
 * served by a program or another machine: its first bytes are read, too. */
static int answer_open(struct request *q)
{
	char first[64], path[MAPS_PATH_BYTES];
	if (q->path_bytes > sizeof(path) ||
	    file_read(FD_WORKER, path, q->path_bytes) != (ssize_t)q->path_bytes)
		return -EBADMSG;
	q->mapping.path = path;
	int fd = maps_open(q->pid, &q->mapping);
	if (fd >= 0 && !q->mapping.dev_major && pread(fd, first, sizeof(first), 0) < 0)
		log_at(LOG_DEBUG, "a mapped file cannot be read: %s", strerror(errno));
	int64_t n = fd < 0 ? fd : 0;
	struct iovec iov = {&n, sizeof(n)};
	union control control = {.header = {.cmsg_len = CMSG_LEN(sizeof(fd)),
					    .cmsg_level = SOL_SOCKET,
					    .cmsg_type = SCM_RIGHTS}};
	struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
	if (fd >= 0) {
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
		msg.msg_control = &control;
		msg.msg_controllen = sizeof(control);
	}
	int err = sendmsg(FD_WORKER, &msg, MSG_NOSIGNAL) == sizeof(n) ? 0 : -errno;
	if (fd >= 0)
		close(fd);
	return err;
}

struct pages_answer {
	int64_t runs;
	struct pagemap_run run[RUNS];
};

/* Answers with the number of runs that are there, as 8 bytes, and these. */
static int send_runs(struct pages_answer *a)
{
	size_t n = (size_t)a->runs;
	a->runs = 0;
	int64_t head = (int64_t)n;
	int err = n ? file_write(FD_WORKER, &head, sizeof(head)) : 0;
	return err || !n ? err : file_write(FD_WORKER, a->run, n * sizeof(*a->run));
}

static int put_run(void *ctx, const struct pagemap_run *run)
{
	struct pages_answer *a = ctx;
	a->run[a->runs++] = *run;
	return a->runs == RUNS ? send_runs(a) : 0;
}

/* Answers with runs, part by part, then with 0 or -errno, and the CPU time. */
static int answer_pages(const struct request *q)
{
	struct pages_answer a = {0};
	uint64_t cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	int dir = pagemap_open(q->pid);
	int64_t end[2] = {dir};
	if (dir >= 0) {
		end[0] = pagemap_read(dir, 0, PAGEMAP_END, q->plain, put_run, &a);
		close(dir);
	}
	int err = send_runs(&a);
	end[1] = (int64_t)(clock_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu_ns);
	return err ? err : file_write(FD_WORKER, end, sizeof(end));
}

static int pack_mapping(const struct maps_entry *e, void *ctx)
{
	struct buf *b = ctx;
	size_t path = strlen(e->path) + 1;
	struct packed_mapping m = {*e, (uint32_t)((path + 7) / 8 * 8)};
	if (b->len + sizeof(m) + m.path_bytes > MAPS_MAX)
		return 1;
	m.entry.path = NULL;
	buf_put(b, &m, sizeof(m));
	buf_put(b, e->path, path);
	buf_put(b, "\0\0\0\0\0\0\0", m.path_bytes - path);
	return b->err;
}

/* Packs the mappings, which are the caller's. What can be read before an error counts. */
static int pack(const struct request *q, char **ret, size_t *ret_len)
{
	struct buf b;
	int err = buf_init(&b, -1, MAPS_FIRST);
	if (!err)
		err = maps_each(q->pid, q->set, pack_mapping, &b);
	if (err < 0 && (!b.len || b.err)) {
		buf_done(&b);
		return err;
	}
	*ret = b.data;
	*ret_len = b.len;
	return 0;
}

/* Answers with the packed mappings. */
static int answer_maps(const struct request *q)
{
	char *data = NULL;
	size_t len = 0;
	int packed = pack(q, &data, &len);
	int err = send_answer(packed ? packed : (int64_t)len, data);
	free(data);
	return err;
}

static int answer(struct request *q)
{
	switch (q->asked) {
	case ASKED_MAPS:
		return answer_maps(q);
	case ASKED_FILE:
		return answer_open(q);
	case ASKED_PAGES:
		return answer_pages(q);
	case ASKED_RANGE:
		break;
	}
	return answer_read(q);
}

/* It holds no descriptor of the tracer's: probes and outputs must not outlive it in here. */
static _Noreturn void work(int fd)
{
	struct request q;
	sigset_t all;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "memory-reader");
	if (dup2(fd, FD_WORKER) != FD_WORKER || syscall(SYS_close_range, FD_WORKER + 1, ~0u, 0) ||
	    syscall(SYS_close_range, 0, FD_WORKER - 1, 0))
		_exit(1);
	char ready = 0;
	if (file_write(FD_WORKER, &ready, sizeof(ready)))
		_exit(1);
	/* A read() that waits would be woken by each answer that is taken. */
	struct pollfd next = {.fd = FD_WORKER, .events = POLLIN};
	while (poll(&next, 1, -1) == 1 && file_read(FD_WORKER, &q, sizeof(q)) == sizeof(q))
		if (answer(&q))
			break;
	_exit(0);
}

/* ---- the tracer ---- */

static void reap_abandoned(struct memory_reader *r)
{
	unsigned left = 0;
	for (unsigned i = 0; i < r->abandoned_count; i++)
		if (!waitpid(r->abandoned[i], NULL, WNOHANG))
			r->abandoned[left++] = r->abandoned[i];
	r->abandoned_count = left;
}

/* It may not end before the file that it waits for has been answered. */
static void abandon(struct memory_reader *r)
{
	close(r->fd);
	r->fd = -1;
	r->ahead_count = 0;
	kill(r->worker, SIGKILL);
	r->abandoned[r->abandoned_count++] = r->worker;
	reap_abandoned(r);
}

/* Whether the worker runs, or would if it had a CPU. */
static bool is_running(pid_t worker)
{
	char path[32], text[512];
	snprintf(path, sizeof(path), "/proc/%d/stat", worker);
	const char *end = file_read_text(path, text, sizeof(text)) > 0 ? strrchr(text, ')') : NULL;
	return end && end[1] && end[2] == 'R';
}

/* The bytes that are there, and a descriptor beside them. As recv(). */
static ssize_t receive_some(struct memory_reader *r, void *to, size_t n, struct wait *w)
{
	union control control;
	struct iovec iov = {to, n};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control)};
	ssize_t got = recvmsg(r->fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	struct cmsghdr *c = got > 0 ? CMSG_FIRSTHDR(&msg) : NULL;
	if (c && c->cmsg_type == SCM_RIGHTS)
		memcpy(&w->fd, CMSG_DATA(c), sizeof(w->fd));
	return got;
}

/* Waits for bytes. 0 or -errno: there will be none. */
static int await(struct memory_reader *r, struct wait *w)
{
	uint64_t now = now_ns();
	if (now >= w->until_ns && (!is_running(r->worker) || ++w->rounds >= ROUNDS))
		return -ETIMEDOUT;
	if (now >= w->until_ns)
		w->until_ns = now + PATIENCE_NS;
	if (ending_overdue(&w->asked_ns))
		return -ECANCELED;
	uint64_t ms = (w->until_ns - now) / 1000000 + 1;
	poll(&(struct pollfd){.fd = r->fd, .events = POLLIN}, 1, ms < LOOK_MS ? (int)ms : LOOK_MS);
	return 0;
}

/* Receives exactly n bytes. 0 or -errno. */
static int receive(struct memory_reader *r, void *to, size_t n, struct wait *w)
{
	size_t got = 0;
	int err = 0;
	while (!err && got < n) {
		ssize_t one = receive_some(r, (char *)to + got, n - got, w);
		if (!one || (one < 0 && errno != EAGAIN && errno != EINTR))
			return -ECONNRESET; /* it was killed */
		if (one < 0)
			err = await(r, w);
		got += one > 0 ? (size_t)one : 0;
	}
	return err;
}

/* Starts a worker and waits until it reports that it has begun: the time that later requests take
 * then contains neither its start nor the delay of a busy machine. 0 or -errno. */
static int start(struct memory_reader *r)
{
	int fds[2];
	char ready;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds))
		return -errno;
	pid_t pid = fork();
	if (!pid)
		work(fds[1]);
	close(fds[1]);
	if (pid < 0) {
		close(fds[0]);
		return -EAGAIN;
	}
	r->fd = fds[0];
	r->worker = pid;
	struct wait w = {.until_ns = now_ns() + PATIENCE_NS, .fd = -1};
	int err = receive(r, &ready, sizeof(ready), &w);
	if (err)
		abandon(r);
	return err;
}

static uint64_t patience_ns(const struct memory_reader *r)
{
	uint64_t ns = r->given_up < 8 ? PATIENCE_NS >> r->given_up : 0;
	return ns > PATIENCE_LEAST_NS ? ns : PATIENCE_LEAST_NS;
}

static ssize_t receive_range(struct memory_reader *r, const struct request *q, void *ret,
			     int *ret_fd)
{
	int64_t n = 0;
	struct wait w = {.until_ns = now_ns() + patience_ns(r), .fd = -1};
	int err = receive(r, &n, sizeof(n), &w);
	if (!err && (n > (int64_t)q->bytes || (q->asked == ASKED_FILE && !n && w.fd < 0)))
		err = n ? -ECONNRESET : -EMFILE;
	if (!err && n > 0)
		err = receive(r, ret, (size_t)n, &w);
	*ret_fd = w.fd;
	return err ? err : (ssize_t)n;
}

static bool is_same_range(const struct request *a, const struct request *b)
{
	return a->pid == b->pid && a->offset == b->offset && a->bytes == b->bytes &&
	       !strcmp(a->name, b->name);
}

/* One file of a process may be held, and its others not. */
static bool is_paused(const struct memory_reader *r, const struct request *q)
{
	bool others = q->asked == ASKED_FILE && q->mapping.dev_major && r->same < SAME_MAX;
	return r->given_up && q->pid == r->last_pid && now_ns() < r->last_ns + PAUSE_NS && !others;
}

static void note_given_up(struct memory_reader *r, pid_t pid)
{
	r->first_pid = r->given_up++ ? r->first_pid : pid;
	r->same = pid == r->last_pid && now_ns() < r->last_ns + PAUSE_NS ? r->same + 1 : 1;
	r->last_pid = pid;
	r->last_ns = now_ns();
}

/* Behind an answer that did not come whole, the worker is given up. */
static void note_end(struct memory_reader *r, const struct request *q, ssize_t end)
{
	if (end != -ETIMEDOUT && end != -ECONNRESET && end != -ECANCELED)
		return;
	abandon(r);
	if (end == -ETIMEDOUT)
		note_given_up(r, q->pid);
}

/* ---- what is read ahead, with the mappings ---- */

void memory_reader_expect(struct memory_reader *r, pid_t pid, const char *name, uint64_t offset,
			  size_t n)
{
	struct request q = {.pid = pid, .offset = offset, .bytes = n};
	if (!r || n > ENVIRON_FIRST)
		return;
	snprintf(q.name, sizeof(q.name), "%s", name);
	for (unsigned i = 0; i < EXPECTED; i++)
		if (is_same_range(&r->expected[i], &q))
			return;
	r->expected[r->next_expected++ % EXPECTED] = q;
}

void memory_reader_expect_environ(struct memory_reader *r, pid_t pid)
{
	memory_reader_expect(r, pid, "environ", 0, ENVIRON_FIRST);
}

/* What is expected to be read of a process, once. */
static void collect_ahead(struct memory_reader *r, pid_t pid)
{
	for (unsigned i = 0; i < EXPECTED && r->ahead_count < AHEAD; i++) {
		if (r->expected[i].pid != pid)
			continue;
		r->ahead[r->ahead_count++] = r->expected[i];
		r->expected[i].pid = 0;
	}
	r->ahead_ns = now_ns();
}

/* Receives the first of these answers. As receive_range(). */
static ssize_t receive_ahead(struct memory_reader *r, void *ret)
{
	int fd;
	struct request q = r->ahead[0];
	memmove(r->ahead, r->ahead + 1, --r->ahead_count * sizeof(*r->ahead));
	ssize_t got = receive_range(r, &q, ret, &fd);
	note_end(r, &q, got);
	return got;
}

/* Drops the first n of them. */
static void drop_ahead(struct memory_reader *r, unsigned n)
{
	char to[ENVIRON_FIRST];
	for (; n && r->ahead_count; n--)
		receive_ahead(r, to);
}

void memory_reader_free(struct memory_reader *r)
{
	if (!r)
		return;
	drop_ahead(r, AHEAD);
	if (r->fd >= 0) {
		close(r->fd); /* the worker waits for nothing else, and ends */
		waitpid(r->worker, NULL, 0);
	}
	reap_abandoned(r);
	free(r);
}

/* Whether the range has been read ahead; then *ret_got is as of request(). */
static bool take_ahead(struct memory_reader *r, const struct request *q, void *ret,
		       ssize_t *ret_got)
{
	unsigned i = 0;
	while (i < r->ahead_count && !is_same_range(&r->ahead[i], q))
		i++;
	if (i == r->ahead_count || now_ns() - r->ahead_ns > AHEAD_UP_NS)
		return false;
	drop_ahead(r, i);
	if (!r->ahead_count)
		return false;
	*ret_got = receive_ahead(r, ret);
	return true;
}

/* ---- conversations ---- */

/* Sends a request to a worker, and behind one for mappings what is expected. 0 or -errno. */
static int ask(struct memory_reader *r, const struct request *q)
{
	if (is_paused(r, q))
		return -ETIMEDOUT;
	reap_abandoned(r);
	drop_ahead(r, AHEAD);
	if (r->fd < 0 && r->abandoned_count == ABANDONED_MAX)
		return -ETIMEDOUT;
	int err = r->fd < 0 ? start(r) : 0;
	if (err)
		return err;
	if (q->asked == ASKED_MAPS)
		collect_ahead(r, q->pid);
	size_t ahead = r->ahead_count * sizeof(*r->ahead);
	struct iovec iov[] = {{(void *)q, sizeof(*q)},
			      {(void *)q->mapping.path, q->path_bytes},
			      {r->ahead, ahead}};
	struct msghdr msg = {.msg_iov = iov, .msg_iovlen = 3};
	if (sendmsg(r->fd, &msg, MSG_NOSIGNAL) == (ssize_t)(sizeof(*q) + q->path_bytes + ahead))
		return 0;
	abandon(r);
	return -ECONNRESET;
}

static ssize_t request(struct memory_reader *r, const struct request *q, void *ret, int *ret_fd)
{
	*ret_fd = -1;
	ssize_t got;
	if (take_ahead(r, q, ret, &got) || (got = ask(r, q)))
		return got;
	got = receive_range(r, q, ret, ret_fd);
	note_end(r, q, got);
	return got;
}

ssize_t memory_reader_read(struct memory_reader *r, pid_t pid, const char *name, uint64_t offset,
			   void *ret, size_t n)
{
	int fd;
	struct request q = {.pid = pid, .offset = offset, .bytes = n};
	if (!r)
		return read_file(pid, name, offset, ret, n);
	snprintf(q.name, sizeof(q.name), "%s", name);
	ssize_t got = request(r, &q, ret, &fd);
	if (fd >= 0)
		close(fd);
	return got;
}

/* A file as a whole, or its first max bytes or more, a NUL behind it; to be freed. 0 or -errno. */
static int load(struct memory_reader *r, pid_t pid, const char *name, size_t first, size_t max,
		char **ret, size_t *ret_len)
{
	for (size_t cap = first;; cap *= 2) {
		char *block = malloc(cap + 1);
		ssize_t n = block ? memory_reader_read(r, pid, name, 0, block, cap) : -ENOMEM;
		if (n >= 0 && ((size_t)n < cap || cap >= max)) {
			block[n] = 0;
			*ret = block;
			*ret_len = (size_t)n;
			return 0;
		}
		free(block);
		if (n < 0)
			return (int)n;
	}
}

ssize_t memory_reader_getenv(struct memory_reader *r, pid_t pid, const char *name, char *ret,
			     size_t cap)
{
	char *block = NULL;
	size_t len = 0, name_len = strlen(name);
	int err = load(r, pid, "environ", ENVIRON_FIRST, ENVIRON_MAX, &block, &len);
	if (err)
		return err;
	ssize_t found = len ? -ENOENT : -ENODATA;
	for (const char *at = block; found < 0 && at < block + len; at += strlen(at) + 1) {
		if (strncmp(at, name, name_len) || at[name_len] != '=' || !at[name_len + 1])
			continue;
		found = (ssize_t)strlen(at + name_len + 1);
		snprintf(ret, cap, "%s", at + name_len + 1);
	}
	free(block);
	return found;
}

/* Makes a list of a block as pack() has written it: it is not checked. ret owns the block, which an
 * error frees. 0 or -ENOMEM. */
static int unpack(char *data, size_t len, struct maps_list *ret)
{
	struct maps_list l = {.data = data};
	uint32_t room = 0;
	for (size_t at = 0; at < len;) {
		struct packed_mapping *m = (struct packed_mapping *)(data + at);
		if (!array_reserve(l.entry, room, l.count)) {
			maps_list_done(&l);
			return -ENOMEM;
		}
		m->entry.path = (const char *)(m + 1);
		l.entry[l.count++] = m->entry;
		at += sizeof(*m) + m->path_bytes;
	}
	*ret = l;
	return 0;
}

static int receive_maps(struct memory_reader *r, char **ret, size_t *ret_len)
{
	int64_t n = 0;
	struct wait w = {.until_ns = now_ns() + patience_ns(r), .fd = -1};
	int err = receive(r, &n, sizeof(n), &w);
	if (err || n <= 0 || n > MAPS_MAX)
		return err ? err : n > 0 ? -ECONNRESET : (int)n;
	char *data = malloc((size_t)n);
	err = data ? receive(r, data, (size_t)n, &w) : -ECONNRESET;
	if (err) {
		free(data);
		return err;
	}
	*ret = data;
	*ret_len = (size_t)n;
	return 0;
}

static int request_maps(struct memory_reader *r, const struct request *q, char **ret,
			size_t *ret_len)
{
	/* Of a process that is gone, as most writers of rings are that ended by themselves, the
	 * worker would find nothing. */
	if (kill(q->pid, 0) && errno == ESRCH)
		return -ESRCH;
	r->maps_reads++;
	int err = ask(r, q);
	if (err)
		return err;
	err = receive_maps(r, ret, ret_len);
	note_end(r, q, err);
	return err;
}

int memory_reader_list(struct memory_reader *r, pid_t pid, enum maps_set set, struct maps_list *ret)
{
	char *data = NULL;
	size_t len = 0;
	struct request q = {.pid = pid, .asked = ASKED_MAPS, .set = set};
	int err = r ? request_maps(r, &q, &data, &len) : pack(&q, &data, &len);
	*ret = (struct maps_list){0};
	ret->err = err ? err : unpack(data, len, ret);
	return ret->err;
}

int memory_reader_maps(struct memory_reader *r, pid_t pid, enum maps_set set,
		       int (*fn)(const struct maps_entry *e, void *ctx), void *ctx)
{
	struct maps_list l;
	int err = memory_reader_list(r, pid, set, &l);
	if (err)
		return err;
	for (uint32_t i = 0; !err && i < l.count; i++)
		err = fn(&l.entry[i], ctx);
	maps_list_done(&l);
	return err;
}

uint64_t memory_reader_opens(const struct memory_reader *r)
{
	return r ? r->opens : 0;
}

uint64_t memory_reader_maps_reads(const struct memory_reader *r)
{
	return r ? r->maps_reads : 0;
}

/* Receives all parts of an answer, also those behind an error of fn, which ends its calls. */
static int receive_runs(struct memory_reader *r,
			int (*fn)(void *ctx, const struct pagemap_run *run), void *ctx,
			uint64_t *ret_cpu_ns)
{
	struct pages_answer a;
	int stop = 0;
	for (;;) {
		struct wait w = {.until_ns = now_ns() + patience_ns(r), .fd = -1};
		int err = receive(r, &a.runs, sizeof(a.runs), &w);
		if (err || a.runs > RUNS)
			return err ? err : -ECONNRESET;
		if (a.runs <= 0) {
			err = receive(r, ret_cpu_ns, sizeof(*ret_cpu_ns), &w);
			return err ? err : stop ? stop : (int)a.runs;
		}
		err = receive(r, a.run, (size_t)a.runs * sizeof(*a.run), &w);
		if (err)
			return err;
		for (int64_t i = 0; !stop && i < a.runs; i++)
			stop = fn(ctx, &a.run[i]);
	}
}

int memory_reader_pages(struct memory_reader *r, pid_t pid, int dir, bool plain,
			int (*fn)(void *ctx, const struct pagemap_run *run), void *ctx,
			uint64_t *ret_cpu_ns)
{
	struct request q = {.pid = pid, .asked = ASKED_PAGES, .plain = plain};
	*ret_cpu_ns = 0;
	if (!r)
		return pagemap_read(dir, 0, PAGEMAP_END, plain, fn, ctx);
	int err = ask(r, &q);
	if (err)
		return err;
	err = receive_runs(r, fn, ctx, ret_cpu_ns);
	note_end(r, &q, err);
	/* As long as it is there, its pid is no other's. */
	return err || !faccessat(dir, "stat", F_OK, 0) ? err : -ESRCH;
}

/* Opens the mapping's file if it is in our directory; -1: it is not. */
static int open_own(const struct memory_reader *r, const struct maps_entry *e)
{
	const char *slash = strrchr(e->path, '/');
	struct stat st;
	int fd = r->own_dir < 0 || !slash || !slash[1]
			 ? -1
			 : file_open(r->own_dir, slash + 1, O_NOFOLLOW);
	if (fd < 0)
		return -1;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_ino == e->inode &&
	    major(st.st_dev) == e->dev_major && minor(st.st_dev) == e->dev_minor)
		return fd;
	close(fd);
	return -1;
}

int memory_reader_open(struct memory_reader *r, pid_t pid, const struct maps_entry *e)
{
	int fd = r ? open_own(r, e) : -1;
	if (fd >= 0)
		return fd;
	size_t path = strlen(e->path) + 1;
	struct request q = {
		.pid = pid, .asked = ASKED_FILE, .mapping = *e, .path_bytes = (uint32_t)path};
	if (!r || path > MAPS_PATH_BYTES)
		return maps_open(pid, e);
	r->opens++;
	ssize_t err = request(r, &q, NULL, &fd);
	if (err && fd >= 0)
		close(fd);
	return err ? (int)err : fd;
}

unsigned memory_reader_given_up(const struct memory_reader *r, pid_t *ret_pid)
{
	if (!r)
		return 0;
	*ret_pid = r->first_pid;
	return r->given_up;
}
