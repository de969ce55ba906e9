/* SPDX-License-Identifier: BSD-2-Clause */
#include "clock.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

ebt_gettime_fn *ebt_clock_gettime = clock_gettime; /* before the selection, and without a vdso */
bool ebt_clock_cycles;

static bool cycles_are_sound(void)
{
	if (!ebt_cycles_constant())
		return false;
	/* The kernel tests the counters of all CPUs against each other; we rely on its verdict. */
	int fd = open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
		      O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	char name[32] = "";
	ssize_t got = read(fd, name, sizeof(name) - 1);
	close(fd);
	return got > 0 && !strcmp(name, EBT_CYCLES_CLOCKSOURCE);
}

/* Reads counter and clock as one pair, the tightest of a few tries. Returns its width in cycles. */
static uint64_t read_pair(uint64_t *ret_cycles, uint64_t *ret_mono)
{
	uint64_t best = UINT64_MAX;
	for (int i = 0; i < 3; i++) {
		uint64_t before = ebt_cycles();
		uint64_t mono = ebt_clock_monotonic();
		uint64_t width = ebt_cycles() - before;
		if (width >= best)
			continue;
		best = width;
		*ret_cycles = before + width / 2;
		*ret_mono = mono;
	}
	return best;
}

/*
 * The line through the last point and this one, once two slopes in a row agree: a slope that
 * differs from the last by more than 0.1 % is no drift but a jump (suspend, migration), and the
 * very first slope may use a point that a preemption has distorted, which one slope cannot show.
 */
uint64_t ebt_clock_fit(struct ebt_clock *clock)
{
	uint64_t count = 0, mono = 0;
	uint64_t width = read_pair(&count, &mono);
	uint64_t cycles = count - clock->cycles0, ns = mono - clock->mono0;
	if (clock->cycles0 && ns < EBT_CLOCK_FIT_NS && !clock->span)
		return mono; /* too near to the first point for a slope */

	uint64_t mult = 0;
	if (clock->cycles0 && cycles < UINT64_C(1) << 62)
		mult = (uint64_t)((double)ns * 4294967296.0 / (double)cycles);
	uint64_t drift = mult > clock->mult ? mult - clock->mult : clock->mult - mult;
	bool steady = clock->mult && drift < clock->mult / 1000;
	/* Preempted inside the pair: the point is unusable, its time is right. */
	if (mult && width * mult >> 32 > 400) {
		clock->span = 0;
		return mono;
	}
	clock->cycles0 = count;
	clock->mono0 = mono;
	clock->mult = mult;
	clock->span = mult && steady ? ((uint64_t)EBT_CLOCK_FIT_NS << 32) / mult : 0;
	return mono;
}

bool ebt_clock_choose(const char *override)
{
	ebt_gettime_fn *gettime = ebt_vdso_gettime();
	if (gettime)
		ebt_clock_gettime = gettime;
	ebt_clock_cycles = (!override || strcmp(override, "monotonic")) && cycles_are_sound();
	return ebt_clock_cycles;
}
