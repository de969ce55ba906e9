/* SPDX-License-Identifier: BSD-2-Clause */
#include "format/perfetto/tracks.h"

#include <stdio.h>
#include <stdlib.h>

#include "session/names.h"

void perfetto_tracks_init(struct perfetto_tracks *t, const struct session *s, struct packets *p)
{
	t->session = s;
	t->packets = p;
	t->batch = 1;
	name_slots_init(&t->slots, s);
}

static void free_lane(struct perfetto_lane *lane)
{
	if (!lane)
		return;
	ptrmap_free(&lane->counters);
	ptrmap_free(&lane->spans);
	free(lane);
}

static void free_process(struct perfetto_process *p)
{
	if (p)
		ptrmap_free(&p->derived);
	free(p);
}

void perfetto_tracks_done(struct perfetto_tracks *t)
{
	size_t at = 0;
	for (struct perfetto_lane *lane; (lane = ptrarray_next(&t->lanes, &at));)
		free_lane(lane);
	ptrarray_done(&t->lanes);
	at = 0;
	for (struct perfetto_process *p; (p = ptrarray_next(&t->processes, &at));)
		free_process(p);
	ptrarray_done(&t->processes);
	name_slots_done(&t->slots);
}

static uint32_t pid_of(const struct perfetto_tracks *t, uint32_t process)
{
	return processes_pid(&t->session->processes, process);
}

static uint64_t mix(uint64_t v)
{
	v = (v ^ v >> 30) * 0xbf58476d1ce4e5b9ull;
	v = (v ^ v >> 27) * 0x94d049bb133111ebull;
	return v ^ v >> 31;
}

uint64_t perfetto_tracks_uuid(enum use use, uint32_t pid, uint16_t domain, uint32_t tid,
			      uint32_t id)
{
	if (domain != EBT_NO_DOMAIN)
		tid = 0; /* a domain is one track, whatever thread runs it */
	uint64_t h = mix((uint64_t)use << 48 | (uint64_t)domain << 32 | pid);
	h = mix(h ^ ((uint64_t)tid << 32 | id)) & ((1ull << 56) - 1);
	return h ? h : 1;
}

/* What a process is called: as the system does, else as its ring does. */
static const char *process_name(const struct process *p)
{
	return *p->comm ? p->comm : *p->runtime ? p->runtime : *p->producer ? p->producer : NULL;
}

static void describe_process(struct perfetto_tracks *t, struct perfetto_process *p)
{
	uint32_t pid = pid_of(t, p->process);
	struct packet_track track = {.uuid = p->uuid.value,
				     .counter = PACKET_NO_COUNTER,
				     .pid = pid,
				     .process = p->name,
				     .name = pid       ? NULL
					     : p->name ? p->name
						       : "process"};
	packets_put_track(t->packets, &track);
	if (p->about)
		memcpy(p->comm, p->about->comm, sizeof(p->comm));
}

/* Names may become known, or better known, or others, between any two batches. */
void perfetto_tracks_follow_name(struct perfetto_tracks *t, struct perfetto_process *p)
{
	p->batch = t->batch;
	bool same = p->about && !memcmp(p->comm, p->about->comm, sizeof(p->comm));
	if (same && p->name == p->about->comm)
		return;
	if (!p->about)
		p->about = processes_announced(&t->session->processes, p->process);
	const char *name = p->about ? process_name(p->about) : NULL;
	if (name == p->name && (same || !p->about || name != p->about->comm))
		return;
	p->name = name;
	describe_process(t, p);
}

static struct perfetto_process *make_process(struct perfetto_tracks *t, uint32_t process)
{
	bool is_new;
	struct perfetto_process *p = ptrarray_make(&t->processes, process, &is_new);
	if (!p || !is_new)
		return p;
	p->process = process;
	p->lost.end_ns = t->ended_ns;
	packet_uuid_set(&p->uuid,
			perfetto_tracks_uuid(USE_PROCESS, pid_of(t, process), EBT_NO_DOMAIN, 0, 0));
	p->about = processes_announced(&t->session->processes, process);
	p->name = p->about ? process_name(p->about) : NULL;
	describe_process(t, p);
	return p;
}

struct perfetto_process *perfetto_tracks_process(struct perfetto_tracks *t, uint32_t process)
{
	struct perfetto_process *p = make_process(t, process);
	if (p && p->batch != t->batch)
		perfetto_tracks_follow_name(t, p);
	return p;
}

/* In the order of the registry: the table's own differs from run to run. */
void perfetto_tracks_follow_names(struct perfetto_tracks *t)
{
	const struct process *p = NULL;
	while ((p = processes_next(&t->session->processes, p))) {
		struct perfetto_process *shown = ptrarray_get(&t->processes, p->index);
		if (shown)
			perfetto_tracks_follow_name(t, shown);
	}
}

void perfetto_tracks_drop_process(struct perfetto_tracks *t, struct perfetto_process *p)
{
	free_process(ptrarray_remove(&t->processes, p->process));
}

void perfetto_tracks_drop_lanes(struct perfetto_tracks *t, uint32_t process)
{
	const struct processes *ps = &t->session->processes;
	for (uint32_t l = processes_first_lane(ps, process); l; l = processes_next_lane(ps, l))
		free_lane(ptrarray_remove(&t->lanes, l));
}

void perfetto_tracks_forget(struct perfetto_tracks *t, uint32_t process)
{
	struct perfetto_process *p = ptrarray_get(&t->processes, process);
	if (p)
		perfetto_tracks_follow_name(t, p);
	perfetto_tracks_drop_lanes(t, process);
	if (p)
		perfetto_tracks_drop_process(t, p);
}

static struct perfetto_lane *make_lane(struct perfetto_tracks *t, const struct ebt_event *ev)
{
	bool is_new;
	uint32_t number = processes_lane_of(&t->session->processes, ev);
	struct perfetto_process *process = perfetto_tracks_process(t, ev->process);
	struct perfetto_lane *lane =
		process && number ? ptrarray_make(&t->lanes, number, &is_new) : NULL;
	if (!lane)
		return NULL;
	lane->process = process;
	packet_uuid_set(&lane->uuid, perfetto_tracks_uuid(USE_DOMAIN, pid_of(t, ev->process),
							  ev->domain, ev->tid, 0));
	lane->cpu = EBT_NO_CPU;
	lane->lost.end_ns = t->ended_ns;
	char name[32] = "thread";
	if (ev->domain != EBT_NO_DOMAIN)
		snprintf(name, sizeof(name), "domain %u", ev->domain);
	else if (ev->tid)
		snprintf(name, sizeof(name), "thread %u", ev->tid);
	struct packet_track track = {.uuid = lane->uuid.value,
				     .parent = process->uuid.value,
				     .counter = PACKET_NO_COUNTER,
				     .rank = ev->domain,
				     .name = name};
	packets_put_track(t->packets, &track);
	return lane;
}

struct perfetto_lane *perfetto_tracks_lane(struct perfetto_tracks *t, const struct ebt_event *ev)
{
	struct perfetto_lane *lane = perfetto_tracks_known(t, ev);
	if (!lane)
		return make_lane(t, ev);
	perfetto_tracks_follow(t, lane);
	return lane;
}

const char *perfetto_tracks_cut(enum track_end how)
{
	static const char *const why[] = {
		[TRACK_OUTER] = "ended with what is around it",
		[TRACK_LOST] = "lost",
		[TRACK_PROCESS] = "process ended",
		[TRACK_UNFINISHED] = "unfinished",
		[TRACK_NOT_ENDED] = "its end did not come",
	};
	return why[how];
}

uint32_t perfetto_tracks_name(struct perfetto_tracks *t, const struct ebt_event *ev)
{
	bool is_new;
	uint32_t *name = &t->name[name_slots_find(&t->slots, ev, &is_new)];
	if (is_new || !packets_know(t->packets, *name)) {
		char made[NAMES_MADE_BYTES];
		*name = packets_intern(t->packets, names_label(t->session, ev, made));
	}
	return *name;
}

static enum packet_unit unit_of(uint32_t id)
{
	switch (kinds_counter_unit(id)) {
	case KINDS_UNIT_bytes:
		return PACKET_BYTES;
	case KINDS_UNIT_words:
		return PACKET_WORDS;
	case KINDS_UNIT_count:
	case KINDS_UNIT_blocks:
	case KINDS_UNIT_work:
		break;
	}
	return PACKET_NO_UNIT;
}

static void describe_child(struct perfetto_tracks *t, const struct perfetto_lane *lane,
			   const struct ebt_event *ev, uint64_t uuid)
{
	char made[NAMES_MADE_BYTES];
	const char *name = names_label(t->session, ev, made);
	struct packet_track track = {.uuid = uuid,
				     .parent = lane->uuid.value,
				     .counter = PACKET_NO_COUNTER,
				     .name = name};
	if (ev->kind == EBT_COUNTER)
		track.counter = unit_of(ev->id);
	else
		track.separate = true;
	packets_put_track(t->packets, &track);
}

struct perfetto_child *perfetto_tracks_child(struct perfetto_tracks *t, struct perfetto_lane *lane,
					     const struct ebt_event *ev)
{
	bool is_new, is_counter = ev->kind == EBT_COUNTER;
	uint32_t name = perfetto_tracks_name(t, ev);
	struct perfetto_child *child = is_counter ? ptrmap_make(&lane->counters, ev->id, &is_new)
						  : ptrmap_make(&lane->spans, ev->id, &is_new);
	if (!child)
		return NULL;
	if (is_new)
		packet_uuid_set(&child->uuid,
				perfetto_tracks_uuid(is_counter ? USE_COUNTER : USE_SPANS,
						     pid_of(t, ev->process), ev->domain, ev->tid,
						     ev->id));
	if (child->name != name)
		describe_child(t, lane, ev, child->uuid.value);
	child->name = name;
	return child;
}

const struct packet_uuid *perfetto_tracks_offcpu(struct perfetto_tracks *t,
						 struct perfetto_lane *lane,
						 const struct ebt_event *ev)
{
	struct packet_track track = {.uuid = perfetto_tracks_uuid(USE_OFFCPU,
								  pid_of(t, ev->process),
								  ev->domain, ev->tid, 0),
				     .parent = lane->uuid.value,
				     .counter = PACKET_NO_COUNTER,
				     .name = "off CPU"};
	if (lane->offcpu.len)
		return &lane->offcpu;
	packet_uuid_set(&lane->offcpu, track.uuid);
	packets_put_track(t->packets, &track);
	return &lane->offcpu;
}

struct perfetto_child *perfetto_tracks_derived(struct perfetto_tracks *t,
					       struct perfetto_process *p,
					       const struct derived_counter *c)
{
	bool is_new;
	struct perfetto_child *child = ptrmap_make(&p->derived, c->id, &is_new);
	if (!child || !is_new)
		return child;
	packet_uuid_set(&child->uuid, perfetto_tracks_uuid(USE_MEMORY, pid_of(t, p->process),
							   EBT_NO_DOMAIN, 0, c->id));
	packets_put_track(t->packets, &(struct packet_track){.uuid = child->uuid.value,
							     .parent = p->uuid.value,
							     .counter = c->is_bytes ? PACKET_BYTES
										    : PACKET_PAGES,
							     .name = c->name});
	return child;
}
