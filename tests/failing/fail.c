/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The program, run once for each chain of callers that allocates or makes one of the calls below,
 * with the first such call of that chain failing: no memory, or EIO. Each run has to end with a
 * status that is not 0 and a message with the system's words for it, or to write what it writes
 * otherwise; and to give back what it has allocated and opened. The linker wraps main and the calls
 * (see the Makefile); those inside of libc are not wrapped. Prints a line for each chain where that
 * is not so, with the address of the allocation of a block that was left and those of the chain,
 * for addr2line; at last the number of chains. OUTPUT=FILE is compared, too. SEEN=FILE keeps the
 * chains of several runs, whole up to main: one that failed in two of them does not fail again.
 */
#include <dirent.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_CHAINS  8192
#define MAX_OUTPUT  (4 << 20)
#define RUN_SECONDS 30
/* Frames of a chain, behind chain_fails() and the wrapper. */
#define DEPTH	   4
#define OWN_FRAMES 2
#define WHOLE	   64 /* frames up to main */
#define OFTEN	   2
#define MAX_SEEN   65536

#define BLOCKS	    (1u << 20) /* that are remembered */
#define DESCRIPTORS 256

int __real_main(int argc, char **argv);
int __wrap_main(int argc, char **argv);
void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
void __real_free(void *p);
int __real_open(const char *path, int flags, ...);
int __real_openat(int dir, const char *path, int flags, ...);
DIR *__real_opendir(const char *path);
DIR *__real_fdopendir(int fd);
FILE *__real_fopen(const char *path, const char *mode);
int __real_fstat(int fd, struct stat *st);
int __real_fstatat(int dir, const char *path, struct stat *st, int flags);
ssize_t __real_read(int fd, void *to, size_t n);
ssize_t __real_pread(int fd, void *to, size_t n, off_t at);
ssize_t __real_write(int fd, const void *from, size_t n);
ssize_t __real_pwrite(int fd, const void *from, size_t n, off_t at);
void *__real_mmap(void *at, size_t n, int prot, int flags, int fd, off_t from);
int __real_memfd_create(const char *name, unsigned flags);
int __real_ftruncate(int fd, off_t n);
int __real_renameat(int from_dir, const char *from, int to_dir, const char *to);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);
void __wrap_free(void *p);
int __wrap_open(const char *path, int flags, ...);
int __wrap_openat(int dir, const char *path, int flags, ...);
DIR *__wrap_opendir(const char *path);
DIR *__wrap_fdopendir(int fd);
FILE *__wrap_fopen(const char *path, const char *mode);
int __wrap_fstat(int fd, struct stat *st);
int __wrap_fstatat(int dir, const char *path, struct stat *st, int flags);
ssize_t __wrap_read(int fd, void *to, size_t n);
ssize_t __wrap_pread(int fd, void *to, size_t n, off_t at);
ssize_t __wrap_write(int fd, const void *from, size_t n);
ssize_t __wrap_pwrite(int fd, const void *from, size_t n, off_t at);
void *__wrap_mmap(void *at, size_t n, int prot, int flags, int fd, off_t from);
int __wrap_memfd_create(const char *name, unsigned flags);
int __wrap_ftruncate(int fd, off_t n);
int __wrap_renameat(int from_dir, const char *from, int to_dir, const char *to);

extern const char __executable_start[], _end[];

struct chain {
	uint64_t hash, whole;
	uintptr_t from[DEPTH];
};

/* The first run writes its chains here; later runs read which one fails. */
static struct chains {
	bool counting, failed;
	unsigned n, failing;
	struct left {
		unsigned blocks, descriptors;
		uintptr_t block; /* the caller that allocated one of them */
	} left;			 /* of the last run that returned from main */
	struct chain at[MAX_CHAINS];
} * chains;

/* By address, in a place from its hash on. */
static struct block {
	void *p; /* &gone: it was freed, and others may be behind it */
	uintptr_t from;
} blocks[BLOCKS];
static bool runs;	    /* main of the program does */
static unsigned used, live; /* of them, with freed ones and without */
static char gone;

/* Neighbours have neighbouring places: each run touches few pages of the table. */
static unsigned place_of(const void *p)
{
	return (unsigned)((uintptr_t)p >> 4) % BLOCKS;
}

static void *remember(void *p, const void *caller)
{
	unsigned i = place_of(p);
	if (!p || used > BLOCKS / 4 * 3)
		return p;
	while (blocks[i].p && blocks[i].p != &gone)
		i = (i + 1) % BLOCKS;
	used += !blocks[i].p;
	live++;
	blocks[i] = (struct block){p, (uintptr_t)caller - (uintptr_t)__executable_start};
	return p;
}

static void forget(const void *p)
{
	unsigned i = place_of(p);
	while (blocks[i].p && blocks[i].p != p)
		i = (i + 1) % BLOCKS;
	if (!blocks[i].p)
		return;
	blocks[i].p = &gone;
	live--;
}

static unsigned count_descriptors(void)
{
	unsigned n = 0;
	for (int fd = 0; fd < DESCRIPTORS; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

static void note_left(unsigned descriptors)
{
	struct left *l = &chains->left;
	l->descriptors = count_descriptors() - descriptors;
	l->blocks = live;
	for (unsigned i = 0; live && i < BLOCKS; i++)
		if (blocks[i].p && blocks[i].p != &gone)
			l->block = blocks[i].from;
}

/* Of all frames that are the program's: others are elsewhere in each run. */
static uint64_t whole_hash(void)
{
	void *frames[WHOLE];
	int n = backtrace(frames, WHOLE);
	uint64_t hash = 1;
	for (int i = OWN_FRAMES + 1; i < n; i++) {
		uintptr_t at = (uintptr_t)frames[i] - (uintptr_t)__executable_start;
		if (at < (uintptr_t)(_end - __executable_start))
			hash = hash * 1000003 + at;
	}
	return hash;
}

static bool chain_fails(void)
{
	if (!runs || (!chains->counting && chains->failed))
		return false;
	void *frames[OWN_FRAMES + DEPTH];
	int n = backtrace(frames, OWN_FRAMES + DEPTH);
	struct chain c = {.hash = 1};
	for (int i = OWN_FRAMES; i < n; i++) {
		c.from[i - OWN_FRAMES] = (uintptr_t)frames[i] - (uintptr_t)__executable_start;
		c.hash = c.hash * 1000003 + c.from[i - OWN_FRAMES];
	}
	if (!chains->counting)
		return chains->failed = c.hash == chains->at[chains->failing].hash;
	for (unsigned i = 0; i < chains->n; i++)
		if (chains->at[i].hash == c.hash)
			return false;
	c.whole = whole_hash();
	if (chains->n < MAX_CHAINS)
		chains->at[chains->n++] = c;
	return false;
}

void *__wrap_malloc(size_t size)
{
	return chain_fails() ? NULL : remember(__real_malloc(size), __builtin_return_address(0));
}

void *__wrap_calloc(size_t n, size_t size)
{
	return chain_fails() ? NULL : remember(__real_calloc(n, size), __builtin_return_address(0));
}

void *__wrap_realloc(void *p, size_t size)
{
	void *q = chain_fails() ? NULL : __real_realloc(p, size);
	if (q && p)
		forget(p);
	return remember(q, __builtin_return_address(0));
}

void __wrap_free(void *p)
{
	if (p)
		forget(p);
	__real_free(p);
}

/* ---- calls of the system ---- */

static inline bool call_fails(void)
{
	bool fails = chain_fails();
	if (fails)
		errno = EIO;
	return fails;
}

int __wrap_open(const char *path, int flags, ...)
{
	va_list ap;
	va_start(ap, flags);
	mode_t mode = flags & O_CREAT ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	return call_fails() ? -1 : __real_open(path, flags, mode);
}

int __wrap_openat(int dir, const char *path, int flags, ...)
{
	va_list ap;
	va_start(ap, flags);
	mode_t mode = flags & O_CREAT ? va_arg(ap, mode_t) : 0;
	va_end(ap);
	return call_fails() ? -1 : __real_openat(dir, path, flags, mode);
}

DIR *__wrap_opendir(const char *path)
{
	return call_fails() ? NULL : __real_opendir(path);
}

DIR *__wrap_fdopendir(int fd)
{
	return call_fails() ? NULL : __real_fdopendir(fd);
}

FILE *__wrap_fopen(const char *path, const char *mode)
{
	return call_fails() ? NULL : __real_fopen(path, mode);
}

int __wrap_fstat(int fd, struct stat *st)
{
	return call_fails() ? -1 : __real_fstat(fd, st);
}

int __wrap_fstatat(int dir, const char *path, struct stat *st, int flags)
{
	return call_fails() ? -1 : __real_fstatat(dir, path, st, flags);
}

ssize_t __wrap_read(int fd, void *to, size_t n)
{
	return call_fails() ? -1 : __real_read(fd, to, n);
}

ssize_t __wrap_pread(int fd, void *to, size_t n, off_t at)
{
	return call_fails() ? -1 : __real_pread(fd, to, n, at);
}

ssize_t __wrap_write(int fd, const void *from, size_t n)
{
	return call_fails() ? -1 : __real_write(fd, from, n);
}

ssize_t __wrap_pwrite(int fd, const void *from, size_t n, off_t at)
{
	return call_fails() ? -1 : __real_pwrite(fd, from, n, at);
}

void *__wrap_mmap(void *at, size_t n, int prot, int flags, int fd, off_t from)
{
	return call_fails() ? MAP_FAILED : __real_mmap(at, n, prot, flags, fd, from);
}

int __wrap_memfd_create(const char *name, unsigned flags)
{
	return call_fails() ? -1 : __real_memfd_create(name, flags);
}

int __wrap_ftruncate(int fd, off_t n)
{
	return call_fails() ? -1 : __real_ftruncate(fd, n);
}

int __wrap_renameat(int from_dir, const char *from, int to_dir, const char *to)
{
	return call_fails() ? -1 : __real_renameat(from_dir, from, to_dir, to);
}

/* ---- runs ---- */

struct run {
	int out, err, status;
};

static int new_file(void)
{
	int fd = memfd_create("output", 0);
	if (fd < 0)
		abort();
	return fd;
}

/* Ends the process with the status of main in a child that inherits nothing but the chains. */
static struct run run_main(int argc, char **argv)
{
	const char *file = getenv("OUTPUT");
	struct run r = {.out = new_file(), .err = new_file()};
	if (file)
		unlink(file);
	chains->failed = false;
	chains->left = (struct left){0};
	fflush(stdout);
	pid_t pid = fork();
	if (!pid) {
		dup2(r.out, STDOUT_FILENO);
		dup2(r.err, STDERR_FILENO);
		alarm(RUN_SECONDS);
		unsigned descriptors = count_descriptors();
		runs = true;
		int status = __real_main(argc, argv);
		runs = false;
		note_left(descriptors);
		exit(status);
	}
	if (pid < 0 || waitpid(pid, &r.status, 0) != pid)
		abort();
	if (file) {
		close(r.out);
		r.out = open(file, O_RDONLY | O_CLOEXEC);
	}
	return r;
}

static void run_close(const struct run *r)
{
	if (r->out >= 0)
		close(r->out);
	close(r->err);
}

static bool same_contents(int a, int b)
{
	static char x[MAX_OUTPUT], y[MAX_OUTPUT];
	ssize_t n = pread(a, x, sizeof(x), 0), m = pread(b, y, sizeof(y), 0);
	return n == m && n >= 0 && !memcmp(x, y, (size_t)n);
}

static void read_text(int fd, char *s, size_t size)
{
	ssize_t n = pread(fd, s, size - 1, 0);
	s[n > 0 ? n : 0] = '\0';
}

/* A ring is read on without what there was no memory for, as a damaged one is. */
static bool says_so(const char *said)
{
	return strstr(said, strerror(ENOMEM)) || strstr(said, "no memory") ||
	       strstr(said, strerror(EIO));
}

/* Whether a chain failed in enough runs before this one; if not, this one counts. */
static bool is_often_seen(int fd, uint64_t whole)
{
	static uint64_t seen[MAX_SEEN];
	static ssize_t n = -1;
	unsigned times = 0;
	if (fd < 0)
		return false;
	if (n < 0)
		n = pread(fd, seen, sizeof(seen), 0);
	for (ssize_t i = 0; i < n / (ssize_t)sizeof(seen[0]); i++)
		times += seen[i] == whole;
	if (times < OFTEN && write(fd, &whole, sizeof(whole)) != sizeof(whole))
		abort();
	return times >= OFTEN;
}

int __wrap_main(int argc, char **argv)
{
	const char *seen = getenv("SEEN");
	int fd = seen ? open(seen, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
	struct chains *c =
		mmap(NULL, sizeof(*c), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	void *first;
	unsigned tried = 0, silent = 0;
	if (c == MAP_FAILED)
		abort();
	backtrace(&first, 1); /* loads what it needs, once */
	chains = c;
	c->counting = true;
	struct run whole = run_main(argc, argv);
	struct left usual = c->left;
	c->counting = false;
	for (unsigned i = 0; i < c->n; i++) {
		if (is_often_seen(fd, c->at[i].whole))
			continue;
		c->failing = i;
		tried++;
		struct run r = run_main(argc, argv);
		char said[1024];
		read_text(r.err, said, sizeof(said));
		bool good = says_so(said) ? WIFEXITED(r.status)
					  : !r.status && same_contents(r.out, whole.out);
		run_close(&r);
		bool keeps =
			c->left.blocks > usual.blocks || c->left.descriptors > usual.descriptors;
		if (good && !keeps)
			continue;
		silent++;
		printf("status %#x", (unsigned)r.status);
		if (keeps)
			printf(" %#lx", (unsigned long)c->left.block);
		for (unsigned f = 0; f < DEPTH; f++)
			printf(" %#lx", (unsigned long)c->at[i].from[f]);
		printf(": %u blocks, %u descriptors left: %s\n", c->left.blocks,
		       c->left.descriptors, said);
	}
	printf("%u of %u chains, %u silent; %u blocks, %u descriptors left, %#lx\n", tried, c->n,
	       silent, usual.blocks, usual.descriptors, (unsigned long)usual.block);
	run_close(&whole);
	return silent || whole.status || usual.blocks || usual.descriptors;
}
