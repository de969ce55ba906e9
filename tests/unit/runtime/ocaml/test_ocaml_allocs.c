/* SPDX-License-Identifier: BSD-2-Clause */
/* Where runtime/ocaml/allocs finds what it probes, in runtimes that are assembled here. */
#include "runtime/ocaml/allocs.h"
#include "tests/unit/assembled.h"

#define MARK_5_3 MARK("caml_ml_runtime_events_path")
#define LARGE	 FUNCTION("caml_alloc_shr", "mov %rsi, %rax\nlarge: push %rbx\n")
#define SMALL	 FUNCTION("caml_alloc_small_dispatch", "endbr64\nsmall: push %r15\n")
#define LIFE	 FUNCTION("caml_ev_lifecycle", "life: push %rbx\nmov (%rdi), %rbx\n")
#define EXIT	 FUNCTION("caml_do_exit", "exit: push %rbx\n")
#define TABLE	 FUNCTION("caml_get_frame_descrs", "endbr64\nlea frames(%rip), %rax\n")
#define CALL_GC	 FUNCTION("caml_call_gc", "mov %r15, 8(%r14)\n")
#define FRAMES	 ".data\n.balign 16\nbefore: .quad 0, 0\nframes: .quad 0, 0\n.text\n"
#define PENDING	 FUNCTION("caml_process_pending_actions", "ret\n")
#define INPUT(name, at, body)                                                             \
	".globl " name "\n.type " name ",@function\n.size " name ", 9f - " name "\n" name \
	":\nendbr64\n" at "_begin: push %rbx\n" body "ret\n9:\n"
#define RUNTIME TEXT PLAIN MARK_5_3 LARGE SMALL LIFE EXIT FRAMES FLAG STATE

static struct ocaml_allocs allocs;

static int read_allocs(const char *text)
{
	int err = read_program(text, STATIC);
	memset(&allocs, 0, sizeof(allocs));
	return err ? err : ocaml_allocs_read(fd, &r, &allocs);
}

static bool has_site(enum ocaml_alloc_function function, const char *label)
{
	unsigned n = 0;
	bool is_there = false;
	for (uint32_t i = 0; i < allocs.sites; i++) {
		n += allocs.site[i].function == function;
		is_there |= allocs.site[i].function == function &&
			    allocs.site[i].offset == offset_of(label);
	}
	return n == 1 && is_there;
}

static unsigned count_sites(enum ocaml_alloc_function function)
{
	unsigned n = 0;
	for (uint32_t i = 0; i < allocs.sites; i++)
		n += allocs.site[i].function == function;
	return n;
}

static void test_sites(void)
{
	is(read_allocs(RUNTIME TABLE CALL_GC), 0, "a runtime is read");
	ok(has_site(OCAML_ALLOC_SMALL, "small") && has_site(OCAML_ALLOC_LARGE, "large") &&
		   has_site(OCAML_ALLOC_EXIT, "exit"),
	   "its functions are probed where the kernel emulates an instruction");
	ok(has_site(OCAML_ALLOC_LIFE, "life"), "and where domains begin and end");
	is(allocs.frames, address_of("frames"), "the table is the one whose address is returned");
	ok(!allocs.is_indirect && allocs.trigger == 32 && allocs.current_stack == 40 &&
		   allocs.c_stack == 64 && allocs.first_frame == 8,
	   "with the offsets of OCaml 5.3");
	ok(r.tls == OCAML_TLS_STATIC && r.id_offset == 288, "the state is caml_state");
	is(allocs.minor_words, 48 * 8, "which counts the words of minor heaps");
}

static void test_releases(void)
{
	is(read_allocs(TEXT PLAIN LARGE SMALL FRAMES FLAG STATE CALL_GC FUNCTION(
		   "caml_get_frame_descrs", "mov frames(%rip), %rbx\nmov before(%rip), %rax\n")),
	   0, "OCaml 5.0");
	ok(allocs.is_indirect && allocs.allocated_words == 120 && allocs.trigger == 16 &&
		   allocs.current_stack == 32 && allocs.c_stack == 56 &&
		   allocs.frames == address_of("frames"),
	   "has a pointer to its table, which it loads first, and no trigger");
	is(read_allocs(TEXT PLAIN MARK("caml_sys_get_stdlib_dirs")
			       LARGE SMALL LIFE EXIT FRAMES FLAG STATE TABLE CALL_GC),
	   0, "OCaml 5.5");
	is(allocs.minor_words, 40 * 8 + 13 * 8, "has a field more before that count");
	is(read_allocs(RUNTIME CALL_GC FUNCTION(
		   "caml_get_frame_descrs",
		   "mov 8+frames(%rip), %rdx\nmov frames(%rip), %rax\nmov %rdi, %rcx\n")),
	   0, "OCaml 5.1 returns the table itself");
	is(allocs.frames, address_of("frames"), "which begins at the lowest address");
	is(read_allocs(RUNTIME TABLE FUNCTION("caml_call_gc", "push %rbp\nmov %rsp, %rbp\n")), 0,
	   "with frame pointers");
	is(allocs.first_frame, 16, "a stack's first frame is a word further");
}

#define MANY "cmpl $1, 8(%rdi)\njne 1f\nmovups %xmm0, 8(%rsp)\ncall caml_alloc_shr\n1:\n"

static void test_inputs(void)
{
	is(read_allocs(RUNTIME TABLE CALL_GC PENDING INPUT(
		   "caml_input_val", "val",
		   MANY MANY MANY MANY MANY MANY MANY MANY MANY MANY MANY MANY MANY MANY MANY MANY
		   "val_end: call caml_process_pending_actions\n"
		   "call caml_process_pending_actions\n")),
	   0, "a function that reads a marshalled value");
	ok(has_site(OCAML_ALLOC_INPUT, "val_begin") && has_site(OCAML_ALLOC_READ, "val_end"),
	   "is probed where it begins, and where all has been read, however long it is");
	is(read_allocs(RUNTIME TABLE CALL_GC PENDING INPUT("caml_input_val", "val", MANY) INPUT(
		   "caml_input_val_from_bytes", "bytes",
		   ".byte 0xc5, 0xf8, 0x77\ncall caml_process_pending_actions\n")),
	   0, "where that is not found");
	ok(count_sites(OCAML_ALLOC_INPUT) == 0 && count_sites(OCAML_ALLOC_READ) == 0,
	   "or its code is unknown it is not probed");
	is(read_allocs(RUNTIME TABLE CALL_GC PENDING INPUT("caml_input_val", "val", MANY)
			       FUNCTION("other", "call caml_process_pending_actions\n")),
	   0, "another function behind it");
	is(count_sites(OCAML_ALLOC_READ), 0, "is not searched");
	is(read_allocs(RUNTIME TABLE CALL_GC PENDING INPUT(
		   "caml_input_val", "val", ".byte 0xf2\ncall caml_process_pending_actions\n")),
	   0, "a call that the kernel does not emulate");
	is(count_sites(OCAML_ALLOC_READ), 0, "is not probed");
	is(allocs.allocated_words, 128, "of the words of the major heap some are counted apart");
}

static void test_unknown(void)
{
	is(read_allocs(RUNTIME TABLE), -ENOENT, "a runtime without native code has none of that");
	is(read_allocs(RUNTIME CALL_GC FUNCTION("caml_get_frame_descrs", "mov %rdi, %rax\n")),
	   -ENOTSUP, "code that is unknown is refused");
	is(read_allocs(TEXT PLAIN SMALL LARGE LIFE FRAMES FLAG TABLE CALL_GC), 0,
	   "without caml_state");
	ok(allocs.sites == 1 && has_site(OCAML_ALLOC_SMALL, "small"),
	   "only the function that is called with it is probed");
}

int main(void)
{
	if (!mkdtemp(dir))
		return 1;
	test_sites();
	test_releases();
	test_inputs();
	test_unknown();
	char cmd[64];
	snprintf(cmd, sizeof(cmd), "rm -r %s", dir);
	tap_keeps(1);
	return system(cmd) ? 1 : tap_done();
}
