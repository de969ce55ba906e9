/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/perfetto_places.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/names.h"

#define RECENT_NAMES 1024

/* The number of a name that was looked up lately. */
struct recent {
	uint32_t process, id, iid;
	uint16_t kind;
	char text[50];
};

int places_init(struct places *l, const struct session *s, struct packets *p)
{
	*l = (struct places){.session = s, .packets = p};
	l->recent = calloc(RECENT_NAMES, sizeof(*l->recent));
	return l->recent ? 0 : -ENOMEM;
}

void places_done(struct places *l)
{
	while (l->lanes)
		places_drop_lane(l->lanes);
	ptrmap_free(&l->processes);
	free(l->recent);
}

static uint32_t pid_of(const struct places *l, uint32_t process)
{
	return processes_pid(&l->session->processes, process);
}

static uint64_t mix(uint64_t v)
{
	v = (v ^ v >> 30) * 0xbf58476d1ce4e5b9ull;
	v = (v ^ v >> 27) * 0x94d049bb133111ebull;
	return v ^ v >> 31;
}

uint64_t places_uuid(enum use use, uint32_t pid, uint16_t domain, uint32_t tid, uint32_t id)
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

static void tell_process(struct places *l, struct perfetto_process *p)
{
	uint32_t pid = pid_of(l, p->process);
	struct packet_track track = {.uuid = p->uuid,
				     .counter = PACKET_NO_COUNTER,
				     .pid = pid,
				     .process = p->name,
				     .name = pid       ? NULL
					     : p->name ? p->name
						       : "process"};
	packets_put_track(l->packets, &track);
	if (p->about)
		memcpy(p->comm, p->about->comm, sizeof(p->comm));
}

/* Names may become known, or better known, or others, at any time. */
static void follow_name(struct places *l, struct perfetto_process *p)
{
	bool same = p->about && !memcmp(p->comm, p->about->comm, sizeof(p->comm));
	if (same && p->name == p->about->comm)
		return;
	if (!p->about)
		p->about = processes_announced(&l->session->processes, p->process);
	const char *name = p->about ? process_name(p->about) : NULL;
	if (name == p->name && (same || !p->about || name != p->about->comm))
		return;
	p->name = name;
	tell_process(l, p);
}

static struct perfetto_process *make_process(struct places *l, uint32_t process)
{
	bool is_new;
	struct perfetto_process *p = ptrmap_make(&l->processes, process, &is_new);
	if (!p || !is_new)
		return p;
	p->process = process;
	p->lost.end_ns = l->ended_ns;
	p->uuid = places_uuid(USE_PROCESS, pid_of(l, process), EBT_NO_DOMAIN, 0, 0);
	p->about = processes_announced(&l->session->processes, process);
	p->name = p->about ? process_name(p->about) : NULL;
	tell_process(l, p);
	return p;
}

struct perfetto_process *places_process(struct places *l, uint32_t process)
{
	struct perfetto_process *p = make_process(l, process);
	if (p)
		follow_name(l, p);
	return p;
}

/* In the order of the registry: the table's own differs from run to run. */
void places_follow_names(struct places *l)
{
	const struct process *p = NULL;
	while ((p = processes_next(&l->session->processes, p))) {
		struct perfetto_process *shown = ptrmap_get(&l->processes, p->index);
		if (shown)
			follow_name(l, shown);
	}
}

void places_drop_process(struct places *l, struct perfetto_process *p)
{
	free(ptrmap_take(&l->processes, p->process));
}

void places_forget(struct places *l, uint32_t process)
{
	struct perfetto_process *p = ptrmap_get(&l->processes, process);
	if (p)
		places_drop_process(l, p);
	for (unsigned i = 0; i < RECENT_NAMES; i++)
		if (l->recent[i].process == process)
			l->recent[i].kind = 0;
}

static struct lane *make_lane(struct places *l, const struct ebt_event *ev)
{
	struct perfetto_process *process = places_process(l, ev->process);
	struct lane *lane = process ? calloc(1, sizeof(*lane)) : NULL;
	if (!lane)
		return NULL;
	lane->process = process;
	lane->uuid = places_uuid(USE_DOMAIN, pid_of(l, ev->process), ev->domain, ev->tid, 0);
	lane->cpu = EBT_NO_CPU;
	lane->lost.end_ns = l->ended_ns;
	lane->next = l->lanes;
	lane->link = &l->lanes;
	if (lane->next)
		lane->next->link = &lane->next;
	l->lanes = lane;
	char name[32] = "thread";
	if (ev->domain != EBT_NO_DOMAIN)
		snprintf(name, sizeof(name), "domain %u", ev->domain);
	else if (ev->tid)
		snprintf(name, sizeof(name), "thread %u", ev->tid);
	struct packet_track track = {.uuid = lane->uuid,
				     .parent = process->uuid,
				     .counter = PACKET_NO_COUNTER,
				     .rank = ev->domain,
				     .name = name};
	packets_put_track(l->packets, &track);
	return lane;
}

void places_drop_lane(struct lane *lane)
{
	*lane->link = lane->next;
	if (lane->next)
		lane->next->link = lane->link;
	map_done(&lane->children);
	free(lane);
}

struct lane *places_lane(struct places *l, struct track *t, const struct ebt_event *ev)
{
	if (!t->user)
		t->user = make_lane(l, ev);
	struct lane *lane = t->user;
	if (lane)
		follow_name(l, lane->process);
	return lane;
}

/* A user event's name may change; the others are fixed. */
uint32_t places_name(struct places *l, const struct ebt_event *ev)
{
	enum kinds_label label = kinds_get(ev->kind)->label;
	if (label == KINDS_LABEL_none)
		return packets_intern(l->packets, kinds_name(ev->kind));
	struct recent *r = &l->recent[(ev->id * 4 + ev->kind + ev->process * 31) % RECENT_NAMES];
	bool found = r->kind == ev->kind && r->id == ev->id && r->process == ev->process &&
		     packets_know(l->packets, r->iid);
	if (found && label != KINDS_LABEL_user)
		return r->iid;
	char made[NAMES_MADE_BYTES];
	const char *name = names_label(l->session, ev, made);
	if (found && !strcmp(r->text, name))
		return r->iid;
	uint32_t iid = packets_intern(l->packets, name);
	if (strlen(name) < sizeof(r->text)) {
		*r = (struct recent){
			.process = ev->process, .id = ev->id, .iid = iid, .kind = ev->kind};
		strcpy(r->text, name);
	}
	return iid;
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

static void tell_child(struct places *l, const struct lane *lane, const struct ebt_event *ev,
		       uint64_t uuid)
{
	char made[NAMES_MADE_BYTES];
	const char *name = names_label(l->session, ev, made);
	struct packet_track track = {
		.uuid = uuid, .parent = lane->uuid, .counter = PACKET_NO_COUNTER, .name = name};
	if (ev->kind == EBT_COUNTER)
		track.counter = unit_of(ev->id);
	else
		track.separate = true;
	packets_put_track(l->packets, &track);
}

uint64_t places_child(struct places *l, struct lane *lane, const struct ebt_event *ev)
{
	enum use use = ev->kind == EBT_COUNTER ? USE_COUNTER : USE_SPANS;
	uint64_t uuid = places_uuid(use, pid_of(l, ev->process), ev->domain, ev->tid, ev->id);
	uint32_t name = places_name(l, ev);
	uint64_t *told = map_put(&lane->children, (uint64_t)use << 32 | ev->id);
	if (!told) {
		l->packets->out.err = l->packets->out.err ? l->packets->out.err : -ENOMEM;
		return uuid;
	}
	if (*told != name)
		tell_child(l, lane, ev, uuid);
	*told = name;
	return uuid;
}
