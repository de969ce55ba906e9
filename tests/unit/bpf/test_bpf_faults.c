// SPDX-License-Identifier: BSD-2-Clause
/* The programs of page faults, bpf/faults.bpf.c, and what bpf/pause.bpf.h counts of them in pauses,
 * as a user program with helpers of our own. */
#include "tests/tap.h"

#pragma GCC diagnostic ignored "-Wunused-function"
#include "tests/unit/bpf_helpers.h"
#include "tests/unit/counted_task.h"

#define bpf_core_field_exists(field) 1

static uint64_t time_ns = 1000;
static unsigned clock_reads;
static uint64_t bpf_ktime_get_ns(void)
{
	clock_reads++;
	return time_ns;
}

/* Of one thread; memory is zeroed, as the kernel's is. */
static uint64_t storage[16]; /* of the largest type */
static bool has_storage;
static void *bpf_task_storage_get(void *map, struct task_struct *of, void *value, uint64_t flags)
{
	(void)map;
	(void)of;
	(void)value;
	has_storage |= flags != 0;
	return has_storage ? storage : NULL;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#define const /* the test switches them on, where the tracer does it before it loads the programs */
#include "bpf/faults.bpf.h"
#undef const
#include "bpf/faults.bpf.c"
#include "bpf/pause.bpf.h"
#pragma GCC diagnostic pop

enum { MINOR = 11, ROOTS = 12, MAJOR = 20 };

static struct pause of_markers, of_ocaml;

static void begin(struct pause *p, uint32_t phase)
{
	pause_begin(p, phase, time_ns, &thread);
}

/* The time of the pause that ends; -1: none does. */
static int64_t end(struct pause *p, uint32_t phase)
{
	struct ebt_pause_counts u;
	if (!pause_end(p, phase, &thread))
		return -1;
	pause_of(&u, p, &thread);
	return (int64_t)u.fault_ns;
}

static void fault_fails(void)
{
	ebt_fault_begin(NULL);
	time_ns += 1000000;
}

static void fault(uint64_t ns)
{
	ebt_fault_begin(NULL);
	time_ns += ns;
	ebt_fault_end(NULL);
	time_ns += 7;
}

static void check_outside(void)
{
	fault(500);
	ok(!clock_reads && !has_storage, "the faults of a thread without pauses read no clock");
	begin(&of_markers, MINOR);
	ok(end(&of_markers, MINOR) == 0, "nor are they of a pause that begins later");
	fault(500);
	is(clock_reads, 0, "faults between pauses read no clock");
}

static void check_inside(void)
{
	begin(&of_markers, MINOR);
	fault(300);
	begin(&of_markers, ROOTS);
	fault(40);
	ok(end(&of_markers, ROOTS) == -1 && end(&of_markers, MINOR) == 340,
	   "a pause has the time of the faults in it");
	begin(&of_markers, MINOR);
	begin(&of_markers, MINOR);
	fault(5);
	ok(end(&of_markers, MINOR) == -1, "a phase inside one of its kind ends no pause");
	fault(6);
	ok(end(&of_markers, MINOR) == 11, "in which faults are still timed behind it");
	begin(&of_markers, MINOR);
	ebt_fault_begin(NULL);
	time_ns += 100;
	faults_leave_out(&thread, 60);
	ebt_fault_end(NULL);
	ok(end(&of_markers, MINOR) == 40, "time without a CPU is no time of a fault");
	ebt_fault_begin(NULL);
	begin(&of_markers, MINOR);
	faults_leave_out(&thread, 60);
	ebt_fault_end(NULL);
	ok(end(&of_markers, MINOR) == 0, "nor does a fault begin with it");
	begin(&of_markers, MINOR);
	fault_fails();
	ok(end(&of_markers, MINOR) == 0, "a fault that fails has no time");
	begin(&of_markers, MINOR);
	fault(9);
	ok(end(&of_markers, MINOR) == 9, "and the next pause's faults none of its");
	begin(&of_markers, MINOR);
	fault_fails();
	end(&of_markers, MINOR);
	fault(3);
	begin(&of_markers, MINOR);
	ebt_fault_end(NULL);
	ok(end(&of_markers, MINOR) == 0,
	   "one that failed in a pause does not end in a later pause");
}

static void check_both(void)
{
	begin(&of_ocaml, MAJOR);
	begin(&of_markers, MINOR);
	fault(10);
	ok(end(&of_markers, MINOR) == 10, "a pause of markers inside one of OCaml has its faults");
	fault(20);
	ok(end(&of_ocaml, MAJOR) == 30, "and the outer one those behind it, too");
	clock_reads = 0;
	begin(&of_ocaml, MAJOR);
	pause_drop(&of_ocaml, &thread);
	pause_drop(&of_ocaml, &thread);
	fault(10);
	is(clock_reads, 0, "behind a pause of which the end will not be seen no clock is read");
	begin(&of_ocaml, MAJOR);
	fault(10);
	ok(end(&of_ocaml, MAJOR) == 10, "and the next pause is timed");
}

int main(void)
{
	ebt_faults_on = 1;
	check_outside();
	check_inside();
	check_both();
	ebt_faults_on = 0;
	begin(&of_markers, MINOR);
	struct ebt_pause_counts u;
	pause_end(&of_markers, MINOR, &thread);
	pause_of(&u, &of_markers, &thread);
	ok(u.fault_ns == EBT_PAUSE_UNKNOWN, "where faults are not timed that is said");
	return tap_done();
}
