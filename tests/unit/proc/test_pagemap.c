/* SPDX-License-Identifier: BSD-2-Clause */
/* The page tables of this process and of others, read in both ways. */
#include "proc/pagemap.h"
#include "tests/tap.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGES 3000

static size_t page;

struct seen {
	const char *base;
	uint64_t last;
	unsigned runs, mapped[PAGES];
	bool bad;
};

static int note(void *ctx, const struct pagemap_run *run)
{
	struct seen *s = ctx;
	uint64_t base = (uint64_t)(uintptr_t)s->base;
	s->bad |= !run->bytes || run->addr < s->last || run->addr % page || run->bytes % page;
	s->last = run->addr + run->bytes;
	s->runs++;
	for (uint64_t at = run->addr; at < s->last; at += page)
		if (at >= base && at < base + PAGES * page && !run->swapped && !run->file)
			s->mapped[(at - base) / page]++;
	return 0;
}

static int stop_at_once(void *ctx, const struct pagemap_run *run)
{
	(void)run;
	++*(int *)ctx;
	return 42;
}

/* What is around the area is read, too, but not what a sanitizer has mapped: it takes minutes. */
#ifdef __SANITIZE_ADDRESS__
#define AROUND	     (64u << 20)
#define READS_AROUND true
#else
#define AROUND	     (PAGEMAP_END / 2)
#define READS_AROUND plain
#endif

static void check(char *area, bool plain)
{
	uint64_t at = (uint64_t)(uintptr_t)area;
	bool around = READS_AROUND;
	uint64_t from = around && at > AROUND ? at - AROUND : 0;
	uint64_t to = around && at < PAGEMAP_END - AROUND ? at + AROUND : PAGEMAP_END;
	int dir = pagemap_open(getpid());
	struct seen s = {.base = area};
	int err = pagemap_read(dir, from, to, plain, note, &s);
	bool good = !err && !s.bad;
	for (unsigned i = 0; i < PAGES; i++)
		good &= s.mapped[i] == (i % 2 == 0);
	ok(good, "every other page of %u is mapped, %s", PAGES,
	   plain ? "entry by entry" : "as the kernel lists them");
	s = (struct seen){.base = area};
	err = pagemap_read(dir, (uint64_t)(uintptr_t)area + 10 * page,
			   (uint64_t)(uintptr_t)area + 15 * page, plain, note, &s);
	ok(!err && s.runs == 3 && s.mapped[10] && s.mapped[14], "a range has its own alone");
	int calls = 0;
	ok(pagemap_read(dir, from, to, plain, stop_at_once, &calls) == 42 && calls == 1,
	   "the caller ends it");
	close(dir);
}

static void check_ended(void)
{
	struct seen s = {.base = NULL};
	pid_t child = fork();
	if (!child) {
		pause();
		_exit(0);
	}
	int dir = pagemap_open(child);
	ok(dir >= 0, "another process's directory is opened");
	kill_child(child, SIGKILL);
	siginfo_t si;
	waitid(P_PID, (id_t)child, &si, WEXITED | WNOWAIT);
	ok(pagemap_open(child) == -ESRCH, "one that has ended has none");
	int err = pagemap_read(dir, 0, PAGEMAP_END, false, note, &s);
	ok(!s.runs, "nor any memory (%s)", strerror(-err));
	waitpid(child, NULL, 0);
	ok(pagemap_read(dir, 0, PAGEMAP_END, false, note, &s) == -ESRCH,
	   "its directory is nobody else's");
	close(dir);
}

/* The runs of a range, in the order of addresses. */
struct kinds {
	uint64_t from, to;
	char text[16]; /* one letter a run */
	unsigned runs;
};

static int note_kind(void *ctx, const struct pagemap_run *run)
{
	struct kinds *k = ctx;
	if (run->addr >= k->from && run->addr < k->to && k->runs + 1 < sizeof(k->text))
		k->text[k->runs++] = run->file ? 'f' : 'a';
	return 0;
}

/* Two pages of a file between pages of the program's own. */
static void test_file_pages(void)
{
	FILE *f = tmpfile();
	char *area =
		mmap(NULL, 8 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!f || area == MAP_FAILED || ftruncate(fileno(f), (off_t)(2 * page)))
		abort();
	madvise(area, 8 * page, MADV_NOHUGEPAGE);
	char *file = mmap(area + 3 * page, 2 * page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
			  fileno(f), 0);
	for (unsigned i = 1; file != MAP_FAILED && i < 7; i++)
		area[i * page] = 1;
	for (int plain = 0; plain < 2; plain++) {
		struct kinds k = {(uintptr_t)area, (uintptr_t)area + 8 * page, "", 0};
		int dir = pagemap_open(getpid());
		int err = pagemap_read(dir, k.from, k.to, plain, note_kind, &k);
		ok(!err && !strcmp(k.text, "afa"),
		   "pages of a file are a run of their own, %s (%s)",
		   plain ? "entry by entry" : "as the kernel lists them", k.text);
		close(dir);
	}
	munmap(area, 8 * page);
	fclose(f);
}

int main(void)
{
	page = (size_t)sysconf(_SC_PAGESIZE);
	char *area = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	madvise(area, PAGES * page, MADV_NOHUGEPAGE);
	for (unsigned i = 0; i < PAGES; i += 2)
		area[i * page] = 1;
	check(area, false);
	check(area, true);
	check_ended();
	test_file_pages();
	return tap_done();
}
