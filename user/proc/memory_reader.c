/* SPDX-License-Identifier: BSD-2-Clause */
#include "proc/memory_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "proc/maps.h"
#include "proc/regular.h"

#define PATIENCE_NS	  1000000000ull
#define PATIENCE_LEAST_NS 20000000ull
#define PAUSE_NS	  10000000000ull /* without another try of the same process */
#define ROUNDS		  10		 /* of that, for a worker that waits for a CPU only */
#define ABANDONED_MAX	  16		 /* workers that not even SIGKILL has ended yet */
#define FD_WORKER	  3

/* The kernel gives a program at most 6 MiB of arguments and environment. */
#define ENVIRON_MAX   (8u << 20)
#define ENVIRON_FIRST 16384 /* most fit */

struct request {
	char path[96];
	uint64_t offset, bytes;
};

struct memory_reader {
	int fd; /* -1: there is no worker */
	pid_t worker;
	unsigned given_up;
	pid_t first_pid, last_pid; /* whose memory was given up */
	uint64_t last_ns;
	pid_t abandoned[ABANDONED_MAX];
	unsigned abandoned_count;
};

struct memory_reader *memory_reader_new(void)
{
	struct memory_reader *r = calloc(1, sizeof(*r));
	if (r)
		r->fd = -1;
	return r;
}

/* What can be read before an error counts. */
static ssize_t read_path(const char *path, uint64_t offset, void *ret, size_t n)
{
	size_t got = 0;
	ssize_t one = 0;
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

/* Answers with the bytes read, or -errno, as 8 bytes, and the bytes. */
static void answer(const struct request *q)
{
	char *data = malloc(q->bytes ? q->bytes : 1);
	int64_t n = data ? read_path(q->path, q->offset, data, q->bytes) : -ENOMEM;
	if (file_write(FD_WORKER, &n, sizeof(n)) ||
	    (n > 0 && file_write(FD_WORKER, data, (size_t)n)))
		_exit(0);
	free(data);
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
	while (file_read(FD_WORKER, &q, sizeof(q)) == sizeof(q))
		answer(&q);
	_exit(0);
}

/* ---- the tracer ---- */

static int start(struct memory_reader *r)
{
	int fds[2];
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
	return 0;
}

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
	kill(r->worker, SIGKILL);
	r->abandoned[r->abandoned_count++] = r->worker;
	reap_abandoned(r);
}

void memory_reader_free(struct memory_reader *r)
{
	if (!r)
		return;
	if (r->fd >= 0) {
		close(r->fd); /* the worker waits for nothing else, and ends */
		waitpid(r->worker, NULL, 0);
	}
	reap_abandoned(r);
	free(r);
}

/* Whether the worker runs, or would if it had a CPU. */
static bool is_running(pid_t worker)
{
	char path[32], text[512];
	snprintf(path, sizeof(path), "/proc/%d/stat", worker);
	const char *end = file_read_text(path, text, sizeof(text)) > 0 ? strrchr(text, ')') : NULL;
	return end && end[1] && end[2] == 'R';
}

/* Receives exactly n bytes before *until_ns, which is later for a worker that runs. 0 or -errno. */
static int receive(struct memory_reader *r, void *to, size_t n, uint64_t *until_ns,
		   unsigned *rounds)
{
	size_t got = 0;
	while (got < n) {
		uint64_t now = now_ns();
		if (now >= *until_ns && (!is_running(r->worker) || ++*rounds >= ROUNDS))
			return -ETIMEDOUT;
		if (now >= *until_ns)
			*until_ns = now + PATIENCE_NS;
		int ms = (int)((*until_ns - now) / 1000000) + 1;
		poll(&(struct pollfd){.fd = r->fd, .events = POLLIN}, 1, ms);
		ssize_t one = recv(r->fd, (char *)to + got, n - got, MSG_DONTWAIT);
		if (!one || (one < 0 && errno != EAGAIN && errno != EINTR))
			return -ECONNRESET; /* it was killed */
		got += one > 0 ? (size_t)one : 0;
	}
	return 0;
}

static uint64_t patience_ns(const struct memory_reader *r)
{
	uint64_t ns = r->given_up < 8 ? PATIENCE_NS >> r->given_up : 0;
	return ns > PATIENCE_LEAST_NS ? ns : PATIENCE_LEAST_NS;
}

static ssize_t ask(struct memory_reader *r, const struct request *q, void *ret)
{
	int64_t n;
	unsigned rounds = 0;
	uint64_t until_ns = now_ns() + patience_ns(r);
	if (send(r->fd, q, sizeof(*q), MSG_NOSIGNAL) != sizeof(*q))
		return -ECONNRESET;
	int err = receive(r, &n, sizeof(n), &until_ns, &rounds);
	if (!err && n > (int64_t)q->bytes)
		err = -ECONNRESET;
	if (!err && n > 0)
		err = receive(r, ret, (size_t)n, &until_ns, &rounds);
	return err ? err : (ssize_t)n;
}

ssize_t memory_reader_read(struct memory_reader *r, pid_t pid, const char *name, uint64_t offset,
			   void *ret, size_t n)
{
	struct request q = {.offset = offset, .bytes = n};
	snprintf(q.path, sizeof(q.path), "/proc/%d/%s", pid, name);
	if (!r)
		return read_path(q.path, offset, ret, n);
	if (r->given_up && pid == r->last_pid && now_ns() < r->last_ns + PAUSE_NS)
		return -ETIMEDOUT;
	reap_abandoned(r);
	if (r->fd < 0 && r->abandoned_count == ABANDONED_MAX)
		return -ETIMEDOUT;
	int err = r->fd < 0 ? start(r) : 0;
	if (err)
		return err;
	ssize_t got = ask(r, &q, ret);
	if (got != -ETIMEDOUT && got != -ECONNRESET)
		return got;
	abandon(r);
	if (got == -ETIMEDOUT) {
		r->first_pid = r->given_up++ ? r->first_pid : pid;
		r->last_pid = pid;
		r->last_ns = now_ns();
	}
	return got;
}

/* The whole environment, a NUL behind it; to be freed. 0 or -errno. */
static int load_environ(struct memory_reader *r, pid_t pid, char **ret, size_t *ret_len)
{
	for (size_t cap = ENVIRON_FIRST;; cap *= 2) {
		char *block = malloc(cap + 1);
		ssize_t n = block ? memory_reader_read(r, pid, "environ", 0, block, cap) : -ENOMEM;
		if (n >= 0 && (size_t)n < cap) {
			block[n] = 0;
			*ret = block;
			*ret_len = (size_t)n;
			return 0;
		}
		free(block);
		if (n < 0 || cap >= ENVIRON_MAX)
			return n < 0 ? (int)n : -EFBIG;
	}
}

ssize_t memory_reader_getenv(struct memory_reader *r, pid_t pid, const char *name, char *ret,
			     size_t cap)
{
	char *block = NULL;
	size_t len = 0, name_len = strlen(name);
	int err = load_environ(r, pid, &block, &len);
	if (err)
		return err;
	ssize_t found = -ENOENT;
	for (const char *at = block; found < 0 && at < block + len; at += strlen(at) + 1) {
		if (strncmp(at, name, name_len) || at[name_len] != '=' || !at[name_len + 1])
			continue;
		found = (ssize_t)strlen(at + name_len + 1);
		snprintf(ret, cap, "%s", at + name_len + 1);
	}
	free(block);
	return found;
}

int memory_reader_open(struct memory_reader *r, pid_t pid, const struct maps_entry *e)
{
	char name[64], first[64];
	snprintf(name, sizeof(name), "map_files/%llx-%llx", (unsigned long long)e->start,
		 (unsigned long long)e->end);
	if (r && !e->dev_major &&
	    memory_reader_read(r, pid, name, 0, first, sizeof(first)) == -ETIMEDOUT)
		return -ETIMEDOUT;
	return maps_open(pid, e);
}

unsigned memory_reader_given_up(const struct memory_reader *r, pid_t *ret_pid)
{
	if (!r)
		return 0;
	*ret_pid = r->first_pid;
	return r->given_up;
}
