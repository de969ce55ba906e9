// SPDX-License-Identifier: BSD-2-Clause
/*
 * The thread that stops programs at their exec, on notices in a file that is laid out as the
 * kernel's buffer. Such a file is always readable: the thread never sleeps here.
 */
#include "base/clock.h"
#include "bpf/abi.h"
#include "source/bpf/exec_holder.h"
#include "tests/tap.h"

#include <fcntl.h>
#include <linux/bpf.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static size_t page;
static uint8_t *notices;
static int notices_fd;

static void make_notices(void)
{
	page = (size_t)sysconf(_SC_PAGESIZE);
	notices_fd = memfd_create("notices", MFD_CLOEXEC);
	if (notices_fd < 0 || ftruncate(notices_fd, (off_t)(4 * page)))
		abort();
	notices = mmap(NULL, 4 * page, PROT_READ | PROT_WRITE, MAP_SHARED, notices_fd, 0);
	if (notices == MAP_FAILED)
		abort();
}

/* As the kernel does it; false: it has not been read in a minute. */
static bool notice(pid_t pid, uint64_t ts)
{
	_Atomic unsigned long *read_up_to = (void *)notices;
	_Atomic unsigned long *written = (void *)(notices + page);
	struct ebt_exec_notice n = {.ts = ts, .pid = (uint32_t)pid};
	unsigned long at = *written, end = at + BPF_RINGBUF_HDR_SZ + sizeof(n);
	uint8_t *data = notices + 2 * page + at % page;
	uint32_t bytes = sizeof(n);
	memcpy(data, &bytes, sizeof(bytes));
	memcpy(data + BPF_RINGBUF_HDR_SZ, &n, sizeof(n));
	*written = end;
	for (int i = 0; i < 60000 && *read_up_to != end; i++)
		usleep(1000);
	return *read_up_to == end;
}

static char state_of(pid_t pid)
{
	char path[64], state = '?';
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	FILE *f = fopen(path, "r");
	if (f && fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
		state = '?';
	if (f)
		fclose(f);
	return state;
}

static bool is_in(pid_t pid, char wanted)
{
	for (int i = 0; i < 60000 && state_of(pid) != wanted; i++)
		usleep(1000);
	return state_of(pid) == wanted;
}

static pid_t sleeper(void)
{
	pid_t pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	is_in(pid, 'S');
	return pid;
}

static void end(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static struct exec_holder *new_holder(void)
{
	struct exec_holder *h;
	if (exec_holder_new(notices_fd, page, false, &h))
		abort();
	return h;
}

static void test_asked(struct exec_holder *h)
{
	pid_t pid = sleeper();
	uint64_t before_ns = now_ns();
	is(exec_holder_since(h, pid), 0, "nothing is held at first");
	is(exec_holder_hold(h, pid), 1, "a process is held when that is asked for");
	is(is_in(pid, 't'), 1, "it is stopped");
	is(exec_holder_since(h, pid) >= before_ns, 1, "since then");
	exec_holder_release(h, pid, 0);
	is(is_in(pid, 'S'), 1, "it runs when it is released");
	is(exec_holder_since(h, pid), 0, "and is held no more");
	end(pid);
	is(exec_holder_hold(h, pid), 0, "one that has ended is not held");
}

static void test_noticed(struct exec_holder *h)
{
	pid_t pid = sleeper();
	uint64_t ts = now_ns();
	is(notice(pid, ts), 1, "a notice is read");
	is(is_in(pid, 't'), 1, "its program is stopped");
	exec_holder_release(h, pid, ts - 1);
	usleep(20000);
	is(state_of(pid), 't', "a release that is older than its exec is not of this program");
	exec_holder_release(h, pid, ts);
	is(is_in(pid, 'S'), 1, "one of the exec lets it go");
	is(notice(pid, ts), 1, "a notice may come late");
	is(exec_holder_since(h, pid), 0, "then its program is not stopped again");
	is(notice(pid, ts + 1), 1, "the next exec comes");
	is(is_in(pid, 't'), 1, "its program is stopped");
	exec_holder_release(h, pid, ts + 1);
	is(is_in(pid, 'S'), 1, "until it is released");
	end(pid);
}

static void test_verdicts(struct exec_holder *h)
{
	pid_t pid = sleeper();
	uint64_t ts = now_ns();
	int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	exec_holder_judge(h, self, false);
	notice(pid, ts);
	is(exec_holder_since(h, pid), 0, "a program with nothing to probe is not stopped");
	exec_holder_judge(h, self, true);
	notice(pid, ts + 1);
	is(is_in(pid, 't'), 1, "one with something is");
	exec_holder_release(h, pid, ts + 1);
	exec_holder_judge(h, self, false);
	exec_holder_forget(h);
	is(is_in(pid, 'S'), 1, "it is let go");
	notice(pid, ts + 2);
	is(is_in(pid, 't'), 1, "one that is not known any more is stopped");
	exec_holder_release(h, pid, ts + 2);
	is(is_in(pid, 'S'), 1, "it is let go, too");
	close(self);
	end(pid);
}

static void test_limits(struct exec_holder *h)
{
	pid_t pid = sleeper(), other = sleeper();
	exec_holder_hold(h, pid);
	is(is_in(pid, 'S'), 1, "a process that nobody releases is let go");
	is(exec_holder_hold(h, pid), 1, "it can be held again");
	kill(pid, SIGKILL);
	exec_holder_release(h, pid, 0);
	is(waitpid(pid, NULL, 0), pid, "its parent sees the end of one that is killed meanwhile");
	is(exec_holder_hold(h, other), 1, "one is held at the end");
	exec_holder_free(h);
	is(is_in(other, 'S'), 1, "the end lets it go");
	end(other);
}

int main(void)
{
	if (geteuid())
		return skip_all("needs root");
	make_notices();
	struct exec_holder *h = new_holder();
	test_asked(h);
	test_noticed(h);
	test_verdicts(h);
	test_limits(h);
	tap_keeps(1);
	tap_keeps_mapped(1);
	return tap_done();
}
