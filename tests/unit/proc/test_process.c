/* SPDX-License-Identifier: BSD-2-Clause */
/* What /proc says of a process: of this one. */
#include "proc/process.h"
#include "tests/tap.h"
#include "tests/unit/seccomp.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static void *wait_in(void *barrier)
{
	pthread_barrier_wait(barrier);
	return NULL;
}

static void test_count(void)
{
	pthread_barrier_t barrier;
	pthread_t thread;
	ok(process_has_one_thread(getpid()), "we have one thread");
	pthread_barrier_init(&barrier, NULL, 2);
	if (pthread_create(&thread, NULL, wait_in, &barrier))
		abort();
	ok(!process_has_one_thread(getpid()), "and now two");
	pthread_barrier_wait(&barrier);
	pthread_join(thread, NULL);
	ok(!process_has_one_thread(0), "of no process that is not known");
}

static pid_t fork_into_namespace(void)
{
	return unshare(CLONE_NEWPID) ? -1 : fork();
}

/* A process of our namespace of pids. Its child is the first one of another namespace; the last
 * child of that is the second one of a third. 0: that is not possible. */
static pid_t start_below(void)
{
	int ends[2];
	char byte;
	if (pipe(ends))
		abort();
	pid_t pid = fork();
	if (!pid) {
		/* The second one says that all are there. */
		if (!fork_into_namespace() && fork_into_namespace() > 0 && !fork() &&
		    write(ends[1], "", 1) != 1)
			_exit(1);
		close(ends[1]);
		pause();
		_exit(0);
	}
	close(ends[1]);
	bool are_there = read(ends[0], &byte, 1) == 1;
	close(ends[0]);
	return are_there ? pid : 0;
}

static int note_last(pid_t child, void *ctx)
{
	*(pid_t *)ctx = child;
	return 0;
}

static pid_t child_of(pid_t pid)
{
	pid_t last = 0;
	process_children(pid, 0, note_last, &last);
	return last;
}

static void test_inner_pid(void)
{
	pid_t outside = start_below();
	if (!outside) {
		ok(true, "namespaces of pids # SKIP there are none");
		return;
	}
	pid_t first = child_of(outside), second = child_of(first);
	is(process_inner_pid(outside), outside, "a process of our own namespace has its own pid");
	is(process_inner_pid(first), 1, "the first one of a namespace has 1 there");
	is(process_inner_pid(second), 2, "of more namespaces the innermost one counts");
	ok(first != 1 && second > 2, "whatever their pids are here");
	kill_child(first, SIGKILL);
	kill_child(outside, SIGKILL);
	waitpid(outside, NULL, 0);
}

static int check_name(pid_t pid, void *ctx)
{
	struct process_stat stat;
	unsigned *wrong = ctx;
	memset(&stat, 'x', sizeof(stat));
	if (!process_read_stat(pid, &stat))
		*wrong += !memchr(stat.comm, 0, sizeof(stat.comm));
	return 0;
}

/* A name that is made to look like the fields behind it. */
static void test_name(void)
{
	struct process_status was, now;
	char name[16] = "";
	process_read_status(getpid(), &was);
	prctl(PR_GET_NAME, name);
	prctl(PR_SET_NAME, "a) Z 1 2 (b");
	process_read_status(getpid(), &now);
	prctl(PR_SET_NAME, name);
	ok(was.state == PROCESS_OPEN && now.state == PROCESS_OPEN && was.start_time &&
		   now.start_time == was.start_time && now.uid == geteuid(),
	   "our own state and start are read, whatever our name is");
	is_str(now.comm, "a) Z 1 2 (b", "and the name whole");
	unsigned wrong = 0;
	/* Some threads of the kernel have names of more bytes than there is room for. */
	is(process_each(check_name, &wrong), 0, "all processes of the machine are read");
	is(wrong, 0, "the name of each has an end");
}

/* By its size of stat, and by a descriptor that stays that of a process that has ended. */
static void test_size(void)
{
	struct process_stat stat = {0};
	uint64_t bytes = 0;
	int pipes[2];
	if (pipe(pipes))
		abort();
	pid_t pid = fork();
	if (!pid) {
		char c;
		close(pipes[1]);
		_exit(read(pipes[0], &c, 1) != 0);
	}
	int fd = process_open_size(pid);
	int err = process_read_size(fd, &bytes);
	ok(fd >= 0 && !err && !process_read_stat(pid, &stat) && bytes == stat.vm_bytes,
	   "the size of an address space is read by a descriptor");
	close(pipes[1]);
	waitpid(pid, NULL, 0);
	is(process_read_size(fd, &bytes), -ESRCH, "and of a process that has ended there is none");
	close(fd);
	close(pipes[0]);
}

struct numbers {
	pid_t wanted;
	unsigned count, found;
	pid_t before;
	bool in_order;
};

static int note_number(pid_t number, void *ctx)
{
	struct numbers *n = ctx;
	n->count++;
	n->found += number == n->wanted;
	n->in_order &= number > n->before;
	n->before = number;
	return 1;
}

/* No process has it: until the number was asked for again. */
static int await_number(pid_t number, void *ctx)
{
	struct numbers *n = ctx;
	n->count++;
	n->found += number == n->wanted;
	return n->found > 1 || number != n->wanted;
}

static int refuse(pid_t number, void *ctx)
{
	(*(unsigned *)ctx)++;
	return -number;
}

static pid_t bear(void)
{
	pid_t pid = fork();
	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	return pid;
}

/* Others may be born at any time, and the numbers begin again: until a child has been found. */
static void test_births(void)
{
	struct process_births births;
	struct numbers n = {.count = 1};
	process_births_init(&births);
	ok(process_births_each(&births, 1, note_number, &n) == 1 && n.count == 1,
	   "at first no number is known");
	/* Those of others are births, too. */
	for (int i = 0; i < 2000 && n.count; i++) {
		n = (struct numbers){.in_order = true};
		process_births_each(&births, 1000, note_number, &n);
	}
	is(n.count, 0, "while none is born there is none");
	for (int i = 0; i < 2000 && n.found != 1; i++) {
		process_births_each(&births, 1000, note_number, &n);
		n = (struct numbers){.wanted = bear(), .in_order = true};
		process_births_each(&births, 1000, note_number, &n);
	}
	ok(n.found == 1 && n.in_order,
	   "the number of a process that has come and gone is given, once, in order");
	struct numbers again = {.wanted = n.wanted, .in_order = true};
	process_births_each(&births, 1000, note_number, &again);
	is(again.found, 0, "and not again");
	process_births_done(&births);
}

static void test_awaited_births(void)
{
	struct process_births births;
	struct numbers n = {.count = 0};
	process_births_init(&births);
	for (int i = 0; i < 2000 && n.found != 1; i++) {
		process_births_each(&births, 1000, note_number, &n);
		n = (struct numbers){.wanted = bear()};
		process_births_each(&births, 1000, await_number, &n);
	}
	process_births_each(&births, 1000, await_number, &n);
	is(n.found, 2, "one that none has yet is given again");
	process_births_each(&births, 1000, await_number, &n);
	is(n.found, 2, "until a process has it,");
	n = (struct numbers){.wanted = bear()};
	process_births_each(&births, 1000, await_number, &n);
	usleep(600000);
	for (int i = 0; i < 3 && n.found == 1; i++) {
		n.found = 0;
		process_births_each(&births, 1000, await_number, &n);
	}
	is(n.found, 0, "or a fork does not take as long");
	process_births_done(&births);
}

/* Of more than are asked for the newest are, later. */
static void test_many_births(void)
{
	struct process_births births;
	struct numbers n, later = {.found = 0};
	int more = 0;
	process_births_init(&births);
	for (int i = 0; i < 3 && later.found != 1; i++) {
		process_births_each(&births, 1000, note_number, &later);
		n = later = (struct numbers){.in_order = true};
		for (int child = 0; child < PROCESS_BIRTHS_AWAITED + 10; child++)
			later.wanted = bear();
		more = process_births_each(&births, 5, note_number, &n);
		process_births_each(&births, 1000, note_number, &later);
	}
	ok(more == 1 && !n.count, "of more than are asked for none is given");
	ok(later.found == 1 && later.in_order && later.count >= PROCESS_BIRTHS_AWAITED,
	   "but the newest, at the next call");
	unsigned calls = 0;
	bear();
	bear();
	ok(process_births_each(&births, 1000, refuse, &calls) < 0 && calls == 1,
	   "the first negative result ends that");
	births.last = UINT32_MAX;
	births.count = 0;
	ok(process_births_each(&births, 1000, refuse, &calls) == 1 && calls == 1,
	   "where the numbers have begun again none is known");
	process_births_done(&births);
}

static void *read_in_thread(void *ctx)
{
	pid_t *tid = ctx;
	*tid = gettid();
	struct process_stat stat;
	return !process_read_stat(*tid, &stat) && stat.is_thread ? ctx : NULL;
}

static void test_threads_and_processes(void)
{
	struct process_stat stat;
	pthread_t thread;
	pid_t tid;
	void *is_thread = NULL;
	if (!pthread_create(&thread, NULL, read_in_thread, &tid))
		pthread_join(thread, &is_thread);
	ok(is_thread, "the number of a thread is known as one");
	ok(!process_read_stat(getpid(), &stat) && !stat.is_thread, "and that of a process is not");
}

static void test_mappings(void)
{
	siginfo_t si;
	pid_t pid = fork();
	if (!pid)
		_exit(0);
	ok(process_has_mappings(getpid()), "a process that runs has mappings");
	waitid(P_PID, (id_t)pid, &si, WEXITED | WNOWAIT);
	ok(!process_has_mappings(pid), "one that has ended has none, also before it is waited for");
	waitpid(pid, NULL, 0);
	ok(!process_has_mappings(pid), "nor has one that is gone");
}

/* Confines itself alone. */
static void *confine(void *barrier)
{
	static const int none[] = {-1};
	if (!seccomp_enter(none, SECCOMP_RET_ALLOW, SECCOMP_RET_ALLOW))
		abort();
	pthread_barrier_wait(barrier);
	pause();
	return NULL;
}

/* One thread of a process is enough, whichever. This test may be confined itself. */
static void test_filtered(void)
{
	int pipes[2];
	char byte;
	if (prctl(PR_GET_SECCOMP) == 0)
		ok(!process_is_filtered(getpid()), "we have no seccomp filter");
	else
		ok(process_is_filtered(getpid()), "we have a seccomp filter");
	if (pipe(pipes))
		abort();
	pid_t pid = fork();
	if (!pid) {
		pthread_barrier_t barrier;
		pthread_t thread;
		pthread_barrier_init(&barrier, NULL, 2);
		if (pthread_create(&thread, NULL, confine, &barrier))
			abort();
		pthread_barrier_wait(&barrier);
		(void)!write(pipes[1], "", 1);
		pause();
	}
	close(pipes[1]);
	ok(read(pipes[0], &byte, 1) == 1 && process_is_filtered(pid),
	   "a process of which the second thread has one has one");
	close(pipes[0]);
	kill_child(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	ok(!process_is_filtered(pid), "one that is gone has none");
}

int main(void)
{
	test_filtered();
	test_count();
	test_mappings();
	test_size();
	test_births();
	test_awaited_births();
	test_many_births();
	test_threads_and_processes();
	test_inner_pid();
	test_name();
	return tap_done();
}
