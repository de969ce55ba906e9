/* SPDX-License-Identifier: BSD-2-Clause */
/* What /proc says of a process: of this one. */
#include "proc/process.h"
#include "tests/tap.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
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

/* A process in so many namespaces of pids below ours, each with a first process of its own. */
static pid_t start_below(int levels)
{
	int ends[2];
	pid_t pid = 0;
	if (pipe(ends))
		abort();
	pid_t parent = fork();
	if (!parent) {
		for (int i = 0; i < levels; i++) {
			/* The first but one: a pid of 2. */
			if (unshare(CLONE_NEWPID))
				_exit(1);
			pid = fork();
			if (pid && i)
				pid = fork();
			if (pid)
				break;
		}
		if (!pid && write(ends[1], "", 1) != 1)
			_exit(1);
		pause();
		_exit(0);
	}
	close(ends[1]);
	char byte;
	bool is_there = read(ends[0], &byte, 1) == 1;
	close(ends[0]);
	return is_there ? parent : 0;
}

static int note_last(pid_t child, void *ctx)
{
	*(pid_t *)ctx = child;
	return 0;
}

static pid_t child_of(pid_t pid)
{
	pid_t last = 0;
	process_children(pid, note_last, &last);
	return last;
}

static void test_inner_pid(void)
{
	pid_t outside = start_below(2);
	if (!outside) {
		ok(1, "there are no namespaces of pids # skip");
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

int main(void)
{
	test_count();
	test_inner_pid();
	return tap_done();
}
