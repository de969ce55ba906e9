/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A cursor over the argument string of a USDT note, with a sticky error. The string is not trusted:
 * it ends at its NUL, no function moves beyond that, and numbers are checked for overflow. After an
 * error each function does nothing and returns 0.
 */
#ifndef ELF_USDT_TEXT_H
#define ELF_USDT_TEXT_H

#include <stdbool.h>
#include <stdint.h>

struct usdt_site;

struct usdt_text {
	const char *begin, *at;
	int err;		      /* of the first error, at `at`; 0: none */
	const struct usdt_site *site; /* of the operands, usdt_operand.h; NULL: not known */
};

/* -EBADMSG: no such syntax; -ENOTSUP: syntax that we do not evaluate, such as a symbol. */
void usdt_text_fail(struct usdt_text *t, int err);
/* Moves behind `c` if it is next. */
bool usdt_text_accept(struct usdt_text *t, char c);
/* Moves behind `c`; fails if `c` is not next: -ENOTSUP at a name, else -EBADMSG. */
void usdt_text_expect(struct usdt_text *t, char c);
void usdt_text_skip_spaces(struct usdt_text *t);
/* Reads a decimal integer, perhaps with a sign. It fails if there is none, -ENOTSUP at a name, else
 * -EBADMSG, and with -EBADMSG if it does not fit in 64 bits. */
int64_t usdt_text_number(struct usdt_text *t);
/* Reads letters and digits; ret_name gets at most the first `bytes` - 1 and a NUL; none: "". */
void usdt_text_name(struct usdt_text *t, char *ret_name, unsigned bytes);
/* Reads the name of a symbol, where one begins; *ret_bytes of it, 0: none. */
const char *usdt_text_symbol(struct usdt_text *t, unsigned *ret_bytes);
bool usdt_text_is_digit(char c);

#endif
