/* SPDX-License-Identifier: BSD-2-Clause */
/* Argument strings of x86-64 for test_usdt_args.c. Whose they are: of Debian 12's postgres 15,
 * python 3.11 and libstdc++, of OpenJDK 17, and of <sys/sdt.h> compiled by gcc and clang. */
#ifndef TESTS_USDT_ARGS_X86_64_H
#define TESTS_USDT_ARGS_X86_64_H

/* The 64-bit words of struct pt_regs. */
static const char *const register_names[] = {
	"r15", "r14", "r13", "r12", "rbp", "rbx", "r11", "r10",	   "r9",  "r8", "rax",
	"rcx", "rdx", "rsi", "rdi", "-",   "rip", "cs",	 "rflags", "rsp", "ss",
};

static const char one_arg[] = "8@%rax ";

static const struct good_args good[] = {
	{"8@%rdx 8@-80(%rbx)", "u8 rdx, u8 [rbx-80]"},
	{"8@%r14 8@%rax -4@%edx", "u8 r14, u8 rax, s4 rdx"},
	{"-4@112(%rsp)", "s4 [rsp+112]"},
	{"-8@%r12", "s8 r12"},
	{"-4@$1", "s4 1"},
	{"1@%dil 1@%sil", "u1 rdi, u1 rsi"},
	{"-4@%r15d 4@%ebx 4@0(%r13) 4@4(%r13) 4@8(%r13) -4@12(%r13) 1@%al",
	 "s4 r15, u4 rbx, u4 [r13], u4 [r13+4], u4 [r13+8], s4 [r13+12], u1 rax"},
	{"-4@-136(%rbp) 4@(%r12) 1@$0 -4@$8192", "s4 [rbp-136], u4 [r12], u1 0, s4 8192"},
	{"2@12(%r12) 2@%r13w -1@%r14b -2@%cx -1@%cl",
	 "u2 [r12+12], u2 r13, s1 r14, s2 rcx, s1 rcx"},
	{"8@%r8 8@%r9 8@%r10 8@%r11 8@%rbp 8@%rsp", "u8 r8, u8 r9, u8 r10, u8 r11, u8 rbp, u8 rsp"},
	{"-8@(%rdi,%rsi,8) 8f@520(%rdi) 8f@%rax 4f@%esi",
	 "s8 [rdi+rsi<<3], f8 [rdi+520], f8 rax, f4 rsi"},
	{"-8@-40(%rsp,%rax,8) 4@(%rax,%rbx)", "s8 [rsp+rax<<3-40], u4 [rax+rbx<<0]"},
	{"8@16(,%rcx,4)", "u8 [rcx<<2+16]"},
	{"8@$-1 -8@$-9223372036854775808 8@$9223372036854775807",
	 "u8 -1, s8 -9223372036854775808, u8 9223372036854775807"},
	{"1@%ah -1@%bh 1@%ch 1@%dh", "u1 rax>>8, s1 rbx>>8, u1 rcx>>8, u1 rdx>>8"},
	{"%rax -4(%rbp) $3", "u8 rax, u8 [rbp-4], u8 3"}, /* without sizes: of the first notes */
};

static const struct bad_args bad[] = {
	{"-4@NBuffers(%rip) 8@%rax", -ENOTSUP, 3},
	{"-4@40+CheckpointStats(%rip)", -ENOTSUP, 5},
	{"8@%rax 4f@.LC0(%rip)", -ENOTSUP, 10},
	{"8@%xmm0", -ENOTSUP, 3},
	{"8@8(%rip)", -ENOTSUP, 5},
	{"8@%fs:40", -ENOTSUP, 3},
	{"4@(%eax)", -ENOTSUP, 4},
	{"8@$x", -ENOTSUP, 3},
	{"8@(%ah)", -ENOTSUP, 4},
	{"1@%eh", -ENOTSUP, 3},
	{"8@", -EBADMSG, 2},
	{"8@%", -EBADMSG, 3},
	{"8@$", -EBADMSG, 3},
	{"8@$9223372036854775808", -EBADMSG, 3},
	{"8@$-9223372036854775809", -EBADMSG, 3},
	{"8@99999999999999999999(%rax)", -EBADMSG, 2},
	{"8@()", -EBADMSG, 3},
	{"8@(%rax", -EBADMSG, 7},
	{"8@(%rax,%rbx,3)", -EBADMSG, 13},
	{"8@(%rax,)", -EBADMSG, 8},
	{"8@16", -EBADMSG, 4},
	{"8@%rax,8@%rbx", -EBADMSG, 6},
	{"8@%rax)", -EBADMSG, 6},
	{"3@%rax", -EBADMSG, 0},
	{"16@%rax", -EBADMSG, 2},
	{"-@%rax", -EBADMSG, 0},
	{"8@@%rax", -EBADMSG, 2},
	{"8@%rax 8@ %rbx", -EBADMSG, 9},
};

/* Of a marker at 0x1000 in a file with `NBuffers` at 0x4010 and `CheckpointStats` at 0x800. */
static const struct good_args with_symbols[] = {
	{"-4@NBuffers(%rip) 8@%rax", "s4 [rip+12304], u8 rax"},
	{"-4@40+CheckpointStats(%rip)", "s4 [rip-2008]"},
	{"8@CheckpointStats+16(%rip) 1@NBuffers-1(%rip)", "u8 [rip-2032], u1 [rip+12303]"},
	{"8@-8+NBuffers(%rip)", "u8 [rip+12296]"},
};

static const struct bad_args without_symbols[] = {
	{"-4@NBuffer(%rip)", -ENOTSUP, 3},
	{"-4@NBuffersX(%rip)", -ENOTSUP, 3},
	{"4f@.LC0(%rip)", -ENOTSUP, 3},
	{"8@NBuffers@GOTPCREL(%rip)", -ENOTSUP, 2},
	{"8@%rax 8@NBuffers(%rax)", -ENOTSUP, 9},
	{"8@NBuffers", -ENOTSUP, 2},
	{"8@40+CheckpointStat(%rip)", -ENOTSUP, 4},
	{"8@NBuffers+x(%rip)", -ENOTSUP, 2},
	{"8@NBuffers(%rip)x", -EBADMSG, 16},
	{"8@4+(%rip)", -ENOTSUP, 3},
};

#endif
