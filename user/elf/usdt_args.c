/* SPDX-License-Identifier: BSD-2-Clause */
#include "elf/usdt_args.h"

#include <errno.h>

/* Reads "-4@", "8f@"; without it, as the first notes were written, an argument has 8 bytes. */
static void read_size(struct usdt_text *t, struct usdt_arg *ret)
{
	const char *p = t->at;
	bool is_signed = *p == '-';
	p += is_signed;
	if (!usdt_text_is_digit(p[0]) || (p[1] != '@' && (p[1] != 'f' || p[2] != '@')))
		return;
	unsigned size = (unsigned)(*p - '0');
	if (size != 1 && size != 2 && size != 4 && size != 8)
		usdt_text_fail(t, -EBADMSG);
	if (t->err)
		return;
	ret->size = (uint8_t)size;
	ret->is_signed = is_signed;
	ret->is_float = p[1] == 'f';
	t->at = p + 2 + ret->is_float;
}

int usdt_args_parse_at(const char *text, const struct usdt_site *site, struct usdt_args *ret,
		       unsigned *ret_at)
{
	struct usdt_text t = {.begin = text, .at = text, .site = site};
	struct usdt_args args = {0};
	for (;;) {
		usdt_text_skip_spaces(&t);
		if (!*t.at || t.err)
			break;
		if (args.count == USDT_ARGS_MAX) {
			usdt_text_fail(&t, -E2BIG);
			break;
		}
		struct usdt_arg *arg = &args.arg[args.count++];
		*arg = (struct usdt_arg){
			.size = 8, .reg = USDT_NO_REGISTER, .index = USDT_NO_REGISTER};
		read_size(&t, arg);
		usdt_operand_read(&t, arg);
		if (!t.err && *t.at && *t.at != ' ')
			usdt_text_fail(&t, -EBADMSG);
	}
	if (!t.err)
		*ret = args;
	else if (ret_at)
		*ret_at = (unsigned)(t.at - t.begin);
	return t.err;
}

int usdt_args_parse(const char *text, struct usdt_args *ret, unsigned *ret_at)
{
	return usdt_args_parse_at(text, NULL, ret, ret_at);
}
