/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The arguments of an event in a record of the Fuchsia trace format: those of its kind, as
 * events.def names them, and its thread and CPU.
 */
#ifndef SINK_FXT_ARGS_H
#define SINK_FXT_ARGS_H

#include "core/session.h"
#include "sink/fxt_record.h"

/* `tid` and `cpu` where they are known, `late` where it is. */
void fxt_args_who(struct fxt_record *r, const struct ebt_event *ev);
/*
 * Each argument, then the payload: `values` (words, decimal, with commas between them), or `bytes`
 * (how many) and `data` (in hexadecimal digits); `cut` where a part of it is missing.
 */
void fxt_args(struct fxt_record *r, const struct session *session, const struct ebt_event *ev);

#endif
