/* SPDX-License-Identifier: BSD-2-Clause */
#include "proc/process.h"

#include "base/clock.h"
#include "base/file.h"
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#define CHILDREN_MAX (64u << 20)  /* 4 million pids of at most 8 bytes, and as much again */
#define MAX_THREADS  4096	  /* that are examined */
#define LEAST_LIMIT  16384u	  /* of processes, whatever /proc has */
#define MOST_PIDS    (4u << 20)	  /* the kernel's own limit */
#define PF_KTHREAD   0x00200000	  /* include/linux/sched.h; field 9 of stat */
#define AWAITED_NS   500000000ull /* a fork that does not run */

ssize_t process_read(pid_t pid, const char *name, void *ret, size_t n)
{
	char path[96];
	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	return file_read_path(path, ret, n);
}

ssize_t process_read_text(pid_t pid, const char *name, char *ret, size_t cap)
{
	ssize_t n = process_read(pid, name, ret, cap - 1);
	ret[n > 0 ? n : 0] = '\0';
	return n;
}

/* The number at *at, which moves behind it and the blank that follows. */
static uint64_t take_number(const char **at)
{
	uint64_t n = 0;
	const char *p = *at;
	for (p += *p == '-'; *p >= '0' && *p <= '9'; p++)
		n = n * 10 + (uint64_t)(*p - '0');
	*at = p + (*p == ' ');
	return n;
}

static void skip_fields(const char **at, unsigned n)
{
	while (n--)
		take_number(at);
}

/* The kernel writes a newline in a name as "\n", and a backslash twice. */
static void copy_name(const char *from, size_t n, char *ret, size_t cap)
{
	size_t len = 0;
	for (size_t i = 0; i < n && len + 1 < cap; i++) {
		bool escaped = from[i] == '\\' && i + 1 < n;
		i += escaped;
		ret[len++] = escaped && from[i] == 'n' ? '\n' : from[i];
	}
	ret[len] = 0;
}

/* stat is "pid (comm) state ppid ...", and comm may hold blanks and parentheses itself. */
static int parse_stat(const char *stat, struct process_stat *ret)
{
	const char *open = strchr(stat, '('), *end = strrchr(stat, ')');
	struct process_stat p = {0};
	if (!open || !end || end < open || end[1] != ' ' || !end[2] || end[3] != ' ')
		return -EBADMSG;
	copy_name(open + 1, (size_t)(end - open - 1), p.comm, sizeof(p.comm));
	p.state = end[2];
	const char *at = end + 4;
	p.parent = (pid_t)take_number(&at);
	skip_fields(&at, 4);
	p.flags = take_number(&at);
	skip_fields(&at, 4);
	p.user_ticks = take_number(&at);
	p.system_ticks = take_number(&at);
	p.waited_ticks = take_number(&at);
	p.waited_ticks += take_number(&at);
	skip_fields(&at, 2);
	p.threads = (uint32_t)take_number(&at);
	skip_fields(&at, 1);
	if (*at < '0' || *at > '9')
		return -EBADMSG;
	p.start_ticks = take_number(&at);
	p.vm_bytes = take_number(&at);
	/* The signal to its parent when it ends: a thread has none, -1. */
	skip_fields(&at, 14);
	p.is_thread = *at == '-';
	*ret = p;
	return 0;
}

int process_read_stat(pid_t pid, struct process_stat *ret)
{
	char text[1024];
	ssize_t n = process_read_text(pid, "stat", text, sizeof(text));
	if (n <= 0)
		return n == -ENOENT || !n ? -ESRCH : (int)n;
	return parse_stat(text, ret);
}

int process_open_size(pid_t pid)
{
	char path[32];
	snprintf(path, sizeof(path), "/proc/%d/statm", pid);
	return file_open(AT_FDCWD, path, 0);
}

int process_read_size(int fd, uint64_t *ret_bytes)
{
	char text[128];
	ssize_t n = file_read_at(fd, text, sizeof(text) - 1, 0);
	if (n <= 0)
		return n ? (int)n : -ESRCH;
	text[n] = 0;
	*ret_bytes = strtoull(text, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
	return 0;
}

/* The file must be of our pid namespace, and the kernel's own (lxcfs has another). */
void process_births_init(struct process_births *b)
{
	char self[16];
	struct statfs st;
	ssize_t n = readlink("/proc/self", self, sizeof(self) - 1);
	self[n > 0 ? n : 0] = 0;
	bool is_ours = n > 0 && atoi(self) == getpid();
	*b = (struct process_births){.fd = is_ours ? file_open(AT_FDCWD, "/proc/loadavg", 0) : -1};
	if (b->fd < 0 || (!fstatfs(b->fd, &st) && st.f_type == PROC_SUPER_MAGIC))
		return;
	close(b->fd);
	b->fd = -1;
}

void process_births_done(struct process_births *b)
{
	if (b->fd >= 0)
		close(b->fd);
}

/* The number that was given last. False: it cannot be read. */
static bool read_last_number(int fd, uint32_t *ret)
{
	char text[96];
	ssize_t n = fd < 0 ? 0 : file_read_at(fd, text, sizeof(text) - 1, 0);
	text[n > 0 ? n : 0] = 0;
	return sscanf(text, "%*s %*s %*s %*s %" SCNu32, ret) == 1 && *ret && *ret <= MOST_PIDS;
}

static void await_number(struct process_births *b, uint32_t number, uint64_t since_ns)
{
	/* Where these are many, most have ended. */
	if (b->count == PROCESS_BIRTHS_AWAITED)
		memmove(b->awaited, b->awaited + 1, --b->count * sizeof(*b->awaited));
	b->awaited[b->count].number = number;
	b->awaited[b->count++].since_ns = since_ns;
}

/* Those of earlier calls. 0 or what fn returned. */
static int ask_awaited(struct process_births *b, uint64_t now, int (*fn)(pid_t number, void *ctx),
		       void *ctx)
{
	unsigned left = 0;
	int err = 0;
	for (unsigned i = 0; i < b->count; i++) {
		int is = err < 0 ? 0 : fn((pid_t)b->awaited[i].number, ctx);
		err = is < 0 ? is : err;
		if (is <= 0 && now - b->awaited[i].since_ns < AWAITED_NS)
			b->awaited[left++] = b->awaited[i];
	}
	b->count = left;
	return err;
}

int process_births_each(struct process_births *b, uint32_t most, int (*fn)(pid_t number, void *ctx),
			void *ctx)
{
	uint32_t last, before = b->last;
	uint64_t now = now_ns();
	int err = b->count ? ask_awaited(b, now, fn, ctx) : 0;
	bool was_known = b->known;
	if (err)
		return err;
	b->known = read_last_number(b->fd, &last);
	b->last = b->known ? last : 0;
	if (!b->known || !was_known || last < before)
		return 1;
	bool left_out = last - before > most;
	if (left_out && last - before > PROCESS_BIRTHS_AWAITED)
		before = last - PROCESS_BIRTHS_AWAITED;
	for (uint32_t n = before + 1; n <= last; n++) {
		err = left_out ? 0 : fn((pid_t)n, ctx);
		if (err < 0)
			return err;
		if (!err)
			await_number(b, n, now);
	}
	return left_out;
}

/* The error is ours and has nothing to do with the process. */
static bool is_our_limit(ssize_t err)
{
	return err == -EMFILE || err == -ENFILE || err == -ENOMEM;
}

static void set_unread(struct process_status *p, int err)
{
	p->state = PROCESS_UNREAD;
	p->error = err;
}

void process_read_status(pid_t pid, struct process_status *ret)
{
	*ret = (struct process_status){.pid = pid, .state = PROCESS_GONE};
	char dir[32];
	struct process_stat p;
	int err = process_read_stat(pid, &p);
	if (is_our_limit(err))
		set_unread(ret, err);
	if (err)
		return;
	memcpy(ret->comm, p.comm, sizeof(ret->comm));
	ret->start_time = p.start_ticks;
	struct stat st;
	snprintf(dir, sizeof(dir), "/proc/%d", pid);
	if (stat(dir, &st))
		return;
	ret->uid = st.st_uid;
	if (p.flags & PF_KTHREAD) {
		ret->state = PROCESS_KERNEL;
		return;
	}
	if (p.state == 'Z' || p.state == 'X') {
		ret->state = PROCESS_ZOMBIE;
		return;
	}
	/* The permission is checked when maps is opened; reading it may take for ever (see
	 * memory_reader.h). */
	snprintf(dir, sizeof(dir), "/proc/%d/maps", pid);
	int fd = file_open(AT_FDCWD, dir, 0);
	if (is_our_limit(fd)) {
		set_unread(ret, fd);
		return;
	}
	if (fd >= 0)
		close(fd);
	ret->state = fd >= 0			     ? PROCESS_OPEN
		     : fd == -ESRCH || fd == -ENOENT ? PROCESS_GONE
						     : PROCESS_DENIED;
}

bool process_pidfd_has_ended(int pidfd)
{
	struct pollfd ended = {.fd = pidfd, .events = POLLIN};
	return poll(&ended, 1, 0) > 0;
}

bool process_has_one_thread(pid_t pid)
{
	char path[32];
	struct stat st;
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	/* A link for each, and two of the directory's own. */
	return !stat(path, &st) && st.st_nlink == 3;
}

bool process_has_ended(pid_t pid)
{
	int fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (fd < 0)
		return errno == ESRCH;
	bool has = process_pidfd_has_ended(fd);
	close(fd);
	return has;
}

pid_t process_inner_pid(pid_t pid)
{
	char buf[4096], path[32];
	struct stat st;
	/* Most are of our own, and their status is long. */
	snprintf(path, sizeof(path), "/proc/%d/ns/pid", pid);
	if (!stat(path, &st) && st.st_ino == process_own_pidns())
		return pid;
	if (process_read_text(pid, "status", buf, sizeof(buf)) <= 0)
		return pid;
	/* A newline in the name of a process is escaped here: this is the kernel's own line. */
	char *line = strstr(buf, "\nNSpid:");
	if (!line)
		return pid;
	line++;
	line[strcspn(line, "\n")] = 0;
	const char *last = strrchr(line, '\t');
	long inner = last ? strtol(last + 1, NULL, 10) : 0;
	return inner > 0 && inner <= INT32_MAX ? (pid_t)inner : pid;
}

pid_t process_outer_thread(pid_t pid, pid_t inner)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	DIR *tasks = opendir(path);
	struct dirent *e;
	pid_t found = 0;
	for (unsigned i = 0; tasks && !found && i < MAX_THREADS && (e = readdir(tasks)); i++) {
		pid_t tid = isdigit((unsigned char)*e->d_name) ? atoi(e->d_name) : 0;
		if (tid && process_inner_pid(tid) == inner)
			found = tid;
	}
	if (tasks)
		closedir(tasks);
	return found;
}

static uint32_t read_limit(const char *path)
{
	char text[32];
	file_read_text(path, text, sizeof(text));
	unsigned long n = strtoul(text, NULL, 10);
	return n < LEAST_LIMIT ? LEAST_LIMIT : n > MOST_PIDS ? MOST_PIDS : (uint32_t)n;
}

uint32_t process_limit(void)
{
	uint32_t threads = read_limit("/proc/sys/kernel/threads-max");
	uint32_t pids = read_limit("/proc/sys/kernel/pid_max");
	return threads < pids ? threads : pids;
}

pid_t process_parent(pid_t pid)
{
	struct process_stat p;
	return process_read_stat(pid, &p) ? 0 : p.parent;
}

int process_each(int (*fn)(pid_t pid, void *ctx), void *ctx)
{
	DIR *d = opendir("/proc");
	int err = d ? 0 : -errno;
	struct dirent *e;
	while (d && !err && (e = readdir(d)))
		if (isdigit((unsigned char)*e->d_name))
			err = fn(atoi(e->d_name), ctx);
	if (d)
		closedir(d);
	return err;
}

bool process_has_mappings(pid_t pid)
{
	char path[32], byte;
	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	return readlink(path, &byte, sizeof(byte)) >= 0 || errno == EACCES;
}

struct executing {
	uint64_t dev, inode;
	int (*fn)(pid_t pid, void *ctx);
	void *ctx;
};

static int check_executing(pid_t pid, void *ctx)
{
	const struct executing *x = ctx;
	char path[32];
	struct stat st;
	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	bool is = !stat(path, &st) && st.st_ino == x->inode && st.st_dev == x->dev;
	return is ? x->fn(pid, x->ctx) : 0;
}

int process_executing(uint64_t dev, uint64_t inode, int (*fn)(pid_t pid, void *ctx), void *ctx)
{
	return process_each(check_executing, &(struct executing){dev, inode, fn, ctx});
}

/* Of one thread. */
static int thread_children(pid_t pid, pid_t tid, int (*fn)(pid_t child, void *ctx), void *ctx)
{
	char path[64], *numbers, *end;
	size_t len;
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, tid);
	int err = file_load(path, CHILDREN_MAX, &numbers, &len);
	if (err)
		return is_our_limit(err) ? err : 0;
	for (char *at = numbers; !err; at = end) {
		long child = strtol(at, &end, 10);
		if (end == at)
			break;
		err = fn((pid_t)child, ctx);
	}
	free(numbers);
	return err;
}

int process_children(pid_t pid, uint32_t threads, int (*fn)(pid_t child, void *ctx), void *ctx)
{
	char path[32];
	if (threads == 1)
		return thread_children(pid, pid, fn, ctx);
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	DIR *d = opendir(path);
	int err = d || !is_our_limit(-errno) ? 0 : -errno;
	struct dirent *e;
	while (d && !err && (e = readdir(d)))
		if (isdigit((unsigned char)*e->d_name))
			err = thread_children(pid, atoi(e->d_name), fn, ctx);
	if (d)
		closedir(d);
	return err;
}

bool process_is_filtered(pid_t pid)
{
	char path[64], status[4096];
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	DIR *tasks = opendir(path);
	struct dirent *e;
	bool filtered = false;
	for (unsigned i = 0; tasks && !filtered && i < MAX_THREADS && (e = readdir(tasks)); i++) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(path, sizeof(path), "task/%.16s/status", e->d_name);
		if (process_read_text(pid, path, status, sizeof(status)) <= 0)
			continue;
		/* The name in the first line has its newlines escaped. */
		const char *at = strstr(status, "\nSeccomp:");
		filtered = at && atoi(at + sizeof("\nSeccomp:") - 1);
	}
	if (tasks)
		closedir(tasks);
	return filtered;
}

uint64_t process_own_pidns(void)
{
	struct stat st;
	return stat("/proc/self/ns/pid", &st) ? 0 : st.st_ino;
}
