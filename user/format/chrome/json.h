/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The pieces of an event in Chrome's JSON trace format, and the events that need nothing but
 * themselves. Which events there are, and in what order, is chrome.c's.
 */
#ifndef FORMAT_CHROME_JSON_H
#define FORMAT_CHROME_JSON_H

#include "base/json.h"
#include "format/rows.h"
#include "session/session.h"
#include "stream/name_slots.h"

#define CHROME_HEAD_BYTES 96

/* The text of an event up to its pid, of one kind and name. Copied whole. */
struct chrome_head {
	uint16_t len; /* 0: it is longer than text, or there was no memory */
	char text[CHROME_HEAD_BYTES];
};

struct chrome_json {
	const struct session *session;
	struct buf buf;
	struct json json;
	struct name_slots slots;
	struct chrome_head heads[NAME_SLOTS];
	bool started; /* the array has its bracket and an element */
};

/* Of zeroed memory; writes to fd behind a thread. 0 or -errno. done() works on what is zeroed,
 * too. */
int chrome_json_init(struct chrome_json *c, const struct session *s, int fd);
void chrome_json_done(struct chrome_json *c);

/* Opens the object of an event, whose fields follow as of any object. category may be NULL. */
void chrome_json_open(struct chrome_json *c, char phase, const char *name, const char *category);
/* Where: after other fields. */
void chrome_json_row(struct chrome_json *c, uint32_t pid, uint32_t tid);
/* A time in microseconds with exactly three digits behind the point. */
void chrome_json_us(struct chrome_json *c, const char *key, uint64_t ns);
void chrome_json_open_args(struct chrome_json *c);
/* Thread, CPU and stack, where they are known, as args. */
void chrome_json_who(struct chrome_json *c, const struct ebt_event *ev);
void chrome_json_close_args(struct chrome_json *c); /* and the event */

void chrome_json_metadata(struct chrome_json *c, const char *what, uint32_t pid, uint32_t tid,
			  const char *key, const char *value);
void chrome_json_instant(struct chrome_json *c, const struct ebt_event *ev, const struct row *row);

/* The interval of an EBT_OFFCPU. */
void chrome_json_offcpu(struct chrome_json *c, const struct ebt_event *ev, const struct row *row);

/*
 * The fast way for EBT_BEGIN, EBT_END and EBT_COUNTER: all up to the time at once, returned is
 * where more may be added, less than 512 bytes. It is closed by chrome_json_close(). Never NULL.
 */
char *chrome_json_common(struct chrome_json *c, const struct ebt_event *ev, const struct row *row,
			 uint64_t ts);
void chrome_json_close(struct chrome_json *c, char *end);

#endif
