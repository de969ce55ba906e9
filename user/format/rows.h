/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rows of a timeline viewer: viewers have processes, and in each rows that they call threads.
 * Each lane has a row: a domain has the domain's number, a thread without a domain one of its own;
 * and so have the losses of each domain, which overlap with the phases around them. This module
 * numbers and names rows and processes, the same for every format made for a viewer, and reports
 * which are new, so that they are named before their first event.
 *
 * It keeps a few bytes a row while its process lives: as many as there are lanes.
 */
#ifndef FORMAT_ROWS_H
#define FORMAT_ROWS_H

#include "base/ptrarray.h"
#include "format/fiber_tracks.h"
#include "session/session.h"
#include "stream/tracks.h"

/* Numbers of rows beyond those of domains; both fit the 32 bits that viewers have for a thread. */
#define ROWS_LOST    100000u   /* + domain, or EBT_NO_DOMAIN */
#define ROWS_SITES   200000u   /* of allocations */
#define ROWS_THREADS 10000000u /* + tid, 0: not known */
#define ROWS_OFFCPU  20000000u /* + tid: when the thread does not run */
#define ROWS_FIBERS  30000000u /* + domain, or EBT_NO_DOMAIN, * FIBER_TRACKS + track of fibers */
/* The pid of events without a known process. Linux has no such pid; viewers hide pid 0. */
#define ROWS_NO_PID 4194304u

#define ROWS_NAME_BYTES 48

struct row {
	uint32_t pid, tid; /* as the viewer knows them */
	uint32_t number;   /* from 1, in order of appearance */
	uint32_t user;	   /* the format's own; 0 at first */
};

struct rows_process;

struct rows {
	const struct session *session;
	PTRARRAY(struct row) lanes, lost, offcpu; /* by lane */
	PTRARRAY(struct rows_process) processes;  /* by index */
	uint32_t count;
};

static inline uint32_t rows_pid(uint32_t pid)
{
	return pid ? pid : ROWS_NO_PID;
}

/* The number of the row of a domain, or of a thread without one. */
static inline uint32_t rows_tid(uint16_t domain, uint32_t tid)
{
	return domain != EBT_NO_DOMAIN ? domain : ROWS_THREADS + tid;
}

void rows_init(struct rows *r, const struct session *s);
void rows_done(struct rows *r);
/* The row of a lane; *ret_new: it was not known before. NULL: -ENOMEM, also of lane 0. */
struct row *rows_of_lane(struct rows *r, uint32_t lane, bool *ret_new);
/* The row of an event: of a loss the row of the losses of its domain, of an EBT_OFFCPU the row of
 * its thread off CPU, of any other event that of its lane. Otherwise as rows_of_lane(). */
struct row *rows_of(struct rows *r, const struct ebt_event *ev, bool *ret_new);
/* The row of a track of fibers, with its number in `user`. */
struct row rows_of_fibers(struct rows *r, struct fiber_track *t, bool *ret_new);
/* Releases the rows and the name of a process that has ended. */
void rows_forget(struct rows *r, uint32_t process);
/* "domain 3", "thread 4711", "lost events (domain 3)", "off CPU (thread 4711)", "fibers 0 (domain
 * 3)". */
void rows_name(uint32_t tid, char ret[ROWS_NAME_BYTES]);

/* The name to show for a process; p NULL: nothing is known of it. Valid as long as p is. */
const char *rows_process_name(const struct process *p);
/* 1 if the viewer does not know the process by its name of now; 0, or -ENOMEM. */
int rows_process_renamed(struct rows *r, uint32_t process);
/* True if the process is announced and its pid, by which viewers know it, is not another's by now:
 * its last name may still be written. */
bool rows_has_pid(const struct rows *r, uint32_t process);

/* "phase", "counter", "lifecycle", "user"; else as the kind is called. Static. */
const char *rows_category(uint16_t kind);
/* Since when the events of a loss are missing: at the earliest since the first event shown. */
uint64_t rows_lost_since(const struct session *s, const struct ebt_event *ev);
/* Why a span ended without an event of its own: "lost" …; NULL: it had one. Static. */
const char *rows_cut(enum track_end how);

/*
 * The one name under which a user span, and all inside it on its track, begin and end, even if it
 * is renamed meanwhile: viewers match ends by name. It is a string of the session, held by the
 * track's user_number. NULL: -ENOMEM, also at the end of a span that had none when it began.
 */
const char *rows_begin_span(struct rows *r, struct track *t, const char *name, unsigned depth);
const char *rows_end_span(const struct rows *r, const struct track *t);
/* The track will not be used any more. */
void rows_forget_span(struct rows *r, struct track *t);

#endif
