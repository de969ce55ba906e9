/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/bpf/exec_holder.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/map.h"
#include "bpf/abi.h"
#include "proc/hold.h"
#include "source/bpf/channel.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

/* Inspecting a larger file takes too long. */
#define MAX_BYTES    (64 << 20)
#define MAX_HELD_NS  1000000000ull
#define MAX_VERDICTS 65536u
#define RELEASES     64 /* that are remembered for late notices */
/* An uninterruptible sleep ends without a notice; at the end that is waited for. */
#define RETRY_MS  1
#define END_TRIES 50

enum verdict { NOT_WORTH = 1, WORTH = 2 };

struct held {
	pid_t pid;
	uint64_t exec_ns; /* of the notice; 0: there was none */
	uint64_t since_ns;
	uint64_t until_ns; /* it is let go then; 0: now */
};

struct exec_holder {
	struct bpf_channel channel;
	int notices; /* the caller's */
	int wake;    /* an eventfd; < 0: none */
	pthread_t thread;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t answered;
	bool realtime;
	struct held *held;
	uint32_t helds, room;
	struct map verdicts; /* enum verdict, by key_of() */
	struct {
		pid_t pid;
		uint64_t until_ns;
	} released[RELEASES];
	uint32_t releases;
	pid_t asked; /* by exec_holder_hold(), until it is answered; 0: none */
	bool stopped;
	bool ends;
};

static uint64_t key_of(const struct stat *st)
{
	uint64_t h = hash_file(st->st_dev, st->st_ino);
	h = hash_u64(h, (uint64_t)st->st_size);
	return hash_u64(h,
			(uint64_t)st->st_ctim.tv_sec * 1000000000u + (uint64_t)st->st_ctim.tv_nsec);
}

/* ---- the thread, with the lock held ---- */

static bool is_worth(const struct exec_holder *h, pid_t pid)
{
	char path[32];
	struct stat st;
	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	int fd = file_open(AT_FDCWD, path, 0);
	if (fd < 0)
		return false;
	bool is_file = !fstat(fd, &st) && S_ISREG(st.st_mode);
	close(fd);
	if (!is_file)
		return false;
	const uint64_t *verdict = map_get(&h->verdicts, key_of(&st));
	return verdict ? *verdict == WORTH : st.st_size <= MAX_BYTES;
}

static struct held *find(const struct exec_holder *h, pid_t pid)
{
	for (uint32_t i = 0; i < h->helds; i++) {
		struct held *p = &h->held[i];
		if (p->pid == pid)
			return p;
	}
	return NULL;
}

static bool hold(struct exec_holder *h, pid_t pid, uint64_t exec_ns)
{
	struct held *held = find(h, pid);
	if (!held) {
		if (!array_reserve(h->held, h->room, h->helds) || hold_begin(pid))
			return false;
		held = &h->held[h->helds++];
		*held = (struct held){.pid = pid, .since_ns = now_ns()};
	}
	held->exec_ns = exec_ns;
	held->until_ns = now_ns() + MAX_HELD_NS;
	return true;
}

static bool is_released(const struct exec_holder *h, pid_t pid, uint64_t ts)
{
	for (uint32_t i = 0; i < RELEASES; i++)
		if (h->released[i].pid == pid && h->released[i].until_ns >= ts)
			return true;
	return false;
}

static int on_notice(void *ctx, const void *record, size_t bytes)
{
	struct exec_holder *h = ctx;
	const struct ebt_exec_notice *n = record;
	if (bytes == sizeof(*n) && !is_released(h, (pid_t)n->pid, n->ts) &&
	    is_worth(h, (pid_t)n->pid))
		hold(h, (pid_t)n->pid, n->ts);
	return 0;
}

static void answer(struct exec_holder *h)
{
	if (!h->asked)
		return;
	h->stopped = hold(h, h->asked, 0);
	h->asked = 0;
	pthread_cond_signal(&h->answered);
}

/* Lets go of the processes whose time is over; one that has not stopped yet is tried again. The
 * milliseconds until the next is due; -1: none is held. */
static int let_go(struct exec_holder *h, uint64_t now)
{
	uint32_t left = 0;
	int wait = -1;
	for (uint32_t i = 0; i < h->helds; i++) {
		const struct held *p = &h->held[i];
		bool due = p->until_ns <= now;
		if (due && hold_end(p->pid) != -EAGAIN)
			continue;
		int ms = due ? RETRY_MS : (int)((p->until_ns - now) / 1000000) + 1;
		wait = wait < 0 || ms < wait ? ms : wait;
		h->held[left++] = *p;
	}
	h->helds = left;
	return wait;
}

static void let_all_go(struct exec_holder *h)
{
	for (int tries = 0; let_go(h, UINT64_MAX) >= 0 && tries < END_TRIES; tries++)
		usleep(RETRY_MS * 1000);
}

static void *run(void *ctx)
{
	struct exec_holder *h = ctx;
	struct pollfd fds[] = {{h->notices, POLLIN, 0}, {h->wake, POLLIN, 0}};
	uint64_t count;
	struct sched_param lowest = {.sched_priority = sched_get_priority_min(SCHED_FIFO)};
	/* Without the privilege it waits for its turn. */
	if (h->realtime)
		sched_setscheduler(0, SCHED_FIFO | SCHED_RESET_ON_FORK, &lowest);
	prctl(PR_SET_TIMERSLACK, 1);
	pthread_mutex_lock(&h->lock);
	while (!h->ends) {
		int wait = let_go(h, now_ns());
		pthread_mutex_unlock(&h->lock);
		poll(fds, 2, wait);
		if (read(h->wake, &count, sizeof(count)) < 0) {
			/* It does not block: nothing was asked. */
		}
		pthread_mutex_lock(&h->lock);
		bpf_channel_read(&h->channel, false, on_notice, h);
		answer(h);
	}
	let_all_go(h);
	pthread_mutex_unlock(&h->lock);
	return NULL;
}

/* ---- the tracer ---- */

static void wake(struct exec_holder *h)
{
	uint64_t one = 1;
	if (write(h->wake, &one, sizeof(one)) < 0) {
		/* It is full: the thread is woken anyway. */
	}
}

static int start(struct exec_holder *h)
{
	sigset_t all, old;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	int err = pthread_create(&h->thread, NULL, run, h);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -err;
}

static void destroy(struct exec_holder *h)
{
	bpf_channel_close(&h->channel);
	if (h->wake >= 0)
		close(h->wake);
	pthread_mutex_destroy(&h->lock);
	pthread_cond_destroy(&h->answered);
	map_done(&h->verdicts);
	free(h->held);
	free(h);
}

int exec_holder_new(int notices, size_t bytes, bool realtime, struct exec_holder **ret)
{
	struct exec_holder *h = calloc(1, sizeof(*h));
	if (!h)
		return -ENOMEM;
	pthread_mutex_init(&h->lock, NULL);
	pthread_cond_init(&h->answered, NULL);
	h->notices = notices;
	h->realtime = realtime;
	h->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	int err = h->wake < 0 ? -errno : bpf_channel_open(&h->channel, notices, bytes);
	if (!err)
		err = start(h);
	if (err)
		destroy(h);
	else
		*ret = h;
	return err;
}

void exec_holder_free(struct exec_holder *h)
{
	if (!h)
		return;
	pthread_mutex_lock(&h->lock);
	h->ends = true;
	pthread_mutex_unlock(&h->lock);
	wake(h);
	pthread_join(h->thread, NULL);
	destroy(h);
}

bool exec_holder_hold(struct exec_holder *h, pid_t pid)
{
	pthread_mutex_lock(&h->lock);
	h->asked = pid;
	wake(h);
	while (h->asked)
		pthread_cond_wait(&h->answered, &h->lock);
	bool stopped = h->stopped;
	pthread_mutex_unlock(&h->lock);
	return stopped;
}

uint64_t exec_holder_since(struct exec_holder *h, pid_t pid)
{
	pthread_mutex_lock(&h->lock);
	const struct held *held = find(h, pid);
	uint64_t since_ns = held ? held->since_ns : 0;
	pthread_mutex_unlock(&h->lock);
	return since_ns;
}

void exec_holder_release(struct exec_holder *h, pid_t pid, uint64_t until_ns)
{
	pthread_mutex_lock(&h->lock);
	uint32_t at = h->releases++ % RELEASES;
	h->released[at].pid = pid;
	h->released[at].until_ns = until_ns;
	struct held *held = find(h, pid);
	bool is_due = held && held->exec_ns <= until_ns;
	if (is_due)
		held->until_ns = 0;
	pthread_mutex_unlock(&h->lock);
	if (is_due)
		wake(h);
}

void exec_holder_judge(struct exec_holder *h, int fd, bool worth)
{
	struct stat st;
	if (fstat(fd, &st))
		return;
	pthread_mutex_lock(&h->lock);
	if (h->verdicts.count >= MAX_VERDICTS)
		map_done(&h->verdicts);
	uint64_t *verdict = map_put(&h->verdicts, key_of(&st));
	if (verdict)
		*verdict = worth ? WORTH : NOT_WORTH;
	pthread_mutex_unlock(&h->lock);
}

void exec_holder_forget(struct exec_holder *h)
{
	pthread_mutex_lock(&h->lock);
	map_done(&h->verdicts);
	pthread_mutex_unlock(&h->lock);
}
