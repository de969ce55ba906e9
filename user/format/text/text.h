/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One line an event, for people:
 *
 *   [   0.000123456] 4711/4712       d0   cpu1               begin minor
 *   [   0.000125970] 4711/4712       d0   cpu1   2.514 us   end minor
 *
 * Columns: seconds since the first event; pid/tid ("-": not known); domain; CPU, if the source
 * reports it; the duration of the span that ends here; kind, name and arguments, indented by the
 * open spans of the lane. The last line is a summary that begins with '#'.
 */
#ifndef FORMAT_TEXT_TEXT_H
#define FORMAT_TEXT_TEXT_H

#include "session/session.h"
#include "stream/sink.h"

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

/* Writes to fd, which stays the caller's. 0 or -ENOMEM. */
int text_new(const struct session *s, int fd, struct sink **ret);

/*
 * What the first column is: seconds since the first event, or since the event before, or the time
 * of day, which is that since the first event where the session does not know the wall clock.
 * Before the first event; any other sink is left as it is.
 */
void text_set_time(struct sink *k, enum text_time time);

#endif
