/* SPDX-License-Identifier: BSD-2-Clause */
/* Finding the rings of a process: what is found, and what is refused with which words. */
#include "proc/ringfile.h"
#include "tests/tap.h"

#include <ebtrace/cursor.h>
#include <ebtrace/probes.h>
#include <ebtrace/ring.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define RING_BYTES 9447488 /* of a file that is no ring, but as long as one */

static char dir[] = "/tmp/ebt-ringfile-XXXXXX";

/* The error, or 0; what was found is closed. */
static int find(pid_t pid, const char *where, char *reason)
{
	struct ringfile found[RINGFILE_MAX];
	int n = ringfile_find(NULL, pid, where, found, RINGFILE_MAX, reason);
	for (int i = 0; i < n; i++)
		ringfile_close(&found[i]);
	return n < 0 ? n : 0;
}

static void check_refused(pid_t pid, int want, const char *word, const char *name)
{
	char reason[RINGFILE_REASON_BYTES] = "";
	int err = find(pid, dir, reason);
	if (!ok(err == want && strstr(reason, word), "%s is refused with its reason", name))
		diag("error %d, expected %d; '%s'", err, want, reason);
}

static pid_t start_idle(void)
{
	pid_t pid = fork();
	if (!pid)
		for (;;)
			pause();
	return pid;
}

static void test_gone(void)
{
	pid_t pid = start_idle();
	siginfo_t info;
	check_refused(pid, -ENOENT, "has no ring", "a process without a ring");
	kill_child(pid, SIGKILL);
	waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
	check_refused(pid, -ESRCH, "zombie", "a zombie");
	waitpid(pid, NULL, 0);
	check_refused(pid, -ESRCH, "no process", "a pid that is dead");
}

static int make_file(const char *path, off_t bytes)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_EXCL, 0644);
	int err = fd < 0 || ftruncate(fd, bytes);
	close(fd);
	return err;
}

/* A process of another user whose ring is our own user's, as it had it before. Its directory in
 * /proc is its user's as long as it may be dumped. */
static void test_dropped(void)
{
	char path[128], reason[RINGFILE_REASON_BYTES] = "";
	int to_us[2];
	if (pipe(to_us))
		abort();
	pid_t pid = fork();
	if (!pid) {
		bool dropped = !setuid(65534) && !prctl(PR_SET_DUMPABLE, 1);
		if (!dropped || write(to_us[1], "", 1) != 1)
			_exit(1);
		for (;;)
			pause();
	}
	char byte;
	close(to_us[1]);
	bool is_other = read(to_us[0], &byte, 1) == 1;
	snprintf(path, sizeof(path), "%s/%d.events", dir, (int)pid);
	ok(is_other && !make_file(path, RING_BYTES) && !find(pid, dir, reason),
	   "our own user's file is found, of a process that is another user's by now");
	if (!chown(path, 4711, 4711))
		check_refused(pid, -EOWNERDEAD, "owner", "a third user's file");
	unlink(path);
	close(to_us[0]);
	kill_child(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static void test_dir(void)
{
	char path[128], reason[EBT_REASON_BYTES] = "";
	struct ebt_cursor *c;
	pid_t pid = start_idle();

	snprintf(path, sizeof(path), "%s/%d.events", dir, (int)pid);
	ok(!make_file(path, RING_BYTES) && !find(pid, dir, reason),
	   "a file in the directory is found");
	ok(find(pid, NULL, reason) == -ENOENT, "but not without the directory");
	if (!geteuid() && !chown(path, 65534, 65534))
		check_refused(pid, -EOWNERDEAD, "owner", "a file that is another user's");
	unlink(path);
	if (!geteuid())
		test_dropped();
	ok(!symlink("/etc/passwd", path), "a symbolic link is put in its place");
	check_refused(pid, -ELOOP, "symbolic link", "a symbolic link");
	unlink(path);
	ok(!mkfifo(path, 0600), "a FIFO is put in its place");
	check_refused(pid, -EINVAL, "regular", "a FIFO");
	unlink(path);
	ok(!mkdir(path, 0700), "a directory is put in its place");
	check_refused(pid, -EINVAL, "regular", "a directory");
	rmdir(path);
	ok(!make_file(path, 1ll << 40), "a sparse file of 1 TiB is put in its place");
	int err = ebt_cursor_open_pid(pid, dir, EBT_RELEASE_AUTO, &c, reason);
	if (!ok(err < 0 && strstr(reason, path), "it is refused, and the reason names it"))
		diag("error %d; '%s'", err, reason);
	unlink(path);
	kill_child(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

static bool is_file(const struct ringfile *f, const struct stat *want)
{
	struct stat st;
	return !fstat(f->fd, &st) && st.st_ino == want->st_ino && st.st_dev == want->st_dev;
}

/* Another mapping that is named like a ring, beside the ring. */
static void test_two(const struct stat *ring)
{
	struct ringfile found[2];
	char path[128], reason[RINGFILE_REASON_BYTES] = "";
	struct stat other;

	snprintf(path, sizeof(path), "%s/%d-2.events", dir, getpid());
	int fd = make_file(path, 4096) ? -1 : open(path, O_RDWR | O_CLOEXEC);
	void *p = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	int n = ringfile_find(NULL, getpid(), NULL, found, 2, reason);
	is(n, 1, "what the process only reads is not its ring");
	for (int i = 0; i < n; i++)
		ringfile_close(&found[i]);
	munmap(p, 4096);
	p = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ok(p != MAP_FAILED && !fstat(fd, &other), "a second ring is mapped");
	n = ringfile_find(NULL, getpid(), NULL, found, 2, reason);
	is(n, 2, "both rings are found");
	ok(n == 2 && is_file(&found[0], ring) + is_file(&found[1], ring) == 1 &&
		   is_file(&found[0], &other) + is_file(&found[1], &other) == 1,
	   "each of them once");
	for (int i = 0; i < n; i++)
		ringfile_close(&found[i]);
	n = ringfile_find(NULL, getpid(), NULL, found, 1, reason);
	is(n, 1, "no more are found than there is room for");
	for (int i = 0; i < n; i++)
		ringfile_close(&found[i]);
	char other_name[128];
	snprintf(other_name, sizeof(other_name), "%s/%d.events", dir, getppid());
	ok(!rename(path, other_name), "it gets the name of another process's ring");
	n = ringfile_find(NULL, getpid(), NULL, found, 2, reason);
	ok(n == 1 && is_file(&found[0], ring), "then it is not this process's");
	for (int i = 0; i < n; i++)
		ringfile_close(&found[i]);
	munmap(p, 4096);
	close(fd);
	unlink(other_name);
}

static void test_names(void)
{
	static const struct {
		const char *name;
		pid_t pid;
	} row[] = {
		{"1.events", 1},
		{"2147483647.events", 2147483647},
		{"2147483648.events", 0},
		{"99999999999999999999.events", 0},
		{"12-2.events", 12},
		{"12-16.events", 12},
		{"12-1.events", 0},
		{"12-02.events", 0},
		{"12-.events", 0},
		{"12-2-3.events", 0},
		{"012.events", 0},
		{"+12.events", 0},
		{"-12.events", 0},
		{" 12.events", 0},
		{"12.events.csv", 0},
		{"2024-q3.events.csv", 0},
		{"12.event", 0},
		{"12", 0},
		{"", 0},
	};
	for (unsigned i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		is(ringfile_name_pid(row[i].name), row[i].pid, row[i].name);
}

/* The mappings can be read, and nothing can be opened beside them. */
static void test_one_descriptor(void)
{
	struct ringfile found[RINGFILE_MAX];
	char reason[RINGFILE_REASON_BYTES] = "";
	struct rlimit had, one;
	int next = open("/dev/null", O_RDONLY | O_CLOEXEC);
	close(next);
	getrlimit(RLIMIT_NOFILE, &had);
	one = had;
	one.rlim_cur = (rlim_t)next + 1;
	setrlimit(RLIMIT_NOFILE, &one);
	int n = ringfile_find(NULL, getpid(), NULL, found, RINGFILE_MAX, reason);
	setrlimit(RLIMIT_NOFILE, &had);
	is(n, -EMFILE, "with one descriptor a ring cannot be opened");
	ok(strstr(found->path, ".events"), "but it is known to be there: %s", found->path);
}

/* A process that could not be looked at is not one that is gone: its ring is looked for again. */
static void test_without_descriptors(const struct stat *ring)
{
	char reason[RINGFILE_REASON_BYTES] = "";
	struct rlimit had, none;
	is(ringfile_is_of(NULL, getpid(), ring), 1, "a ring is of the process that maps it");
	is(ringfile_is_of(NULL, getppid(), ring), 0, "and of no other");
	struct stat same_number = *ring;
	same_number.st_dev++;
	is(ringfile_is_of(NULL, getpid(), &same_number), 0,
	   "nor is a file of its number on another device of it");
	getrlimit(RLIMIT_NOFILE, &had);
	none = had;
	none.rlim_cur = 0;
	setrlimit(RLIMIT_NOFILE, &none);
	int is = ringfile_is_of(NULL, getpid(), ring), err = find(getpid(), dir, reason);
	setrlimit(RLIMIT_NOFILE, &had);
	ok(is == -EMFILE, "without a descriptor to look with, that is reported, and not guessed");
	ok(err == -EMFILE && strstr(reason, "Too many open files"),
	   "and a process is not taken for gone: %s", reason);
}

#define MANY (RINGFILE_MAX + 36)

/* A program can map any number of files with such names. */
static void test_many(void)
{
	struct ringfile found[RINGFILE_MAX];
	char path[128], reason[RINGFILE_REASON_BYTES] = "";
	void *at[MANY];
	struct stat st;
	int of = 0, failed = 0;

	for (int i = 0; i < MANY; i++) {
		snprintf(path, sizeof(path), "%s/%d-%d.events", dir, getpid(), i + 2);
		int fd = make_file(path, 4096) ? -1 : open(path, O_RDWR | O_CLOEXEC);
		at[i] = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		failed += at[i] == MAP_FAILED;
		close(fd);
	}
	int n = ringfile_find(NULL, getpid(), NULL, found, RINGFILE_MAX, reason);
	ok(!failed && n == RINGFILE_MAX, "of many rings a number is found, which says so");
	for (int i = 0; i < n; i++)
		ringfile_close(&found[i]);
	for (int i = 0; i < MANY; i++) {
		snprintf(path, sizeof(path), "%s/%d-%d.events", dir, getpid(), i + 2);
		of += !stat(path, &st) && ringfile_is_of(NULL, getpid(), &st) == 1;
		munmap(at[i], 4096);
		unlink(path);
	}
	is(of, MANY, "but whose a file is, is found of each");
}

static void test_mapped(void)
{
	struct ringfile found[RINGFILE_MAX];
	char reason[RINGFILE_REASON_BYTES] = "", path[256] = "";
	struct stat ring;

	setenv("EBTRACE_DIR", dir, 1);
	ok(!ebt_start() && !stat(ebt_ring_path(), &ring), "this process records");
	if (ebt_ring_path())
		snprintf(path, sizeof(path), "%s", ebt_ring_path());
	int n = ringfile_find(NULL, getpid(), NULL, found, RINGFILE_MAX, reason);
	ok(n == 1 && is_file(&found[0], &ring), "its ring is found without the directory");
	ok(n == 1 && !strcmp(found[0].path, path), "with its path");
	for (int i = 0; i < n; i++)
		ringfile_close(&found[i]);
	test_two(&ring);
	test_one_descriptor();
	test_without_descriptors(&ring);
	unlink(path);
	ok(!make_file(path, RING_BYTES), "another file takes the name");
	n = ringfile_find(NULL, getpid(), NULL, found, RINGFILE_MAX, reason);
	/* Without the right to open a mapping itself, the file is out of reach. */
	ok(n == 1 ? is_file(&found[0], &ring) : geteuid() && n < 0,
	   "the ring that was deleted is found, and not the other file");
	for (int i = 0; i < n; i++)
		ringfile_close(&found[i]);
	ebt_stop();
	unlink(path);
}

/* Whether a ring may be written yet that has this header and was last written so long ago. */
static bool is_written(const struct ebt_ring_file *h, long age_ms, bool nameless)
{
	char path[64];
	struct timespec now;
	snprintf(path, sizeof(path), "%s/header", dir);
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	clock_gettime(CLOCK_REALTIME, &now);
	long long ns = now.tv_sec * 1000000000ll + now.tv_nsec - age_ms * 1000000ll;
	struct timespec at = {ns / 1000000000, ns % 1000000000};
	if (fd < 0 || write(fd, h, sizeof(*h)) != sizeof(*h) ||
	    futimens(fd, (const struct timespec[]){at, at}))
		abort();
	bool is = ringfile_is_being_written(fd, nameless);
	close(fd);
	unlink(path);
	return is;
}

static void test_header(void)
{
	struct ebt_ring_file whole, part;
	memset(&whole, 1, sizeof(whole));
	part = whole;
	part.data_offset = 0;
	ok(!is_written(&whole, 0, false), "a header that is whole is written");
	ok(is_written(&part, 0, false) && is_written(&part, 700, false),
	   "one with a part is being written");
	ok(!is_written(&part, 1500, false), "but not if nothing was written for a second");
	part = whole;
	part.custom_events_offset = 0;
	ok(is_written(&part, 0, false) && !is_written(&part, 0, true),
	   "a release without names of events has none");
}

int main(void)
{
	if (!mkdtemp(dir))
		return skip_all("needs a temporary directory");
	test_names();
	test_gone();
	test_dir();
	test_mapped();
	test_many();
	test_header();
	rmdir(dir);
	return tap_done();
}
