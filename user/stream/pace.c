/* SPDX-License-Identifier: BSD-2-Clause */
#include "stream/pace.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "base/file.h"

#define WINDOW_NS 100000000ull
/* Windows with a smaller known share had time to spare. */
#define BUSY_SHARE 0.7
/* With less busy time the limit is not known. */
#define BUSY_MIN_NS (2 * WINDOW_NS)

/* The thread's time on a CPU, and its time waiting for one; 0: the kernel does not report it. */
static void read_thread(uint64_t *ret_cpu_ns, uint64_t *ret_delay_ns)
{
	char text[96];
	file_read_text("/proc/thread-self/schedstat", text, sizeof(text));
	if (sscanf(text, "%" SCNu64 " %" SCNu64, ret_cpu_ns, ret_delay_ns) == 2)
		return;
	*ret_cpu_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	*ret_delay_ns = 0;
}

void pace_begin(struct pace *p)
{
	*p = (struct pace){.window_ns = now_ns()};
	read_thread(&p->cpu_ns, &p->delay_ns);
}

static void end_window(struct pace *p, uint64_t now)
{
	uint64_t cpu, delay;
	read_thread(&cpu, &delay);
	p->now.run_ns = cpu - p->cpu_ns;
	p->now.cpu_wait_ns = delay - p->delay_ns;
	/* The time of the format contains waits for a CPU, which are no work. They are taken as
	 * evenly distributed over the format and the rest. */
	uint64_t ran = p->now.run_ns, timed = ran + p->now.cpu_wait_ns;
	uint64_t work =
		timed ? (uint64_t)((double)p->now.format_ns * (double)ran / (double)timed) : 0;
	p->now.format_ns = work < ran ? work : ran;
	uint64_t length = now - p->window_ns;
	uint64_t known = p->now.output_ns + p->now.run_ns + p->now.cpu_wait_ns;
	if ((double)known >= BUSY_SHARE * (double)length) {
		p->busy.output_ns += p->now.output_ns;
		p->busy.run_ns += p->now.run_ns;
		p->busy.cpu_wait_ns += p->now.cpu_wait_ns;
		p->busy.format_ns += p->now.format_ns;
	}
	p->now = (struct pace_times){0};
	p->window_ns = now;
	p->cpu_ns = cpu;
	p->delay_ns = delay;
}

void pace_ready(struct pace *p, bool ready)
{
	uint64_t now = now_ns();
	if (p->blocked_ns) {
		p->now.output_ns += now - p->blocked_ns;
		p->blocked_ns = 0;
	}
	if (!ready)
		p->blocked_ns = now;
	if (now - p->window_ns >= WINDOW_NS)
		end_window(p, now);
}

void pace_format(struct pace *p, uint64_t ns)
{
	p->now.format_ns += ns;
}

uint64_t pace_sum(const struct pace_times *t)
{
	return t->output_ns + t->cpu_wait_ns + t->run_ns;
}

enum pace_limit pace_limit(const struct pace *p)
{
	const struct pace_times *t = &p->busy;
	uint64_t reading_ns = t->run_ns - t->format_ns;
	if (pace_sum(t) < BUSY_MIN_NS)
		return PACE_NONE;
	if (t->output_ns >= t->cpu_wait_ns && t->output_ns >= t->run_ns)
		return PACE_OUTPUT;
	if (t->cpu_wait_ns > t->run_ns)
		return PACE_CPU;
	return t->format_ns >= reading_ns ? PACE_FORMAT : PACE_READING;
}
