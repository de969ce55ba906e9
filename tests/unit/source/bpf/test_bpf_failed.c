// SPDX-License-Identifier: BSD-2-Clause
/*
 * Processes whose probes cannot be put in place, for want of a descriptor or because they end or
 * execute another program meanwhile: what they do is reported as not watched, once.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "proc/memory_reader.h"
#include "runtime/inspect.h"
#include "source/bpf/exec_holder.h"
#include "source/bpf/plan.h"
#include "source/bpf/traced.h"
#include "tests/tap.h"

static const struct probe_plan usual;

static struct processes registry;
static uint32_t reports;
static uint64_t reported_since, reported_until;

static void unwatched(void *ctx, uint32_t process, uint64_t since_ns, uint64_t until_ns)
{
	(void)ctx;
	(void)process;
	reports++;
	reported_since = since_ns;
	reported_until = until_ns;
}

static uint32_t requests;
static struct process_event requested; /* last */

static void report(void *ctx, const struct process_event *e)
{
	(void)ctx;
	requests += e->kind == PROCESS_RING_NEEDED;
	requested = e->kind == PROCESS_RING_NEEDED ? *e : requested;
}

static int answer; /* of an attempt to attach; 0: a link */
static int attempts;

static int attach(void *ctx, const struct link_spec *spec)
{
	(void)ctx;
	(void)spec;
	attempts++;
	return answer ? answer : open("/dev/null", O_RDONLY | O_CLOEXEC);
}

/* A program with markers, which waits for a line. */
static pid_t start(void)
{
	const char *o = getenv("O");
	char path[256], byte;
	int ready[2];
	snprintf(path, sizeof(path), "%s/tests/prog/minigc", o ? o : "build");
	if (pipe(ready))
		abort();
	pid_t pid = fork();
	if (!pid) {
		int in[2];
		if (pipe(in))
			_exit(1);
		dup2(in[0], STDIN_FILENO);
		dup2(ready[1], STDERR_FILENO);
		execl(path, path, "-q", "-w", "-c", "/dev/null", NULL);
		_exit(127);
	}
	close(ready[1]);
	bool has_begun = read(ready[0], &byte, 1) == 1;
	close(ready[0]);
	return has_begun ? pid : -1;
}

static struct bpf_process *begin_with(struct bpf_traced *t, pid_t pid,
				      const struct bpf_traced_options *opt,
				      const struct probe_plan *plan)
{
	bpf_traced_init(t, opt,
			&(struct bpf_scanner){.inspect = inspect_new(),
					      .links = {.attach = attach},
					      .env = {.plan = plan}});
	reports = requests = 0;
	attempts = 0;
	uint32_t process;
	int slot = bpf_traced_reserve_slot(t);
	if (slot < 0 || processes_of(&registry, (uint32_t)pid, &process))
		abort();
	struct bpf_process *proc = bpf_traced_add(t, (uint32_t)slot, pid, process);
	if (!proc)
		abort();
	return proc;
}

static struct bpf_process *begin(struct bpf_traced *t, pid_t pid)
{
	const struct bpf_traced_options opt = {
		.processes = &registry, .unwatched = unwatched, .report = report};
	return begin_with(t, pid, &opt, &usual);
}

/* As the engine does: what the process has mapped by now, and another mapping. */
static int scan_with(struct bpf_traced *t, struct bpf_process *proc, const struct maps_entry *more)
{
	struct maps_list maps;
	uint64_t read_ns = now_ns();
	memory_reader_list(NULL, proc->pid, MAPS_TRACED, &maps);
	if (more) {
		size_t bytes = (maps.count + 1) * sizeof(*maps.entry);
		struct maps_entry *entry = realloc(maps.entry, bytes);
		if (!entry)
			abort();
		entry[maps.count++] = *more;
		maps.entry = entry;
	}
	int n = bpf_traced_scan(t, proc, &maps, read_ns);
	maps_list_done(&maps);
	return n;
}

static int scan_now(struct bpf_traced *t, struct bpf_process *proc)
{
	return scan_with(t, proc, NULL);
}

static void finish(struct bpf_traced *t)
{
	struct inspect *in = t->by.inspect;
	bpf_traced_done(t);
	inspect_free(in);
}

static void test_ended(pid_t pid)
{
	struct bpf_traced t;
	struct bpf_process *proc = begin(&t, pid);
	answer = -ESRCH;
	bpf_traced_fork(&t, proc, NULL, 1000);
	is(scan_now(&t, proc), -ESRCH, "a process ends while it is attached to");
	is(reports, 0, "until its end is known nothing is reported");
	is(scan_now(&t, proc), 0, "another scan");
	is(attempts, 1, "makes no second attempt");
	uint64_t before = now_ns();
	bpf_traced_end(&t, proc);
	ok(reports == 1 && reported_since == 1000 && reported_until >= before,
	   "at its end all its life is reported as not watched");
	finish(&t);
	is(reports, 1, "once");
}

static void test_exec(pid_t pid)
{
	struct bpf_traced t;
	uint64_t began = now_ns();
	struct bpf_process *proc = begin(&t, pid);
	answer = -EPERM;
	uint64_t before = now_ns();
	scan_now(&t, proc);
	uint64_t exec_ns = now_ns();
	bpf_traced_exec(&t, proc, exec_ns, &(struct bpf_program){.dev = 1, .inode = 1});
	ok(reports == 1 && reported_since <= before && reported_since >= began &&
		   reported_until == exec_ns,
	   "of a process that ran before it was attached to, from then to its next program");
	answer = 0;
	ok(scan_now(&t, proc) > 0, "in which it is probed");
	is(reports, 2, "and what that did before");
	ok(reported_since == exec_ns, "since it began");
	finish(&t);
	is(reports, 2, "is all that was missed");
}

/* Since when a child of a probed process was not watched that called exec; 0: it was. */
static uint64_t child_of(struct bpf_traced *t, const struct bpf_process *parent, bool scan)
{
	uint32_t process;
	int slot = bpf_traced_reserve_slot(t);
	pid_t pid = getpid();
	if (slot < 0 || processes_of(&registry, (uint32_t)pid, &process))
		abort();
	struct bpf_process *child = bpf_traced_add(t, (uint32_t)slot, pid, process);
	if (!child)
		abort();
	reported_since = 0;
	bpf_traced_fork(t, child, parent, 1000);
	if (scan)
		scan_now(t, child);
	bpf_traced_exec(t, child, 2000, &(struct bpf_program){.dev = 1, .inode = 1});
	uint64_t since = reported_since;
	bpf_traced_end(t, child);
	return since;
}

static void test_child(pid_t pid)
{
	struct bpf_traced t;
	struct bpf_process *proc = begin(&t, pid);
	answer = 0;
	log_level = LOG_QUIET; /* what its children execute is not known */
	is(child_of(&t, proc, false), 0,
	   "of a child of a process without probes nothing is missed");
	ok(scan_now(&t, proc) > 0, "of one that is probed");
	is(child_of(&t, proc, false), 1000, "what a child did until its exec");
	is(reported_until, 2000, "and no longer");
	is(child_of(&t, proc, true), 0, "unless it was scanned before");
	finish(&t);
	log_level = LOG_NORMAL;
}

static void test_starved(pid_t pid)
{
	struct bpf_traced t;
	struct bpf_process *proc = begin(&t, pid);
	answer = -EMFILE;
	bpf_traced_fork(&t, proc, NULL, 1000);
	is(scan_now(&t, proc), -EMFILE, "no descriptor is left");
	is(scan_now(&t, proc), -EMFILE, "nor at the next scan");
	is(reports, 0, "what is missed is not known yet");
	answer = 0;
	ok(scan_now(&t, proc) > 0, "then there is one");
	ok(reports == 1 && reported_since == 1000,
	   "and what was missed is reported, from the beginning");
	finish(&t);
	is(reports, 1, "once");

	proc = begin(&t, pid);
	bpf_traced_fork(&t, proc, NULL, 2000);
	int null = open("/dev/null", O_RDONLY), last = null;
	for (int fd = null; fd >= 0; fd = dup(null))
		last = fd;
	/* For the mappings, but for none of the files. */
	close(last);
	is(scan_now(&t, proc), -EMFILE, "no file of the process can be opened");
	bpf_traced_end(&t, proc);
	for (int fd = null; fd < last; fd++)
		close(fd);
	ok(reports == 1 && reported_since == 2000,
	   "it may have had something to probe: not watched");
	finish(&t);
}

static int open_descriptors(void)
{
	int n = 0;
	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* How many a process takes beside those of its links; *ret: its sites. */
static int taken(pid_t pid, const struct probe_plan *plan, int *ret)
{
	const struct bpf_traced_options opt = {.processes = &registry};
	struct bpf_traced t;
	struct bpf_process *proc = begin_with(&t, pid, &opt, plan);
	int before = open_descriptors();
	answer = 0;
	*ret = scan_now(&t, proc);
	int n = open_descriptors() - before - attempts;
	finish(&t);
	return n;
}

/* A program has markers, but the run asks for none. */
static void test_nothing_wanted(pid_t pid)
{
	static const struct probe_plan nothing = {.yield = PROBE_NOTHING};
	int all, none, of_all = taken(pid, &usual, &all), of_none = taken(pid, &nothing, &none);
	ok(all > 0 && !none, "a program is probed, or nothing of it is wanted");
	is(of_none, of_all, "no more is kept open for it then");
}

/* A scan can find the next program before its exec is known. */
static void test_early_scan(pid_t pid)
{
	struct bpf_traced t;
	struct stat st;
	char path[32];
	struct bpf_process *proc = begin(&t, pid);
	answer = 0;
	bpf_traced_fork(&t, proc, NULL, 1000);
	ok(scan_now(&t, proc) > 0 && reports == 1 && reported_since == 1000,
	   "a scan reports what was missed before it");
	uint64_t scanned_ns = reported_until;
	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	if (stat(path, &st))
		abort();
	bpf_traced_exec(&t, proc, 2000,
			&(struct bpf_program){.dev = st.st_dev, .inode = st.st_ino});
	bpf_traced_end(&t, proc);
	ok(reports == 2 && reported_since == scanned_ns && reported_until > scanned_ns,
	   "of an exec before it only what comes behind it is reported");
	finish(&t);
}

/* With a ring nothing is missed, if that is read. */
static void test_ring(pid_t pid)
{
	static const struct maps_entry ring = {
		.read = true, .write = true, .shared = true, .path = "/tmp/7.events"};
	struct bpf_traced t;
	struct bpf_process *proc = begin(&t, pid);
	answer = 0;
	bpf_traced_fork(&t, proc, NULL, 1000);
	ok(scan_now(&t, proc) > 0 && reports == 1 && !requests,
	   "a process without a ring is not asked for it");
	finish(&t);
	proc = begin(&t, pid);
	bpf_traced_fork(&t, proc, NULL, 1000);
	ok(scan_with(&t, proc, &ring) > 0 && requests == 1 && !reports,
	   "of one with a ring that is needed, and nothing was missed");
	ok(requested.pid == pid && requested.by_bpf && !requested.ts,
	   "the ring is that of the process, and of no certain time");
	ok(!scan_with(&t, proc, &ring) && requests == 1, "it is asked for once");
	finish(&t);
}

/* What a stopped process misses ends when it was stopped. */
static void test_held(pid_t pid)
{
	long page = sysconf(_SC_PAGESIZE);
	/* A buffer of the kernel in which there is no notice. */
	int notices = memfd_create("notices", MFD_CLOEXEC);
	if (notices < 0 || ftruncate(notices, 4 * page))
		abort();
	struct bpf_traced t;
	const struct bpf_traced_options opt = {
		.processes = &registry, .unwatched = unwatched, .notices = notices};
	struct bpf_process *proc = begin_with(&t, pid, &opt, &usual);
	bpf_traced_fork(&t, proc, NULL, 1000);
	answer = 0;
	ok(t.holder && exec_holder_hold(t.holder, pid), "a process is held");
	uint64_t held_ns = exec_holder_since(t.holder, pid);
	ok(scan_now(&t, proc) > 0 && reports == 1 && reported_since == 1000,
	   "the scan of it reports what it has missed");
	/* It may have been let go, as after a second. */
	ok(reported_until == held_ns || exec_holder_since(t.holder, pid) != held_ns,
	   "until it was held");
	exec_holder_release(t.holder, pid, UINT64_MAX);
	finish(&t);
	close(notices);
}

int main(void)
{
	struct rlimit few = {64, 64};
	if (processes_init(&registry, NULL) || setrlimit(RLIMIT_NOFILE, &few))
		return 1;
	pid_t pid = start();
	ok(pid > 0, "there is a process with something to probe");
	test_ended(pid);
	test_exec(pid);
	test_child(pid);
	test_starved(pid);
	test_nothing_wanted(pid);
	test_early_scan(pid);
	test_ring(pid);
	if (!geteuid())
		test_held(pid);
	else
		diag("no process is held: that needs root");
	kill_child(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	processes_done(&registry);
	return tap_done();
}
