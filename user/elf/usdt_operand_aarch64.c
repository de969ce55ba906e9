/* SPDX-License-Identifier: BSD-2-Clause */
/* The syntax of 64-bit Arm: NUMBER, REGISTER, [BASE], [BASE, NUMBER], [BASE, INDEX, lsl NUMBER]; a
 * number may follow a #. */
#include "elf/usdt_operand.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* struct user_regs_struct: x0 to x30, sp, pc, pstate. */
#define WORD_FP	  29
#define WORD_SP	  31
#define MAX_SHIFT 4

/* Returns 0 to 31, USDT_NO_REGISTER for the register that reads as zero. */
static uint8_t read_register(struct usdt_text *t)
{
	char name[8] = "", *end = name;
	struct usdt_text from = *t;
	usdt_text_name(t, name, sizeof(name));
	if (!strcmp(name, "sp"))
		return WORD_SP;
	if (!strcmp(name, "xzr") || !strcmp(name, "wzr"))
		return USDT_NO_REGISTER;
	bool has_number = (*name == 'x' || *name == 'w') && usdt_text_is_digit(name[1]);
	unsigned long n = has_number ? strtoul(name + 1, &end, 10) : 0;
	if (has_number && !*end && n < WORD_SP)
		return (uint8_t)n;
	t->at = from.at;
	usdt_text_fail(t, *name ? -ENOTSUP : -EBADMSG);
	return USDT_NO_REGISTER;
}

static int64_t read_number(struct usdt_text *t)
{
	usdt_text_accept(t, '#');
	return usdt_text_number(t);
}

static bool is_number_next(struct usdt_text *t)
{
	return *t->at == '#' || *t->at == '-' || usdt_text_is_digit(*t->at);
}

/* Behind the , that follows an index. */
static uint8_t read_shift(struct usdt_text *t)
{
	char name[8] = "";
	usdt_text_skip_spaces(t);
	struct usdt_text from = *t;
	usdt_text_name(t, name, sizeof(name));
	usdt_text_skip_spaces(t);
	int64_t n = read_number(t);
	if (!t->err && (strcmp(name, "lsl") || n < 0 || n > MAX_SHIFT)) {
		t->at = from.at;
		usdt_text_fail(t, strcmp(name, "lsl") ? -ENOTSUP : -EBADMSG);
	}
	return (uint8_t)n;
}

/* Behind its [. */
static void read_address(struct usdt_text *t, struct usdt_arg *ret)
{
	usdt_text_skip_spaces(t);
	ret->reg = read_register(t);
	usdt_text_skip_spaces(t);
	if (usdt_text_accept(t, ',')) {
		usdt_text_skip_spaces(t);
		if (is_number_next(t))
			ret->number = read_number(t);
		else
			ret->index = read_register(t);
		if (ret->index != USDT_NO_REGISTER && usdt_text_accept(t, ','))
			ret->shift = read_shift(t);
		usdt_text_skip_spaces(t);
	}
	usdt_text_expect(t, ']');
}

uint8_t usdt_stack_pointer(void)
{
	return WORD_SP;
}

uint8_t usdt_frame_pointer(void)
{
	return WORD_FP;
}

void usdt_operand_read(struct usdt_text *t, struct usdt_arg *ret)
{
	if (usdt_text_accept(t, '[')) {
		ret->where = USDT_MEMORY;
		read_address(t, ret);
	} else if (is_number_next(t)) {
		ret->where = USDT_CONSTANT;
		ret->number = read_number(t);
	} else {
		ret->reg = read_register(t);
		ret->where = ret->reg == USDT_NO_REGISTER ? USDT_CONSTANT : USDT_REGISTER;
	}
}
