/* SPDX-License-Identifier: BSD-2-Clause */
/* The source positions of code: of this program itself, as built, stripped, with a separate debug
 * file, and damaged. */
#include "base/map.h"
#include "elf/symbols.h"
#include "proc/maps.h"
#include "proc/process.h"
#include "tests/tap.h"

#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#define ALWAYS_INLINE __attribute__((always_inline))
#define NO_INLINE     __attribute__((noinline, noclone))

static char folder[] = "/tmp/ebt-symbols-XXXXXX";

/* The address behind a call of it. */
enum { LINE_HERE = __LINE__ + 2 };
static NO_INLINE uint64_t here(void)
{
	__asm__ volatile("");
	return (uint64_t)__builtin_return_address(0);
}

enum { LINE_INNER = __LINE__ + 3 };
static inline ALWAYS_INLINE uint64_t in_inner(void)
{
	uint64_t at = here();
	__asm__ volatile("" : "+r"(at));
	return at;
}

enum { LINE_MIDDLE = __LINE__ + 3 };
static inline ALWAYS_INLINE uint64_t in_middle(void)
{
	uint64_t at = in_inner();
	__asm__ volatile("" : "+r"(at));
	return at;
}

enum { LINE_OUTER = __LINE__ + 3 };
static NO_INLINE uint64_t in_outer(void)
{
	uint64_t at = in_middle();
	__asm__ volatile("" : "+r"(at));
	return at;
}

#define TEN(s) s s s s s s s s s s
#define LONG   "n" TEN(TEN(TEN("5fold")))
static NO_INLINE uint64_t long_named(void) __asm__(LONG);
static NO_INLINE uint64_t long_named(void)
{
	uint64_t at = here();
	__asm__ volatile("# unlike the others" : "+r"(at));
	return at;
}

struct search {
	uint64_t address, offset;
};

static int contains(const struct maps_entry *e, void *ctx)
{
	struct search *s = ctx;
	if (s->address < e->start || s->address >= e->end)
		return 0;
	s->offset = s->address - e->start + e->offset;
	return 1;
}

/* The offset in our own file. */
static uint64_t offset_of(uint64_t address)
{
	struct search s = {.address = address};
	maps_each(getpid(), MAPS_ALL, contains, &s);
	return s.offset;
}

/* As the tracer prints its messages. */
static void print_line(void *ctx, enum log_level level, const char *fmt, va_list ap)
{
	(void)ctx;
	log_vat(level, fmt, ap);
}

static const struct messages printer = {.line = print_line};
/* With more time than a slow machine takes. */
static struct symbols_running running = {.messages = &printer, .budget_ns = 600000000000u};

static struct symbols *open_for(const char *path, struct symbols_running *run)
{
	struct symbols *s = NULL;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (symbols_open(fd, path, run, &s))
		abort();
	if (fd >= 0)
		close(fd);
	return s;
}

static struct symbols *open_path(const char *path)
{
	return open_for(path, &running);
}

static bool is_at(const struct symbols_position *p, const char *function, uint32_t line)
{
	const char *file = p->file ? strrchr(p->file, '/') : NULL;
	bool good = p->function && !strcmp(p->function, function) && p->line == line &&
		    (line ? file && !strcmp(file, "/test_symbols.c") : !p->file);
	if (!good)
		diag("%s in %s:%u, expected %s:%u", p->function ? p->function : "-",
		     p->file ? p->file : "-", p->line, function, line);
	return good;
}

static void is_inlined(struct symbols *s, const char *name)
{
	const struct symbols_position *p = NULL;
	unsigned n = symbols_find(s, offset_of(in_outer() - 1), &p);
	ok(n == 3 && is_at(&p[0], "in_outer", LINE_OUTER) &&
		   is_at(&p[1], "in_middle", LINE_MIDDLE) && is_at(&p[2], "in_inner", LINE_INNER),
	   "%s", name);
}

static void is_one(struct symbols *s, uint64_t offset, const char *function, const char *name)
{
	const struct symbols_position *p = NULL;
	unsigned n = symbols_find(s, offset, &p);
	ok(n == 1 && is_at(&p[0], function, 0), "%s", name);
}

/* Runs a command of binutils on a copy of this program, %s. */
static struct symbols *open_copy(const char *command, char *ret_path)
{
	char text[3 * PATH_MAX];
	snprintf(ret_path, PATH_MAX, "%s/copy", folder);
	snprintf(text, sizeof(text), "cp /proc/%d/exe %s && cd %s && %s", (int)getpid(), ret_path,
		 folder, command);
	if (system(text))
		diag("failed: %s", text);
	return open_path(ret_path);
}

static void test_own(void)
{
	struct symbols *s = open_path("/proc/self/exe");
	const uint8_t *id;
	is_inlined(s, "an address has its function, and those it is inlined in with their lines");
	is_inlined(s, "looked up again, too");
	ok(symbols_build_id(s, &id) == 20, "the build id is known");
	const struct symbols_position *p = NULL;
	unsigned n = symbols_find(s, offset_of((uint64_t)here), &p);
	ok(n == 1 && !strcmp(p[0].function, "here") && p[0].line - LINE_HERE <= 3,
	   "a function's first instruction is on the line where it begins");
	is_one(s, 1, "exe+0x1", "what is no code is the module and the offset");
	is_one(s, UINT64_MAX, "exe+0xffffffffffffffff", "so is what is behind its end");
	symbols_close(s);
}

static void test_unwinding(void)
{
	struct symbols *s = open_path("/proc/self/exe");
	struct unwind_rule rule;
	uint64_t inside = offset_of(in_outer() - 1);
	ok(!symbols_unwind(s, inside, &rule) &&
		   (rule.kind == UNWIND_BY_SP || rule.kind == UNWIND_BY_FP) && rule.cfa >= 8 &&
		   rule.pc < 0,
	   "where a function calls, its frame and the return address are found");
#if defined(__x86_64__)
	ok(!symbols_unwind(s, offset_of((uint64_t)here), &rule) && rule.kind == UNWIND_BY_SP &&
		   rule.cfa == 8 && rule.pc == -8 && !rule.has_fp,
	   "at its first instruction the frame has nothing but that");
	is_one(s, 1, "exe+0x1", "names are known besides");
#endif
	ok(!symbols_unwind(s, getauxval(AT_ENTRY) ? offset_of(getauxval(AT_ENTRY)) : 0, &rule) &&
		   rule.kind == UNWIND_OUTERMOST,
	   "the program's first function has no caller");
	ok(!symbols_unwind(s, 1, &rule) && rule.kind == UNWIND_UNKNOWN &&
		   !symbols_unwind(s, UINT64_MAX, &rule) && rule.kind == UNWIND_UNKNOWN,
	   "of what is no code nothing is known");
	symbols_close(s);
	char path[PATH_MAX];
	s = open_copy("strip copy", path);
	ok(!symbols_unwind(s, inside, &rule) && rule.kind != UNWIND_UNKNOWN,
	   "without symbols it is known, too");
	symbols_close(s);
}

static void test_stripped(void)
{
	char path[PATH_MAX];
	uint64_t offset = offset_of(in_outer() - 1);
	struct symbols *s = open_copy("strip -g copy", path);
	is_one(s, offset, "in_outer", "without debug information the symbol is the function");
	symbols_close(s);
	s = open_copy("strip copy", path);
	char unknown[64];
	snprintf(unknown, sizeof(unknown), "copy+0x%llx", (unsigned long long)offset);
	is_one(s, offset, unknown, "a stripped one is the module and the offset");
	symbols_close(s);
}

static void test_debug_file(void)
{
	char path[PATH_MAX];
	static const char separate[] = "objcopy --only-keep-debug copy copy.debug && strip copy && "
				       "objcopy --add-gnu-debuglink=copy.debug copy";
	struct symbols *s = open_copy(separate, path);
	is_inlined(s, "a debug file beside the module is read");
	symbols_close(s);
	static const char other[] = "objcopy --only-keep-debug copy copy.debug && strip copy && "
				    "objcopy --add-gnu-debuglink=copy.debug copy && "
				    "objcopy --remove-section=.note.gnu.build-id copy.debug";
	s = open_copy(other, path);
	const struct symbols_position *p = NULL;
	unsigned n = symbols_find(s, offset_of(in_outer() - 1), &p);
	ok(n == 1 && !p[0].file, "one without the module's build id is not");
	symbols_close(s);
}

static int kill_it(pid_t child, void *ctx)
{
	*(int *)ctx += !kill_child(child, SIGKILL);
	return 0;
}

/* What the process does if the module makes it crash. */
static void test_crash(void)
{
	struct symbols *s = open_path("/proc/self/exe");
	int killed = 0;
	is_inlined(s, "a process reads the module");
	process_children(getpid(), 0, kill_it, &killed);
	is(killed, 1, "which is killed");
	is_inlined(s, "what it answered is kept");
	is_one(s, offset_of((uint64_t)here), "here", "from then on symbols are used alone");
	process_children(getpid(), 0, kill_it, &killed);
	is(killed, 2, "until reading these fails too");
	const struct symbols_position *p = NULL;
	ok(symbols_find(s, offset_of((uint64_t)here + 1), &p) == 1 &&
		   !strncmp(p[0].function, "exe+0x", 6),
	   "then the module and the offset are all");
	symbols_close(s);
}

static void test_not_there(void)
{
	struct symbols *s = open_path("/nowhere/libgone.so.1");
	const uint8_t *id;
	is_one(s, 16, "libgone.so.1+0x10", "of a file that is not there the offset is known");
	is(symbols_build_id(s, &id), 0, "but no build id");
	symbols_close(s);
	s = open_path("/etc/passwd");
	is_one(s, 16, "passwd+0x10", "and so it is of a file that is no module");
	symbols_close(s);
}

static void test_many(void)
{
	struct symbols *s = open_path("/proc/self/exe");
	const struct symbols_position *p;
	uint64_t first = offset_of((uint64_t)here), named = 0;
	for (unsigned i = 0; i < 10000; i++)
		named += symbols_find(s, first + i % 5000, &p) >= 1 && p[0].file;
	ok(named > 5000, "most of ten thousand offsets have a file");
	is_inlined(s, "among others");
	symbols_close(s);
}

#define ASKED 64

struct damage {
	char bytes[1 << 21];
	size_t size;
	uint64_t random, offset[ASKED];
	unsigned answers, with_file, rules;
};

/* The first offsets that have a file in the undamaged program. */
static unsigned choose_offsets(struct damage *d, const char *path)
{
	struct symbols *s = open_path(path);
	const struct symbols_position *p = NULL;
	unsigned n = 0;
	for (uint64_t at = 0x1000; at < d->size && n < ASKED; at += 16)
		if (symbols_find(s, at, &p) >= 1 && p[0].file)
			d->offset[n++] = at;
	symbols_close(s);
	return n;
}

static void damage(struct damage *d, int fd, unsigned changes)
{
	bool good = pwrite(fd, d->bytes, d->size, 0) == (ssize_t)d->size;
	for (unsigned i = 0; i < changes && good; i++) {
		d->random = hash_u64(d->random, i + 1);
		off_t at = (off_t)(1024 + (d->random >> 8) % (d->size - 1024));
		good = pwrite(fd, &d->random, 1, at) == 1;
	}
	if (!good)
		abort();
}

/* Bytes of a small program are changed behind its headers, few or many; whatever that does to the
 * reader, each offset has an answer. */
static void test_damaged(void)
{
	static struct damage d = {.random = 1};
	char path[PATH_MAX];
	const char *built = getenv("O");
	snprintf(path, sizeof(path), "%s/tests/prog/loop", built ? built : "build");
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t size = read(fd, d.bytes, sizeof(d.bytes));
	close(fd);
	bool is_read = size > 4096 && size < (ssize_t)sizeof(d.bytes);
	ok(is_read, "a program is read");
	if (!is_read)
		return;
	d.size = (size_t)size;
	is(choose_offsets(&d, path), ASKED, "some of its offsets have a file");
	snprintf(path, sizeof(path), "%s/damaged", folder);
	for (unsigned round = 0; round < 36; round++) {
		struct symbols *s;
		const struct symbols_position *p = NULL;
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
		damage(&d, fd, 10u << round % 12);
		if (symbols_open(fd, path, &running, &s))
			abort();
		for (unsigned i = 0; i < ASKED; i++) {
			d.answers += symbols_find(s, d.offset[i], &p) >= 1;
			d.with_file += p[0].file != NULL;
			struct unwind_rule rule;
			d.rules += !symbols_unwind(s, d.offset[i], &rule);
		}
		symbols_close(s);
		close(fd);
	}
	is(d.answers, 36 * ASKED, "damaged, each of them has an answer");
	is(d.rules, 36 * ASKED, "and a rule");
	ok(d.with_file > ASKED && d.with_file < 35 * ASKED, "some still with a file");
}

static void test_long_name(void)
{
	char path[PATH_MAX];
	struct symbols *s = open_copy("strip -g copy", path);
	const struct symbols_position *p = NULL;
	unsigned n = symbols_find(s, offset_of(long_named() - 1), &p);
	is(n == 1 && p->function ? strlen(p->function) : 0, 4096, "a long name is cut");
	symbols_close(s);
}

static int count_it(pid_t child, void *ctx)
{
	(void)child;
	++*(int *)ctx;
	return 0;
}

static int children(void)
{
	int n = 0;
	process_children(getpid(), 0, count_it, &n);
	return n;
}

static void test_running(void)
{
	struct symbols *s[SYMBOLS_RUNNING + 3];
	enum { COUNT = sizeof(s) / sizeof(*s) };
	const struct symbols_position *p = NULL;
	unsigned found = 0;
	uint64_t at = offset_of(in_outer() - 1);
	for (unsigned i = 0; i < COUNT; i++) {
		s[i] = open_path("/proc/self/exe");
		found += symbols_find(s[i], at, &p) == 3;
	}
	is(found, COUNT, "many modules are read");
	is(children(), SYMBOLS_RUNNING, "by no more processes at a time than are allowed");
	at = offset_of(long_named() - 1);
	ok(symbols_find(s[0], at, &p) == 1 && p->line, "one whose process was ended has a new one");
	for (unsigned i = 0; i < COUNT; i++)
		symbols_close(s[i]);
	is(children(), 0, "none is left");
}

/* Lines of a file that contain a text. */
static unsigned count_lines(const char *path, const char *text)
{
	char line[512];
	unsigned n = 0;
	FILE *f = fopen(path, "r");
	while (f && fgets(line, sizeof(line), f))
		n += strstr(line, text) != NULL;
	if (f)
		fclose(f);
	return n;
}

/* Looks up a function in each of `count` modules of a run, with the messages in the file
 * "messages". Returns how many have a line. */
static unsigned lines_of(struct symbols_running *run, unsigned count)
{
	struct symbols *s[8];
	const struct symbols_position *p = NULL;
	char path[PATH_MAX];
	unsigned with_lines = 0;
	snprintf(path, sizeof(path), "%s/messages", folder);
	int old = dup(STDERR_FILENO), to = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	dup2(to, STDERR_FILENO);
	for (unsigned i = 0; i < count; i++) {
		s[i] = open_for("/proc/self/exe", run);
		symbols_find(s[i], offset_of(in_outer() - 1), &p);
		with_lines += symbols_find(s[i], offset_of(long_named() - 1), &p) != 1 || p->line;
	}
	dup2(old, STDERR_FILENO);
	close(old);
	close(to);
	for (unsigned i = 0; i < count; i++)
		symbols_close(s[i]);
	return with_lines;
}

static unsigned messages(const char *what)
{
	char path[PATH_MAX], text[128];
	snprintf(path, sizeof(path), "%s/messages", folder);
	snprintf(text, sizeof(text), "%s: its functions are shown without lines", what);
	return count_lines(path, text);
}

static void test_budget(void)
{
	/* The first answer uses it up. */
	struct symbols_running run = {.messages = &printer, .budget_ns = 1};
	is(lines_of(&run, 2), 0, "no line is looked up when the time for symbols is over");
	is(messages("takes too long"), 1, "which is said once in a run");
	run = (struct symbols_running){.messages = &printer, .modules = SYMBOLS_MODULES - 3};
	is(lines_of(&run, 5), 3, "no module is read beyond so many");
	is(messages("is one too many"), 1, "which is said, too");
	is(run.modules, SYMBOLS_MODULES, "those are all");
	run = (struct symbols_running){.messages = &printer, .text_bytes = SYMBOLS_TEXT_BYTES};
	is(lines_of(&run, 2), 0, "nor when names have taken so much memory");
	is(messages("gives too many names"), 1, "which is said, too");
}

static void test_memory(void)
{
	struct symbols_running run = {.messages = &printer, .budget_bytes = 1};
	struct symbols *s[3];
	const struct symbols_position *p = NULL;
	unsigned found = 0;
	for (unsigned i = 0; i < 3; i++) {
		s[i] = open_for("/proc/self/exe", &run);
		found += symbols_find(s[i], offset_of(in_outer() - 1), &p) == 3;
	}
	is(found, 3, "modules are read when processes have all the memory that they may");
	is(children(), 1, "those which were started before are ended then");
	for (unsigned i = 0; i < 3; i++)
		symbols_close(s[i]);
}

/* With a server that refuses connections. */
static void test_closed_while_asked(void)
{
	struct symbols_running run = {
		.messages = &printer, .budget_ns = 600000000000u, .puts_off = true};
	const struct symbols_position *p = NULL;
	unsigned found = 0;
	setenv("DEBUGINFOD_URLS", "http://127.0.0.1:1/", 1);
	struct symbols *first = open_for("/bin/true", &run), *second = open_for("/bin/cat", &run);
	ok(!symbols_find(first, 0, &p) && run.waits, "while a server is asked positions wait");
	symbols_close(first);
	for (unsigned i = 0; i < 600 && !found; i++) {
		found = symbols_find(second, 0, &p);
		if (!found)
			usleep(100000);
	}
	ok(found > 0, "an answer for a module that was closed meanwhile is none for another");
	symbols_close(second);
	symbols_running_done(&run);
	unsetenv("DEBUGINFOD_URLS");
}

int main(void)
{
	if (!mkdtemp(folder))
		return skip_all("no folder");
	test_own();
	test_unwinding();
	test_stripped();
	test_debug_file();
	test_crash();
	test_not_there();
	test_many();
	test_damaged();
	test_long_name();
	test_running();
	test_budget();
	test_memory();
	test_closed_while_asked();
	char command[64];
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	if (system(command))
		diag("%s stays", folder);
	return tap_done();
}
