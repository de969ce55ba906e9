// SPDX-License-Identifier: BSD-2-Clause
/* The programs that follow processes, bpf/process.bpf.c, as a user program with helpers of our own:
 * who is traced, which slot a child gets, and what is counted where there is no room. */
#include "tests/tap.h"
#include "tests/unit/bpf_helpers.h"
#include "tests/unit/bpf_maps.h"

struct signal_struct {
	struct {
		int counter;
	} live;
};
struct task_struct {
	int pid, tgid;
	struct task_struct *group_leader, *real_parent;
	uint64_t start_boottime;
	struct signal_struct *signal;
	void *mm;
	int64_t ahead_ns;
};
struct super_block {
	uint64_t s_dev;
};
struct inode {
	uint64_t i_ino;
	struct super_block *i_sb;
};
struct file {
	struct inode *f_inode;
};
struct vm_area_struct {
	unsigned long vm_flags;
	struct file *vm_file;
};
struct linux_binprm {
	struct file *file;
	const char *interp;
};

#define __BPF_CORE_READ_H__
#define READ_1(from, a)			    ((from)->a)
#define READ_2(from, a, b)		    ((from)->a->b)
#define READ_OF(a, b, name, ...)	    name
#define BPF_CORE_READ(from, ...)	    READ_OF(__VA_ARGS__, READ_2, READ_1)(from, __VA_ARGS__)
#define bpf_map_delete_elem(map, k)	    map_remove(map, k, sizeof(*(map)->key))
#define bpf_map_pop_elem(map, ret)	    pop_slot(ret)
#define bpf_map_push_elem(map, slot, flags) push_slot(slot)

#undef pidns_process
static uint32_t pidns_process(const struct task_struct *task)
{
	return (uint32_t)task->tgid;
}

static int64_t clock_ahead_of(const struct task_struct *task)
{
	return task->ahead_ns;
}

static uint64_t time_ns = 123456789;

static uint64_t bpf_ktime_get_ns(void)
{
	return time_ns;
}

static struct task_struct *current;

static long bpf_get_current_comm(void *to, uint32_t bytes)
{
	memcpy(to, "psql", 5);
	return bytes < 5;
}

static struct task_struct *bpf_get_current_task_btf(void)
{
	return current;
}

static long bpf_probe_read_kernel_str(void *dst, uint32_t size, const void *from)
{
	size_t n = strnlen(from, size - 1);
	memcpy(dst, from, n);
	((char *)dst)[n] = 0;
	return (long)n + 1;
}

static uint32_t free_slot[8];
static unsigned free_slots;

static long pop_slot(uint32_t *ret)
{
	if (!free_slots)
		return -2;
	*ret = free_slot[0];
	memmove(free_slot, free_slot + 1, --free_slots * sizeof(*free_slot));
	return 0;
}

static long push_slot(const uint32_t *slot)
{
	free_slot[free_slots++] = *slot;
	return 0;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wunused-function"
#define const \
	volatile /* the test sets them, where the tracer does it before it loads the programs */
#include "bpf/budget.bpf.h"
#include "bpf/slots.bpf.h"
#undef const
#include "bpf/process.bpf.c"
#pragma GCC diagnostic pop

#define OWN    60
#define PARENT 100
#define SLOT   3u

static struct signal_struct alive = {{1}}, dead = {{0}};

static struct task_struct make(int tgid)
{
	return (struct task_struct){.pid = tgid,
				    .tgid = tgid,
				    .start_boottime = 1000u * (unsigned)tgid,
				    .signal = &alive,
				    .mm = &alive,
				    .ahead_ns = tgid};
}

static uint32_t slot_of(uint32_t pid)
{
	const uint32_t *slot = bpf_map_lookup_elem(&ebt_traced, &pid);
	return slot ? *slot : EBT_NO_SLOT;
}

/* The record of what has just been called; NULL: there is none. */
static const struct ebt_process_record *record(int before)
{
	bool is_one = kernel.records == before + 1 && kernel.flags == BPF_RB_FORCE_WAKEUP;
	return is_one ? (const struct ebt_process_record *)kernel.rec : NULL;
}

static const struct ebt_process_record *fork_of(struct task_struct *parent,
						struct task_struct *child)
{
	uint64_t args[] = {(uintptr_t)parent, (uintptr_t)child};
	int before = kernel.records;
	parent->group_leader = parent;
	child->group_leader = child;
	ebt_process_fork((struct bpf_raw_tracepoint_args *)args);
	return record(before);
}

static const struct ebt_process_record *exit_of(struct task_struct *task)
{
	uint64_t args[] = {(uintptr_t)task};
	int before = kernel.records;
	task->group_leader = task;
	ebt_process_exit((struct bpf_raw_tracepoint_args *)args);
	return record(before);
}

static void test_fork(void)
{
	struct task_struct parent = make(PARENT), child = make(200), thread = make(PARENT);
	struct task_struct other = make(900), its = make(901);
	child.mm = NULL;
	thread.pid = 101;
	free_slots = 0;
	push_slot(&(uint32_t){7});
	const struct ebt_process_record *r = fork_of(&parent, &child);
	ok(r && r->head.type == EBT_RECORD_PROCESS && r->head.site == EBT_PROCESS_FORK &&
		   r->head.slot == SLOT && r->pid == PARENT && r->ts == 123456789,
	   "a child of a traced process is reported, and of which");
	ok(r && r->child_pid == 200 && r->child_slot == 7 && r->start_boot_ns == 200000 &&
		   r->clock_ahead_ns == 200 && !r->shares_memory,
	   "with its pid, its slot, its start and its clock");
	is(slot_of(200), 7, "it is traced from then on");
	ok(!fork_of(&parent, &thread), "a thread is no child");
	ok(!fork_of(&other, &its) && slot_of(901) == EBT_NO_SLOT, "others have no traced children");
	push_slot(&(uint32_t){8});
	child = make(201);
	r = fork_of(&parent, &child);
	ok(r && r->shares_memory, "a child of vfork() shares its parent's memory");
}

/* The current process, bpf_get_current_pid_tgid() of bpf_helpers.h, passes a probe. */
static void test_adopt(void)
{
	struct task_struct shell = make(50), own = make(OWN), its = make(61), task = make(77);
	uint32_t slot = 0;
	int before = kernel.records;
	uint64_t lost = ebt_dropped.nowhere;
	shell.real_parent = &shell;
	own.real_parent = &shell;
	its.real_parent = &own;
	task.group_leader = &task;
	current = &task;
	ebt_own_pid = OWN;
	free_slots = 0;
	push_slot(&(uint32_t){5});

	task.real_parent = &its;
	ok(slots_adopt(&slot) && free_slots == 1, "what the tracer has started is not traced");
	current = &own;
	ok(slots_adopt(&slot) && free_slots == 1 && slot_of(77) == EBT_NO_SLOT &&
		   ebt_dropped.nowhere == lost,
	   "nor is the tracer, and nothing is lost for that");
	current = &task;
	task.real_parent = &shell;
	ok(!slots_adopt(&slot) && slot == 5 && slot_of(77) == 5,
	   "another process is traced from then on");
	const struct ebt_process_record *r = record(before);
	ok(r && r->head.type == EBT_RECORD_PROCESS && r->head.site == EBT_PROCESS_FORK &&
		   r->head.slot == EBT_NO_SLOT && r->child_pid == 77 && r->child_slot == 5 &&
		   r->start_boot_ns == 77000 && r->clock_ahead_ns == 77 && !strcmp(r->comm, "psql"),
	   "and reported, of no parent, with its name");
	before = kernel.records;
	push_slot(&(uint32_t){6});
	ok(!slots_adopt(&slot) && slot == 5 && free_slots == 1 && free_slot[0] == 6 &&
		   kernel.records == before,
	   "a thread of it that comes at the same time has its slot");
	map_remove(&ebt_traced, &(uint32_t){77}, sizeof(uint32_t));
	free_slots = 0;
	ok(slots_adopt(&slot) && ebt_dropped.nowhere == lost + 1,
	   "where no slot is free the event is lost");
}

static void test_no_room(void)
{
	struct task_struct parent = make(PARENT), child = make(300);
	uint64_t children = ebt_dropped.children, control = ebt_dropped.control;
	free_slots = 0;
	ok(!fork_of(&parent, &child) && ebt_dropped.children == children + 1,
	   "a child for which there is no slot is counted");
	push_slot(&(uint32_t){9});
	maps_full = true;
	ok(!fork_of(&parent, &child) && ebt_dropped.children == children + 2,
	   "so is one for which the table has no room");
	maps_full = false;
	ok(free_slots == 1 && free_slot[0] == 9, "whose slot is another one's");
	kernel.full = true;
	ok(!fork_of(&parent, &child) && ebt_dropped.control == control + 1,
	   "a child that cannot be reported is counted");
	kernel.full = false;
	ok(slot_of(300) == 9 && ebt_dropped.children == children + 2, "and traced all the same");
}

static void test_exit(void)
{
	struct task_struct task = make(PARENT);
	ok(!exit_of(&task) && slot_of(PARENT) == SLOT, "the end of one thread of several is none");
	task.signal = &dead;
	const struct ebt_process_record *r = exit_of(&task);
	ok(r && r->head.site == EBT_PROCESS_EXIT && r->head.slot == SLOT && r->pid == PARENT &&
		   r->start_boot_ns == 1000 * PARENT && !r->child_pid,
	   "that of the last one is reported");
	is(slot_of(PARENT), EBT_NO_SLOT, "the process is not traced any more");
	ok(!exit_of(&task), "it ends once");
}

static const struct ebt_process_record *exec_of(struct task_struct *task, const char *path)
{
	struct super_block device = {.s_dev = 42};
	struct inode inode = {.i_ino = 4711, .i_sb = &device};
	struct file file = {&inode};
	struct linux_binprm program = {&file, path};
	uint64_t args[] = {(uintptr_t)task, 0, (uintptr_t)&program};
	int before = kernel.records;
	task->group_leader = task;
	ebt_process_exec((struct bpf_raw_tracepoint_args *)args);
	return record(before);
}

static void test_exec(void)
{
	static char path[EBT_ROOM_PATH + 1];
	struct task_struct task = make(PARENT), other = make(900);
	const struct ebt_process_record *r = exec_of(&task, "/bin/true");
	ok(r && r->head.site == EBT_PROCESS_EXEC && r->head.slot == SLOT && r->pid == PARENT &&
		   r->inode == 4711 && r->device == 42 && r->start_boot_ns == 1000 * PARENT &&
		   r->mm == (uintptr_t)task.mm && r->clock_ahead_ns == PARENT,
	   "an exec is reported with the program's file");
	ok(r && r->head.size == 10 && !strcmp((const char *)(r + 1), "/bin/true"),
	   "and its path, with the end of it");
	memset(path, 'p', EBT_ROOM_PATH - 2);
	r = exec_of(&task, path);
	is(r ? r->head.size : -1, EBT_ROOM_PATH - 1, "the longest path is whole");
	path[EBT_ROOM_PATH - 2] = 'p';
	r = exec_of(&task, path);
	is(r ? r->head.size : -1, 0, "one for which there is no room is left out");
	ok(!exec_of(&other, "/bin/true"), "an exec of others is none of ours");
}

/* Whether it is reported that the process maps this now. */
static bool maps(int pid, unsigned long flags, struct file *file)
{
	struct task_struct task = make(pid);
	struct vm_area_struct vma = {flags, file};
	uint64_t args[] = {(uintptr_t)&vma};
	int before = kernel.records;
	current = &task;
	ebt_code_mapped(args);
	const struct ebt_mapped_record *r = (const void *)kernel.rec;
	return kernel.records == before + 1 && kernel.flags == BPF_RB_NO_WAKEUP &&
	       r->head.type == EBT_RECORD_MAPPED && r->head.slot == EBT_NO_SLOT &&
	       r->pid == (uint32_t)pid && r->ts == time_ns;
}

static void test_mapped(void)
{
	enum { READ = 1, CODE = 5, MS = 1000000, SOME_MS = 5000 };
	struct file file = {NULL};
	ok(maps(900, CODE, &file), "code of a file that any process maps is reported");
	ok(!maps(901, READ, &file) && !maps(901, CODE, NULL), "data, and code of no file, are not");
	ok(!maps(900, CODE, &file) && maps(902, CODE, &file),
	   "nor is what the process maps next, but what another one does");
	time_ns += 11 * MS;
	ok(maps(900, CODE, &file), "10 ms later it is");
	time_ns += 11 * MS;
	ok(!maps(900, CODE, &file), "of one that maps code all the time 20 ms later");
	unsigned reports = 0;
	for (unsigned ms = 0; ms < SOME_MS; ms++, time_ns += MS)
		reports += maps(900, CODE, &file);
	ok(reports >= 5 && reports <= 12, "and then once a second");
	time_ns += 3000ull * MS;
	ok(maps(900, CODE, &file), "after a pause");
	time_ns += 11 * MS;
	ok(maps(900, CODE, &file), "it is as at first");
	kernel.full = true;
	ok(!maps(903, CODE, &file), "without room for a record there is none");
	kernel.full = false;
}

int main(void)
{
	const uint32_t pid = PARENT, slot = SLOT;
	bpf_map_update_elem(&ebt_traced, &pid, &slot, BPF_ANY);
	test_fork();
	test_adopt();
	test_no_room();
	test_exec();
	test_exit();
	test_mapped();
	return tap_done();
}
