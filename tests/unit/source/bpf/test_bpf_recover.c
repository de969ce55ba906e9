// SPDX-License-Identifier: BSD-2-Clause
/* What is found again behind records that were dropped, by the kernel's map and queue of slots,
 * which are made here. */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "source/bpf/recover.h"
#include "tests/tap.h"

#define SLOTS 16

/* The kernel's side. */
static struct {
	pid_t pid[SLOTS]; /* by entry of the map; 0: none */
	uint32_t slot[SLOTS];
	uint32_t queue[SLOTS], queued;
	struct ebt_dropped dropped;
} kernel;

static int entry_of(pid_t pid)
{
	for (int i = 0; i < SLOTS; i++)
		if (kernel.pid[i] == pid)
			return i;
	return -1;
}

/* In place of those of kernel.c. */
bool bpf_kernel_find(const struct bpf_kernel *k, pid_t pid, uint32_t *ret_slot)
{
	int i = entry_of(pid);
	(void)k;
	*ret_slot = i < 0 ? 0 : kernel.slot[i];
	return i >= 0;
}

bool bpf_kernel_next(const struct bpf_kernel *k, uint32_t *pid)
{
	(void)k;
	for (int i = *pid ? entry_of((pid_t)*pid) + 1 : 0; i < SLOTS; i++)
		if (kernel.pid[i]) {
			*pid = (uint32_t)kernel.pid[i];
			return true;
		}
	return false;
}

void bpf_kernel_remove(struct bpf_kernel *k, pid_t pid)
{
	int i = entry_of(pid);
	(void)k;
	if (i >= 0)
		kernel.pid[i] = 0;
}

bool bpf_kernel_pop_slot(struct bpf_kernel *k, uint32_t *ret_slot)
{
	(void)k;
	if (!kernel.queued)
		return false;
	*ret_slot = kernel.queue[0];
	for (uint32_t i = 1; i < kernel.queued; i++)
		kernel.queue[i - 1] = kernel.queue[i];
	kernel.queued--;
	return true;
}

int bpf_kernel_push_slot(struct bpf_kernel *k, uint32_t slot)
{
	(void)k;
	kernel.queue[kernel.queued++] = slot;
	return 0;
}

struct ebt_dropped bpf_kernel_dropped(const struct bpf_kernel *k)
{
	(void)k;
	return kernel.dropped;
}

bool bpf_kernel_sees_exits(const struct bpf_kernel *k)
{
	(void)k;
	return true;
}

static struct processes registry;
static struct bpf_traced traced;
static struct bpf_lanes lanes;
static struct bpf_losses losses;
static struct bpf_recover recover;

static void put_entry(pid_t pid, uint32_t slot)
{
	int i = entry_of(0);
	kernel.pid[i] = pid;
	kernel.slot[i] = slot;
}

static void begin(void)
{
	memset(&kernel, 0, sizeof(kernel));
	if (bpf_lanes_init(&lanes))
		abort();
	bpf_traced_init(&traced, &(struct bpf_traced_options){.processes = &registry},
			&(struct bpf_scanner){0});
	bpf_losses_init(&losses, &lanes, &traced, 0);
	bpf_losses_begin_poll(&losses, 1000);
	bpf_recover_init(&recover, 10);
}

static void finish(void)
{
	bpf_traced_done(&traced);
	bpf_lanes_done(&lanes);
}

static struct bpf_process *trace(pid_t pid)
{
	uint32_t process;
	int slot = bpf_traced_reserve_slot(&traced);
	if (slot < 0 || processes_of(&registry, (uint32_t)pid, &process))
		abort();
	put_entry(pid, (uint32_t)slot);
	return bpf_traced_add(&traced, (uint32_t)slot, pid, process);
}

/* A process that has ended, with a pid that is not used again soon. */
static pid_t ended(void)
{
	pid_t pid = fork();
	if (!pid)
		_exit(0);
	waitpid(pid, NULL, 0);
	return pid;
}

static void test_late(void)
{
	begin();
	struct bpf_process *gone = trace(ended()), *lives = trace(getpid());
	struct bpf_process *other = trace(ended()), *mapped = trace(ended());
	struct bpf_process *is_known = trace(ended());
	gone->unmapped = lives->unmapped = other->unmapped = is_known->unmapped = true;
	/* The number is another process's by now, which has another slot. */
	kernel.slot[entry_of(other->pid)] = SLOTS - 1;
	kernel.pid[entry_of(is_known->pid)] = 0;
	bpf_recover_late(NULL, &traced, 100);
	ok(gone->ended && entry_of(gone->pid) < 0,
	   "a process that has ended is, if no record of it came");
	ok(!lives->ended && entry_of(lives->pid) >= 0, "one that lives is not");
	ok(!other->ended && entry_of(other->pid) >= 0,
	   "a number that is another process's by now stays in the map");
	ok(!mapped->ended, "one that has not left its memory is not looked at");
	ok(!is_known->ended, "the record of one that is not in the map is on its way");
	finish();
}

static void test_dropped(void)
{
	begin();
	struct bpf_process *gone = trace(ended());
	kernel.pid[entry_of(gone->pid)] = 0;
	put_entry(getpid(), (uint32_t)bpf_traced_reserve_slot(&traced));
	bpf_recover(&recover, NULL, &traced, &losses, 100);
	ok(!gone->ended && !bpf_traced_find(&traced, getpid()),
	   "where nothing was dropped nothing is looked for");
	kernel.dropped.control = 1;
	bpf_recover(&recover, NULL, &traced, &losses, 200);
	ok(gone->ended, "behind a dropped record an exit is found");
	ok(bpf_traced_find(&traced, getpid()), "and a child that the map has");
	finish();
}

static const char *loss_text(void)
{
	static char text[64];
	struct ebt_event ev;
	*text = 0;
	if (bpf_lanes_read(&lanes, 0, UINT64_MAX, &ev, 1))
		snprintf(text, sizeof(text), "%llu-%llu", (unsigned long long)EBT_LOST_SINCE(&ev),
			 (unsigned long long)ev.ts);
	return text;
}

static void test_children(void)
{
	begin();
	kernel.dropped.children = 2;
	bpf_recover(&recover, NULL, &traced, &losses, 100);
	is_str(loss_text(), "10-1000", "children without a slot are lost since the begin");
	bpf_recover(&recover, NULL, &traced, &losses, 200);
	is_str(loss_text(), "", "once");
	kernel.dropped.children = 3;
	bpf_recover(&recover, NULL, &traced, &losses, 300);
	is_str(loss_text(), "200-1000", "later ones since the look before");
	finish();
}

int main(void)
{
	test_late();
	test_dropped();
	test_children();
	processes_done(&registry);
	return tap_done();
}
