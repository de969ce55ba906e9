/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/ending.h"

#include <signal.h>
#include <stdatomic.h>

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
