/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One ring file of the ring source: where its rings are, how old what may still come from each of
 * them is, and what of the file is damaged.
 */
#ifndef SOURCE_RING_FILE_H
#define SOURCE_RING_FILE_H

#include "core/session.h"
#include "source/cursor.h"
#include "source/ring_damages.h"
#include "source/ring_losses.h"

struct ring_watch {
	uint64_t tail;	  /* at the last look */
	uint64_t look_ns; /* time of the last look */
	uint64_t safe_ns; /* nothing older will be written */
	uint32_t lane;	  /* + 1; 0: none yet */
	bool unread;	  /* it never had a lane, and its end has been counted as lost */
};

struct ring_file {
	struct ebt_cursor *cursor;
	char *name;
	struct ring_damage damage; /* count 0: none yet; its name is ours */
	uint32_t process;
	uint32_t number; /* in order of addition */
	uint32_t place;	 /* among the source's files */
	bool live, counted, finished, last_look;
	uint64_t began_ns; /* of a live file: nothing older was handed out when it was added */
	uint32_t lanes;	   /* that have not ended */
	size_t bytes;	   /* taken from the budget */
	struct ring_watch *rings;	/* max_domains */
	uint8_t *named;			/* bits: user events whose name the session has */
	uint64_t unread_words;		/* of rings that have no lane; not told yet */
	uint64_t ringless, ringless_ns; /* told so far, and when */
};

/* How fast the ring fills that fills fastest. */
struct ring_fill {
	double rate; /* rings a ns */
	double fill; /* rings from one look to the next */
};

/* Memory that a file takes while it is open. */
size_t ring_file_bytes(const struct ebt_cursor *c);
/* `c` is owned from here on, also on failure. began_ns: nothing older will come of it. 0 or -ENOMEM. */
int ring_file_new(struct ebt_cursor *c, const char *name, uint32_t process, bool live,
		  uint64_t began_ns, struct ring_file **ret);
void ring_file_free(struct ring_file *f);

/* Looks where every ring is. False: the file can be read no more, which is noted as damage. */
bool ring_file_look(struct ring_file *f, uint64_t look_ns, struct ring_fill *fill);
/* Nothing older will come from any of its rings. */
uint64_t ring_file_safe(const struct ring_file *f);
/* True if a ring holds something that has not been taken. */
bool ring_file_has_news(const struct ring_file *f, uint32_t domain);

/* The first damage of a file is kept to be told. */
void ring_file_damage(struct ring_file *f, uint64_t offset, const char *expected,
		      const struct ring_fault *fault);
/* Events of threads without a ring since the last call, into *ret; false: none. */
bool ring_file_ringless(const struct ring_file *f, uint64_t look_ns, struct ring_loss *ret);
/* The session learns the name of a user event when the first one is seen. 0 or -ENOMEM. */
int ring_file_learn(struct ring_file *f, struct session *s, uint32_t id);
/* What the file and the process say of themselves. */
void ring_file_describe(const struct ring_file *f, struct process *ret);

#endif
