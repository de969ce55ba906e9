/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The pieces of an event in Chrome's JSON trace format, and the events that need nothing but
 * themselves. Which events there are, and in what order, is chrome.c's.
 */
#ifndef SINK_CHROME_JSON_H
#define SINK_CHROME_JSON_H

#include "base/json.h"
#include "core/session.h"

struct chrome_head;

struct chrome_json {
	const struct session *session;
	struct buf buf;
	struct json json;
	struct chrome_head *heads;
	bool started; /* the array has its bracket and an element */
};

/* Writes to fd behind a thread. 0 or -errno. done() works on what is zeroed, too. */
/* Forgets what was kept of a process, whose index will mean another. */
void chrome_json_forget(struct chrome_json *c, uint32_t process);
int chrome_json_init(struct chrome_json *c, const struct session *s, int fd);
void chrome_json_done(struct chrome_json *c);

/* Opens the object of an event, whose fields follow as of any object. category may be NULL. */
void chrome_json_open(struct chrome_json *c, char phase, const char *name, const char *category);
/* Where: after other fields. */
void chrome_json_row(struct chrome_json *c, uint32_t pid, uint32_t tid);
/* A time in microseconds with exactly three digits behind the point. */
void chrome_json_us(struct chrome_json *c, const char *key, uint64_t ns);
void chrome_json_open_args(struct chrome_json *c);
/* Thread and CPU, where they are known, as args. */
void chrome_json_who(struct chrome_json *c, const struct ebt_event *ev);
void chrome_json_close_args(struct chrome_json *c); /* and the event */

void chrome_json_metadata(struct chrome_json *c, const char *what, uint32_t pid, uint32_t tid,
			  const char *key, const char *value);
void chrome_json_instant(struct chrome_json *c, const struct ebt_event *ev);

/*
 * The fast way for EBT_BEGIN, EBT_END and EBT_COUNTER: all up to the time at once, returned is
 * where more may be added, less than 512 bytes. It is closed by chrome_json_close(). Never NULL.
 */
char *chrome_json_common(struct chrome_json *c, const struct ebt_event *ev, uint32_t tid,
			 uint64_t ts);
void chrome_json_close(struct chrome_json *c, char *end);

#endif
