/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One ring file of the ring source: the positions of its rings, the safe time of each of them, and
 * the damage found in the file.
 */
#ifndef SOURCE_RING_FILE_H
#define SOURCE_RING_FILE_H

#include "session/session.h"
#include "source/ring/cursor.h"
#include "source/ring/damages.h"
#include "source/ring/losses.h"
#include "source/ring/owners.h"

struct ring_watch {
	uint64_t tail;	    /* at the last look */
	uint64_t update_ns; /* time of the last look */
	uint64_t safe_ns;   /* no older event will be written */
	uint32_t lane;	    /* + 1; 0: none yet */
	bool unread;	    /* it never had a lane; the words at its end are counted as lost */
	uint32_t owner, outer_owner; /* of a ring file that is_inner: the same thread */
};

struct ring_file {
	struct ebt_cursor *cursor;
	char *name;
	struct ring_damage damage; /* count 0: none yet; its name is ours */
	char unread[96];	   /* what it expected, where the headers cannot be read */
	uint32_t process;
	uint32_t number; /* in order of addition */
	uint32_t place;	 /* among the source's files */
	bool live, counted, finished, last_update;
	bool in_run; /* it was made while the run watched */
	pid_t pid;   /* of the process, if threads are to be known: see ring_file_know_threads() */
	bool is_inner; /* its threads have the numbers of a pid namespace that is not ours */
	int64_t clock_ahead_ns; /* of its times, as of struct process when it was added */
	unsigned asked;		/* threads, since asked_ns */
	uint64_t asked_ns;
	bool looked;	/* in the present poll */
	bool rested;	/* and that has found nothing new: ring_files_rest() */
	bool leaves;	/* its words are left out, so however fast it fills, it is read seldom */
	bool undrained; /* words that were fetched before those that are left are not decoded yet */
	struct ring_file *prev_live, *next_live; /* of the same process; the source's */
	uint64_t began_ns;  /* of a live file: no older event was returned when it was added */
	uint32_t lanes;	    /* that have not ended */
	uint64_t update_ns; /* of the last look */
	uint64_t whole_ns;  /* of the last look that read all rings, or knew of all */
	uint64_t looked_ns; /* of the last one that also found nothing new; 0: none did */
	uint64_t safe_ns;   /* none of its rings brings an older event */
	uint32_t used;	    /* rings that `rings` is valid of */
	double rate;	    /* as of struct ring_fill, at the last look; it falls by halves */
	size_t bytes;	    /* taken from the budget */
	struct ring_watch *rings; /* `watches` of them, at least `used` and one */
	uint32_t watches;
	uint8_t *named;	       /* bits: user events with their name in the session; NULL: none */
	uint64_t before_ns;    /* of a file at rest: the last read of it while it was live */
	uint64_t left_ns;      /* when the words that are left out were reported last */
	uint64_t unread_words; /* of rings that have no lane; not reported yet */
	uint64_t ringless, ringless_ns; /* reported so far, and when */
};

/* How fast the fastest ring fills. */
struct ring_fill {
	double rate;	/* rings a ns */
	double fill;	/* rings from one look to the next */
	uint64_t words; /* of all rings */
};

/* Memory that a file takes while it is open, at most. */
size_t ring_file_bytes(const struct ebt_cursor *c);
/* Takes ownership of `c`, also on failure. began_ns: it brings no older event. 0 or -ENOMEM. */
int ring_file_new(struct ebt_cursor *c, const char *name, uint32_t process, bool live,
		  uint64_t began_ns, struct ring_file **ret);
void ring_file_free(struct ring_file *f);

/* When its rings must be read: a 32nd of one is filled then, if it fills as fast as before (polls
 * come for each 16th, some early), or idle_ns have passed since the last look. 0: at once. */
uint64_t ring_file_due_ns(const struct ring_file *f, uint64_t idle_ns);
/* Reads the position of every ring that may be in use. False: the file cannot be read; noted as
 * damage. */
bool ring_file_update(struct ring_file *f, uint64_t update_ns, struct ring_fill *fill);
/*
 * Sets `rested` in files with `looked` that have not changed since the last look. One system call
 * finds that of many files. ring_file_update() would find nothing new in them.
 */
void ring_files_rest(struct ring_file *const *files, uint32_t count);
/* True if a ring holds words or damage that were not fetched. */
bool ring_file_has_news(const struct ring_file *f, uint32_t domain);

/* The owners of its rings are to be known. Without effect if it does not have the number that the
 * process has in its own pid namespace. */
void ring_file_know_threads(struct ring_file *f, pid_t pid);
/* Adds the owner that the last look has found in a ring to *o. */
void ring_file_look_at_owner(struct ring_file *f, uint32_t domain, struct ring_owners *o);

/* Counts a damage; the first one of a file is kept for the report. */
void ring_file_damage(struct ring_file *f, uint64_t offset, const char *expected,
		      const struct ring_fault *fault);
/* Events of threads without a ring since the last call, into *ret; false: none. */
bool ring_file_ringless(const struct ring_file *f, uint64_t update_ns, struct ring_loss *ret);
/* Whether the session has the name of a user event. */
static inline bool ring_file_knows(const struct ring_file *f, uint32_t id)
{
	return f->named && id < EBT_RING_NAMES && f->named[id / 8] & 1 << id % 8;
}
/* Enters the name of a user event into the session at its first event. 0 or -ENOMEM. */
int ring_file_learn(struct ring_file *f, struct session *s, uint32_t id);
/* Copies the description of the process from the file. */
void ring_file_describe(const struct ring_file *f, struct process *ret);

#endif
