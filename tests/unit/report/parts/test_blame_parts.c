/* SPDX-License-Identifier: BSD-2-Clause */
/* Which part a blocked system call is, each by its own name. */
#include "report/parts/blame_parts.h"

#include <sys/syscall.h>

#include "tests/tap.h"

#define CALL(name, part)                \
	{                               \
		SYS_##name, #name, part \
	}
static const struct {
	long number;
	const char *name;
	enum blame_part part;
} calls[] = {
	CALL(futex, BLAME_FUTEX),      CALL(futex_waitv, BLAME_FUTEX),
	CALL(read, BLAME_IO),	       CALL(write, BLAME_IO),
	CALL(pread64, BLAME_IO),       CALL(pwrite64, BLAME_IO),
	CALL(readv, BLAME_IO),	       CALL(writev, BLAME_IO),
	CALL(preadv, BLAME_IO),	       CALL(pwritev, BLAME_IO),
	CALL(fsync, BLAME_IO),	       CALL(fdatasync, BLAME_IO),
	CALL(sync, BLAME_IO),	       CALL(syncfs, BLAME_IO),
	CALL(msync, BLAME_IO),	       CALL(sync_file_range, BLAME_IO),
	CALL(sendfile, BLAME_IO),      CALL(splice, BLAME_IO),
	CALL(recvfrom, BLAME_IO),      CALL(recvmsg, BLAME_IO),
	CALL(sendto, BLAME_IO),	       CALL(sendmsg, BLAME_IO),
	CALL(accept4, BLAME_IO),       CALL(io_getevents, BLAME_IO),
	CALL(ppoll, BLAME_IO),	       CALL(pselect6, BLAME_IO),
	CALL(epoll_pwait, BLAME_IO),   CALL(io_uring_enter, BLAME_IO),
	CALL(openat, BLAME_IO),
#ifdef SYS_poll
	CALL(poll, BLAME_IO),	       CALL(select, BLAME_IO),
	CALL(epoll_wait, BLAME_IO),    CALL(accept, BLAME_IO),
	CALL(open, BLAME_IO),
#endif
	CALL(mmap, BLAME_MEMORY),      CALL(munmap, BLAME_MEMORY),
	CALL(mremap, BLAME_MEMORY),    CALL(mprotect, BLAME_MEMORY),
	CALL(madvise, BLAME_MEMORY),   CALL(brk, BLAME_MEMORY),
	CALL(mlock, BLAME_MEMORY),     CALL(munlock, BLAME_MEMORY),
	CALL(nanosleep, BLAME_SLEEP),  CALL(clock_nanosleep, BLAME_SLEEP),
	CALL(sched_yield, BLAME_CALL), CALL(wait4, BLAME_CALL),
	CALL(waitid, BLAME_CALL),      CALL(membarrier, BLAME_CALL),
};
#define CALLS (sizeof(calls) / sizeof(*calls))

static void test_calls(void)
{
	for (size_t i = 0; i < CALLS; i++) {
		const char *name = blame_call_name(calls[i].number);
		ok(name && !strcmp(name, calls[i].name) &&
			   blame_part_of_call(calls[i].number) == calls[i].part,
		   "%s is %s", calls[i].name, blame_part_text(calls[i].part));
	}
	/* Each number of a processor, and some that are none. */
	unsigned named = 0, sorted = 0;
	for (long number = -1; number < 1000; number++) {
		named += blame_call_name(number) != NULL;
		sorted += blame_part_of_call(number) != BLAME_CALL;
	}
	ok(named == CALLS && sorted == CALLS - 4,
	   "and no other call has a name or a part of its own");
}

static void test_blocks(void)
{
	static const struct {
		uint32_t reason;
		long call;
		enum blame_part part;
		const char *name;
	} rows[] = {
		{EBT_OFFCPU_SLEEP, SYS_futex, BLAME_FUTEX, "a sleep in futex()"},
		{EBT_OFFCPU_SLEEP, SYS_read, BLAME_IO, "one in read()"},
		{EBT_OFFCPU_SLEEP, SYS_membarrier, BLAME_CALL, "one in another call"},
		{EBT_OFFCPU_SLEEP, BLAME_NO_CALL, BLAME_FAULT, "one in no call"},
		{EBT_OFFCPU_IOWAIT, SYS_madvise, BLAME_IO, "a wait for a device in any call"},
		{EBT_OFFCPU_STOPPED, SYS_read, BLAME_STOPPED, "a stop"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		is(blame_part_of_block(rows[i].reason, (int32_t)rows[i].call), rows[i].part,
		   rows[i].name);
}

static void test_names(void)
{
	static const char *const keys[] = {
		"cpu",	  "page_fault_cpu", "run_queue",  "domain",	"futex",   "io",
		"memory", "sleep",	    "other_call", "page_fault", "stopped", "unknown"};
	for (unsigned i = 0; i < BLAME_PARTS; i++)
		is_str(blame_part_key(i), keys[i], "a part has the key of all outputs");
	ok(!blame_part_key(BLAME_PARTS) && !blame_part_text(BLAME_PARTS), "there is no other");
}

/* What the kernel counts of a pause corrects the parts that intervals have. In microseconds:
 * those of the CPU, waiting, another domain and unknown, and the longest interval. */
static const struct {
	const char *name;
	uint64_t had[4], longest, delay, voluntary, faults, want[5];
} corrected[] = {
	{"nothing is known",
	 {50, 0, 0, 9},
	 0,
	 PAUSE_UNKNOWN,
	 PAUSE_UNKNOWN,
	 PAUSE_UNKNOWN,
	 {50, 0, 0, 9, 0}},
	{"a wait that no interval has was not on the CPU",
	 {50, 0, 0, 0},
	 0,
	 7,
	 0,
	 PAUSE_UNKNOWN,
	 {43, 7, 0, 0, 0}},
	{"it was rather in what is not known",
	 {50, 2, 0, 4},
	 2,
	 7,
	 1,
	 PAUSE_UNKNOWN,
	 {49, 7, 0, 0, 0}},
	{"one that intervals have is not counted again",
	 {50, 9, 0, 0},
	 9,
	 7,
	 1,
	 PAUSE_UNKNOWN,
	 {50, 9, 0, 0, 0}},
	{"it may have been while another domain was waited for",
	 {50, 0, 5, 0},
	 0,
	 7,
	 0,
	 PAUSE_UNKNOWN,
	 {48, 2, 5, 0, 0}},
	{"what is not known was on the CPU if it has never blocked, but for that",
	 {10, 0, 5, 20},
	 0,
	 3,
	 0,
	 PAUSE_UNKNOWN,
	 {27, 0, 5, 3, 0}},
	{"a thread that has blocked, without an interval of that, did so some time",
	 {50, 0, 0, 0},
	 0,
	 0,
	 2,
	 PAUSE_UNKNOWN,
	 {0, 0, 0, 50, 0}},
	{"but not if how often it has blocked is not known",
	 {50, 0, 0, 0},
	 0,
	 0,
	 PAUSE_UNKNOWN,
	 PAUSE_UNKNOWN,
	 {50, 0, 0, 0, 0}},
	{"nor if there is one", {50, 0, 0, 0}, 1, 0, 2, PAUSE_UNKNOWN, {50, 0, 0, 0, 0}},
	{"the time of faults is of the CPU's",
	 {50, 0, 0, 0},
	 0,
	 PAUSE_UNKNOWN,
	 PAUSE_UNKNOWN,
	 8,
	 {42, 0, 0, 0, 8}},
	{"and not more than it had",
	 {50, 0, 0, 0},
	 0,
	 PAUSE_UNKNOWN,
	 PAUSE_UNKNOWN,
	 80,
	 {0, 0, 0, 0, 50}},
};

static void test_correct(void)
{
	static const enum blame_part part[] = {BLAME_CPU, BLAME_WAIT, BLAME_DOMAIN, BLAME_UNKNOWN,
					       BLAME_FAULT_CPU};
	for (size_t i = 0; i < sizeof(corrected) / sizeof(*corrected); i++) {
		struct blame_split s = {.longest.ns = corrected[i].longest};
		struct pause_counts u;
		unsigned wrong = 0;
		for (unsigned k = 0; k < PAUSE_COUNTS; k++)
			u.count[k] = 0;
		for (unsigned k = 0; k < 4; k++)
			s.ns[part[k]] = corrected[i].had[k];
		u.count[PAUSE_RUN_DELAY] = corrected[i].delay;
		u.count[PAUSE_VOLUNTARY] = corrected[i].voluntary;
		u.count[PAUSE_FAULT_NS] = corrected[i].faults;
		blame_split_correct(&s, &u);
		for (unsigned k = 0; k < 5; k++)
			wrong += s.ns[part[k]] != corrected[i].want[k];
		ok(!wrong, "%s", corrected[i].name) ||
			(diag("cpu %d wait %d domain %d unknown %d faults %d", (int)s.ns[part[0]],
			      (int)s.ns[part[1]], (int)s.ns[part[2]], (int)s.ns[part[3]],
			      (int)s.ns[part[4]]),
			 0);
	}
}

int main(void)
{
	test_correct();
	test_calls();
	test_blocks();
	test_names();
	return tap_done();
}
