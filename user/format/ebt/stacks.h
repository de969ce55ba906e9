/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writes into a capture's open block the stacks that its events refer to, each stack, frame and
 * string once a block, and numbers them as the block does. Written stacks are held until the block
 * is closed, so that no id is assigned again meanwhile.
 */
#ifndef FORMAT_EBT_STACKS_H
#define FORMAT_EBT_STACKS_H

#include "codec/capture/capture.h"
#include "session/session.h"

struct ebt_stacks;

/* Keeps both pointers. 0 or -ENOMEM. */
int ebt_stacks_new(const struct session *session, struct capture_writer *writer,
		   struct ebt_stacks **ret);
void ebt_stacks_free(struct ebt_stacks *s); /* NULL is allowed */

/*
 * The number in the open block of a stack of the session; a new stack is written first. -ENOSPC:
 * the block has no room for all of it. cut: of a new stack only innermost frames are written, as
 * many as there is room for, with an outermost one that says so. 0, -ENOSPC or -ENOMEM.
 */
int ebt_stacks_refer(struct ebt_stacks *s, uint32_t stack, bool cut, uint32_t *ret_number);
/* Bytes of the open block that stacks occupy. */
size_t ebt_stacks_bytes(const struct ebt_stacks *s);
/* The block was closed; `writer`, which is kept, has the next one, which is empty. */
void ebt_stacks_closed(struct ebt_stacks *s, struct capture_writer *writer);

#endif
