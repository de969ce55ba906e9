/* SPDX-License-Identifier: BSD-2-Clause */
/* Lines of maps, whatever is in them, and the opening of what is mapped. */
#include "proc/maps.h"
#include "tests/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char dir[] = "/tmp/ebt-maps-XXXXXX";

static const struct {
	const char *line, *path;
	bool deleted, shared;
	uint64_t start, offset, inode;
	const char *name;
} good[] = {
	{"7f00-8f00 r-xp 00001000 fe:01 77   /usr/bin/x", "/usr/bin/x", false, false, 0x7f00,
	 0x1000, 77, "a program"},
	{"7f00-8f00 rw-s 00000000 00:1a 9 /dev/shm/1.events (deleted)", "/dev/shm/1.events", true,
	 true, 0x7f00, 0, 9, "a deleted file"},
	{"7f00-8f00 rw-s 00000000 00:1a 9 /a b (deleted) (deleted)", "/a b (deleted)", true, true,
	 0x7f00, 0, 9, "a deleted file whose name ends like one"},
	{"7f00-8f00 r--p 00000000 00:1a 9 /new\\012line", "/new\\012line", false, false, 0x7f00, 0,
	 9, "an escaped newline"},
	{"7f00-8f00 r--p 00000000 00:1a 9 (deleted)", "(deleted)", false, false, 0x7f00, 0, 9,
	 "a name that is nothing else"},
	{"7f00-8f00 rw-p 00000000 00:00 0 [heap]", "[heap]", false, false, 0x7f00, 0, 0,
	 "the heap"},
	{"7f00-8f00 rw-p 00000000 00:00 0", "", false, false, 0x7f00, 0, 0, "anonymous memory"},
	{"ffffffffff600000-ffffffffff601000 --xp ffffffffff000 ff:ff 18446744073709551615 /x", "/x",
	 false, false, 0xffffffffff600000, 0xffffffffff000, UINT64_MAX, "the largest numbers"},
};

static const char *const bad[] = {
	"",
	"garbage",
	"7f00-8f00",
	"7f00-8f00 r-xp",
	"8f00-7f00 r-xp 0 fe:01 77 /x",
	"7f00-7f00 r-xp 0 fe:01 77 /x",
	"7f00-8f00 r-x 0 fe:01 77 /x",
	"7f00-8f00 r-xpq 0 fe:01 77 /x",
	"7f00-8f00 r-xp 0 fe 77 /x",
	"7f00 8f00 r-xp 0 fe:01 77 /x",
};

static void test_lines(void)
{
	struct maps_entry e;
	char line[256];

	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		snprintf(line, sizeof(line), "%s", good[i].line);
		int err = maps_parse(line, &e);
		ok(!err && !strcmp(e.path, good[i].path) && e.deleted == good[i].deleted &&
			   e.shared == good[i].shared && e.start == good[i].start &&
			   e.offset == good[i].offset && e.inode == good[i].inode,
		   "a line of %s is read", good[i].name);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		snprintf(line, sizeof(line), "%s", bad[i]);
		ok(maps_parse(line, &e) == -EBADMSG, "'%s' is no mapping", bad[i]);
	}
	size_t huge = 1 << 20;
	char *p = malloc(huge + 1);
	memset(p, 'x', huge);
	p[huge] = 0;
	ok(maps_parse(p, &e) == -EBADMSG, "1 MiB of garbage is no mapping");
	static const char head[] = "7f00-8f00 r-xp 0 fe:01 77 /";
	memcpy(p, head, sizeof(head) - 1);
	ok(!maps_parse(p, &e) && strlen(e.path) == huge - sizeof(head) + 2,
	   "a path of 1 MiB is kept whole");
	free(p);
}

struct wanted {
	uint64_t addr;
	struct maps_entry e;
	char path[PATH_MAX];
	int found;
};

static int want_addr(const struct maps_entry *e, void *ctx)
{
	struct wanted *w = ctx;
	if (w->addr < e->start || w->addr >= e->end)
		return 0;
	w->e = *e;
	snprintf(w->path, sizeof(w->path), "%s", e->path);
	w->e.path = w->path;
	w->found++;
	return 42;
}

static bool is_file(int fd, const struct stat *want)
{
	struct stat st;
	return !fstat(fd, &st) && st.st_ino == want->st_ino && st.st_dev == want->st_dev;
}

static void test_self(void)
{
	struct wanted w = {.addr = (uintptr_t)test_self};
	struct stat exe;

	is(maps_each(getpid(), MAPS_ALL, want_addr, &w), 42, "the callback's value ends the walk");
	ok(w.found == 1 && w.e.exec && !w.e.write && !w.e.deleted && w.path[0] == '/',
	   "our own code is in an executable mapping of a file");
	int fd = maps_open(getpid(), &w.e);
	ok(!stat("/proc/self/exe", &exe) && is_file(fd, &exe), "which opens as our executable");
	close(fd);
	w = (struct wanted){.addr = 1};
	is(maps_each(getpid(), MAPS_ALL, want_addr, &w), 0, "a walk to the end gives 0");
	is(maps_each(INT_MAX, MAPS_ALL, want_addr, &w), -ESRCH, "a pid that is not there is told");
}

struct of_set {
	uint64_t count, sum;
	bool code, shared;
	enum maps_set filter;
};

/* Of all mappings those that the set has, in any order. */
static int add_up(const struct maps_entry *e, void *ctx)
{
	struct of_set *s = ctx;
	/* The kernel's page for old programs is no mapping of the process. */
	bool is = (e->exec && strcmp(e->path, "[vsyscall]")) || (e->write && e->shared && e->inode);
	if (s->filter == MAPS_ALL && !is)
		return 0;
	s->count++;
	s->sum += e->start * 31 + e->end * 7 + e->offset + e->inode + e->dev_major + e->dev_minor +
		  (uint64_t)e->read + 2u * e->write + 4u * e->exec + 8u * e->shared +
		  16u * e->deleted;
	for (const char *c = e->path; *c; c++)
		s->sum += (uint64_t)(unsigned char)*c * (uint64_t)(c - e->path + 1);
	s->code |= e->exec;
	s->shared |= strstr(e->path, "two\\012lines") && e->deleted;
	return 0;
}

/* A ring is one of them, whatever its name is, and so is code of no file. */
static void test_set(void)
{
	char path[PATH_MAX];
	struct of_set all = {.filter = MAPS_ALL}, traced = {.filter = MAPS_TRACED};
	long page = sysconf(_SC_PAGESIZE);
	snprintf(path, sizeof(path), "%s/two\nlines", dir);
	int fd = open(path, O_RDWR | O_CREAT, 0600);
	ok(fd >= 0 && !ftruncate(fd, 4 * page), "a file has a newline in its name");
	void *ring = mmap(NULL, (size_t)page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	void *reader = mmap(NULL, (size_t)page, PROT_READ, MAP_SHARED, fd, page);
	void *both = mmap(NULL, (size_t)page, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_SHARED, fd,
			  2 * page);
	void *made =
		mmap(NULL, (size_t)page, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unlink(path);
	is(maps_each(getpid(), MAPS_ALL, add_up, &all), 0, "all mappings are read");
	is(maps_each(getpid(), MAPS_TRACED, add_up, &traced), 0,
	   "and those alone in which something can be traced");
	ok(traced.count > 5 && traced.count == all.count && traced.sum == all.sum,
	   "which are these, each once: code and what is shared for writing (%llu of %llu)",
	   (unsigned long long)traced.count, (unsigned long long)all.count);
	ok(traced.code && traced.shared && all.shared,
	   "a newline in a path is escaped, and a file that was deleted is one still");
	munmap(ring, (size_t)page);
	munmap(reader, (size_t)page);
	munmap(both, (size_t)page);
	munmap(made, (size_t)page);
	close(fd);
}

static int count_order(const struct maps_entry *e, void *ctx)
{
	uint64_t *last = ctx;
	bool later = !e->exec || e->start >= *last;
	*last = e->exec ? e->end : *last;
	return later ? 0 : 1;
}

static void test_ended(void)
{
	uint64_t last = 0;
	is(maps_each(getpid(), MAPS_TRACED, count_order, &last), 0,
	   "code comes in the order of its addresses");
	pid_t child = fork();
	if (!child)
		_exit(0);
	siginfo_t info;
	waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT);
	struct of_set none = {.filter = MAPS_TRACED};
	int err = maps_each(child, MAPS_TRACED, add_up, &none);
	ok((!err || err == -ESRCH || err == -EACCES) && !none.count, "a zombie has none");
	waitpid(child, NULL, 0);
}

static void check_as_nobody(const struct maps_entry *e, int want, const char *name)
{
	pid_t pid = fork();
	if (!pid) {
		/* without rights over mappings there is only the path */
		if (setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534) ||
		    prctl(PR_SET_DUMPABLE, 1))
			_exit(100);
		_exit(maps_open(getpid(), e) == want ? 0 : 1);
	}
	int status = -1;
	waitpid(pid, &status, 0);
	is(status, 0, name);
}

static int make_file(const char *path)
{
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_EXCL, 0644);
	if (fd >= 0 && ftruncate(fd, 4096)) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static void test_open(void)
{
	char path[128];
	struct wanted w = {0};
	struct stat st;

	snprintf(path, sizeof(path), "%s/file", dir);
	int fd = make_file(path);
	void *p = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	w.addr = (uintptr_t)p;
	ok(!fstat(fd, &st) && maps_each(getpid(), MAPS_ALL, want_addr, &w) == 42 && w.e.shared,
	   "a file is mapped");
	bool root = !geteuid() && !chmod(dir, 0755);
	int got = maps_open(getpid(), &w.e);
	ok(is_file(got, &st), "it opens");
	close(got);
	unlink(path);
	got = maps_open(getpid(), &w.e);
	ok(got >= 0 ? is_file(got, &st) : !root, "deleted, it opens by the mapping");
	close(got);
	if (root)
		check_as_nobody(&w.e, -ENOENT, "but not for somebody without rights");
	int other = make_file(path);
	got = maps_open(getpid(), &w.e);
	ok(got >= 0 ? is_file(got, &st) : got == -ESTALE,
	   "another file at the path is never taken for it");
	close(got);
	if (root)
		check_as_nobody(&w.e, -ESTALE, "and is told to somebody without rights");
	unlink(path);
	ok(!symlink("/etc/passwd", path), "a symbolic link is put at the path");
	if (root)
		check_as_nobody(&w.e, -ELOOP, "it is not followed");
	unlink(path);
	munmap(p, 4096);
	close(other);
	close(fd);
}

static void test_device(void)
{
	struct wanted w = {0};
	int fd = open("/dev/zero", O_RDWR | O_CLOEXEC);
	void *p = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	w.addr = (uintptr_t)p;
	ok(p != MAP_FAILED && maps_each(getpid(), MAPS_ALL, want_addr, &w) == 42,
	   "a device is mapped");
	ok(w.found && maps_open(getpid(), &w.e) < 0, "it is not opened");
	munmap(p, 4096);
	close(fd);
}

int main(void)
{
	if (!mkdtemp(dir))
		return skip_all("needs a temporary directory");
	test_lines();
	test_self();
	test_set();
	test_ended();
	test_open();
	test_device();
	rmdir(dir);
	return tap_done();
}
