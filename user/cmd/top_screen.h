/* SPDX-License-Identifier: BSD-2-Clause */
/* A run of top on the screen: frames by a timer, keys, and signals for processes. */
#ifndef CMD_TOP_SCREEN_H
#define CMD_TOP_SCREEN_H

#include "cmd/destination.h"
#include "cmd/opts.h"
#include "report/top/top.h"
#include "session/session.h"

/* What top_screen_run() makes frames of: a sink of top.h, which gets the descriptor -1. */
struct top_run {
	destination_make *make; /* its context: the options */
};

/* For run_session(), with a struct top_run. Returns the exit status. */
int top_screen_run(const struct opts *o, struct session *s, const void *ctx);

#endif
