/* SPDX-License-Identifier: BSD-2-Clause */
/* Argument strings of 64-bit Arm for test_usdt_args.c; most are <sys/sdt.h>'s, compiled by gcc and
 * clang. */
#ifndef TESTS_USDT_ARGS_AARCH64_H
#define TESTS_USDT_ARGS_AARCH64_H

/* The 64-bit words of struct pt_regs. */
static const char *const register_names[] = {
	"x0",  "x1",  "x2",  "x3",  "x4",  "x5",  "x6",	 "x7",	"x8",  "x9",  "x10",
	"x11", "x12", "x13", "x14", "x15", "x16", "x17", "x18", "x19", "x20", "x21",
	"x22", "x23", "x24", "x25", "x26", "x27", "x28", "x29", "x30", "sp",
};

static const char one_arg[] = "8@x0 ";

static const struct good_args good[] = {
	{"-8@[x5] -2@[x0, 512] 1@[x0, 514] 8f@[x0, 520] 8f@x4",
	 "s8 [x5], s2 [x0+512], u1 [x0+514], f8 [x0+520], f8 x4"},
	{"-8@x1 -4@x2 1@x3 -2@x2 -4@7 -8@-7", "s8 x1, s4 x2, u1 x3, s2 x2, s4 7, s8 -7"},
	{"8@-1 8@x30 8@x29 4@w19", "u8 -1, u8 x30, u8 x29, u4 x19"},
	{"-8@[sp, 16] 8@sp 1@[sp,3]", "s8 [sp+16], u8 sp, u1 [sp+3]"},
	{"4@[x29, #-20] 4@#5", "u4 [x29-20], u4 5"},
	{"8@[x0, x1] 8@[x0, x1, lsl 3] 8@[x2,x3,lsl #2]",
	 "u8 [x0+x1<<0], u8 [x0+x1<<3], u8 [x2+x3<<2]"},
	{"8@[ x0 , 8 ] 8@[x0, x1 ] 8@[x2,  x3, lsl 2 ]", "u8 [x0+8], u8 [x0+x1<<0], u8 [x2+x3<<2]"},
	{"4@wzr 8@xzr", "u4 0, u8 0"},
	{"x0 [sp] 3", "u8 x0, u8 [sp], u8 3"},
};

static const struct bad_args bad[] = {
	{"-4@[x3] -4@[x4, #:lo12:.LANCHOR0]", -ENOTSUP, 17},
	{"8f@d0", -ENOTSUP, 3},
	{"8@x31", -ENOTSUP, 2},
	{"8@[x0, w1, sxtw 3]", -ENOTSUP, 11},
	{"8@name", -ENOTSUP, 2},
	{"8@", -EBADMSG, 2},
	{"8@[", -EBADMSG, 3},
	{"8@[x0", -EBADMSG, 5},
	{"8@[x0, ]", -EBADMSG, 7},
	{"8@[x0, 8, 8]", -EBADMSG, 8},
	{"8@[x0, x1, lsl 5]", -EBADMSG, 11},
	{"8@9223372036854775808", -EBADMSG, 2},
	{"3@x0", -EBADMSG, 0},
	{"8@x0]", -EBADMSG, 4},
};

/* No operand of <sys/sdt.h> has a symbol there. */
static const struct good_args with_symbols[] = {
	{"8@x0", "u8 x0"},
};

static const struct bad_args without_symbols[] = {
	{"8@NBuffers", -ENOTSUP, 2},
};

#endif
