/* SPDX-License-Identifier: BSD-2-Clause */
/* Signal handlers that fork, where it hurts most: inside a probe, and inside start and stop. */
#include <signal.h>
#include <sys/time.h>
#include <sys/wait.h>

#include <ebtrace/probes.h>

#include "tests/tap.h"
#include "tests/unit/ringdump.h"

#define FORKS 200
static struct dump_event ev[4096];
static struct dump d;
static volatile int forks, bad;

/* One signal; the handler asks for the next, so that a slow machine gets on between them. */
static void tick(int after_us)
{
	struct itimerval timer = {{0, 0}, {0, after_us}};
	setitimer(ITIMER_REAL, &timer, NULL);
}

static int wait_for(pid_t pid)
{
	int status = -1;
	while (waitpid(pid, &status, 0) != pid)
		;
	return status;
}

/* Only where the ring's header says that a probe is under way. */
static void fork_in_probe(int sig)
{
	(void)sig;
	if (forks == FORKS)
		return;
	if (!dump_field(&d, 0, 6)) {
		tick(50);
		return;
	}
	uint64_t tail = dump_field(&d, 0, 1);
	pid_t pid = fork();
	if (!pid) {
		ebt_begin(EBT_PHASE_major); /* dropped: the interrupted probe has the slot */
		forks = -1;
		return;
	}
	forks++;
	bad += wait_for(pid) != 0 || dump_field(&d, 0, 1) != tail;
	tick(50);
}

/* The child comes back into the probe that was interrupted, finishes it, and probes on. */
static void forked_child(void)
{
	struct dump own;
	tick(0);
	for (int i = 0; i < 5; i++)
		ebt_begin(EBT_PHASE_compaction);
	if (!dump_open(&own, ebt_ring_path()))
		_exit(1);
	int n = dump_ring(&own, 0, ev, 4096);
	if (n < 7 || ev[0].id != 0 || ev[0].payload[0] != (uint64_t)getpid() || ev[1].id != 5)
		_exit(2);
	for (int i = 2; i < n; i++)
		if (ev[i].seq != (unsigned int)i || ev[i].type != 2)
			_exit(3);
	_exit(ebt_stop() ? 4 : 0);
}

static void test_fork_in_probe(void)
{
	is(ebt_start(), 0, "recording starts");
	if (!ok(dump_open(&d, ebt_ring_path()), "the file can be read"))
		return;
	signal(SIGALRM, fork_in_probe);
	tick(50);
	while (forks >= 0 && forks < FORKS)
		ebt_begin(EBT_PHASE_minor);
	if (forks < 0)
		forked_child();
	tick(0);
	is(bad, 0, "200 children forked inside a probe record on their own, and only there");
	int n = dump_ring(&d, 0, ev, 4096);
	ok(n > 0, "the parent's ring is well formed");
	is(ebt_stop(), 0, "and stops");
}

static void fork_anywhere(int sig)
{
	(void)sig;
	pid_t pid = fork();
	if (!pid) {
		ebt_begin(EBT_PHASE_minor);
		ebt_register("from the child", EBT_USER_UNIT);
		_exit(0);
	}
	bad += wait_for(pid) != 0;
	if (++forks < FORKS)
		tick(100 + forks * 37 % 400); /* here and there in what main() does */
}

static void test_fork_in_lock(void)
{
	forks = 0;
	bad = 0;
	signal(SIGALRM, fork_anywhere);
	tick(100);
	while (forks < FORKS) {
		bad += ebt_start() != 0;
		bad += ebt_pause() != 0 || ebt_resume() != 0;
		bad += ebt_stop() != 0;
	}
	tick(0);
	is(bad, 0, "200 forks in handlers that interrupt start and stop: nobody waits for ever");
	sigset_t mask;
	sigprocmask(SIG_BLOCK, NULL, &mask);
	ok(!sigismember(&mask, SIGALRM) && !sigismember(&mask, SIGINT),
	   "and the signal mask is what it was");
}

static volatile int got;
static void note_signal(int sig)
{
	got = sig;
}

static void test_mask(void)
{
	sigset_t mask, after;
	sigemptyset(&mask);
	sigaddset(&mask, SIGUSR1);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	signal(SIGUSR1, note_signal);
	raise(SIGUSR1);
	ebt_start();
	ebt_begin(EBT_PHASE_minor);
	ebt_stop();
	pid_t pid = fork();
	if (!pid) {
		sigprocmask(SIG_BLOCK, NULL, &after);
		_exit(!sigismember(&after, SIGUSR1) || sigismember(&after, SIGINT));
	}
	is(wait_for(pid), 0, "a forked child has its parent's signal mask");
	is(got, 0, "a signal that the program blocked stays blocked through start and stop");
	sigemptyset(&mask);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	is(got, SIGUSR1, "and comes when the program lets it");
}

int main(int argc, char **argv)
{
	(void)argc;
	dump_rerun(argv, (const char *[]){"EBTRACE_LOG_WSIZE=12", "EBTRACE_MAX_DOMAINS=4", NULL});
	test_fork_in_probe();
	test_fork_in_lock();
	test_mask();
	dump_clean();
	return tap_done();
}
