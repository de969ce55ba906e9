/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The arguments of an event in a record of the Fuchsia trace format: those of its kind, as
 * events.def names them, its thread and CPU, and its stack: the format itself has none.
 */
#ifndef FORMAT_FXT_ARGS_H
#define FORMAT_FXT_ARGS_H

#include "format/fxt/record.h"
#include "session/session.h"

/* `tid` and `cpu` where they are known, `late` where it is. */
void fxt_args_who(struct fxt_record *r, const struct ebt_event *ev);
/* `stack`, the functions, the innermost first, with line ends between them; of a long one the
 * innermost and "...". The last argument of its record. */
void fxt_args_stack(struct fxt_record *r, const struct session *session, uint32_t stack);
/*
 * Each argument, then the payload: `values` (words, decimal, with commas between them), or `bytes`
 * (how many) and `data` (in hexadecimal digits); `cut` where a part of it is missing. Of a marker
 * with many values the last ones are one string, `more`.
 */
void fxt_args(struct fxt_record *r, const struct session *session, const struct ebt_event *ev);

#endif
