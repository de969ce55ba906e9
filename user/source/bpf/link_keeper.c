// SPDX-License-Identifier: BSD-2-Clause
#include "source/bpf/link_keeper.h"

#include "base/ending.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct link_keeper {
	int sock;  /* packets: a request, the holder's end and the probed file */
	int alive; /* no link outlives it */
	pid_t pid;
	struct link_keeper *older; /* which was killed; its holders live on */
};

#define HOLDER_STACK (128 << 10)
#define WAITER_STACK (64 << 10) /* of the thread that waits for a holder, beside that */

/* The sites follow on the holder's own socket, which answers with an int. */
struct request {
	uint32_t probe, sites;
	int32_t pid;
};

enum { FD_END, FD_FILE, FDS };

union control {
	struct cmsghdr header;
	char bytes[CMSG_SPACE(FDS * sizeof(int))];
};

/* The process that waits: the user's request to end applies to the tracer only. */
enum side { HELPER, TRACER };

static int wait_for(int fd, short events, enum side side)
{
	return side == TRACER ? ending_poll(fd, events) : 0;
}

static bool is_early(ssize_t n)
{
	return n < 0 && (errno == EINTR || errno == EAGAIN);
}

static int send_all(int fd, const void *data, size_t bytes, enum side side)
{
	while (bytes) {
		int err = wait_for(fd, POLLOUT, side);
		int flags = MSG_NOSIGNAL | (side == TRACER ? MSG_DONTWAIT : 0);
		ssize_t n = err ? 0 : send(fd, data, bytes, flags);
		if (err || (n < 0 && !is_early(n)))
			return err ? err : -errno;
		if (n > 0) {
			data = (const char *)data + n;
			bytes -= (size_t)n;
		}
	}
	return 0;
}

/* -EPIPE: the other side has ended. */
static int recv_all(int fd, void *data, size_t bytes, enum side side)
{
	while (bytes) {
		int err = wait_for(fd, POLLIN, side);
		ssize_t n = err ? 0 : recv(fd, data, bytes, 0);
		if (err || n == 0)
			return err ? err : -EPIPE;
		if (n < 0 && !is_early(n))
			return -errno;
		if (n > 0) {
			data = (char *)data + n;
			bytes -= (size_t)n;
		}
	}
	return 0;
}

/* ---- the keeper and the holders ---- */

static void close_between(unsigned first, unsigned last)
{
	if (first <= last)
		close_range(first, last, 0);
}

/* A pipe that ebtrace reads or writes must not be held open by us. kept: < 0: none. */
static void close_others(const int *kept, size_t n)
{
	int nowhere = open("/", O_PATH | O_CLOEXEC);
	for (int fd = 0; fd <= STDERR_FILENO; fd++)
		if (nowhere < 0 || dup2(nowhere, fd) < 0)
			close(fd);
	int from = STDERR_FILENO + 1;
	for (;;) {
		int next = -1;
		for (size_t i = 0; i < n; i++)
			if (kept[i] >= from && (next < 0 || kept[i] < next))
				next = kept[i];
		if (next < 0)
			break;
		if (next > from)
			close_between((unsigned)from, (unsigned)next - 1);
		from = next + 1;
	}
	close_between((unsigned)from, ~0u);
}

/* Out of reach of what is meant for ebtrace: a terminal's signals, `pkill ebtrace`, the OOM
 * killer. */
static void go_aside(const char *name)
{
	sigset_t all;
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	setsid();
	prctl(PR_SET_NAME, name);
	if (chdir("/"))
		log_at(LOG_DEBUG, "cannot leave the directory: %s", strerror(errno));
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (fd >= 0 && write(fd, "-1000", 5) < 0)
		log_at(LOG_DEBUG, "cannot hide from the OOM killer: %s", strerror(errno));
	if (fd >= 0)
		close(fd);
	log_level = LOG_QUIET;
}

static int make_link(const struct link_maker *m, const struct request *r, const int fds[FDS])
{
	struct uprobe_site few[UPROBE_FEW];
	struct uprobe_site *many = r->sites > UPROBE_FEW ? calloc(r->sites, sizeof(*many)) : NULL;
	struct uprobe_site *site = many ? many : few;
	struct link_spec spec = {
		.file = fds[FD_FILE],
		.probe = r->probe,
		.pid = r->pid,
		.site = site,
		.sites = r->sites,
	};
	if (r->sites > UPROBE_FEW && !many)
		return -ENOMEM;
	int err = recv_all(fds[FD_END], site, r->sites * sizeof(*site), HELPER);
	if (!err)
		err = m->make(m->ctx, &spec);
	free(many);
	return err;
}

/* Waits for a request for another link. False: none comes any more. */
static bool wait_for_more(int end, int alive, struct request *ret)
{
	struct pollfd fd[] = {{.fd = end, .events = POLLIN}, {.fd = alive, .events = POLLIN}};
	while (poll(fd, 2, -1) < 0 && errno == EINTR)
		;
	return !fd[1].revents && !recv_all(end, ret, sizeof(*ret), HELPER);
}

static int make_and_answer(const struct link_maker *m, const struct request *r, const int fds[FDS])
{
	int made = make_link(m, r, fds);
	int err = send_all(fds[FD_END], &made, sizeof(made), HELPER);
	return err ? err : made;
}

/* What a holder is made of, in the memory that it shares with the keeper. */
struct job {
	struct keeping *of;
	struct request request;
	int fds[FDS];
	sem_t forked; /* the holder has the descriptors, or there is none */
	sem_t closed; /* the keeper has closed its own */
};

struct keeping {
	const struct link_maker *maker;
	int sock, alive;
	pthread_mutex_t lock;
	pthread_cond_t ended;
	unsigned holders;
};

/* Ends the process: the links' descriptors are closed by the kernel, behind all signals. */
static int hold(void *arg)
{
	struct job *job = arg;
	const struct link_maker *m = job->of->maker;
	struct request more;
	close(job->of->sock);
	sem_post(&job->forked);
	int err = make_and_answer(m, &job->request, job->fds);
	while (!err && wait_for_more(job->fds[FD_END], job->of->alive, &more))
		make_and_answer(m, &more, job->fds);
	_exit(0);
}

/*
 * Forks a holder that shares the keeper's memory, which costs a third of a copy, and waits until it
 * has ended: until then it runs on this thread's stack, and its errno is this thread's, which makes
 * one system call meanwhile. vfork() would count as load of the machine as long as the holder
 * lives. It is waited for, so that its CPU time counts as the keeper's.
 */
static void *run_holder(void *arg)
{
	_Alignas(16) char stack[HOLDER_STACK];
	struct job *job = arg;
	struct keeping *k = job->of;
	pid_t pid = clone(hold, stack + sizeof(stack), CLONE_VM | SIGCHLD, job);
	int err = pid < 0 ? -errno : 0;
	if (err)
		send_all(job->fds[FD_END], &err, sizeof(err), HELPER);
	/* All signals are blocked. */
	else
		syscall(SYS_wait4, pid, NULL, 0, NULL);
	/* It may have been killed before it said so. */
	sem_post(&job->forked);
	while (sem_wait(&job->closed))
		;
	sem_destroy(&job->forked);
	sem_destroy(&job->closed);
	free(job);
	pthread_mutex_lock(&k->lock);
	k->holders--;
	pthread_cond_signal(&k->ended);
	pthread_mutex_unlock(&k->lock);
	return NULL;
}

/* 1 and what was received, 0 at the end of the tracer. */
static int receive(int sock, struct request *ret, int ret_fds[FDS])
{
	union control control;
	struct iovec iov = {ret, sizeof(*ret)};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control)};
	ssize_t n;
	do {
		n = recvmsg(sock, &msg, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n <= 0)
		return 0;
	ret_fds[FD_END] = ret_fds[FD_FILE] = -1;
	struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
	if (c && c->cmsg_type == SCM_RIGHTS)
		memcpy(ret_fds, CMSG_DATA(c), c->cmsg_len - CMSG_LEN(0));
	return 1;
}

static int start_thread(struct job *job)
{
	pthread_attr_t attr;
	pthread_t thread;
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attr, HOLDER_STACK + WAITER_STACK);
	int err = pthread_create(&thread, &attr, run_holder, job);
	pthread_attr_destroy(&attr);
	return -err;
}

/* Starts a holder, which then has the descriptors. 0 or -errno. */
static int start_holder(struct keeping *k, const struct request *r, const int fds[FDS])
{
	struct job *job = calloc(1, sizeof(*job));
	if (!job)
		return -ENOMEM;
	job->of = k;
	job->request = *r;
	memcpy(job->fds, fds, sizeof(job->fds));
	sem_init(&job->forked, 0, 0);
	sem_init(&job->closed, 0, 0);
	pthread_mutex_lock(&k->lock);
	k->holders++;
	pthread_mutex_unlock(&k->lock);
	int err = start_thread(job);
	if (err) {
		pthread_mutex_lock(&k->lock);
		k->holders--;
		pthread_mutex_unlock(&k->lock);
		free(job);
		return err;
	}
	while (sem_wait(&job->forked))
		;
	for (int i = 0; i < FDS; i++)
		close(fds[i]);
	sem_post(&job->closed);
	return 0;
}

static void keep(int sock, int alive, const struct link_maker *m)
{
	struct keeping k = {.maker = m,
			    .sock = sock,
			    .alive = alive,
			    .lock = PTHREAD_MUTEX_INITIALIZER,
			    .ended = PTHREAD_COND_INITIALIZER};
	struct request r;
	int fds[FDS];
	while (receive(sock, &r, fds)) {
		/* Short of descriptors, not all arrived: the tracer finds its end closed. */
		int err = fds[FD_FILE] < 0 ? 0 : start_holder(&k, &r, fds);
		if (err)
			send_all(fds[FD_END], &err, sizeof(err), HELPER);
		for (int i = 0; i < FDS && (err || fds[FD_FILE] < 0); i++)
			if (fds[i] >= 0)
				close(fds[i]);
	}
	/* A process counts as ended when its descriptors are closed and its probes are gone. */
	pthread_mutex_lock(&k.lock);
	while (k.holders)
		pthread_cond_wait(&k.ended, &k.lock);
	_exit(0);
}

/* ---- the tracer's side ---- */

int link_keeper_new(const struct link_maker *maker, struct link_keeper **ret)
{
	struct link_keeper *k = calloc(1, sizeof(*k));
	int sock[2], alive[2], err = 0;
	if (!k)
		return -ENOMEM;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sock)) {
		err = -errno;
		goto err_free;
	}
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, alive)) {
		err = -errno;
		goto err_sock;
	}
	k->sock = sock[0];
	k->alive = alive[0];
	k->pid = fork();
	if (!k->pid) {
		int kept[2 + LINK_MAKER_FDS] = {sock[1], alive[1]};
		memcpy(kept + 2, maker->fds, sizeof(maker->fds));
		go_aside("uprobe-links");
		close_others(kept, 2 + LINK_MAKER_FDS);
		keep(sock[1], alive[1], maker);
	}
	if (k->pid < 0) {
		err = -errno;
		goto err_alive;
	}
	close(sock[1]);
	close(alive[1]);
	*ret = k;
	return 0;

err_alive:
	close(alive[0]);
	close(alive[1]);
err_sock:
	close(sock[0]);
	close(sock[1]);
err_free:
	free(k);
	return err;
}

static struct request request_of(const struct link_spec *spec)
{
	return (struct request){.probe = spec->probe, .sites = spec->sites, .pid = spec->pid};
}

static int send_request(struct link_keeper *k, const struct link_spec *spec, int end)
{
	struct request r = request_of(spec);
	const int fds[FDS] = {[FD_END] = end, [FD_FILE] = spec->file};
	union control control = {.header = {.cmsg_len = CMSG_LEN(sizeof(fds)),
					    .cmsg_level = SOL_SOCKET,
					    .cmsg_type = SCM_RIGHTS}};
	memcpy(CMSG_DATA(&control.header), fds, sizeof(fds));
	struct iovec iov = {&r, sizeof(r)};
	struct msghdr msg = {.msg_iov = &iov,
			     .msg_iovlen = 1,
			     .msg_control = &control,
			     .msg_controllen = sizeof(control)};
	ssize_t n;
	do {
		int err = ending_poll(k->sock, POLLOUT);
		if (err)
			return err;
		n = sendmsg(k->sock, &msg, MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

/* The sites of a link that was requested of a holder: the end, or -errno with the end closed. */
static int send_sites(const struct link_spec *spec, int end)
{
	int answer = 0;
	/* If the holder cannot take them, its answer says why. */
	send_all(end, spec->site, spec->sites * sizeof(*spec->site), TRACER);
	int err = recv_all(end, &answer, sizeof(answer), TRACER);
	err = err ? err : answer;
	if (!err)
		return end;
	close(end);
	return err;
}

/* -EPIPE, -ECONNRESET: the holder was killed. */
static int attach_beside(const struct link_spec *spec)
{
	struct request r = request_of(spec);
	int end = fcntl(spec->beside, F_DUPFD_CLOEXEC, 0);
	int err = end < 0 ? -errno : send_all(end, &r, sizeof(r), TRACER);
	if (!err)
		return send_sites(spec, end);
	if (end >= 0)
		close(end);
	return err;
}

int link_keeper_attach(struct link_keeper *k, const struct link_spec *spec)
{
	int end[2];
	if (!spec->sites)
		return -EINVAL;
	int fd = spec->beside > 0 ? attach_beside(spec) : -EPIPE;
	if (fd != -EPIPE && fd != -ECONNRESET)
		return fd;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, end))
		return -errno;
	int err = send_request(k, spec, end[1]);
	close(end[1]);
	if (!err)
		return send_sites(spec, end[0]);
	close(end[0]);
	return err;
}

static bool has_hung_up(int fd)
{
	struct pollfd p = {.fd = fd};
	return poll(&p, 1, 0) > 0 && p.revents & (POLLHUP | POLLERR);
}

bool link_keeper_holds(int link)
{
	return !has_hung_up(link);
}

bool link_keeper_has_ended(const struct link_keeper *k)
{
	return has_hung_up(k->sock);
}

void link_keeper_replace(struct link_keeper *k, struct link_keeper *older)
{
	k->older = older;
}

/* Waits until the keeper has ended, at most wait_ns. Without a descriptor of the keeper it does not
 * wait. */
static void wait_for_keeper(const struct link_keeper *k, uint64_t wait_ns)
{
	struct pollfd p = {.fd = (int)syscall(SYS_pidfd_open, k->pid, 0), .events = POLLIN};
	struct timespec wait = {.tv_sec = (time_t)(wait_ns / 1000000000),
				.tv_nsec = (long)(wait_ns % 1000000000)};
	if (p.fd < 0)
		return;
	ppoll(&p, 1, &wait, NULL);
	close(p.fd);
}

bool link_keeper_stop(struct link_keeper *k, uint64_t wait_ns)
{
	/* Not by close() alone: a child of ours that has not called exec yet has them open, too. */
	shutdown(k->sock, SHUT_RDWR);
	shutdown(k->alive, SHUT_RDWR);
	if (k->pid && wait_ns)
		wait_for_keeper(k, wait_ns);
	/* Its end, or that it is no child of ours any more. */
	if (k->pid && waitpid(k->pid, NULL, WNOHANG))
		k->pid = 0;
	return !k->pid;
}

void link_keeper_free(struct link_keeper *k)
{
	if (!k)
		return;
	link_keeper_stop(k, 0);
	close(k->sock);
	close(k->alive);
	while (k->pid && waitpid(k->pid, NULL, 0) < 0 && errno == EINTR)
		;
	link_keeper_free(k->older);
	free(k);
}

/* Waits until the tracer has closed its own. The kernel closes these behind the end of the
 * process. */
static void close_last(const int *fd, size_t n, int end)
{
	char byte;
	int *kept = malloc((n + 1) * sizeof(*kept));
	go_aside("close-links");
	if (kept) {
		memcpy(kept, fd, n * sizeof(*kept));
		kept[n] = end;
		close_others(kept, n + 1);
		while (read(end, &byte, 1) < 0 && errno == EINTR)
			;
	}
	_exit(0);
}

int link_keeper_close_behind(const int *fd, size_t n)
{
	int end[2];
	if (pipe2(end, O_CLOEXEC))
		return -errno;
	pid_t pid = fork();
	int err = -errno;
	if (!pid) {
		close(end[1]);
		close_last(fd, n, end[0]);
	}
	close(end[0]);
	if (pid > 0)
		return end[1];
	close(end[1]);
	return err;
}
