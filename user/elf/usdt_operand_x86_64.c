/* SPDX-License-Identifier: BSD-2-Clause */
/* The syntax of x86-64: $NUMBER, %REGISTER, DISPLACEMENT(%BASE,%INDEX,SCALE),
 * DISPLACEMENT+SYMBOL(%rip), SYMBOL+DISPLACEMENT(%rip). */
#include "elf/usdt_operand.h"

#include <errno.h>
#include <string.h>

/* struct user_regs_struct; the words behind ip hold no argument but sp. */
enum word {
	R15,
	R14,
	R13,
	R12,
	RBP,
	RBX,
	R11,
	R10,
	R9,
	R8,
	RAX,
	RCX,
	RDX,
	RSI,
	RDI,
	RIP = 16,
	RSP = 19
};

/* By width: 8, 4, 2 and 1 bytes. */
static const struct {
	uint8_t word;
	char name[4][5];
} registers[] = {
	{RAX, {"rax", "eax", "ax", "al"}},	{RBX, {"rbx", "ebx", "bx", "bl"}},
	{RCX, {"rcx", "ecx", "cx", "cl"}},	{RDX, {"rdx", "edx", "dx", "dl"}},
	{RSI, {"rsi", "esi", "si", "sil"}},	{RDI, {"rdi", "edi", "di", "dil"}},
	{RBP, {"rbp", "ebp", "bp", "bpl"}},	{RSP, {"rsp", "esp", "sp", "spl"}},
	{R8, {"r8", "r8d", "r8w", "r8b"}},	{R9, {"r9", "r9d", "r9w", "r9b"}},
	{R10, {"r10", "r10d", "r10w", "r10b"}}, {R11, {"r11", "r11d", "r11w", "r11b"}},
	{R12, {"r12", "r12d", "r12w", "r12b"}}, {R13, {"r13", "r13d", "r13w", "r13b"}},
	{R14, {"r14", "r14d", "r14w", "r14b"}}, {R15, {"r15", "r15d", "r15w", "r15b"}},
};

/* Those whose second byte has a name. */
static const struct {
	uint8_t word;
	char name[3];
} second_bytes[] = {{RAX, "ah"}, {RBX, "bh"}, {RCX, "ch"}, {RDX, "dh"}};

/* Reads a name behind its %; `widths`: the number of widths that are allowed, from 8 bytes down. */
static uint8_t read_register(struct usdt_text *t, unsigned widths)
{
	char name[8];
	struct usdt_text from = *t;
	usdt_text_name(t, name, sizeof(name));
	for (size_t i = 0; i < sizeof(registers) / sizeof(*registers); i++)
		for (unsigned w = 0; w < widths; w++)
			if (!strcmp(registers[i].name[w], name))
				return registers[i].word;
	t->at = from.at;
	usdt_text_fail(t, *name ? -ENOTSUP : -EBADMSG);
	return USDT_NO_REGISTER;
}

/* The same, or the second byte of a register. */
static void read_any_register(struct usdt_text *t, struct usdt_arg *ret)
{
	char name[8];
	struct usdt_text from = *t;
	usdt_text_name(t, name, sizeof(name));
	for (size_t i = 0; i < sizeof(second_bytes) / sizeof(*second_bytes); i++)
		if (!strcmp(second_bytes[i].name, name)) {
			ret->reg = second_bytes[i].word;
			ret->drop = 8;
			return;
		}
	*t = from;
	ret->reg = read_register(t, 4);
}

/* The distance from the marker to SYMBOL, +DISPLACEMENT or -DISPLACEMENT, before its (%rip). */
static void read_symbol(struct usdt_text *t, struct usdt_arg *ret)
{
	struct usdt_text from = *t;
	unsigned bytes;
	uint64_t address = 0;
	const char *name = usdt_text_symbol(t, &bytes);
	int64_t more = *t->at == '+' || *t->at == '-' ? usdt_text_number(t) : 0;
	bool is_relative = !t->err && !strncmp(t->at, "(%rip)", strlen("(%rip)"));
	if (!bytes || !is_relative || !t->site ||
	    !t->site->find(t->site->ctx, name, bytes, &address)) {
		*t = from;
		usdt_text_fail(t, -ENOTSUP);
		return;
	}
	t->at += strlen("(%rip)");
	ret->reg = RIP;
	ret->number =
		(int64_t)((uint64_t)ret->number + (uint64_t)more + address - t->site->address);
}

static uint8_t read_scale(struct usdt_text *t)
{
	struct usdt_text from = *t;
	int64_t scale = usdt_text_number(t);
	if (!t->err && scale != 1 && scale != 2 && scale != 4 && scale != 8) {
		t->at = from.at;
		usdt_text_fail(t, -EBADMSG);
	}
	return scale == 8 ? 3 : scale == 4 ? 2 : scale == 2;
}

/* Behind its (. */
static void read_address(struct usdt_text *t, struct usdt_arg *ret)
{
	if (usdt_text_accept(t, '%'))
		ret->reg = read_register(t, 1);
	else if (*t->at != ',')
		usdt_text_fail(t, -EBADMSG);
	if (usdt_text_accept(t, ',')) {
		usdt_text_expect(t, '%');
		ret->index = read_register(t, 1);
		if (usdt_text_accept(t, ','))
			ret->shift = read_scale(t);
	}
	usdt_text_expect(t, ')');
}

static bool begins_symbol(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '.';
}

static void read_memory(struct usdt_text *t, struct usdt_arg *ret)
{
	bool has_number = *t->at != '(' && !begins_symbol(*t->at);
	if (has_number)
		ret->number = usdt_text_number(t);
	if (begins_symbol(*t->at) && !has_number) {
		read_symbol(t, ret);
	} else if (*t->at == '+') {
		struct usdt_text from = *t;
		usdt_text_accept(t, '+');
		read_symbol(t, ret);
		if (t->err && !from.err)
			t->at = from.at;
	} else {
		usdt_text_expect(t, '(');
		read_address(t, ret);
	}
}

uint8_t usdt_stack_pointer(void)
{
	return RSP;
}

uint8_t usdt_frame_pointer(void)
{
	return RBP;
}

void usdt_operand_read(struct usdt_text *t, struct usdt_arg *ret)
{
	if (usdt_text_accept(t, '$')) {
		ret->where = USDT_CONSTANT;
		ret->number = usdt_text_number(t);
	} else if (usdt_text_accept(t, '%')) {
		ret->where = USDT_REGISTER;
		read_any_register(t, ret);
	} else {
		ret->where = USDT_MEMORY;
		read_memory(t, ret);
	}
}
