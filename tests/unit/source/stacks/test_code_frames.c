// SPDX-License-Identifier: BSD-2-Clause
/* Frames of code in the mappings of this process. */
#include "proc/maps.h"
#include "source/stacks/code_frames.h"
#include "source/stacks/ocaml_parts.h"
#include "tests/tap.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE	   4096u
#define FAR_OFFSET (1ull << 48)

extern const char __ehdr_start[]; /* of this program, which is mapped there */

static unsigned find(void *ctx, struct code_memory *memory, struct code_position *ret)
{
	(void)ctx;
	(void)memory;
	*ret = (struct code_position){.function = "found"};
	return 1;
}

static const char *function_of(struct session *s, uint32_t id)
{
	const struct frame *f = frames_get(s->frames, id);
	return f->count ? strings_text(s->strings, f->position[0].function) : "";
}

static unsigned find_none(void *ctx, struct code_memory *memory, struct code_position *ret)
{
	(void)memory;
	(void)ret;
	++*(unsigned *)ctx;
	return 0;
}

static void test_none(void)
{
	struct session *s;
	struct code_frames *c;
	struct code_map map = {0};
	unsigned asked = 0;
	struct code_lookup by = {.find = find_none, .ctx = &asked};
	if (session_new(&s) || code_frames_new(s, &c))
		abort();
	code_map_read(c, &map, getpid(), true);
	uint32_t first = code_frames_return(c, &map, getpid(), (uintptr_t)test_none + 1, &by);
	uint32_t again = code_frames_return(c, &map, getpid(), (uintptr_t)test_none + 1, &by);
	is_str(function_of(s, again), "test_none", "what its lookup does not know has its symbol");
	is(asked, 1, "and is not looked up again");
	frames_drop(s->frames, first);
	frames_drop(s->frames, again);
	code_map_done(&map);
	code_frames_free(c);
	session_free(s);
}

/* What a program can claim: code at any offset of a file. */
static void test_far(void)
{
	struct session *s;
	struct code_frames *c;
	struct code_map map = {0};
	struct code_lookup by = {.find = find};
	int fd = memfd_create("code", MFD_CLOEXEC);
	if (session_new(&s) || code_frames_new(s, &c) || fd < 0 || ftruncate(fd, FAR_OFFSET + PAGE))
		abort();
	char *near = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	char *far = mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, FAR_OFFSET);
	if (near == MAP_FAILED || far == MAP_FAILED)
		abort();
	code_map_read(c, &map, getpid(), true);
	uint32_t found = code_frames_return(c, &map, getpid(), (uintptr_t)near + 0x101, &by), stack;
	is_str(function_of(s, found), "found", "a return address has the positions of its lookup");
	uint64_t address[] = {(uintptr_t)far + 0x101};
	struct code_stack of = {.address = address, .count = 1};
	ok(!code_frames_stack(c, &map, getpid(), &of, &stack) &&
		   stacks_frame(s->stacks, stack) != found,
	   "which are not those of another address");
	frames_drop(s->frames, found);
	code_map_done(&map);
	code_frames_free(c);
	session_free(s);
	munmap(near, PAGE);
	munmap(far, PAGE);
	close(fd);
}

struct fixture {
	struct session *session;
	struct code_frames *frames;
	struct code_map map;
};

static void begin(struct fixture *f)
{
	*f = (struct fixture){0};
	if (session_new(&f->session) || code_frames_new(f->session, &f->frames))
		abort();
}

static void finish(struct fixture *f)
{
	code_map_done(&f->map);
	code_frames_free(f->frames);
	session_free(f->session);
}

/* The innermost frame of one address. */
static const struct frame *frame_at(struct fixture *f, uint64_t address, bool returns)
{
	struct code_stack of = {.address = &address, .count = 1, .returns = returns};
	uint32_t stack;
	if (code_frames_stack(f->frames, &f->map, getpid(), &of, &stack))
		abort();
	return frames_get(f->session->frames, stacks_frame(f->session->stacks, stack));
}

/* Whether it is an instruction of a file. */
static bool is_of(struct fixture *f, uint64_t address, const char *path, uint64_t offset)
{
	const struct frame *frame = frame_at(f, address, false);
	const char *of = strings_text(f->session->strings, frame->module.path);
	return of && !strcmp(of, path) && frame->module.offset == offset &&
	       frame->address == address;
}

static int make_file(char *path, unsigned pages)
{
	int fd = mkstemp(path);
	if (fd < 0 || ftruncate(fd, pages * PAGE))
		abort();
	return fd;
}

static void map_code(const char *at, unsigned pages, int fd, unsigned page)
{
	if (mmap((void *)at, pages * PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd,
		 page * PAGE) != at)
		abort();
}

/* A library of three pages is unmapped, and another has the page between now. */
static void test_recorded(bool last_first)
{
	char gone[] = "/tmp/ebtrace-gone-XXXXXX", now[] = "/tmp/ebtrace-now-XXXXXX";
	int a = make_file(gone, 4), b = make_file(now, 1);
	struct fixture f;
	begin(&f);
	char *at = mmap(NULL, 8 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t first = (uintptr_t)at + PAGE;
	code_frames_record(f.frames, getpid());
	if (!code_frames_has_code(f.frames, &f.map)) {
		ok(!getenv("EBT_NO_SKIP"), "mappings are recorded, # SKIP not permitted");
	} else {
		map_code(at + PAGE, 3, a, 1);
		munmap(at + PAGE, 3 * PAGE);
		map_code(at + 2 * PAGE, 1, b, 0);
		code_map_read(f.frames, &f.map, getpid(), true);
		f.map.early = 16; /* and they are not read again */
		f.map.cost_ns = 1ull << 50;
		size_t known = f.map.count;
		bool is_last =
			last_first && is_of(&f, first + 2 * PAGE + 0x101, gone, 3 * PAGE + 0x101);
		ok(is_of(&f, first + 0x101, gone, PAGE + 0x101),
		   "code in front of what replaced its library is the library's");
		ok(is_last == last_first &&
			   is_of(&f, first + 2 * PAGE + 0x101, gone, 3 * PAGE + 0x101),
		   "and code behind it, as far into the file as it was");
		ok(is_of(&f, first + PAGE, now, 0) && is_of(&f, first + 2 * PAGE - 1, now, 0xfff),
		   "what replaced it has its own");
		is(f.map.count, known + 2, "two parts of the library are left");
		ok(is_of(&f, first + 2 * PAGE, gone, 3 * PAGE) &&
			   is_of(&f, first + PAGE - 1, gone, PAGE + 0xfff) &&
			   f.map.count == known + 2,
		   "which end where the other begins");
		ok(code_frames_is_code(f.frames, &f.map, getpid(), first + 3 * PAGE - 1) &&
			   !code_frames_is_code(f.frames, &f.map, getpid(), first + 3 * PAGE) &&
			   !code_frames_is_code(f.frames, &f.map, getpid(), first - 1),
		   "and no address around them is code");
		map_code(at + PAGE, 1, b, 0);
		munmap(at + PAGE, PAGE);
		ok(!code_frames_is_code(f.frames, &f.map, getpid(), first + 1) &&
			   is_of(&f, first + 2 * PAGE + 0x101, gone, 3 * PAGE + 0x101),
		   "what was another library's, too, is neither's");
	}
	finish(&f);
	munmap(at, 8 * PAGE);
	close(a);
	close(b);
	unlink(gone);
	unlink(now);
}

static void test_maps(void)
{
	struct fixture f;
	struct code_map child = {0}, other = {0};
	begin(&f);
	for (int i = 0; i < 20; i++)
		code_map_read(f.frames, &f.map, getpid(), true);
	is(f.map.early, 16, "the mappings of a process that begins are read 16 times at once");
	ok(f.map.read_ns && !f.map.is_parents, "they are its own");
	code_map_inherit(&child, &other);
	ok(!child.count && !child.is_parents, "a child of a process without mappings has none");
	code_map_inherit(&child, &f.map);
	ok(child.count == f.map.count && child.is_parents, "else it has its parent's");
	code_map_inherit(&child, &other);
	is(child.count, f.map.count, "and keeps them");
	code_map_exec(&child);
	ok(!child.count && !child.is_parents, "until it executes another program");
	size_t count = f.map.count;
	code_map_exec(&f.map);
	ok(f.map.count == count && !f.map.read_ns && !f.map.early,
	   "a process's own stay until they are read again, at once");
	code_map_read(f.frames, &f.map, 0, true);
	ok(f.map.count == count && f.map.early == 1, "those of a process that has ended stay");
	struct maps_list none = {.err = -ESRCH};
	code_map_set(f.frames, &f.map, getpid(), &none);
	ok(f.map.count == count && f.map.early == 1,
	   "and a list that could not be read is no list");
	finish(&f);
}

static unsigned find_of(void *ctx, struct code_memory *memory, struct code_position *ret)
{
	char head[4];
	++*(unsigned *)ctx;
	ok(code_memory_read(memory, (uintptr_t)__ehdr_start, head, 4) == 4 &&
		   !memcmp(head,
			   "\x7f"
			   "ELF",
			   4) &&
		   memory->bias == (uintptr_t)__ehdr_start,
	   "a lookup reads the module where it is mapped");
	*ret = (struct code_position){"found", "file.ml", 7, 3, 5, true};
	return 1;
}

static void test_variants(void)
{
	struct fixture f;
	unsigned calls = 0;
	struct code_lookup by = {.find = find_of, .ctx = &calls};
	uint64_t at = (uintptr_t)test_variants + 9;
	uint32_t id[3];
	begin(&f);
	code_map_read(f.frames, &f.map, getpid(), true);
	for (int i = 0; i < 3; i++) {
		by.variant = i > 0;
		id[i] = code_frames_return(f.frames, &f.map, getpid(), at, &by);
	}
	is(calls, 2, "a place is looked up once in each variant");
	const struct frame *frame = frames_get(f.session->frames, id[1]);
	const struct frame_position *p = &frame->position[0];
	ok(id[0] && id[1] == id[2] && frame->count == 1 && p->line == 7 && p->start_char == 3 &&
		   p->end_char == 5 && p->has_chars && p->has_line && frame->address == at &&
		   frame->module.offset == at - 1 - (uintptr_t)__ehdr_start,
	   "its frame has its position, and the offset of the call");
	is_str(strings_text(f.session->strings, p->file), "file.ml", "in its file");
	for (int i = 0; i < 3; i++)
		frames_drop(f.session->frames, id[i]);
	struct code_memory memory;
	ok(code_frames_memory(f.frames, &f.map, getpid(), at, &memory) && memory.elf &&
		   memory.pid == getpid() &&
		   !code_frames_memory(f.frames, &f.map, getpid(), 5, &memory),
	   "what is in no module has no memory");
	finish(&f);
}

static void test_stacks(void)
{
	struct fixture f;
	uint64_t at[CODE_STACK_MAX + 2], start = (uintptr_t)test_stacks;
	uint32_t stack, frame[CODE_STACK_MAX + 2];
	begin(&f);
	code_map_read(f.frames, &f.map, getpid(), true);
	for (unsigned i = 0; i < CODE_STACK_MAX + 2; i++)
		at[i] = start + 8 + i;
	at[1] = start;
	at[2] = CODE_GAP;
	at[3] = CODE_CUT;
	at[4] = 5; /* in no mapping */
	for (unsigned n = CODE_STACK_MAX - 1; n <= CODE_STACK_MAX + 1; n++) {
		struct code_stack of = {.address = at, .count = n};
		int err = code_frames_stack(f.frames, &f.map, getpid(), &of, &stack);
		size_t got = stacks_frames(f.session->stacks, stack, frame, CODE_STACK_MAX + 2);
		ok(!err && got == (n < CODE_STACK_MAX ? n : CODE_STACK_MAX),
		   "of %u addresses %zu have frames", n, got);
	}
	const uint32_t *last = &frame[CODE_STACK_MAX - 1];
	is_str(function_of(f.session, last[0]), "test_stacks", "the innermost first");
	ok(strcmp(function_of(f.session, last[-1]), "test_stacks"),
	   "a call at the end of a function returns behind it");
	is_str(function_of(f.session, last[-2]), "[frames missing]", "a gap is a frame");
	is_str(function_of(f.session, last[-3]), "[stack not whole]", "and so is an early end");
	const struct frame *none = frames_get(f.session->frames, last[-4]);
	ok(!none->count && !none->has_address && !none->module.offset, "no code: an unknown frame");
	struct code_stack more = {.address = at, .count = 1, .outer = stack};
	code_frames_stack(f.frames, &f.map, getpid(), &more, &stack);
	is(stacks_frames(f.session->stacks, stack, frame, CODE_STACK_MAX + 2), CODE_STACK_MAX + 1,
	   "a stack extends another one");
	is_str(code_frames_function(f.frames, &f.map, getpid(), start, false), "test_stacks",
	       "a function begins at its address");
	const char *before = code_frames_function(f.frames, &f.map, getpid(), start, true);
	ok(!before || strcmp(before, "test_stacks"), "and no call before it is its own");
	ok(!code_frames_function(f.frames, &f.map, getpid(), 5, false), "no code has no name");
	ok(code_frames_unwind(f.frames, &f.map, getpid(), start, true).kind != UNWIND_UNKNOWN &&
		   code_frames_unwind(f.frames, &f.map, getpid(), 5, true).kind == UNWIND_UNKNOWN,
	   "a function is unwound by its table");
	finish(&f);
}

/* Calls from C to OCaml, without a copy of C's stack. */
static void test_callbacks(void)
{
	static const struct ebt_ocaml_callbacks callbacks = {
		.count = 3, .callback = {{.frames = 1}, {.frames = 2}, {.frames = 5}}};
	struct c_stack_of of = {.pid = getpid()};
	struct ocaml_parts parts = {.count = 0};
	ocaml_parts_add_callbacks(&of, &parts, &callbacks, 2);
	ok(parts.count == 2 && parts.c[0].frames == 0 && parts.c[1].frames == 3,
	   "C that frames which are left out have called is left out, too");
	ok(parts.has_gap && parts.c[0].code.count == 1 && *parts.c[0].code.address == CODE_GAP,
	   "of what was not copied there is a gap");
}

int main(void)
{
	test_callbacks();
	test_far();
	test_none();
	test_recorded(false);
	test_recorded(true);
	test_maps();
	test_variants();
	test_stacks();
	return tap_done();
}
