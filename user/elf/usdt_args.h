/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parses the argument string of a USDT note of this machine, such as "8@%rdi -4@-20(%rbp) 8@$5" or
 * "8@x0 -4@[sp, 20] 8@5", into the size and the location of each argument. The string is not
 * trusted. Not evaluated, and reported as such: symbols that the file does not export, and
 * registers that a probe does not see.
 *
 * How BPF programs read arguments: our own markers have them in fixed registers, which
 * runtime/marker_args.h verifies with this parser before a site is attached. Other sites have them
 * anywhere: their attacher parses each site's string in its plan() and writes the arguments as
 * struct ebt_operand to a map, by a key that is in the site's cookie. The program
 * (bpf/operands.bpf.h) copies a word of pt_regs by its number, or reads the memory that it
 * addresses, and extends `size` bytes by sign.
 */
#ifndef ELF_USDT_ARGS_H
#define ELF_USDT_ARGS_H

#include "elf/usdt_operand.h"

#define USDT_ARGS_MAX 12 /* the most that <sys/sdt.h> has a macro for */

struct usdt_args {
	unsigned count;
	struct usdt_arg arg[USDT_ARGS_MAX];
};

/*
 * Parses `text`. 0; -EBADMSG: no such syntax; -ENOTSUP: an operand that we do not evaluate; -E2BIG:
 * more arguments than USDT_ARGS_MAX. On failure *ret_at is the offset in `text` of the error, and
 * *ret is not written; ret_at may be NULL.
 */
int usdt_args_parse(const char *text, struct usdt_args *ret, unsigned *ret_at);
/* The same of a marker whose symbols are known; NULL: they are not. */
int usdt_args_parse_at(const char *text, const struct usdt_site *site, struct usdt_args *ret,
		       unsigned *ret_at);

#endif
