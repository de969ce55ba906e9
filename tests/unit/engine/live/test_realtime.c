/* SPDX-License-Identifier: BSD-2-Clause */
/* Real-time scheduling of the reader: taken where permitted, given up under work, never
 * inherited. */
#include "engine/live/realtime.h"
#include "tests/tap.h"

#include <errno.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"

static int policy(void)
{
	return sched_getscheduler(0) & ~SCHED_RESET_ON_FORK;
}

/* The value of fn() in a child. */
static int in_child(int (*fn)(void))
{
	int status = 0;
	pid_t pid = fork();
	if (!pid)
		_exit(fn());
	waitpid(pid, &status, 0);
	return WEXITSTATUS(status);
}

static int begin_as_nobody(void)
{
	struct rlimit none = {0, 0};
	struct realtime r;
	if (setrlimit(RLIMIT_RTPRIO, &none) || setuid(65534))
		return 255;
	return -realtime_begin(&r);
}

static int begin_on_one_cpu(void)
{
	struct realtime r;
	cpu_set_t one;
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	if (sched_setaffinity(0, sizeof(one), &one))
		return 255;
	return -realtime_begin(&r);
}

static int begin_under_a_policy(void)
{
	struct realtime r;
	struct sched_param p = {0};
	if (sched_setscheduler(0, SCHED_BATCH, &p))
		return 255;
	return -realtime_begin(&r);
}

static void use_cpu(uint64_t ns)
{
	uint64_t until = clock_ns(CLOCK_THREAD_CPUTIME_ID) + ns;
	while (clock_ns(CLOCK_THREAD_CPUTIME_ID) < until)
		;
}

int main(void)
{
	struct realtime r;
	is(in_child(begin_as_nobody), EPERM, "without the right to it nothing changes");
	is(in_child(begin_on_one_cpu), ENOTSUP,
	   "on a single CPU it would be taken from the traced program");
	is(in_child(begin_under_a_policy), EBUSY, "a policy that the user has set stays");
	int err = realtime_begin(&r);
	if (err == -EPERM || err == -ENOTSUP || err == -EBUSY) {
		realtime_check(&r, UINT64_MAX);
		realtime_end(&r);
		is(policy(), SCHED_OTHER, "where it is not to be had, nothing else happens");
		return tap_done();
	}
	is(policy(), SCHED_FIFO, "the reader is scheduled before ordinary programs");
	is(in_child(policy), SCHED_OTHER, "what it starts is not");
	uint64_t now = r.window_ns;
	realtime_check(&r, now += 200000000);
	is(policy(), SCHED_FIFO, "a reader that mostly waits keeps it");
	use_cpu(60000000);
	realtime_check(&r, now += 100000000);
	is(policy(), SCHED_OTHER, "one that works more than half of the time gives it up");
	realtime_check(&r, now += 500000000);
	is(policy(), SCHED_OTHER, "for a second");
	realtime_check(&r, now += 500000000);
	is(policy(), SCHED_FIFO, "and then has it again");
	realtime_end(&r);
	is(policy(), SCHED_OTHER, "at the end it is scheduled as before");
	realtime_check(&r, now += 10000000000);
	is(policy(), SCHED_OTHER, "and stays so");
	return tap_done();
}
