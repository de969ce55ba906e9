/* SPDX-License-Identifier: BSD-2-Clause */
/* How much of a file is read when much CPU time was spent on the files before it: what is private
 * to the module is included, as no test can spend so much. */
#include "runtime/inspect.c"

#include "tests/tap.h"

/* The bytes of a file that may be read when `cpu_ns` were spent until `ago_ns` ago, and what is
 * left of that time. */
static uint64_t allowed(uint64_t cpu_ns, uint64_t ago_ns, uint64_t *ret_left_ns)
{
	struct inspect_budget b;
	struct inspect in = {.cpu_ns = cpu_ns, .since_ns = now_ns() - ago_ns};
	inspect_budget_init(&b);
	uint64_t bytes = bytes_allowed(&in, &b);
	*ret_left_ns = in.cpu_ns;
	return bytes;
}

int main(void)
{
	const uint64_t s = 1000000000;
	uint64_t left;
	is(allowed(BURST_CPU_NS, 0, &left), PROCESS_BYTES, "at first a file is read whole");
	is(allowed(BURST_CPU_NS + s, 0, &left), SMALL_BYTES,
	   "when a burst is used up a small part of each is read");
	is(allowed(BURST_CPU_NS + s, 4 * s, &left), SMALL_BYTES, "until enough time has passed");
	ok(left <= BURST_CPU_NS + s / 2 && left > BURST_CPU_NS, "of which an eighth is given back");
	is(allowed(BURST_CPU_NS + s, 9 * s, &left), PROCESS_BYTES, "then a file is read whole");
	allowed(5, 9 * s, &left);
	is(left, 0, "no more is given back than was spent");
	return tap_done();
}
