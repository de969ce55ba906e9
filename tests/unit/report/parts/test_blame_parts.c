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

int main(void)
{
	test_calls();
	test_blocks();
	test_names();
	return tap_done();
}
