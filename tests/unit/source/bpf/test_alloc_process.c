// SPDX-License-Identifier: BSD-2-Clause
/* Records of sampled allocations become events, with stacks of this process's own code. */
#include "source/bpf/alloc_process.h"
#include "tests/tap.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#define SITE(kind) EBT_ALLOC_SITE_##kind

static struct session *session;
static struct alloc_context of;
static struct alloc_process a;
static struct ebt_event ev[ALLOC_EVENTS_MAX];

static void begin(void)
{
	a = (struct alloc_process){0};
	of = (struct alloc_context){.pid = getpid()};
	if (session_new(&session) || code_frames_new(session, &of.frames) ||
	    processes_of(&session->processes, (uint32_t)getpid(), &of.process))
		abort();
	of.session = session;
}

static void end(void)
{
	alloc_process_done(&a);
	code_frames_free(of.frames);
	session_free(session);
}

static const struct alloc_trace *sampling(void)
{
	return &processes_at(&session->processes, of.process)->alloc_trace;
}

/* The number of events of a record of thread `tid`; they are in `ev`. */
static int receive_of(uint32_t tid, enum ebt_alloc_site_kind kind, const uint64_t arg[4])
{
	struct ebt_alloc_record rec = {.head = {.site = (uint16_t)kind, .tid = tid}, .ts = 7};
	memcpy(rec.arg, arg, 4 * sizeof(*arg));
	memset(ev, 0, sizeof(ev));
	ev->ts = rec.ts;
	return alloc_process_receive(&a, &of, &rec, 0, ev);
}
#define receive(kind, ...) receive_of(1, SITE(kind), (uint64_t[4]){__VA_ARGS__})

static bool is_event(const struct ebt_event *e, enum ebt_kind kind, uint64_t object)
{
	return e->kind == kind && e->arg[0] == object;
}

static void test_addresses(void)
{
	begin();
	ok(receive(OTEL_ALLOC, 0x1000, 100, 20) == 1 && is_event(ev, EBT_ALLOC, 1) &&
		   ev->arg[1] == 13 && ev->pos == 2,
	   "an address is an object, its bytes and its weight are words");
	ok(sampling()->sample_rate == 1 && alloc_trace_has_weights(sampling(), session->strings),
	   "a sample for each word, as the trace's parameters say");
	ok(receive(OTEL_ALLOC, 0x2000, 8, 12) == 1 && is_event(ev, EBT_ALLOC, 2) && ev->pos == 2,
	   "what was left of a weight is added to the next");
	ok(receive(OTEL_FREE, 0x1000) == 1 && is_event(ev, EBT_COLLECT, 1), "it is freed");
	is(receive(OTEL_FREE, 0x1000), 0, "but not twice");
	is(receive(OTEL_FREE, 0x3000), 0, "and what was not sampled is not freed");
	ok(receive(OTEL_ALLOC, 0x1000, 8, 8) == 1 && is_event(ev, EBT_ALLOC, 3),
	   "the address is another object then");
	ok(receive(OTEL_ALLOC, 0x2000, 8, 8) == 2 && is_event(&ev[0], EBT_COLLECT, 2) &&
		   is_event(&ev[1], EBT_ALLOC, 4) && ev[1].ts == 7,
	   "an object whose free was not reported is freed when its address is used again");
	receive(OTEL_ALLOC, 0x4000, UINT64_MAX, UINT64_MAX);
	ok(ev->arg[1] == UINT64_MAX / 8 + 1 && ev->pos > 1ull << 58, "no size is too large");
	uint64_t *object;
	ok(alloc_process_exec(&a, &object) == 3 && object[0] == 3 && object[1] == 4 &&
		   object[2] == 5,
	   "those that are alive are gone when the process runs another program");
	free(object);
	is(receive(OTEL_FREE, 0x1000), 0, "which has none of them");
	ok(receive(OTEL_ALLOC, 0x1000, 8, 8) == 1 && is_event(ev, EBT_ALLOC, 6),
	   "but objects of its own");
	end();
}

static void test_numbers(void)
{
	begin();
	struct ebt_alloc_record rec = {.head = {.site = SITE(ALLOC), .tid = 1},
				       .ts = 7,
				       .arg = {42, 100, 3, EBT_ALLOC_MINOR, 5, 6}};
	memset(ev, 0, sizeof(ev));
	ok(alloc_process_receive(&a, &of, &rec, 0, ev) == 1 && is_event(ev, EBT_ALLOC, 42) &&
		   ev->arg[1] == 100 && ev->pos == 3 && ev->id == EBT_ALLOC_MINOR &&
		   ev->domain == 5 && ev->ts == 6,
	   "our markers have the object's number, words, samples, source, domain and time");
	ok(!sampling()->known, "but not the rate");
	is(receive_of(2, SITE(OTEL_WEIGHT), (uint64_t[4]){0x1000, 800, 24000}), 0,
	   "another thread's allocation");
	ok(!sampling()->known, "does not tell it");
	is(receive(OTEL_WEIGHT, 0x1000, 800, 24000), 0, "the bytes that the samples stand for");
	ok(sampling()->known && sampling()->sample_rate > 0.00099 &&
		   sampling()->sample_rate < 0.00101,
	   "do");
	ok(!alloc_trace_has_weights(sampling(), session->strings), "and there are no weights then");
	ok(receive(PROMOTE, 42, 5, 8) == 1 && is_event(ev, EBT_PROMOTE, 42) && ev->domain == 5 &&
		   ev->ts == 8,
	   "it is promoted");
	ok(receive(COLLECT, 42, 5, 9) == 1 && is_event(ev, EBT_COLLECT, 42), "and collected");
	uint64_t *object;
	receive(ALLOC, 50, 1, 1);
	receive(ALLOC, 49, 1, 1);
	ok(alloc_process_exec(&a, &object) == 2 && object[0] == 49 && object[1] == 50,
	   "those that are alive are gone when the process runs another program");
	free(object);
	ok(receive(ALLOC, 1, 1, 1) == 1 && is_event(ev, EBT_ALLOC, 51),
	   "whose objects are others, though their numbers begin anew");
	ok(receive(PROMOTE, 1, 5, 8) == 1 && is_event(ev, EBT_PROMOTE, 51) &&
		   receive(COLLECT, 1, 5, 9) == 1 && is_event(ev, EBT_COLLECT, 51),
	   "as in what is reported of them");
	is(alloc_process_exec(&a, &object), 0, "what was collected is not gone again");
	free(object);
	end();
}

/* The address behind a call of it. */
static __attribute__((noinline, noclone)) uint64_t here(void)
{
	__asm__ volatile("");
	return (uint64_t)__builtin_return_address(0);
}

static inline __attribute__((always_inline)) uint64_t in_probe(void)
{
	uint64_t at = here();
	__asm__ volatile("" : "+r"(at));
	return at;
}

static __attribute__((noinline, noclone)) uint64_t ebt_probe(void)
{
	uint64_t at = in_probe();
	__asm__ volatile("" : "+r"(at));
	return at;
}

static __attribute__((noinline, noclone)) uint64_t caller(void)
{
	uint64_t at = here();
	__asm__ volatile("# unlike ebt_probe, or they are merged" : "+r"(at));
	return at;
}

/* The functions of a stack, the outermost first. */
static void put_functions(uint32_t stack, char *ret, size_t size)
{
	uint32_t frame[CODE_STACK_MAX];
	size_t n = stacks_frames(session->stacks, stack, frame, CODE_STACK_MAX), at = 0;
	*ret = 0;
	for (size_t i = 0; i < n; i++) {
		const struct frame *f = frames_get(session->frames, frame[i]);
		if (!f->count && at < size)
			at += (size_t)snprintf(ret + at, size - at, "%s?", at ? " " : "");
		for (uint32_t k = 0; k < f->count && at < size; k++)
			at += (size_t)snprintf(
				ret + at, size - at, "%s%s", at ? " " : "",
				strings_text(session->strings, f->position[k].function));
	}
}

static void is_stack(const uint64_t *address, size_t count, const char *expected, const char *name)
{
	char text[1024];
	struct code_stack code = {.address = address, .count = count};
	uint32_t stack = 0;
	code_map_read(of.frames, &a.code, of.pid, false);
	int err = code_frames_stack(of.frames, &a.code, of.pid, &code, &stack);
	put_functions(err ? 0 : stack, text, sizeof(text));
	is_str(text, expected, name);
}

static void test_stacks(void)
{
	char *page = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char text[64];
	begin();
	is_stack((uint64_t[]){caller() - 1, caller()}, 2, "caller caller",
		 "an address has its function, a return address that of the call");
	is_stack((uint64_t[]){(uint64_t)caller}, 1, "caller",
		 "the innermost is the instruction itself");
	is_stack((uint64_t[]){ebt_probe(), ebt_probe(), caller()}, 3, "caller",
		 "the innermost frames of the probes' library are left out");
	is_stack((uint64_t[]){(uint64_t)begin, ebt_probe(), caller()}, 3, "caller",
		 "and so are those that they call");
	is_stack((uint64_t[]){ebt_probe()}, 1, "", "also if there are no others");
	snprintf(text, sizeof(text), "caller 0x%llx", (unsigned long long)(uintptr_t)page + 8);
	is_stack((uint64_t[]){(uint64_t)(uintptr_t)page + 8, caller()}, 2, text,
		 "code in no file has its address");
	is_stack((uint64_t[]){caller(), 0x10, 0x20, caller()}, 4, "caller ? ? caller",
		 "what is in no mapping is one unknown frame");
	is_stack(NULL, 0, "", "there may be no stack");
	of.pid = 1 << 22; /* no process has this pid */
	is_stack((uint64_t[]){caller()}, 1, "caller",
		 "of a process that has ended the mappings stay");
	end();
	munmap(page, 4096);
}

/* Reading the mappings needs a descriptor; for a module no other is left. */
static void test_unopened(void)
{
	struct rlimit had, one;
	char text[512];
	begin();
	getrlimit(RLIMIT_NOFILE, &had);
	int lowest = dup(0);
	close(lowest);
	one = (struct rlimit){(rlim_t)lowest + 1, had.rlim_max};
	setrlimit(RLIMIT_NOFILE, &one);
	code_map_read(of.frames, &a.code, of.pid, true);
	setrlimit(RLIMIT_NOFILE, &had);
	uint32_t stack = 0;
	uint64_t at = caller();
	struct code_stack one_address = {.address = &at, .count = 1};
	code_frames_stack(of.frames, &a.code, of.pid, &one_address, &stack);
	put_functions(stack, text, sizeof(text));
	ok(strstr(text, "test_alloc_process+0x"), "a module that cannot be opened has offsets");
	a.code.read_ns = 0;
	code_map_read(of.frames, &a.code, of.pid, true);
	code_frames_stack(of.frames, &a.code, of.pid, &one_address, &stack);
	put_functions(stack, text, sizeof(text));
	is_str(text, "caller", "when it can, it has functions");
	end();
}

static void test_pages(void)
{
	begin();
	struct process *p = processes_at(&session->processes, of.process);
	ok(receive(PAGE_ALLOC, 0x6000, 3, EBT_NO_DOMAIN, 99) == 1 &&
		   is_event(ev, EBT_PAGE_ALLOC, 0x6000) && ev->arg[1] == 3 && ev->ts == 99 &&
		   ev->domain == EBT_NO_DOMAIN,
	   "pages that a program reports are an event, with the program's time");
	is(p->page_bytes, 8192, "its pages have 8 KiB");
	ok(receive(PAGE_FREE, 0x6000, 2, 0, 100) == 1 && is_event(ev, EBT_PAGE_FREE, 0x6000) &&
		   receive(PAGE_SCAVENGE, 0x6000, 1, 0, 101) == 1 &&
		   is_event(ev, EBT_PAGE_SCAVENGE, 0x6000),
	   "and so are those that it frees and returns");
	ok(!receive(PAGE_ALLOC, 0x6001, 1, 0, 1) && !receive(PAGE_ALLOC, 0x6000, 0, 0, 1) &&
		   !receive(PAGE_FREE, 1ull << 48, 1, 0, 1) &&
		   !receive(PAGE_SCAVENGE, 0x6000, UINT64_MAX, 0, 1),
	   "what is no run of pages is no event");
	end();
}

int main(void)
{
	test_addresses();
	test_pages();
	test_numbers();
	test_stacks();
	test_unopened();
	return tap_done();
}
