/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A disk without room: the program lives on with its own result, what fits is recorded, the rest
 * is counted. Each part runs in a tmpfs of its own; RINGDUMP_PART says which part it is.
 */
#include <pthread.h>
#include <stdbool.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <ebtrace/probes.h>

#include "tests/tap.h"
#include "tests/unit/ringdump.h"
#include "tests/unit/seccomp.h"

#define THREADS	   6
#define EVENTS	   100
#define NAMES	   300
#define RING_BYTES 32768 /* EBTRACE_LOG_WSIZE=12 */

static struct dump_event ev[4096];

/* A process of this part, in a tmpfs of this size; its status. */
static pid_t spawn(const char *part, const char *size, bool old_kernel)
{
	static const char command[] =
		"mkdir -p $EBTRACE_DIR/$RINGDUMP_PART.$RINGDUMP_SIZE && exec unshare -m sh -c '"
		"export EBTRACE_DIR=$EBTRACE_DIR/$RINGDUMP_PART.$RINGDUMP_SIZE && "
		"mount -t tmpfs -o size=$RINGDUMP_SIZE none $EBTRACE_DIR && exec $RINGDUMP_SELF'";
	pid_t self = getpid(), pid = fork();
	if (pid)
		return pid;
	char exe[64];
	snprintf(exe, sizeof(exe), "/proc/%d/exe", self);
	setenv("RINGDUMP_SELF", exe, 1);
	setenv("RINGDUMP_SIZE", size, 1);
	setenv("RINGDUMP_PART", part, 1);
	if (old_kernel)
		setenv("RINGDUMP_OLD", "1", 1);
	execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(127);
}

static int wait_for(pid_t pid)
{
	int status = -1;
	waitpid(pid, &status, 0);
	return status;
}

static int run(const char *part, const char *size, bool old_kernel)
{
	return wait_for(spawn(part, size, old_kernel));
}

static pthread_barrier_t all_in, all_out;
static void *worker(void *arg)
{
	int *ids = arg;
	for (int i = 0; i < EVENTS; i++)
		ebt_unit(ids[i % NAMES]);
	pthread_barrier_wait(&all_in); /* so that each needs a ring of its own */
	pthread_barrier_wait(&all_out);
	return NULL;
}

static uint64_t ringless(const struct dump *d)
{
	return *(const uint64_t *)(const void *)(dump_ext(d) + 56 + 40 + 128 + 16);
}

/* What was recorded reads back well; returns how many user events, and rings in *ret_rings. */
static int recorded(const struct dump *d, unsigned *ret_rings)
{
	int units = 0;
	*ret_rings = 0;
	for (unsigned r = 0; r < THREADS + 1; r++) {
		int n = dump_ring(d, r, ev, 4096);
		if (n < 0)
			return -1;
		*ret_rings += n > 0;
		for (int i = 0; i < n; i++)
			units += ev[i].user;
	}
	return units;
}

/* Prints its result as a program does; status 0: all right, and recorded; 3: without a ring. */
static int use_everything(void)
{
	pthread_t thread[THREADS];
	static int ids[NAMES];
	char name[64];
	struct dump d;
	unsigned rings;

	/* Every other size knows no name before the start. */
	int before = atoi(getenv("RINGDUMP_SIZE")) % 8 ? 0 : NAMES / 2;
	for (int i = 0; i < before; i++) {
		snprintf(name, sizeof(name), "before.%d", i);
		ids[i] = ebt_register(name, EBT_USER_UNIT);
	}
	bool on = !ebt_start();
	for (int i = before; i < NAMES; i++) {
		snprintf(name, sizeof(name), "behind.%d", i);
		ids[i] = ebt_register(name, EBT_USER_UNIT);
	}
	ebt_runtime_name("no room");
	pthread_barrier_init(&all_in, NULL, THREADS + 1);
	pthread_barrier_init(&all_out, NULL, THREADS + 1);
	for (int i = 0; i < THREADS; i++)
		if (pthread_create(&thread[i], NULL, worker, ids))
			return 1;
	pthread_barrier_wait(&all_in);
	pthread_barrier_wait(&all_out);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	if (!on)
		return ebt_ring_path() ? 2 : 3;
	if (!dump_open(&d, ebt_ring_path()))
		return 4;
	int units = recorded(&d, &rings);
	if (units < 0 || (uint64_t)units + ringless(&d) < THREADS * EVENTS)
		return 5;
	/* a thread that found no ring may have had lifecycle events of its own */
	return ebt_stop() || rings > THREADS + 1 ? 6 : 0;
}

/* From nothing at all to room for everything, at first page by page. */
static void test_sizes(bool old_kernel)
{
	unsigned died = 0, wrong = 0, with = 0, without = 0;
	for (int kib = 4; kib < 400;) {
		pid_t pid[3];
		for (int i = 0; i < 3; i++) {
			char size[16];
			snprintf(size, sizeof(size), "%dk", kib);
			kib += kib < 64 ? 4 : 16;
			pid[i] = spawn("use", size, old_kernel);
		}
		for (int i = 0; i < 3; i++) {
			int status = wait_for(pid[i]);
			died += WIFSIGNALED(status) || WEXITSTATUS(status) > 100;
			with += !status;
			without += WEXITSTATUS(status) == 3;
			wrong += status && WEXITSTATUS(status) != 3;
		}
	}
	const char *kernel = old_kernel ? "an old kernel" : "this kernel";
	if (!ok(!died, "on %s no program dies, however small its disk", kernel))
		diag("%u died", died);
	ok(!wrong, "on %s every event is recorded, or counted as without a ring", kernel);
	ok(with > 10 && without > 1, "on %s some have no room for a file, and most have", kernel);
}

static uint64_t room(void)
{
	struct statvfs st;
	return statvfs(getenv("EBTRACE_DIR"), &st) ? 0 : (uint64_t)st.f_bavail * st.f_bsize;
}

/* The disk fills up behind the start. */
static int fill_up(void)
{
	pthread_t thread;
	static char block[4096];
	static int ids[NAMES];
	char path[300];
	struct dump d;

	pthread_barrier_init(&all_in, NULL, 2);
	pthread_barrier_init(&all_out, NULL, 2);
	ids[0] = ebt_register("first", EBT_USER_UNIT);
	for (int i = 1; i < NAMES; i++)
		ids[i] = ids[0];
	if (ebt_start() || !dump_open(&d, ebt_ring_path()))
		return 1;
	snprintf(path, sizeof(path), "%s/filler", getenv("EBTRACE_DIR"));
	int fd = open(path, O_WRONLY | O_CREAT, 0600);
	while (room() > 2 * 4096 + RING_BYTES / 2 && write(fd, block, 4096) == 4096)
		;
	uint64_t before = room();
	pthread_create(&thread, NULL, worker, ids);
	pthread_barrier_wait(&all_in);
	uint64_t after = room();
	bool counted = ringless(&d) == EVENTS;
	pthread_barrier_wait(&all_out);
	pthread_join(thread, NULL);
	while (write(fd, block, 4096) == 4096)
		;
	for (int i = 0; i < NAMES; i++) { /* more pages of names than there are */
		char name[64];
		snprintf(name, sizeof(name), "full.%d", i);
		ebt_register(name, EBT_USER_UNIT);
	}
	for (int i = 0; i < 10000; i++) /* around the ring that is there */
		ebt_unit(ids[0]);
	if (!counted || after + 2 * 4096 < before || dump_ring(&d, 0, ev, 4096) < 1000)
		return !counted ? 2 : after + 2 * 4096 < before ? 3 : 4;
	if (unlink(path) || close(fd))
		return 5;
	pthread_create(&thread, NULL, worker, ids);
	pthread_barrier_wait(&all_in);
	pthread_barrier_wait(&all_out);
	pthread_join(thread, NULL);
	return dump_ring(&d, 1, ev, 4096) >= EVENTS ? 0 : 6;
}

/* One thread, two names: its ring, and a few pages. */
static int use_little(void)
{
	struct stat st;
	int id = ebt_register("one", EBT_USER_UNIT);
	if (ebt_start() || ebt_register("two", EBT_USER_UNIT) < 0)
		return 1;
	ebt_unit(id);
	if (stat(ebt_ring_path(), &st))
		return 2;
	return (uint64_t)st.st_blocks * 512 > RING_BYTES + 14 * 4096 ? 3 : 0;
}

/* Neither MADV_POPULATE_WRITE nor fallocate(): errors where the file itself is written. */
static bool be_old(void)
{
	static const int calls[] = {SYS_madvise, SYS_fallocate, -1};
	return seccomp_enter(calls, SECCOMP_RET_ERRNO | 38 /* ENOSYS */, SECCOMP_RET_ALLOW);
}

static int run_part(const char *part)
{
	if (getenv("RINGDUMP_OLD") && !be_old())
		return 99;
	if (!strcmp(part, "fill"))
		return fill_up();
	return strcmp(part, "use") ? use_little() : use_everything();
}

int main(int argc, char **argv)
{
	(void)argc;
	if (getenv("RINGDUMP_PART"))
		return run_part(getenv("RINGDUMP_PART"));
	if (geteuid())
		return skip_all("needs root");
	dump_rerun(argv, (const char *[]){"EBTRACE_LOG_WSIZE=12", "EBTRACE_MAX_DOMAINS=16", NULL});
	test_sizes(false);
	test_sizes(true);
	is(run("fill", "200k", false), 0,
	   "a disk that fills up later: rings go on, new threads are counted, and take no room");
	is(run("little", "300k", false), 0, "what nobody uses takes no room");
	dump_clean();
	return tap_done();
}
