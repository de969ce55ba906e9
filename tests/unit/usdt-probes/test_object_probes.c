/* SPDX-License-Identifier: BSD-2-Clause */
/* The probes of sampled allocations, and the trace that they write. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ebtrace/probes.h>

#include "tests/tap.h"
#include "tests/unit/interrupts.h"
#include "tests/unit/trace_file.h"
#include "usdt-probes/shared/module_file.h"

#define NOTICED_WORDS 131072

/* The semaphores; the kernel counts listeners in them. */
extern uint16_t ebt_object_listeners[2];

static char dir[] = "/tmp/ebtrace-object-XXXXXX";
static char path[64];
static struct trace_file t;

/* Words until an object is sampled, allocated by tens; 0: none of as many. */
static uint64_t words_to_sample(uint64_t most)
{
	for (uint64_t words = 10; words <= most; words += 10)
		if (ebt_object_alloc(10, EBT_ALLOC_MINOR, NULL))
			return words;
	return 0;
}

/* The environment has the rate 0.01. */
static void test_listeners(void)
{
	is(words_to_sample(10000000), 0, "nothing is sampled when nobody wants it");
	for (int i = 0; i < 2; i++) {
		const char *who = i ? "otel_memory" : "ebtrace";
		ebt_object_listeners[i] = 1;
		uint64_t words = words_to_sample(10 * NOTICED_WORDS);
		ok(words && words < NOTICED_WORDS + 2000, "a listener of %s is noticed: %llu words",
		   who, (unsigned long long)words);
		uint64_t n = 0;
		for (int k = 0; k < 100000; k++)
			n += ebt_object_alloc(1, EBT_ALLOC_MINOR, NULL) != 0;
		ok(n > 850 && n < 1150, "it gets the rate of the environment: %llu of 100000 words",
		   (unsigned long long)n);
		ebt_object_listeners[i] = 0;
		words_to_sample(NOTICED_WORDS); /* the next sample notices that it is gone */
		is(words_to_sample(10000000), 0, "and is noticed when it goes");
	}
}

__attribute__((noinline)) static uint64_t known_site(uint64_t words)
{
	uint64_t obj = ebt_object_alloc(words, EBT_ALLOC_EXTERNAL, NULL);
	__asm__ volatile("" ::: "memory"); /* not a tail call: the frame is seen */
	return obj;
}

static void test_trace(void)
{
	uint64_t total = 0, sampled = 0, obj = 0;
	is(ebt_object_trace_start(path, 0, NULL), -EINVAL, "a rate of 0 is refused");
	is(ebt_object_trace_start(path, 1.5, NULL), -EINVAL, "so is one above 1");
	is(ebt_object_trace_start(path, NAN, NULL), -EINVAL, "so is one that is no number");
	is(ebt_object_trace_start(path, 0.001, "words"), 0, "a trace starts");
	is(ebt_object_trace_start(path, 0.001, "words"), -EALREADY, "not twice");
	errno = 77;
	for (uint64_t i = 0; i < 200000; i++) {
		uint64_t words = i % 50 + 1, n = known_site(words);
		total += words;
		sampled += n != 0;
		obj = n ? n : obj;
	}
	ebt_object_promote(0);
	ebt_object_promote(obj);
	ebt_object_collect(obj, NULL);
	is(errno, 77, "errno is left alone");
	is(ebt_object_trace_stop(), 0, "it stops");
	is(trace_read(&t, path), 0, "the reader reads it");
	is(t.counts.damaged, 0, "without damage");
	is(t.events, sampled + 2, "it has every sampled event");
	double words = 0;
	uint64_t wrong = 0;
	for (size_t i = 0; i < sampled && i < t.events; i++) {
		const struct ebt_memtrace_event *e = &t.event[i].e;
		words += (double)e->samples / t.rate;
		wrong += e->source != EBT_ALLOC_EXTERNAL || e->words < 1 || e->words > 50;
	}
	is(wrong, 0, "with its source and size");
	double sd = sqrt((double)total / t.rate);
	ok(fabs(words - (double)total) < 4 * sd, "samples / rate is %.0f of %.0f words", words,
	   (double)total);
	const struct ebt_memtrace_event *last = &t.event[t.events - 1].e;
	ok(last->what == EBT_MEMTRACE_COLLECT && last->obj == obj && last[0].domain == 0,
	   "the end of an object has its number");
}

/* Continues with the trace of test_trace(). */
static void test_frame_pointers(void)
{
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__)
	const struct trace_event *e = &t.event[0];
	int64_t inner = e->frames && e->frames <= TRACE_FRAMES ? e->frame[e->frames - 1] : 0;
	int64_t site = (int64_t)(intptr_t)known_site;
	ok(inner > site && inner < site + 200, "the innermost frame is the caller of the probe");
	const struct ebt_memtrace_location *l = NULL;
	char self[256] = "", text[32];
	ok(readlink("/proc/self/exe", self, sizeof(self) - 1) > 0 &&
		   ebt_memtrace_locations(t.reader, inner, &l) == 1 && !strcmp(l->file, self),
	   "without symbols its file is the program");
	extern const char base[] __asm__("__ehdr_start");
	/* The linker leaves no gaps in the file before its code. */
	int n = snprintf(text, sizeof(text),
			 "0x%llx:", (unsigned long long)(inner - 1 - (intptr_t)base));
	ok(l && !strncmp(l->function, text, (size_t)n) &&
		   strspn(l->function + n, "0123456789abcdef") >= 16,
	   "and its function the offset in it with the build id: %s", l ? l->function : "");
#endif
	trace_done(&t);
}

static size_t two_frames(void *ctx, int64_t *codes, size_t max)
{
	(void)max;
	codes[0] = -5;
	codes[1] = *(int64_t *)ctx;
	return 2;
}

static size_t name_frames(void *ctx, int64_t code, const struct ebt_memtrace_location **ret)
{
	static const struct ebt_memtrace_location outer = {"main.ml", "main", 1, 2, 3},
						  inlined[2] = {{"a.ml", "f", 10, 1, 2},
								{"b.ml", "g", 20, 3, 4}};
	(void)ctx;
	*ret = code == -5 ? &outer : inlined;
	return code == -5 ? 1 : 2;
}

static void test_own_frames(void)
{
	int64_t code = 1234;
	struct ebt_object_stacks stacks = {two_frames, name_frames, &code};
	ebt_object_stacks(&stacks);
	ebt_object_trace_start(path, 1, NULL);
	known_site(4);
	is(ebt_object_trace_stop(), 0, "a runtime has frames of its own");
	ebt_object_stacks(NULL);
	trace_read(&t, path);
	ok(t.events == 1 && t.event[0].frames == 2 && t.event[0].frame[1] == 1234 &&
		   t.event[0].e.samples == 4,
	   "its codes are in the trace");
	const struct ebt_memtrace_location *l = NULL;
	size_t n = ebt_memtrace_locations(t.reader, 1234, &l);
	ok(n == 2 && !strcmp(l[1].function, "g") && l[1].line == 20, "with its positions");
	trace_done(&t);
}

static void test_seed(void)
{
	uint64_t first[2] = {0}, count[2] = {0};
	for (int run = 0; run < 2; run++) {
		ebt_object_seed(99);
		ebt_object_trace_start(path, 0.01, NULL);
		for (uint64_t i = 1; i < 10000; i++) {
			bool hit = ebt_object_alloc(3, EBT_ALLOC_MINOR, NULL);
			count[run] += hit;
			first[run] = hit && !first[run] ? i : first[run];
		}
		ebt_object_trace_stop();
	}
	ok(count[0] == count[1] && first[0] == first[1] && count[0] > 200,
	   "the same seed gives the same samples: %llu", (unsigned long long)count[0]);
}

static volatile uint64_t handled, handled_sampled;
static void handler(int sig)
{
	(void)sig;
	handled_sampled += ebt_object_alloc(1, EBT_ALLOC_MINOR, NULL) != 0;
	handled++;
}

static void test_signals(void)
{
	uint64_t own = 0, sampled = 0, lost = ebt_object_lost();
	struct interrupts in;
	ebt_object_trace_start(path, 1, NULL);
	interrupts_begin(&in, handler, 20);
	for (; own < 10000 || (ebt_object_lost() - lost < 5 && own < 3000000); own++) {
		interrupt_again(&in, handled);
		sampled += ebt_object_alloc(1, EBT_ALLOC_MINOR, NULL) != 0;
	}
	interrupts_end();
	lost = ebt_object_lost() - lost;
	ebt_object_trace_stop();
	diag("%llu signals, %llu dropped", (unsigned long long)handled, (unsigned long long)lost);
	ok(lost >= 5, "signal handlers allocate inside probes");
	is(trace_read(&t, path), 0, "the trace can be read");
	is(t.counts.damaged, 0, "without damage");
	is(t.events, sampled + handled_sampled, "it has all that got a number");
	trace_done(&t);
}

static void test_flush(void)
{
	ebt_object_trace_start(path, 1, NULL);
	for (int i = 0; i < 3; i++)
		ebt_object_alloc(1, EBT_ALLOC_MINOR, NULL);
	ebt_object_trace_flush();
	trace_read(&t, path);
	is(t.events, 3, "what is flushed can be read while the trace goes on");
	trace_done(&t);
	ebt_object_alloc(1, EBT_ALLOC_MINOR, NULL);
	ebt_object_trace_stop();
	trace_read(&t, path);
	is(t.events, 4, "and what comes later is behind it");
	trace_done(&t);
}

/* With a trace from the environment; the program's end closes it. */
static int child_of_environment(void)
{
	if (getenv("EBTRACE_MEMTRACE_SEED") && !strcmp(getenv("EBTRACE_MEMTRACE_SEED"), "0"))
		return -ebt_object_trace_stop();
	ebt_object_alloc(1000, EBT_ALLOC_MAJOR, NULL);
	return getenv("EBTRACE_MEMTRACE") ? 1 : 0;
}

static void test_environment(char **argv)
{
	int status = -1;
	pid_t pid = fork();
	if (!pid) {
		setenv("EBTRACE_MEMTRACE", path, 1);
		execl("/proc/self/exe", argv[0], "child", NULL);
		_exit(2);
	}
	waitpid(pid, &status, 0);
	is(status, 0, "the environment starts a trace, and does not pass it on");
	is(trace_read(&t, path), 0, "which can be read");
	ok(t.events == 1 && t.event[0].e.words == 1000 && t.rate == 0.01 && t.pid == (uint64_t)pid,
	   "and has the allocations and the rate");
	trace_done(&t);
}

/* What ebt_object_trace_stop() returns in a program with this environment. */
static int error_of_environment(char **argv, const char *file, const char *rate)
{
	int status = -1;
	pid_t pid = fork();
	if (!pid) {
		setenv("EBTRACE_MEMTRACE", file, 1);
		setenv("EBTRACE_MEMTRACE_RATE", rate, 1);
		setenv("EBTRACE_MEMTRACE_SEED", "0", 1);
		close(STDERR_FILENO);
		execl("/proc/self/exe", argv[0], "child", NULL);
		_exit(2);
	}
	waitpid(pid, &status, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void test_load_error(char **argv)
{
	is(error_of_environment(argv, "nowhere/x", "1"), ENOENT,
	   "why the trace of the environment did not start is the error of its stop");
	is(error_of_environment(argv, path, "2"), EINVAL, "as is a rate that is none");
	is(error_of_environment(argv, path, "1"), 0, "a trace that started has no error");
	is(error_of_environment(argv, "", "2"), EINVAL, "without a trace there is none to stop");
}

/* Segments of a module that follow one another in memory, and not in the file. */
static void test_module_offsets(void)
{
	static const struct {
		uint64_t address;
		int64_t offset; /* -1: of none */
	} rows[] = {{0xfff, -1},      {0x1000, 0x100},	{0x1fff, 0x10ff},
		    {0x2000, 0x5000}, {0x2fff, 0x5fff}, {0x3000, -1}};
	const struct ebt_module_file m = {
		.segment = {{0x1000, 0x2000, 0x100}, {0x2000, 0x3000, 0x5000}}};
	unsigned wrong = 0;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		uint64_t offset = UINT64_MAX;
		bool is_in = ebt_module_file_offset(&m, rows[i].address, &offset);
		wrong += is_in != (rows[i].offset >= 0) || (int64_t)offset != rows[i].offset;
	}
	is(wrong, 0, "an address is in the segment that has it, up to its end");
}

int main(int argc, char **argv)
{
	char command[80];
	if (argc > 1)
		return child_of_environment();
	if (!getenv("EBTRACE_MEMTRACE_RATE")) {
		setenv("EBTRACE_MEMTRACE_RATE", "0.01", 1);
		setenv("EBTRACE_MEMTRACE_SEED", "7", 1);
		execv("/proc/self/exe", argv);
	}
	if (!mkdtemp(dir))
		return 1;
	snprintf(path, sizeof(path), "%s/trace.ctf", dir);
	test_listeners();
	test_trace();
	test_frame_pointers();
	test_own_frames();
	test_seed();
	test_flush();
	test_signals();
	test_environment(argv);
	test_load_error(argv);
	snprintf(command, sizeof(command), "rm -rf '%s'", dir);
	if (system(command))
		abort();
	test_module_offsets();
	return tap_done();
}
