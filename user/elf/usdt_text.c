/* SPDX-License-Identifier: BSD-2-Clause */
#include "elf/usdt_text.h"

#include <errno.h>

void usdt_text_fail(struct usdt_text *t, int err)
{
	if (!t->err)
		t->err = err;
}

bool usdt_text_is_digit(char c)
{
	return c >= '0' && c <= '9';
}

static bool is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* The first character of a symbol, or of an operator on one. */
static bool begins_symbol(char c)
{
	return is_letter(c) || c == '_' || c == '.' || c == ':';
}

bool usdt_text_accept(struct usdt_text *t, char c)
{
	if (t->err || *t->at != c)
		return false;
	t->at++;
	return true;
}

void usdt_text_skip_spaces(struct usdt_text *t)
{
	while (usdt_text_accept(t, ' '))
		;
}

void usdt_text_expect(struct usdt_text *t, char c)
{
	if (!usdt_text_accept(t, c))
		usdt_text_fail(t, begins_symbol(*t->at) ? -ENOTSUP : -EBADMSG);
}

int64_t usdt_text_number(struct usdt_text *t)
{
	const char *begin = t->at, *p = begin;
	bool negative = *p == '-', fits = true;
	int64_t n = 0;
	if (t->err)
		return 0;
	if (*p == '-' || *p == '+')
		p++;
	const char *digits = p;
	for (; usdt_text_is_digit(*p); p++) {
		int digit = negative ? -(*p - '0') : *p - '0';
		fits = fits && !__builtin_mul_overflow(n, 10, &n) &&
		       !__builtin_add_overflow(n, digit, &n);
	}
	if (p == digits || !fits) {
		usdt_text_fail(t, p == digits && begins_symbol(*p) ? -ENOTSUP : -EBADMSG);
		return 0;
	}
	t->at = p;
	return n;
}

void usdt_text_name(struct usdt_text *t, char *ret_name, unsigned bytes)
{
	unsigned n = 0;
	const char *p = t->at;
	for (; !t->err && (is_letter(*p) || usdt_text_is_digit(*p)); p++)
		if (n + 1 < bytes)
			ret_name[n++] = *p;
	ret_name[n] = 0;
	t->at = p;
}

const char *usdt_text_symbol(struct usdt_text *t, unsigned *ret_bytes)
{
	const char *begin = t->at, *p = begin;
	bool begins = !t->err && (is_letter(*p) || *p == '_' || *p == '.');
	while (begins &&
	       (is_letter(*p) || usdt_text_is_digit(*p) || *p == '_' || *p == '.' || *p == '$'))
		p++;
	t->at = p;
	*ret_bytes = (unsigned)(p - begin);
	return begin;
}
