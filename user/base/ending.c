/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/ending.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>

#include "base/clock.h"

#define PATIENCE_NS 100000000u
/* Period of the checks for a signal that is blocked and pending, which does not end poll(). */
#define LOOK_MS 20

static atomic_bool asked;

void ending_ask(void)
{
	atomic_store_explicit(&asked, true, memory_order_relaxed);
}

void ending_forget(void)
{
	atomic_store_explicit(&asked, false, memory_order_relaxed);
}

static bool is_pending(void)
{
	static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	sigset_t set;
	if (sigpending(&set))
		return false;
	for (unsigned i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		if (sigismember(&set, ends[i]) == 1)
			return true;
	return false;
}

bool ending_asked(void)
{
	return atomic_load_explicit(&asked, memory_order_relaxed) || is_pending();
}

bool ending_overdue(uint64_t *asked_ns)
{
	if (!*asked_ns && ending_asked())
		*asked_ns = now_ns();
	return *asked_ns && now_ns() - *asked_ns >= PATIENCE_NS;
}

int ending_poll(int fd, short events)
{
	struct pollfd p = {.fd = fd, .events = events};
	uint64_t asked_ns = 0;
	while (poll(&p, 1, LOOK_MS) <= 0)
		if (ending_overdue(&asked_ns))
			return -ECANCELED;
	return 0;
}
