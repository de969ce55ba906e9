/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/parts/blame_parts.h"

#include <ebtrace/event.h>
#include <stddef.h>
#include <sys/syscall.h>

static const struct {
	const char *key, *text;
} parts[] = {
#define X(CONSTANT, key, text) [CONSTANT] = {#key, text},
	BLAME_PARTS_LIST(X)
#undef X
};

const char *blame_part_key(unsigned part)
{
	return part < BLAME_PARTS ? parts[part].key : NULL;
}

const char *blame_part_text(unsigned part)
{
	return part < BLAME_PARTS ? parts[part].text : NULL;
}

/* A processor lacks some of them: names without a number are left out. */
static const struct {
	long number;
	enum blame_part part;
	const char *name;
} calls[] = {
#define CALL(name, part)                \
	{                               \
		SYS_##name, part, #name \
	}
	CALL(futex, BLAME_FUTEX),
#ifdef SYS_futex_waitv
	CALL(futex_waitv, BLAME_FUTEX),
#endif
	CALL(read, BLAME_IO),
	CALL(write, BLAME_IO),
	CALL(pread64, BLAME_IO),
	CALL(pwrite64, BLAME_IO),
	CALL(readv, BLAME_IO),
	CALL(writev, BLAME_IO),
	CALL(preadv, BLAME_IO),
	CALL(pwritev, BLAME_IO),
	CALL(fsync, BLAME_IO),
	CALL(fdatasync, BLAME_IO),
	CALL(sync, BLAME_IO),
	CALL(syncfs, BLAME_IO),
	CALL(msync, BLAME_IO),
	CALL(sync_file_range, BLAME_IO),
	CALL(sendfile, BLAME_IO),
	CALL(splice, BLAME_IO),
	CALL(recvfrom, BLAME_IO),
	CALL(recvmsg, BLAME_IO),
	CALL(sendto, BLAME_IO),
	CALL(sendmsg, BLAME_IO),
	CALL(accept4, BLAME_IO),
	CALL(io_getevents, BLAME_IO),
	CALL(ppoll, BLAME_IO),
	CALL(pselect6, BLAME_IO),
	CALL(epoll_pwait, BLAME_IO),
#ifdef SYS_poll
	CALL(poll, BLAME_IO),
	CALL(select, BLAME_IO),
	CALL(epoll_wait, BLAME_IO),
	CALL(accept, BLAME_IO),
	CALL(open, BLAME_IO),
#endif
#ifdef SYS_io_uring_enter
	CALL(io_uring_enter, BLAME_IO),
#endif
	CALL(openat, BLAME_IO),
	CALL(mmap, BLAME_MEMORY),
	CALL(munmap, BLAME_MEMORY),
	CALL(mremap, BLAME_MEMORY),
	CALL(mprotect, BLAME_MEMORY),
	CALL(madvise, BLAME_MEMORY),
	CALL(brk, BLAME_MEMORY),
	CALL(mlock, BLAME_MEMORY),
	CALL(munlock, BLAME_MEMORY),
	CALL(nanosleep, BLAME_SLEEP),
	CALL(clock_nanosleep, BLAME_SLEEP),
	CALL(sched_yield, BLAME_CALL),
	CALL(wait4, BLAME_CALL),
	CALL(waitid, BLAME_CALL),
	CALL(membarrier, BLAME_CALL),
#undef CALL
};
#define CALLS (sizeof(calls) / sizeof(*calls))

enum blame_part blame_part_of_call(long number)
{
	for (size_t i = 0; i < CALLS; i++)
		if (calls[i].number == number)
			return calls[i].part;
	return BLAME_CALL;
}

const char *blame_call_name(long number)
{
	for (size_t i = 0; i < CALLS; i++)
		if (calls[i].number == number)
			return calls[i].name;
	return NULL;
}

enum blame_part blame_part_of_block(uint32_t reason, int32_t syscall)
{
	switch (reason) {
	case EBT_OFFCPU_IOWAIT:
		return BLAME_IO;
	case EBT_OFFCPU_FAULT:
		return BLAME_FAULT;
	case EBT_OFFCPU_STOPPED:
		return BLAME_STOPPED;
	default:
		return syscall == BLAME_NO_CALL ? BLAME_FAULT : blame_part_of_call(syscall);
	}
}

static void move(uint64_t *from, uint64_t *to, uint64_t ns)
{
	ns = ns < *from ? ns : *from;
	*from -= ns;
	*to += ns;
}

static void correct_waits(struct blame_split *s, const struct pause_counts *u)
{
	uint64_t *ns = s->ns, delay = u->count[PAUSE_RUN_DELAY];
	uint64_t doubt = delay < ns[BLAME_DOMAIN] ? delay : ns[BLAME_DOMAIN];
	uint64_t least = delay - doubt, unknown = ns[BLAME_UNKNOWN];
	uint64_t more = least > ns[BLAME_WAIT] ? least - ns[BLAME_WAIT] : 0;
	move(&ns[BLAME_UNKNOWN], &ns[BLAME_WAIT], more);
	move(&ns[BLAME_CPU], &ns[BLAME_WAIT], more > unknown ? more - unknown : 0);
	unknown = ns[BLAME_UNKNOWN];
	if (pause_counts_never_blocked(u) && unknown > doubt)
		move(&ns[BLAME_UNKNOWN], &ns[BLAME_CPU], unknown - doubt);
	/* The thread blocked, but there is no interval of that. */
	uint64_t switches = u->count[PAUSE_VOLUNTARY];
	if (switches && switches != PAUSE_UNKNOWN && !s->longest.ns && !ns[BLAME_DOMAIN])
		move(&ns[BLAME_CPU], &ns[BLAME_UNKNOWN], ns[BLAME_CPU]);
}

void blame_split_correct(struct blame_split *s, const struct pause_counts *u)
{
	uint64_t faults = u->count[PAUSE_FAULT_NS];
	if (u->count[PAUSE_RUN_DELAY] != PAUSE_UNKNOWN)
		correct_waits(s, u);
	if (faults != PAUSE_UNKNOWN)
		move(&s->ns[BLAME_CPU], &s->ns[BLAME_FAULT_CPU], faults);
}
