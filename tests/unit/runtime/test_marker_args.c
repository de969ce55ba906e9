/* SPDX-License-Identifier: BSD-2-Clause */
/* Our markers' arguments: three files name their registers, and must name the same. */
#include "elf/usdt_args.h"
#include "runtime/marker_args.h"
#include "runtime/marker_operands.h"
#include "tests/tap.h"
#include "usdt-probes/marker.h"

/* As the kernel has them; the BPF program reads it. */
#if defined(__aarch64__)
struct user_pt_regs {
	uint64_t regs[31], sp, pc, pstate;
};
#define __TARGET_ARCH_arm64
#define REGISTERS user_pt_regs
#else
struct pt_regs {
	uint64_t r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di, orig_ax, ip, cs,
		flags, sp, ss;
};
#define REGISTERS pt_regs
#endif
#include "bpf/registers.bpf.h"

/* A note's string as the assembler makes it of the library's: "%%" becomes "%". */
static void assemble(const char *text, char *ret)
{
	for (; *text; text++)
		if (text[0] != '%' || text[1] != '%')
			*ret++ = *text;
	*ret = 0;
}

static void check_arg(const char *name, enum marker_operand which, const char *library,
		      uint64_t word)
{
	struct usdt_args args = {0};
	char text[32];
	assemble(library, text);
	is_str(marker_operands[which], text, name);
	ok(!usdt_args_parse(text, &args, NULL) && args.count == 1 && args.arg[0].reg == word &&
		   args.arg[0].where == USDT_REGISTER,
	   "%s: the BPF program reads that register", name);
}

static void test_registers(void)
{
	uint64_t words[sizeof(struct REGISTERS) / 8];
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		words[i] = i;
	const struct REGISTERS *regs = (const void *)words;
	check_arg("id", MARKER_ID, EBT_ARG_ID, REGS_ID(regs));
	check_arg("value", MARKER_VALUE, EBT_ARG_VALUE, REGS_VALUE(regs));
	check_arg("length", MARKER_LENGTH, EBT_ARG_BYTES, REGS_BYTES(regs));
	check_arg("ring", MARKER_RING, EBT_ARG_RING, REGS_RING(regs));
	check_arg("ts", MARKER_TS, EBT_ARG_TS, REGS_TS(regs));
	check_arg("pos", MARKER_POS, EBT_ARG_POS, REGS_POS(regs));
	char name[32];
	assemble(EBT_ARG_NAME, name);
	is_str(marker_operands[MARKER_NAME], name, "name, which no program reads");
}

static void check(const char *name, const char *library, bool want, const char *what)
{
	char args[MARKER_ARGS_BYTES];
	assemble(library, args);
	struct notes_site site = {.provider = "ebtrace", .name = name, .args = args};
	ok(marker_args_match(&site) == want, "%s: %s", name, what);
}

static void test_match(void)
{
#define TAIL " " EBT_TAIL_ARGS
	check("begin", EBT_ARG_ID " " EBT_ARG_NAME TAIL, true, "the library's arguments match");
	check("counter", EBT_ARG_ID " " EBT_ARG_NAME " " EBT_ARG_VALUE TAIL, true, "with a value");
	check("counter", EBT_ARG_ID " " EBT_ARG_NAME " " EBT_ARG_SIGNED_VALUE TAIL, true,
	      "the sign of a value does not matter");
	check("alloc_sizes", EBT_ARG_VALUE " " EBT_ARG_BYTES TAIL, true, "buckets");
	check("user_custom", EBT_ARG_ID " " EBT_ARG_NAME " " EBT_ARG_VALUE " " EBT_ARG_BYTES TAIL,
	      true, "a payload");
	check("ring_request", "", true, "none");
	check("ring_start", EBT_ARG_NAME " " EBT_ARG_TS, true, "name and time");
	check("watermark", EBT_TAIL_ARGS, true, "the tail alone");

	check("begin", "", false, "no arguments do not match");
	check("begin", EBT_ARG_ID " " EBT_ARG_NAME, false, "nor do those without the tail");
	check("begin", EBT_ARG_NAME " " EBT_ARG_ID TAIL, false, "nor the same in another order");
	check("begin", EBT_ARG_TS " " EBT_ARG_NAME TAIL, false, "nor another register");
	check("begin", EBT_ARG_ID " " EBT_ARG_NAME TAIL " " EBT_ARG_TS, false, "nor one more");
	check("begin", EBT_ARG_ID " " EBT_ARG_NAME " " EBT_ARG_VALUE TAIL, false,
	      "nor a counter's");
	check("begin", "8" EBT_ARG_ID, false, "nor a string that is none");
	check("unknown", "", false, "a marker of another name is none of ours");
#if defined(__aarch64__)
	check("begin", "8@x0 8@x1 4@x4 8@x5 8@x6", false, "nor another size");
	check("begin", "4@7 8@x1 4@x4 8@x5 8@x6", false, "nor a constant");
	check("begin", "4@[x0] 8@x1 4@x4 8@x5 8@x6", false, "nor memory");
	check("begin", "4f@x0 8@x1 4@x4 8@x5 8@x6", false, "nor a floating-point number");
#else
	check("begin", "8@%rdi 8@%rsi 4@%ecx 8@%r8 8@%r9", false, "nor another size");
	check("begin", "4@$7 8@%rsi 4@%ecx 8@%r8 8@%r9", false, "nor a constant");
	check("begin", "4@(%rdi) 8@%rsi 4@%ecx 8@%r8 8@%r9", false, "nor memory");
	check("begin", "4f@%edi 8@%rsi 4@%ecx 8@%r8 8@%r9", false, "nor a floating-point number");
#endif
}

int main(void)
{
	char text[MARKER_ARGS_BYTES];
	test_registers();
	test_match();
	ok(marker_args_expected("user_custom", text) && strlen(text) + 8 < sizeof(text),
	   "the longest argument string fits, and one more argument would");
	return tap_done();
}
