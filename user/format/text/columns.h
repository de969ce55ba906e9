/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The columns in front of the event in a line of text: time, process and thread, domain, CPU where
 * the source knows it, and duration. Formats into memory of the caller's; writes nothing.
 */
#ifndef FORMAT_TEXT_COLUMNS_H
#define FORMAT_TEXT_COLUMNS_H

#include "session/session.h"

#define TEXT_COLUMNS_BYTES 160 /* more than the columns ever need */

enum text_time { TEXT_TIME_START, TEXT_TIME_DELTA, TEXT_TIME_WALL };

/* Zeroed but for the session and the time. */
struct text_columns {
	const struct session *session;
	enum text_time time;
	bool has_first, has_cpus;
	uint64_t first_ns, last_ns;
	/* The text of the seconds, made when they change. */
	uint64_t seconds;
	uint32_t seconds_len; /* 0: not made yet */
	char seconds_text[24];
};

/* The columns of the last event of a lane, from process to CPU; zeroed at first. */
struct text_who {
	uint32_t tid, len; /* len 0: not made yet */
	uint16_t cpu;
	char text[48];
};

/*
 * Puts an event's columns at p, where there is room for TEXT_COLUMNS_BYTES. `who` is of the event's
 * process and domain, or thread. duration_ns: NULL: it has none. Returns the byte behind them; what
 * follows there may have been overwritten.
 */
char *text_columns_format(struct text_columns *c, struct text_who *who, const struct ebt_event *ev,
			  const uint64_t *duration_ns, char *p);

#endif
