// SPDX-License-Identifier: BSD-2-Clause
/*
 * Links that a keeper holds, without the kernel's: what stands for one is a byte in a pipe when it
 * is made, and the pipe's end when the last of them has gone with its process.
 */
#include "base/ending.h"
#include "source/bpf/link_keeper.h"

#include "base/log.h"
#include "tests/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MANY   200000 /* sites: more than a socket holds */
#define REFUSE 7      /* a probe that cannot be made */

struct fake {
	int out;
	ino_t file;
};

static int make(void *ctx, const struct link_spec *spec)
{
	const struct fake *f = ctx;
	struct stat st;
	if (spec->probe == REFUSE)
		return -ENOTSUP;
	if (fstat(spec->file, &st) || st.st_ino != f->file || spec->pid != -1)
		return -EBADF;
	for (uint32_t i = 0; i < spec->sites; i++)
		if (spec->site[i].offset != i || spec->site[i].semaphore != 2 * i ||
		    spec->site[i].cookie != ~(uint64_t)i)
			return -EBADMSG;
	/* Nothing of the tracer's is open here but what was requested. */
	int open_files = 0;
	for (int fd = 3; fd < 100; fd++)
		open_files += fcntl(fd, F_GETFD) >= 0;
	struct stat null;
	if (open_files != 4 || fstat(0, &null) || write(1, "", 1) >= 0)
		return -EMFILE;
	return write(f->out, "", 1) == 1 ? 0 : -EIO;
}

static struct uprobe_site site[MANY];
static struct fake fake;
static int pipe_in;

static struct link_keeper *keeper(void)
{
	int ends[2];
	struct stat st;
	struct link_keeper *k = NULL;
	if (pipe(ends) || stat("/", &st))
		exit(1);
	fake.file = st.st_ino;
	pipe_in = ends[0];
	fake.out = ends[1];
	struct link_maker maker = {.make = make, .ctx = &fake, .fds = {-1, fake.out, -1, -1}};
	if (link_keeper_new(&maker, &k))
		exit(1);
	close(fake.out);
	return k;
}

static int attach_beside(struct link_keeper *k, uint32_t probe, uint32_t sites, int beside)
{
	int file = open("/", O_RDONLY | O_CLOEXEC);
	struct link_spec spec = {.file = file,
				 .probe = probe,
				 .pid = -1,
				 .site = site,
				 .sites = sites,
				 .beside = beside};
	int link = link_keeper_attach(k, &spec);
	close(file);
	return link;
}

static int attach(struct link_keeper *k, uint32_t probe, uint32_t sites)
{
	return attach_beside(k, probe, sites, 0);
}

/* 1: that many bytes and no end, 2: and the end. Waits for what should come. */
static int got(int bytes, bool end)
{
	char c;
	struct pollfd fd = {.fd = pipe_in, .events = POLLIN};
	for (; bytes; bytes--)
		if (poll(&fd, 1, 60000) != 1 || read(pipe_in, &c, 1) != 1)
			return 0;
	if (poll(&fd, 1, end ? 60000 : 50) == 1)
		return read(pipe_in, &c, 1) == 0 ? 2 : 0;
	return 1;
}

static void test_links(void)
{
	struct link_keeper *k = keeper();
	int one = attach(k, 0, 1), many = attach(k, 1, MANY);
	ok(one >= 0 && many >= 0, "a link of one site, and one of 200,000, are made as asked");
	ok(fcntl(one, F_GETFD) & FD_CLOEXEC, "a link is not for the programs that we start");
	is(attach(k, REFUSE, 3), -ENOTSUP, "why one cannot be made is told");
	is(attach(k, REFUSE, MANY), -ENOTSUP, "as well if there are many sites");
	is(attach(k, 0, 0), -EINVAL, "no sites, no link");
	is(got(2, false), 1, "the links stand");
	close(one);
	is(got(0, false), 1, "one is closed: the other stands");
	close(many);
	link_keeper_free(k);
	is(got(0, false), 2, "both are closed: they are gone when the keeper is");
	close(pipe_in);
}

/* Reads children of a thread: how many, and one of them. */
static int children_of(const char *task, pid_t *ret_one)
{
	char path[128];
	int pid, n = 0;
	snprintf(path, sizeof(path), "%s/children", task);
	FILE *f = fopen(path, "re");
	for (; f && fscanf(f, "%d", &pid) == 1; n++)
		*ret_one = pid;
	if (f)
		fclose(f);
	return n;
}

/* The holders, which the threads of the keeper, the only child, have forked. */
static int holders(pid_t *ret_one)
{
	char path[64];
	pid_t keeper;
	int n = 0;
	glob_t tasks;
	snprintf(path, sizeof(path), "/proc/self/task/%d", getpid());
	if (children_of(path, &keeper) != 1)
		return -1;
	snprintf(path, sizeof(path), "/proc/%d/task/*", keeper);
	if (glob(path, 0, NULL, &tasks))
		return -1;
	for (size_t i = 0; i < tasks.gl_pathc; i++)
		n += children_of(tasks.gl_pathv[i], ret_one);
	globfree(&tasks);
	return n;
}

static void test_beside(void)
{
	struct link_keeper *k = keeper();
	pid_t holder = 0;
	int one = attach(k, 0, 1), two = attach_beside(k, 1, MANY, one);
	ok(one >= 0 && two >= 0 && one != two, "a link is made beside another");
	is(holders(&holder), 1, "they have one holder");
	is(attach_beside(k, REFUSE, 3, one), -ENOTSUP, "why one more cannot be made is told");
	is(got(2, false), 1, "which changes nothing of them");
	close(one);
	ok(link_keeper_holds(two) && holders(&holder) == 1, "one is closed: the other stands");
	kill_child(holder, SIGKILL);
	struct pollfd gone = {.fd = two};
	ok(poll(&gone, 1, 60000) == 1 && !link_keeper_holds(two),
	   "their holder is killed: that is known");
	int three = attach_beside(k, 0, 1, two);
	ok(three >= 0 && link_keeper_holds(three) && got(1, false) == 1,
	   "beside it a link has a new holder");
	close(two);
	close(three);
	link_keeper_free(k);
	is(got(0, false), 2, "all are gone when the keeper is");
	close(pipe_in);
}

/* Descriptors of links, and of the keeper's, may be open in a child that has yet to call exec. */
static void test_left_open(void)
{
	struct link_keeper *k = keeper();
	int link = attach(k, 0, 1);
	pid_t child = fork();
	if (!child) {
		alarm(400);
		pause();
		_exit(0);
	}
	is(got(1, false), 1, "a link stands, and its descriptor is open in a child, too");
	alarm(200);
	link_keeper_free(k);
	alarm(0);
	is(got(0, false), 2, "nobody closes it: it is gone all the same when the keeper is");
	close(link);
	kill_child(child, SIGKILL);
	waitpid(child, NULL, 0);
	close(pipe_in);
}

static void test_dead_tracer(void)
{
	int ready[2];
	if (pipe(ready))
		exit(1);
	pid_t tracer = fork();
	if (!tracer) {
		struct link_keeper *k = keeper();
		int links = (attach(k, 0, 1) >= 0) + (attach(k, 0, MANY) >= 0);
		/* Our parent reads the pipe: by this number of ours. */
		int say[2] = {links, pipe_in};
		if (write(ready[1], say, sizeof(say)) == sizeof(say))
			pause();
		_exit(1);
	}
	int said[2] = {0, -1};
	ok(read(ready[0], said, sizeof(said)) == sizeof(said) && said[0] == 2,
	   "a tracer has two links");
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", tracer, said[1]);
	pipe_in = open(path, O_RDONLY | O_CLOEXEC);
	is(got(2, false), 1, "which stand");
	kill_child(tracer, SIGKILL);
	waitpid(tracer, NULL, 0);
	is(got(0, true), 2, "it is killed: they go by themselves");
	close(pipe_in);
}

static pid_t only_child(void)
{
	char path[64];
	int pid = 0;
	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	FILE *f = fopen(path, "re");
	if (!f || fscanf(f, "%d", &pid) != 1)
		pid = 0;
	if (f)
		fclose(f);
	return pid;
}

/* Of one link the keeper has all, of many not even the request is read by anybody. */
static void test_stopped_keeper(void)
{
	struct link_keeper *k = keeper();
	pid_t pid = only_child();
	kill_child(pid, SIGSTOP);
	waitpid(pid, NULL, WUNTRACED);
	ending_ask();
	is(attach(k, 0, 1), -ECANCELED, "a keeper is stopped: who asks to end is obeyed");
	is(attach(k, 0, MANY), -ECANCELED, "also with many sites");
	ending_forget();
	kill_child(pid, SIGCONT);
	int link = attach(k, 0, 1);
	ok(link >= 0, "it runs on, and makes links");
	close(link);
	link_keeper_free(k);
	close(pipe_in);
}

static int oom_adjusted(pid_t pid)
{
	char path[64];
	int adjusted = 1;
	snprintf(path, sizeof(path), "/proc/%d/oom_score_adj", pid);
	FILE *f = fopen(path, "re");
	if (f && fscanf(f, "%d", &adjusted) != 1)
		adjusted = 1;
	if (f)
		fclose(f);
	return adjusted;
}

/* What a child of ours may set: without CAP_SYS_RESOURCE it is what we have. */
static int least_oom_adjusted(void)
{
	int go[2], ready[2], adjusted;
	char byte;
	if (pipe(go) || pipe(ready))
		abort();
	pid_t child = fork();
	if (!child) {
		int fd = open("/proc/self/oom_score_adj", O_WRONLY);
		bool done = write(fd, "-1000", 5) == 5;
		_exit(write(ready[1], &done, 1) != 1 || read(go[0], &byte, 1) != 1);
	}
	if (read(ready[0], &byte, 1) != 1)
		abort();
	adjusted = oom_adjusted(child);
	kill_child(child, SIGKILL);
	waitpid(child, NULL, 0);
	for (int i = 0; i < 2; i++) {
		close(go[i]);
		close(ready[i]);
	}
	return adjusted;
}

static void test_dead_keeper(void)
{
	log_level = LOG_QUIET;
	struct link_keeper *k = keeper();
	int link = attach(k, 0, 1);
	pid_t pid = only_child();
	char comm[32] = "", path[64];
	snprintf(path, sizeof(path), "/proc/%d/comm", pid);
	FILE *f = fopen(path, "re");
	ok(f && fgets(comm, sizeof(comm), f) && !strcmp(comm, "uprobe-links\n") &&
		   getsid(pid) != getsid(0),
	   "the keeper has a name and a session of its own");
	if (f)
		fclose(f);
	is(oom_adjusted(pid), least_oom_adjusted(), "and is the last to go where memory is short");
	for (int signo = 1; pid > 0 && signo < 32; signo++)
		if (signo != SIGKILL && signo != SIGSTOP)
			kill_child(pid, signo);
	int more = attach(k, 0, 1);
	ok(link >= 0 && more >= 0, "no signal ends it");
	close(more);
	if (pid > 0)
		kill_child(pid, SIGKILL);
	is(got(2, false), 1, "but SIGKILL, and the links stand");
	ok(attach(k, 0, 1) < 0 && attach(k, 0, MANY) < 0, "no more can be made then");
	close(link);
	is(got(0, true), 2, "and one that is closed goes");
	link_keeper_free(k);
	close(pipe_in);
}

/* Links of another kind than uprobes. In this test each is the end of a pipe. */
static void test_close_behind(void)
{
	int ends[2], status = -1;
	if (pipe(ends))
		exit(1);
	pipe_in = ends[0];
	int behind = link_keeper_close_behind(&ends[1], 1);
	pid_t closer = only_child();
	ok(behind >= 0 && fcntl(behind, F_GETFD) == FD_CLOEXEC && closer > 0,
	   "another process has the tracer's links, too");
	close(ends[1]);
	is(got(0, false), 1, "they stand when the tracer has closed its own");
	close(behind);
	is(got(0, true), 2, "and go when it says so");
	waitpid(closer, &status, 0);
	is(status, 0, "with that process");
	close(pipe_in);
}

int main(void)
{
	for (uint32_t i = 0; i < MANY; i++)
		site[i] = (struct uprobe_site){i, 2 * i, ~(uint64_t)i};
	test_links();
	test_beside();
	test_left_open();
	test_dead_tracer();
	test_stopped_keeper();
	test_dead_keeper();
	tap_keeps(2);
	test_close_behind();
	return tap_done();
}
