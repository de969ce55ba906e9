/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes that are held for a moment, as children and as grandchildren of ours. */
#include "proc/hold.h"
#include "tests/tap.h"

#include <errno.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t caught;

static void on_signal(int sig)
{
	(void)sig;
	caught++;
}

static char state_of(pid_t pid)
{
	char path[64], state = '?';
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	FILE *f = fopen(path, "r");
	if (f && fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
		state = '?';
	if (f)
		fclose(f);
	return state;
}

/* Until it stands in one of these states; the last one it had. */
static char wait_state(pid_t pid, const char *wanted)
{
	char state = 0;
	for (int i = 0; i < 2000 && !strchr(wanted, state = state_of(pid)); i++)
		usleep(1000);
	return state;
}

static int end_hold(pid_t pid)
{
	int err;
	for (int i = 0; i < 2000 && (err = hold_end(pid)) == -EAGAIN; i++)
		usleep(1000);
	return err;
}

/* A child that ends with the number of signals that it got until the last one, SIGTERM. */
static pid_t counting_child(void)
{
	pid_t pid = fork();
	if (pid)
		return pid;
	sigset_t all, none;
	sigfillset(&all);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &all, NULL);
	signal(SIGRTMIN, on_signal);
	signal(SIGTERM, on_signal);
	for (sigset_t pending; sigpending(&pending), !sigismember(&pending, SIGTERM);)
		usleep(1000);
	sigprocmask(SIG_SETMASK, &none, NULL);
	_exit(caught);
}

/* A child in a busy loop without a handler's being blocked. */
static pid_t running_child(void)
{
	pid_t pid = fork();
	if (pid)
		return pid;
	signal(SIGRTMIN, on_signal);
	signal(SIGUSR1, on_signal);
	for (;;)
		if (caught >= 20)
			_exit(caught);
}

static void test_states(void)
{
	pid_t pid = running_child();
	usleep(20000);
	is(hold_begin(pid), 0, "a process can be held");
	is(state_of(pid), 't', "it does not run then");
	is(hold_begin(pid), -EPERM, "not twice");
	int status;
	is(waitpid(pid, &status, WNOHANG | WUNTRACED), pid, "its stop may have been waited for");
	is(end_hold(pid), 0, "it is let go");
	is(wait_state(pid, "RS") != 't', 1, "and runs");
	is(hold_begin(pid), 0, "once more");
	for (int i = 0; i < 20; i++)
		sigqueue(pid, SIGRTMIN, (union sigval){0});
	is(end_hold(pid), 0, "signals come meanwhile");
	is(waitpid(pid, &status, 0), pid, "all of them are delivered");
	is(WEXITSTATUS(status), 20, "each once");
}

static void test_stopped(void)
{
	int status;
	pid_t pid = running_child();
	usleep(20000);
	kill(pid, SIGSTOP);
	is(wait_state(pid, "T"), 'T', "a process that job control has stopped");
	is(hold_begin(pid), 0, "is held");
	is(end_hold(pid), 0, "and let go");
	is(wait_state(pid, "T"), 'T', "is stopped still");
	kill(pid, SIGCONT);
	is(wait_state(pid, "RS") != 'T', 1, "and can be continued");
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	is(WTERMSIG(status), SIGKILL, "and killed");

	pid = counting_child();
	usleep(20000);
	is(hold_begin(pid), 0, "held with signals blocked");
	for (int i = 0; i < 30; i++)
		sigqueue(pid, SIGRTMIN, (union sigval){0});
	kill(pid, SIGTERM);
	is(end_hold(pid), 0, "let go");
	waitpid(pid, &status, 0);
	is(WEXITSTATUS(status), 31, "those that waited are delivered, each once");
}

static void test_deaths(void)
{
	int status;
	pid_t pid = running_child();
	usleep(10000);
	is(hold_begin(pid), 0, "a child that is killed");
	kill(pid, SIGKILL);
	is(end_hold(pid), 0, "while it is held");
	is(waitpid(pid, &status, 0), pid, "has its end left to who waits for it");
	is(WTERMSIG(status), SIGKILL, "and its status");

	/* A grandchild: its parent learns of the end when we have let it go. */
	int pipes[2];
	if (pipe(pipes))
		return;
	pid_t parent = fork();
	if (!parent) {
		pid_t child = running_child();
		if (write(pipes[1], &child, sizeof(child)) != sizeof(child))
			_exit(1);
		waitpid(child, &status, WUNTRACED);
		_exit(WIFSIGNALED(status) ? WTERMSIG(status) : 1);
	}
	is(read(pipes[0], &pid, sizeof(pid)), sizeof(pid), "a grandchild");
	is(hold_begin(pid), 0, "is held");
	kill(pid, SIGKILL);
	is(end_hold(pid), 0, "and killed meanwhile");
	waitpid(parent, &status, 0);
	is(WEXITSTATUS(status), SIGKILL, "its parent gets its status");
}

static void test_refusals(void)
{
	pid_t pid = fork();
	if (!pid) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		_exit(0);
	}
	int status;
	waitpid(pid, &status, 0);
	is(hold_begin(pid), -EPERM, "what is traced already is left alone");
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	is(hold_begin(pid), -EPERM, "and what has ended");

	/* The holder dies: the kernel lets the process go. */
	pid = running_child();
	pid_t holder = fork();
	if (!holder)
		_exit(hold_begin(pid) || state_of(pid) != 't');
	waitpid(holder, &status, 0);
	/* Not a child of the holder's, but of ours: it may refuse with ptrace_scope set. */
	is(wait_state(pid, "RS") != 't', 1, "the end of who holds it lets it go");
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
}

int main(void)
{
	test_states();
	test_stopped();
	test_deaths();
	test_refusals();
	return tap_done();
}
