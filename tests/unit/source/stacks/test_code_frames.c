// SPDX-License-Identifier: BSD-2-Clause
/* Frames of code in the mappings of this process. */
#include "source/stacks/code_frames.h"
#include "tests/tap.h"

#include <sys/mman.h>
#include <unistd.h>

#define PAGE	   4096u
#define FAR_OFFSET (1ull << 48)

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

int main(void)
{
	test_far();
	test_none();
	return tap_done();
}
