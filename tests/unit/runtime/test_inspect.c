/* SPDX-License-Identifier: BSD-2-Clause */
/* Files that are looked into by their paths: only regular ones, and only the one that is meant. */
#include "base/regular.h"
#include "proc/maps.h"
#include "proc/memory_reader.h"
#include "runtime/inspect.h"
#include "tests/tap.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static char dir[] = "/tmp/ebt-inspect-XXXXXX";

/* What opening says; the descriptor is closed. */
static int open_status(const char *path, ino_t inode, int flags)
{
	int fd = regular_open(path, inode, flags);
	if (fd >= 0)
		close(fd);
	return fd < 0 ? fd : 0;
}

static void test_regular(const char *program, ino_t inode)
{
	is(open_status(program, 0, 0), 0, "a regular file is opened");
	is(open_status(program, inode, 0), 0, "also if it must be this one");
	is(open_status(program, inode + 1, 0), -ESTALE, "another one is not");
	mkfifo("fifo", 0600);
	is(open_status("fifo", 0, 0), -EINVAL, "nor a FIFO");
	is(open_status("/dev/null", 0, 0), -EINVAL, "nor a device");
	is(open_status("link", 0, O_NOFOLLOW), -ELOOP, "nor a link, if it is not to be followed");
	is(open_status("link", inode, 0), 0, "if it is, what it leads to is");
	is(open_status("nothing", 0, 0), -ENOENT, "what is not there is not");
}

static void test_program(const char *program)
{
	struct inspect *in = inspect_new();
	setenv("PATH", "/nowhere::/tmp", 1);
	ok(!inspect_program(in, "nothing").language, "a program that is not there");
	is(inspect_files(in), 0, "is not looked into");
	inspect_program(in, "plain");
	is(inspect_files(in), 0, "nor one that cannot be executed");
	inspect_program(in, "link");
	is(inspect_files(in), 1, "one that the search path leads to is");
	inspect_program(in, program);
	is(inspect_files(in), 1, "and is known by its path, too");
	inspect_free(in);
}

/* A file that changes is another one: more than are remembered, and then the oldest is not. */
static void test_many(const char *program)
{
	struct inspect *in = inspect_new();
	struct inspect_budget budget;
	struct runtime_file found;
	struct stat st;
	int fd = open(program, O_RDONLY), own = open("many", O_RDWR | O_CREAT | O_EXCL, 0600);
	inspect_budget_init(&budget);
	uint64_t bytes = budget.bytes;
	ok(!inspect_file(in, fd, &budget, &found) && !fstat(own, &st), "a program is looked into");
	ok(budget.bytes < bytes && budget.files, "which uses bytes of the budget");
	unsigned n = 0, err = 0;
	for (; n < 16383; n++) {
		inspect_budget_init(&budget);
		err += ftruncate(own, n + 1) || inspect_file(in, own, &budget, &found);
	}
	is(err, 0, "so are thousands of other files");
	is(inspect_peek(in, fd, &found), 0, "the program is remembered");
	err = ftruncate(own, n + 1) || inspect_file(in, own, &budget, &found);
	ok(!err && inspect_peek(in, fd, &found) == -ENOENT, "up to a number of files");
	is(inspect_files(in), 16385, "all of which are counted");
	is(inspect_has_probes(in, st.st_dev, st.st_ino, true), 0, "the newest are remembered");
	ok(!ftruncate(own, 1) && inspect_peek(in, own, &found) == -ENOENT,
	   "a file that has changed is not");
	ok(!inspect_file(in, fd, &budget, &found) && inspect_peek(in, fd, &found) == 0,
	   "what was forgotten is looked into again");
	inspect_free(in);
	close(fd);
	close(own);
	unlink("many");
}

/* Inspects `files` new files, which are empty. The number of those that could not be. */
static unsigned inspect_empty(struct inspect *in, struct inspect_budget *b, unsigned files)
{
	struct runtime_file found;
	unsigned failed = 0;
	for (unsigned i = 0; i < files; i++) {
		int fd = memfd_create("empty", MFD_CLOEXEC);
		failed += inspect_file(in, fd, b, &found) != 0;
		close(fd);
	}
	return failed;
}

static void test_budget(const char *program)
{
	struct inspect *in = inspect_new();
	struct inspect_budget budget, other;
	struct runtime_file found;
	int fd = open(program, O_RDONLY);
	inspect_budget_init(&budget);
	inspect_budget_init(&other);
	budget.files = 2;
	ok(!inspect_file(in, fd, &budget, &found) && !inspect_file(in, fd, &budget, &found) &&
		   budget.files == 1,
	   "each file takes one from the budget, once");
	is(inspect_empty(in, &budget, 1), 0, "the last file of the budget is inspected");
	is(inspect_empty(in, &budget, 1), 1, "the one behind it is not");
	ok(budget.spent, "and the budget is spent");
	is(inspect_file(in, fd, &budget, &found), 0, "a cached result needs no budget");
	ok(!inspect_empty(in, &other, 1) && !other.spent, "nor is that of another process spent");
	inspect_free(in);
	close(fd);
}

static uint64_t cpu_ns, cpu_step_ns; /* 0: the CPU's own time */

int clock_gettime(clockid_t clock, struct timespec *ret)
{
	if (clock != CLOCK_THREAD_CPUTIME_ID || !cpu_step_ns)
		return (int)syscall(SYS_clock_gettime, clock, ret);
	cpu_ns += cpu_step_ns;
	*ret = (struct timespec){.tv_sec = (time_t)(cpu_ns / 1000000000),
				 .tv_nsec = (long)(cpu_ns % 1000000000)};
	return 0;
}

/* A sparse program with this many bytes of symbols, none of which is defined. */
static int file_of_symbols(uint64_t bytes)
{
	Elf64_Ehdr h;
	Elf64_Shdr section[3] = {
		[1] = {.sh_type = SHT_SYMTAB,
		       .sh_offset = 8192,
		       .sh_size = bytes,
		       .sh_entsize = sizeof(Elf64_Sym),
		       .sh_link = 2},
		[2] = {.sh_type = SHT_STRTAB, .sh_offset = 4096, .sh_size = 16},
	};
	int self = open("/proc/self/exe", O_RDONLY), fd = memfd_create("symbols", MFD_CLOEXEC);
	if (pread(self, &h, sizeof(h), 0) != sizeof(h))
		abort();
	h.e_phnum = h.e_shstrndx = 0;
	h.e_shoff = sizeof(h);
	h.e_shnum = 3;
	if (pwrite(fd, &h, sizeof(h), 0) != sizeof(h) ||
	    pwrite(fd, section, sizeof(section), sizeof(h)) != sizeof(section) ||
	    ftruncate(fd, (off_t)(8192 + bytes)))
		abort();
	close(self);
	return fd;
}

/* Whether such a file is read whole, with all of a process's budget. */
static bool reads_symbols(struct inspect *in, uint64_t bytes)
{
	struct inspect_budget budget;
	struct runtime_file found;
	int fd = file_of_symbols(bytes);
	inspect_budget_init(&budget);
	int err = inspect_file(in, fd, &budget, &found);
	close(fd);
	return !err && !budget.spent;
}

/* What files cost is charged to their process, and to the run. */
static void test_cpu(void)
{
	struct inspect *in = inspect_new();
	struct inspect_budget budget;
	ok(reads_symbols(in, 6 << 20), "6 MiB of symbols are read");
	cpu_step_ns = 1200000000;
	inspect_budget_init(&budget);
	is(inspect_empty(in, &budget, 1), 0, "a file that takes 1.2 s of CPU time is inspected");
	is(inspect_empty(in, &budget, 1), 1, "no other one of its process is");
	ok(reads_symbols(in, 6 << 20), "a process beside it has a budget of its own");
	reads_symbols(in, 4096);
	ok(!reads_symbols(in, 6 << 20),
	   "after 3 s of CPU time in a run no file of 6 MiB of symbols is read whole");
	ok(reads_symbols(in, 3 << 20), "one of 3 MiB is");
	cpu_step_ns = 0;
	inspect_free(in);
}

/* Any number of files may be inspected in a run. */
static void test_growth(void)
{
	struct inspect *in = inspect_new();
	struct inspect_budget budget;
	unsigned failed = 0;
	size_t bytes = 0;
	for (unsigned round = 0; round < 4; round++) {
		inspect_budget_init(&budget);
		budget.files = 1 << 20;
		budget.cpu_ns = UINT64_MAX;
		failed += inspect_empty(in, &budget, 20000);
		bytes = round ? bytes : mallinfo2().uordblks + mallinfo2().hblkhd;
	}
	is(failed, 0, "80,000 files are inspected");
	ok(mallinfo2().uordblks + mallinfo2().hblkhd <= bytes,
	   "in the memory that a quarter of them took");
	inspect_free(in);
}

static int first_code(const struct maps_entry *e, void *ctx)
{
	struct maps_entry *found = ctx;
	if (!e->exec || !e->inode)
		return 0;
	*found = *e;
	found->path = strdup(e->path);
	return 1;
}

static bool opens(struct inspect *in, const struct maps_entry *e)
{
	struct stat st;
	int fd = inspect_open(in, getpid(), e);
	bool is = fd >= 0 && !fstat(fd, &st) && st.st_ino == e->inode;
	if (fd >= 0)
		close(fd);
	return is;
}

static void test_kept(void)
{
	struct memory_reader *memory = memory_reader_new();
	struct inspect *in = inspect_new();
	struct maps_entry code = {0};
	inspect_read_by(in, memory);
	maps_each(getpid(), MAPS_ALL, first_code, &code);
	ok(opens(in, &code) && memory_reader_opens(memory) == 1, "a mapped file is opened");
	ok(opens(in, &code) && memory_reader_opens(memory) == 1,
	   "and, for the next process that maps it, not again");
	struct maps_entry other = code;
	other.dev_minor++;
	opens(in, &other);
	is(memory_reader_opens(memory), 2, "another device has another file of that number");
	ok(opens(in, &code) && memory_reader_opens(memory) == 2, "which does not replace it");
	inspect_free(in);
	memory_reader_free(memory);
	free((char *)code.path);
}

int main(void)
{
	char program[512], here[256];
	struct stat st;
	const char *o = getenv("O");
	if (!getcwd(here, sizeof(here)) || !mkdtemp(dir))
		return skip_all("needs a temporary directory");
	if (o && *o == '/')
		*here = 0;
	snprintf(program, sizeof(program), "%s/%s/tests/prog/minigc", here, o ? o : "build");
	ok(!stat(program, &st), "there is a program");
	if (chdir(dir) || symlink(program, "link") || close(creat("plain", 0600)))
		return 1;
	test_regular(program, st.st_ino);
	test_program(program);
	test_many(program);
	test_budget(program);
	test_cpu();
	test_growth();
	test_kept();
	unlink("fifo");
	unlink("link");
	unlink("plain");
	rmdir(dir);
	return tap_done();
}
