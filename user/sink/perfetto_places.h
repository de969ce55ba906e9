/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Where events go in a Perfetto trace: the tracks of processes, of their domains and of what is
 * below those, and the numbers of names. Each track and name is told when it is first needed, and
 * told again when its name has changed. Processes and domains are made by asking for them and kept
 * until they are dropped.
 */
#ifndef SINK_PERFETTO_PLACES_H
#define SINK_PERFETTO_PLACES_H

#include "core/tracks.h"
#include "sink/perfetto_packet.h"

/* What a track is for: a part of its uuid. Only ever appended to. */
enum use {
	USE_SESSION = 0,
	USE_PROCESS = 1,
	USE_DOMAIN = 2,
	USE_SPANS = 3,
	USE_COUNTER = 4,
	USE_LOST = 5,
};

/* A track of lost intervals; they must not overlap to be seen. */
struct lost {
	bool told;
	uint64_t end_ns;
};

struct perfetto_process {
	uint32_t process;
	uint64_t uuid;
	const struct process *about; /* NULL: it is not announced yet */
	const char *name;	     /* told last, in `about` */
	char comm[32];		     /* what it was called when it was told */
	struct lost lost;	     /* from none of its rings */
};

/* A domain, or a thread without one. */
struct lane {
	struct lane *next, **link; /* all of them */
	struct perfetto_process *process;
	uint64_t uuid;
	uint32_t tid;
	uint16_t cpu;
	struct lost lost;
	struct map children; /* use << 32 | id → number of the name it was told with */
};

struct places {
	const struct session *session;
	struct packets *packets;
	PTRMAP(struct perfetto_process) processes;
	struct lane *lanes;    /* all of them */
	struct recent *recent; /* names looked up lately */
	/* When a process, or its program, ended last: what was on its tracks is not known now. */
	uint64_t ended_ns;
};

/* Both are kept. 0 or -ENOMEM. */
int places_init(struct places *l, const struct session *s, struct packets *p);
void places_done(struct places *l);

/* Two tracks of a process have never met in one uuid in any test; 56 bits take 8 bytes to write. */
uint64_t places_uuid(enum use use, uint32_t pid, uint16_t domain, uint32_t tid, uint32_t id);
/* NULL: -ENOMEM. */
struct perfetto_process *places_process(struct places *l, uint32_t process);
/* Tells the names that have changed since their processes' last events. */
void places_follow_names(struct places *l);
void places_drop_process(struct places *l, struct perfetto_process *p);
/* Drops whatever is kept of a process whose index will mean another. Its lanes are gone. */
void places_forget(struct places *l, uint32_t process);
/* The event's domain or thread, of which `t` is the track of the phases. NULL: -ENOMEM. */
struct lane *places_lane(struct places *l, struct track *t, const struct ebt_event *ev);
void places_drop_lane(struct lane *lane);
/* The track of the event's counter or kind of user spans. */
uint64_t places_child(struct places *l, struct lane *lane, const struct ebt_event *ev);
/* The number of the event's name. */
uint32_t places_name(struct places *l, const struct ebt_event *ev);

#endif
