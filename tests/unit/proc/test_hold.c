/* SPDX-License-Identifier: BSD-2-Clause */
/* Processes that are held for a moment, as children and as grandchildren of ours. */
#include "proc/hold.h"
#include "tests/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/auxv.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define KILLS TAP_ROUNDS(5000)

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
	for (int i = 0; i < 60000 && !strchr(wanted, state = state_of(pid)); i++)
		usleep(1000);
	return state;
}

static int end_hold(pid_t pid)
{
	int err;
	for (int i = 0; i < 60000 && (err = hold_end(pid)) == -EAGAIN; i++)
		usleep(1000);
	return err;
}

static int ready[2];

/* fork() of which the parent returns when the child calls is_ready(). */
static pid_t fork_until_ready(void)
{
	char byte;
	if (pipe(ready))
		abort();
	pid_t pid = fork();
	if (pid) {
		if (read(ready[0], &byte, 1) != 1)
			abort();
		close(ready[0]);
		close(ready[1]);
	}
	return pid;
}

static void is_ready(void)
{
	if (write(ready[1], "", 1) != 1)
		_exit(1);
}

/* A child that ends with the number of signals that it got until the last one, SIGTERM. */
static pid_t counting_child(void)
{
	pid_t pid = fork_until_ready();
	if (pid)
		return pid;
	sigset_t all, none;
	sigfillset(&all);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &all, NULL);
	signal(SIGRTMIN, on_signal);
	signal(SIGTERM, on_signal);
	is_ready();
	for (sigset_t pending; sigpending(&pending), !sigismember(&pending, SIGTERM);)
		usleep(1000);
	sigprocmask(SIG_SETMASK, &none, NULL);
	_exit(caught);
}

/* A child in a busy loop without a handler's being blocked. */
static pid_t running_child(void)
{
	pid_t pid = fork_until_ready();
	if (pid)
		return pid;
	signal(SIGRTMIN, on_signal);
	signal(SIGUSR1, on_signal);
	is_ready();
	for (;;)
		if (caught >= 20)
			_exit(caught);
}

static void test_states(void)
{
	pid_t pid = running_child();
	is(hold_begin(pid), 0, "a process can be held");
	is(wait_state(pid, "t"), 't', "it does not run then");
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
	kill_child(pid, SIGSTOP);
	is(wait_state(pid, "T"), 'T', "a process that job control has stopped");
	is(hold_begin(pid), 0, "is held");
	is(end_hold(pid), 0, "and let go");
	is(wait_state(pid, "T"), 'T', "is stopped still");
	kill_child(pid, SIGCONT);
	is(wait_state(pid, "RS") != 'T', 1, "and can be continued");
	kill_child(pid, SIGKILL);
	waitpid(pid, &status, 0);
	is(WTERMSIG(status), SIGKILL, "and killed");

	pid = counting_child();
	is(hold_begin(pid), 0, "held with signals blocked");
	for (int i = 0; i < 30; i++)
		sigqueue(pid, SIGRTMIN, (union sigval){0});
	kill_child(pid, SIGTERM);
	is(end_hold(pid), 0, "let go");
	waitpid(pid, &status, 0);
	is(WEXITSTATUS(status), 31, "those that waited are delivered, each once");
}

static void test_deaths(void)
{
	int status;
	pid_t pid = running_child();
	is(hold_begin(pid), 0, "a child that is killed");
	kill_child(pid, SIGKILL);
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
	kill_child(pid, SIGKILL);
	is(end_hold(pid), 0, "and killed meanwhile");
	waitpid(parent, &status, 0);
	is(WEXITSTATUS(status), SIGKILL, "its parent gets its status");
}

static void spin_us(int us)
{
	struct timespec begin, now;
	clock_gettime(CLOCK_MONOTONIC, &begin);
	do
		clock_gettime(CLOCK_MONOTONIC, &now);
	while ((now.tv_sec - begin.tv_sec) * 1000000 + (now.tv_nsec - begin.tv_nsec) / 1000 < us);
}

/* A grandchild is killed while it is let go, at any moment of that: its parent gets its end. */
static void test_killed_when_let_go(void)
{
	int pids[2], go[2], ends = 0;
	char byte = 0;
	pid_t pid;
	if (pipe(pids) || pipe(go))
		return;
	pid_t parent = fork();
	if (!parent) {
		for (int i = 0; i < KILLS; i++) {
			pid = fork();
			if (!pid)
				for (;;)
					pause();
			if (write(pids[1], &pid, sizeof(pid)) != sizeof(pid) ||
			    read(go[0], &byte, 1) != 1 || kill(pid, SIGKILL))
				_exit(1);
			waitpid(pid, NULL, 0);
		}
		_exit(0);
	}
	close(pids[1]);
	struct pollfd next = {.fd = pids[0], .events = POLLIN};
	while (poll(&next, 1, 60000) == 1 && read(pids[0], &pid, sizeof(pid)) == sizeof(pid)) {
		hold_begin(pid);
		if (write(go[1], &byte, 1) != 1)
			break;
		spin_us(ends % 100);
		ends += !end_hold(pid);
	}
	is(ends, KILLS, "processes that are killed while they are let go");
	kill(parent, SIGKILL);
	int status;
	waitpid(parent, &status, 0);
	is(status, 0, "have ended for their parent");
	close(pids[0]);
	close(go[0]);
	close(go[1]);
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
	kill_child(pid, SIGKILL);
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
	kill_child(pid, SIGKILL);
	waitpid(pid, &status, 0);
}

static void *pause_in(void *unused)
{
	pause();
	return unused;
}

static void test_threads(void)
{
	pid_t pid = fork_until_ready();
	pthread_t thread;
	if (!pid) {
		if (pthread_create(&thread, NULL, pause_in, NULL))
			_exit(1);
		is_ready();
		pause_in(NULL);
	}
	is(hold_begin(pid), -EPERM, "a process of two threads is not held: one would go on");
	ok(state_of(pid) != 't', "and is left alone");
	kill_child(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

/* A signal that comes before the stop is the cause of another stop. */
static void test_signal_before_stop(void)
{
	static const int ways[] = {SI_USER, SI_QUEUE};
	for (int i = 0; i < 2; i++) {
		int status = 0;
		pid_t pid = running_child();
		if (ptrace(PTRACE_SEIZE, pid, NULL, NULL))
			abort();
		if (ways[i] == SI_QUEUE)
			sigqueue(pid, SIGUSR1, (union sigval){0});
		else
			kill_child(pid, SIGUSR1);
		is(wait_state(pid, "t"), 't', "a process stops for a signal");
		is(end_hold(pid), 0, "and is let go");
		for (int n = 0; n < 19; n++)
			sigqueue(pid, SIGRTMIN, (union sigval){0});
		for (int n = 0; n < 500 && !waitpid(pid, &status, WNOHANG); n++)
			usleep(10000);
		ok(WIFEXITED(status) && WEXITSTATUS(status) == 20,
		   "the signal is delivered, whoever has sent it");
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
}

#define USER  61234
#define OWNER 61999

static bool copy_of_us(const char *path, uid_t owner, mode_t mode)
{
	char command[2 * PATH_MAX];
	snprintf(command, sizeof(command), "cp /proc/%d/exe %s", getpid(), path);
	return !system(command) && !chown(path, owner, (gid_t)-1) && !chmod(path, mode);
}

/* Runs it as an ordinary user: it says what it is, see main(). */
static pid_t start_as_user(const char *path, const char **ret_said)
{
	static char said[64];
	int ends[2];
	if (pipe2(ends, O_CLOEXEC))
		exit(1);
	pid_t pid = fork();
	if (!pid) {
		dup2(ends[1], STDOUT_FILENO);
		if (!setresuid(USER, USER, USER))
			execl(path, path, "say", NULL);
		_exit(1);
	}
	close(ends[1]);
	ssize_t n = read(ends[0], said, sizeof(said) - 1);
	said[n > 0 ? n : 0] = 0;
	close(ends[0]);
	*ret_said = said;
	return pid;
}

static void end_child(pid_t pid)
{
	kill_child(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void test_set_user_id(const char *dir)
{
	const char *said;
	char path[PATH_MAX];
	snprintf(path, sizeof(path), "%s/set-user-id", dir);
	ok(copy_of_us(path, OWNER, 04755), "a set-user-id program");
	pid_t pid = start_as_user(path, &said);
	is_str(said, "61999 secure", "that a user runs");
	is(hold_begin(pid), -EPERM, "is not held");
	ok(state_of(pid) != 't', "it goes on");
	end_child(pid);

	is(chmod(path, 0755), 0, "the same program without the bit");
	pid = start_as_user(path, &said);
	is_str(said, "61234 plain", "that the user runs");
	is(hold_begin(pid), 0, "is held");
	is(end_hold(pid), 0, "for comparison");

	/* One that has no more than the user may trace it, too, and it would lose what exec
	 * gives. */
	pid_t holder = fork();
	if (!holder)
		_exit(setresuid(USER, USER, USER) ? 1 : -hold_begin(pid));
	int status;
	waitpid(holder, &status, 0);
	is(WEXITSTATUS(status), EPERM, "without CAP_SYS_PTRACE nothing is held");
	end_child(pid);
	unlink(path);
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "say")) {
		printf("%d %s", geteuid(), getauxval(AT_SECURE) ? "secure" : "plain");
		fflush(stdout);
		pause();
		return 0;
	}
	char dir[] = "/tmp/test_hold.XXXXXX";
	struct statvfs fs;
	if (geteuid())
		return skip_all("needs root");
	if (!mkdtemp(dir) || chmod(dir, 0755) || statvfs(dir, &fs) || fs.f_flag & ST_NOSUID)
		return skip_all("needs a temporary directory for set-user-id programs");
	test_set_user_id(dir);
	rmdir(dir);
	test_states();
	test_stopped();
	test_deaths();
	test_killed_when_let_go();
	test_refusals();
	test_threads();
	test_signal_before_stop();
	tap_keeps(2);
	return tap_done();
}
