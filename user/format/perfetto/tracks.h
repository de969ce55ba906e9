/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The tracks of a Perfetto trace: of processes, of their lanes and of the counters and user spans
 * below those; and the numbers of names. Each track and name is described when it is first needed,
 * and again when its name has changed. Processes and lanes are made on request and kept until they
 * are dropped.
 */
#ifndef FORMAT_PERFETTO_TRACKS_H
#define FORMAT_PERFETTO_TRACKS_H

#include "base/ptrarray.h"
#include "base/ptrmap.h"
#include "format/derived.h"
#include "format/perfetto/packet.h"
#include "stream/name_slots.h"
#include "stream/tracks.h"

/* What a track is for: a part of its uuid. Only ever appended to. */
enum use {
	USE_SESSION = 0,
	USE_PROCESS = 1,
	USE_DOMAIN = 2,
	USE_SPANS = 3,
	USE_COUNTER = 4,
	USE_LOST = 5,
	USE_MEMORY = 6,
	USE_OFFCPU = 7,
	USE_FIBERS = 8,
};

/* A track of lost intervals; they must not overlap to be seen. */
struct lost {
	bool described;
	uint64_t end_ns;
};

/* A counter, or a kind of user spans, of a lane; a derived counter of a process. */
struct perfetto_child {
	struct packet_uuid uuid;
	uint32_t name; /* the number of the name it was described with; 0: none yet */
};

struct perfetto_process {
	uint32_t process;
	struct packet_uuid uuid;
	const struct process *about;	       /* NULL: it is not announced yet */
	const char *name;		       /* described last, in `about` */
	char comm[32];			       /* what it was called when it was described */
	uint64_t batch;			       /* in which its name was compared last */
	struct lost lost;		       /* from none of its rings */
	PTRMAP(struct perfetto_child) derived; /* by id */
};

/* A domain, or a thread without one. */
struct perfetto_lane {
	struct perfetto_process *process;
	struct track
		*phases; /* of stream/tracks, which forget it before the lane is dropped; or NULL */
	struct packet_uuid uuid;
	uint32_t tid;
	uint16_t cpu;
	struct lost lost;
	PTRMAP(struct perfetto_child) counters, spans; /* by id */
	struct packet_uuid offcpu;		       /* len 0: not described yet */
	uint64_t offcpu_end_ns;			       /* of its last slice */
};

struct perfetto_tracks {
	const struct session *session;
	struct packets *packets;
	PTRARRAY(struct perfetto_process) processes; /* by index */
	PTRARRAY(struct perfetto_lane) lanes;	     /* by lane of the registry */
	uint64_t batch; /* the session's names do not change within one; from 1 */
	/* When a process, or its program, ended last: spans open before are not known now. */
	uint64_t ended_ns;
	struct name_slots slots;
	uint32_t name[NAME_SLOTS]; /* the number of the name; packets_know() decides */
};

/* Initialises zeroed memory; the session and the packets are kept. */
void perfetto_tracks_init(struct perfetto_tracks *t, const struct session *s, struct packets *p);
void perfetto_tracks_done(struct perfetto_tracks *t);

/* A hash of 56 bits, which 8 bytes encode; no two tracks of any test have had the same. */
uint64_t perfetto_tracks_uuid(enum use use, uint32_t pid, uint16_t domain, uint32_t tid,
			      uint32_t id);
/* NULL: -ENOMEM. */
struct perfetto_process *perfetto_tracks_process(struct perfetto_tracks *t, uint32_t process);
/* The track of a derived counter of the process. NULL: -ENOMEM. */
struct perfetto_child *perfetto_tracks_derived(struct perfetto_tracks *t,
					       struct perfetto_process *p,
					       const struct derived_counter *c);
/* Describes anew the processes that were renamed since their last events. */
void perfetto_tracks_follow_names(struct perfetto_tracks *t);
void perfetto_tracks_drop_process(struct perfetto_tracks *t, struct perfetto_process *p);
void perfetto_tracks_drop_lanes(struct perfetto_tracks *t, uint32_t process);
/* Drops all state of a process: its index and lanes may be assigned to another one. */
void perfetto_tracks_forget(struct perfetto_tracks *t, uint32_t process);
/* The event's lane. NULL: it was not made yet. */
static inline struct perfetto_lane *perfetto_tracks_known(const struct perfetto_tracks *t,
							  const struct ebt_event *ev)
{
	return ptrarray_get(&t->lanes, processes_lane_of(&t->session->processes, ev));
}
/* The cold half of perfetto_tracks_follow(). */
void perfetto_tracks_follow_name(struct perfetto_tracks *t, struct perfetto_process *p);
/* Describes the process of a known lane anew if its name has changed since the batch before. */
static inline void perfetto_tracks_follow(struct perfetto_tracks *t, struct perfetto_lane *lane)
{
	if (lane->process->batch != t->batch)
		perfetto_tracks_follow_name(t, lane->process);
}
/* The event's lane, with its process followed; made at its first event. NULL: -ENOMEM. */
struct perfetto_lane *perfetto_tracks_lane(struct perfetto_tracks *t, const struct ebt_event *ev);
/* The track of the event's counter or kind of user spans. NULL: -ENOMEM. */
struct perfetto_child *perfetto_tracks_child(struct perfetto_tracks *t, struct perfetto_lane *lane,
					     const struct ebt_event *ev);
/* The track of the intervals in which the lane's thread did not run, described at the first
 * call. */
const struct packet_uuid *perfetto_tracks_offcpu(struct perfetto_tracks *t,
						 struct perfetto_lane *lane,
						 const struct ebt_event *ev);
/* Why a slice ended without an event of its own; NULL: it had one. Static. */
const char *perfetto_tracks_cut(enum track_end how);
/* The number of the event's name. */
uint32_t perfetto_tracks_name(struct perfetto_tracks *t, const struct ebt_event *ev);

#endif
