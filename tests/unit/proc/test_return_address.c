// SPDX-License-Identifier: BSD-2-Clause
/* Which bytes are a call, so that the address behind is one to return to; which ones return. */
#include "proc/return_address.h"
#include "tests/tap.h"

static const struct {
	const char *name;
	uint8_t code[RETURN_ADDRESS_BYTES];
	bool expected;
} rows[] = {
#if defined(__aarch64__)
	{"bl", {0, 0, 0, 0, 0x10, 0, 0, 0x94}, true},
	{"blr x3", {0, 0, 0, 0, 0x60, 0, 0x3f, 0xd6}, true},
	{"br x3", {0, 0, 0, 0, 0x60, 0, 0x1f, 0xd6}, false},
	{"nop", {0, 0, 0, 0, 0x1f, 0x20, 0x03, 0xd5}, false},
#else
	{"call rel32", {0x90, 0x90, 0x90, 0xe8, 1, 2, 3, 4}, true},
	{"call *%rax", {0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xd0}, true},
	{"call *%r12", {0x90, 0x90, 0x90, 0x90, 0x90, 0x41, 0xff, 0xd4}, true},
	{"call *8(%rax)", {0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0x50, 8}, true},
	{"call *8(%rsp)", {0x90, 0x90, 0x90, 0x90, 0xff, 0x54, 0x24, 8}, true},
	{"call *rel32(%rip)", {0x90, 0x90, 0xff, 0x15, 1, 2, 3, 4}, true},
	{"call *rel32(%rsp)", {0x90, 0xff, 0x94, 0x24, 1, 2, 3, 4}, true},
	{"jmp rel32", {0x90, 0x90, 0x90, 0xe9, 1, 2, 3, 4}, false},
	{"jmp *%rax", {0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0xff, 0xe0}, false},
	{"nop", {0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90, 0x90}, false},
#endif
};

static const struct {
	const char *name;
	uint8_t insn[RETURN_INSN_BYTES];
	bool expected;
} returns[] = {
#if defined(__aarch64__)
	{"ret", {0xc0, 0x03}, false}, /* the address is in a register */
#else
	{"ret", {0xc3, 0x90}, true},	  {"ret 16", {0xc2, 0x10}, true},
	{"rep ret", {0xf3, 0xc3}, true},  {"pop %rbp", {0x5d, 0xc3}, false},
	{"endbr64", {0xf3, 0x0f}, false},
#endif
};

int main(void)
{
	for (size_t i = 0; i < sizeof(returns) / sizeof(*returns); i++)
		ok(return_address_is_next(returns[i].insn) == returns[i].expected, "%s: %s",
		   returns[i].name,
		   returns[i].expected ? "returns to what the stack has" : "does not return so");
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		ok(return_address_follows_call(rows[i].code) == rows[i].expected, "%s: %s",
		   rows[i].name, rows[i].expected ? "a call" : "no call");
	return tap_done();
}
