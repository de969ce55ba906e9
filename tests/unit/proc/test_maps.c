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

	is(maps_each(getpid(), want_addr, &w), 42, "the callback's value ends the walk");
	ok(w.found == 1 && w.e.exec && !w.e.write && !w.e.deleted && w.path[0] == '/',
	   "our own code is in an executable mapping of a file");
	int fd = maps_open(getpid(), &w.e);
	ok(!stat("/proc/self/exe", &exe) && is_file(fd, &exe), "which opens as our executable");
	close(fd);
	w = (struct wanted){.addr = 1};
	is(maps_each(getpid(), want_addr, &w), 0, "a walk to the end gives 0");
	is(maps_each(INT_MAX, want_addr, &w), -ESRCH, "a pid that is not there is told");
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
	ok(!fstat(fd, &st) && maps_each(getpid(), want_addr, &w) == 42 && w.e.shared,
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
	ok(p != MAP_FAILED && maps_each(getpid(), want_addr, &w) == 42, "a device is mapped");
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
	test_open();
	test_device();
	rmdir(dir);
	return tap_done();
}
