/* SPDX-License-Identifier: BSD-2-Clause */
/* Which signals are requests for the end of a run, and which are the same one. */
#include "engine/signals.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "tests/tap.h"

#define REPEAT_NS 1000000000u /* two signals of one sender are one within this time */

/* A child that sends us a signal for each byte that it reads. */
struct sender {
	pid_t pid;
	int go;
};

static struct sender start_sender(void)
{
	int fd[2];
	pid_t us = getpid();
	if (pipe(fd))
		abort();
	struct sender s = {.pid = fork(), .go = fd[1]};
	if (s.pid < 0)
		abort();
	if (!s.pid) {
		char signo;
		close(fd[1]);
		while (read(fd[0], &signo, 1) == 1)
			kill(us, signo);
		_exit(0);
	}
	close(fd[0]);
	return s;
}

/* Others that were started later have its pipe, too: it would not end by itself. */
static void end_sender(struct sender *s)
{
	close(s->go);
	kill_child(s->pid, SIGKILL);
	waitpid(s->pid, NULL, 0);
}

static bool is_pending(int signo)
{
	sigset_t set;
	return !sigpending(&set) && sigismember(&set, signo);
}

static void send(const struct sender *s, int signo)
{
	char byte = (char)signo;
	if (write(s->go, &byte, 1) != 1)
		abort();
	for (int i = 0; i < 60000 && !is_pending(signo); i++)
		usleep(1000);
}

/*
 * How many requests two signals are that are read within REPEAT_NS; on a machine that is too busy
 * for that they are sent again.
 */
static unsigned requests(const struct sender *a, int first, const struct sender *b, int second)
{
	static struct signals s = {.fd = -1};
	if (s.fd < 0 && signals_catch(&s, true))
		abort();
	for (int i = 0; i < 100; i++) {
		struct signals one = {.fd = s.fd};
		send(a, first);
		uint64_t before_ns = now_ns();
		signals_read(&one, 0);
		send(b, second);
		signals_read(&one, 0);
		if (now_ns() - before_ns < REPEAT_NS)
			return one.ends;
	}
	return 0;
}

static void test_senders(void)
{
	struct sender a = start_sender(), b = start_sender();
	is(requests(&a, SIGINT, &a, SIGINT), 1,
	   "two signals of one process at once are one request");
	is(requests(&a, SIGINT, &b, SIGINT), 2, "those of two processes are two");
	is(requests(&a, SIGINT, &a, SIGTERM), 2, "and so are two signals of one");
	is(requests(&a, SIGTERM, &a, SIGTERM), 1, "SIGTERM is a request");
	is(requests(&a, SIGHUP, &b, SIGQUIT), 2, "SIGHUP and SIGQUIT are");
	is(requests(&a, SIGUSR1, &a, SIGINT), 1, "SIGUSR1 is none");
	is(requests(&a, SIGCHLD, &a, SIGWINCH), 0, "nor are SIGCHLD and SIGWINCH");
	end_sender(&a);
	end_sender(&b);
}

/* The status of a program that is forwarded a signal. */
static int forwarded(int signo)
{
	struct signals s = {.fd = -1};
	struct sender a = start_sender();
	int status = 0;
	pid_t program = fork();
	if (program < 0 || (program && signals_catch(&s, true)))
		abort();
	if (!program) {
		sigset_t none;
		sigemptyset(&none);
		sigprocmask(SIG_SETMASK, &none, NULL);
		pause();
		_exit(1);
	}
	send(&a, signo);
	signals_read(&s, program);
	waitpid(program, &status, 0);
	is(s.ends, signo != SIGUSR1, "it is a request if it ends programs by its nature");
	close(s.fd);
	end_sender(&a);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

/* A run that was asked to end finishes its output: a repeat comes, then another's signal. */
static _Noreturn void finish(int survived)
{
	struct signals s = {.fd = -1};
	if (signals_catch(&s, true))
		abort();
	struct sender a = start_sender(), b = start_sender();
	send(&a, SIGINT);
	uint64_t asked_ns = now_ns();
	signals_read(&s, 0);
	signals_release(&s, 0);
	char repeat = SIGINT;
	if (write(a.go, &repeat, 1) != 1)
		abort();
	send(&a, SIGWINCH); /* blocked: what was sent before has come */
	bool was_busy = now_ns() - asked_ns > REPEAT_NS / 2;
	if (write(survived, was_busy ? "b" : "s", 1) != 1)
		abort();
	send(&b, SIGINT);
	_exit(1);
}

static void test_released(void)
{
	int fd[2], status = 0;
	char how = 'b';
	for (int i = 0; i < 100 && how == 'b'; i++) {
		pid_t child = pipe(fd) ? -1 : fork();
		if (child < 0)
			abort();
		if (!child)
			finish(fd[1]);
		close(fd[1]);
		if (read(fd[0], &how, 1) != 1)
			how = 'e';
		close(fd[0]);
		waitpid(child, &status, 0);
	}
	is(how, 's', "a repeat does not end a run that finishes its output");
	is(WIFSIGNALED(status) ? WTERMSIG(status) : 0, SIGINT, "a second request does");
}

/* Under nohup SIGHUP is ignored: it stays so, and requests nothing. */
static void test_ignored(void)
{
	int status;
	pid_t child = fork();
	if (child < 0)
		abort();
	if (!child) {
		struct signals s = {.fd = -1};
		signal(SIGHUP, SIG_IGN);
		if (signals_catch(&s, true))
			_exit(2);
		raise(SIGHUP);
		raise(SIGTERM);
		signals_read(&s, 0);
		_exit(s.ends == 1 && s.last == SIGTERM ? 0 : 1);
	}
	waitpid(child, &status, 0);
	is(status, 0, "a SIGHUP that was ignored before is no request");
}

int main(void)
{
	/* A shell's background job and nohup ignore these. */
	signal(SIGHUP, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	signal(SIGQUIT, SIG_DFL);
	test_ignored();
	test_senders();
	test_released();
	is(forwarded(SIGUSR1), SIGUSR1, "a signal that was sent to us alone is the program's, too");
	is(forwarded(SIGINT), SIGINT, "also one that ends the run");
	tap_keeps(1);
	return tap_done();
}
