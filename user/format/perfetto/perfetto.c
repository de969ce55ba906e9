/* SPDX-License-Identifier: BSD-2-Clause */
#include "format/perfetto/perfetto.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "format/derived_tracks.h"
#include "format/perfetto/fibers.h"
#include "format/perfetto/packet.h"
#include "format/perfetto/stacks.h"
#include "format/perfetto/tracks.h"
#include "session/event_args.h"
#include "session/event_stack.h"
#include "session/kinds.h"
#include "session/names.h"
#include "session/offcpu.h"
#include "stream/tracks.h"

/* The arguments and the payload of an event as notes of a packet. */

struct perfetto_args {
	const struct session *session;
	struct packets *packets;
	uint32_t notes[EVENT_ARGS_LISTS][KINDS_ARGS]; /* of each argument; 0: none yet */
};

/* Initialises zeroed memory; both pointers are kept. */
static void perfetto_args_init(struct perfetto_args *f, const struct session *s, struct packets *p)
{
	f->session = s;
	f->packets = p;
}

static void note_payload(struct perfetto_args *f, const struct ebt_event *ev,
			 enum kinds_payload payload)
{
	size_t bytes = 0;
	const void *data = session_blob(f->session, ev, &bytes);
	if (payload == KINDS_PAYLOAD_words)
		packets_note_words(f->packets, PACKET_NOTE_VALUES, data, data ? bytes : 0);
	else
		packets_note_bytes(f->packets, data, data ? bytes : 0);
	if (ev->flags & EBT_F_CUT)
		packets_note_true(f->packets, PACKET_NOTE_TRUNCATED);
}

/* Writes the names of the event's arguments, before the packet that has them is opened. */
static void perfetto_args_know(struct perfetto_args *f, const struct ebt_event *ev)
{
	unsigned list;
	const struct kinds_arg *args = event_args_list(f->session, ev, &list);
	uint32_t *notes = f->notes[list];
	for (size_t i = 0; args[i].name; i++)
		if (!packets_know_note(f->packets, notes[i]))
			notes[i] = packets_intern_note(f->packets, args[i].name);
}

static void note_arg(struct packets *p, uint32_t note, const struct event_arg *a)
{
	char scratch[KINDS_TEXT_BYTES];
	switch ((enum kinds_type)a->arg->type) {
	case KINDS_TYPE_u64:
		packets_note_u64(p, note, a->value);
		break;
	case KINDS_TYPE_count:
	case KINDS_TYPE_syscall:
		packets_note_u64(p, note, a->value - 1);
		break;
	case KINDS_TYPE_i64:
		packets_note_i64(p, note, (int64_t)a->value);
		break;
	case KINDS_TYPE_hex:
		packets_note_address(p, note, a->value);
		break;
	case KINDS_TYPE_flag:
		packets_note_true(p, note);
		break;
	case KINDS_TYPE_alloc_source:
	case KINDS_TYPE_page_cause:
	case KINDS_TYPE_offcpu_reason:
	case KINDS_TYPE_sample_end:
	case KINDS_TYPE_phase:
		packets_note_text(p, note, kinds_arg_text(a->arg, a->value, scratch));
		break;
	case KINDS_TYPE_text:
	case KINDS_TYPE_quoted:
		packets_note_text(p, note, a->text);
		break;
	case KINDS_TYPE_any:
	case KINDS_TYPE_unreadable:
		packets_note_text(p, note, "?");
		break;
	}
}

static void perfetto_args_note(struct perfetto_args *f, const struct ebt_event *ev)
{
	enum kinds_payload rest = event_args_rest(f->session, ev);
	unsigned list;
	event_args_list(f->session, ev, &list);
	const uint32_t *note = f->notes[list];
	struct event_arg arg;
	for (unsigned at = 0; event_args_next(f->session, ev, &at, &arg);)
		note_arg(f->packets, note[at - 1], &arg);
	if (rest == KINDS_PAYLOAD_words || rest == KINDS_PAYLOAD_bytes)
		note_payload(f, ev, rest);
	else if (event_args_cut(ev))
		packets_note_true(f->packets, PACKET_NOTE_TRUNCATED);
}

struct perfetto {
	struct sink base;
	const struct session *session;
	struct packets packets;
	struct perfetto_args args;
	struct perfetto_stacks stacks;
	uint32_t stack; /* the number of that of the event at hand; 0: none */
	struct tracks *spans;
	struct perfetto_tracks tracks;
	struct derived_tracks derived;
	struct perfetto_fibers fibers;
	struct packet_uuid sites; /* the track of the biggest sites */
	unsigned site_count;	  /* slices that it has open */
	struct lost lost;	  /* of an unknown process */
	bool has_header, has_session;
	const struct ebt_event *end; /* the event at hand, with which spans may end */
	bool late;		     /* it is */
};

/* Thread and CPU are written with the first event of a lane, and when they change. */
static bool has_news(const struct perfetto *f, const struct perfetto_lane *lane,
		     const struct ebt_event *ev)
{
	return f->late || event_stack_is_shown(ev) || (ev->tid && ev->tid != lane->tid) ||
	       (ev->cpu != EBT_NO_CPU && ev->cpu != lane->cpu);
}

/* Behind the names that the event has, before its packet is opened. */
static void know_stack(struct perfetto *f, const struct ebt_event *ev)
{
	f->stack = event_stack_is_shown(ev) ? perfetto_stacks_number(&f->stacks, ev->stack) : 0;
}

static void note_news(struct perfetto *f, struct perfetto_lane *lane, const struct ebt_event *ev)
{
	if (ev->tid && ev->tid != lane->tid)
		packets_note_u64(&f->packets, PACKET_NOTE_TID, lane->tid = ev->tid);
	if (ev->cpu != EBT_NO_CPU && ev->cpu != lane->cpu)
		packets_note_u64(&f->packets, PACKET_NOTE_CPU, lane->cpu = ev->cpu);
	if (f->late)
		packets_note_true(&f->packets, PACKET_NOTE_LATE);
	if (f->stack)
		packets_note_stack(&f->packets, f->stack);
}

/* `user` of a track is its lane, of a track of user spans the child; NULL before its first
 * begin. */
static inline const struct packet_uuid *uuid_of(const struct track *t)
{
	const struct perfetto_lane *lane = t->user;
	const struct perfetto_child *child = t->user;
	return t->span == TRACK_PHASES ? &lane->uuid : &child->uuid;
}

/* The lane of a begin; sets `user` of its track. NULL: -ENOMEM. */
static __attribute__((noinline)) struct perfetto_lane *
know_track(struct perfetto *f, struct track *t, const struct ebt_event *ev)
{
	struct perfetto_lane *lane = perfetto_tracks_lane(&f->tracks, ev);
	if (!lane)
		return NULL;
	if (t->span != TRACK_PHASES) {
		t->user = perfetto_tracks_child(&f->tracks, lane, ev);
		return t->user ? lane : NULL;
	}
	lane->phases = t;
	t->user = lane;
	return lane;
}

static inline int on_begin(void *ctx, struct track *t, struct track_span *s, unsigned depth,
			   const struct ebt_event *ev)
{
	struct perfetto *f = ctx;
	struct packets *p = &f->packets;
	struct perfetto_lane *lane = t->span == TRACK_PHASES ? t->user : NULL;
	(void)depth;
	if (lane)
		perfetto_tracks_follow(&f->tracks, lane);
	else if (!(lane = know_track(f, t, ev)))
		return -ENOMEM;
	const struct packet_uuid *uuid = uuid_of(t);
	uint32_t name = perfetto_tracks_name(&f->tracks, ev);
	bool has_args = ev->flags & EBT_F_PAYLOAD;
	if (!has_args && !has_news(f, lane, ev)) {
		packets_put_event(p, PACKET_SLICE_BEGIN, s->begin_ns, uuid, name);
		return 0;
	}
	if (has_args)
		perfetto_args_know(&f->args, ev);
	know_stack(f, ev);
	packets_begin(p, PACKET_SLICE_BEGIN, s->begin_ns, uuid, name);
	if (has_args)
		perfetto_args_note(&f->args, ev);
	note_news(f, lane, ev);
	packets_end(p);
	return 0;
}

static inline int on_end(void *ctx, struct track *t, const struct track_span *s, unsigned depth,
			 uint64_t end_ns, enum track_end how)
{
	struct perfetto *f = ctx;
	struct packets *p = &f->packets;
	(void)s, (void)depth;
	if (!t->user) /* there was no memory when it began, and the begin returned that */
		return -ENOMEM;
	const struct packet_uuid *uuid = uuid_of(t);
	bool has_args = how == TRACK_ENDED && f->end->flags & EBT_F_PAYLOAD;
	if (how == TRACK_ENDED && !f->late && !has_args) {
		packets_put_event(p, PACKET_SLICE_END, end_ns, uuid, 0);
		return 0;
	}
	if (has_args)
		perfetto_args_know(&f->args, f->end);
	packets_begin(p, PACKET_SLICE_END, end_ns, uuid, 0);
	if (has_args)
		perfetto_args_note(&f->args, f->end);
	if (perfetto_tracks_cut(how))
		packets_note_text(p, PACKET_NOTE_CUT, perfetto_tracks_cut(how));
	if (f->late && how <= TRACK_OUTER)
		packets_note_true(p, PACKET_NOTE_LATE);
	packets_end(p);
	return 0;
}

static const struct tracks_visitor visitor = {.begin = on_begin, .end = on_end};

static int put_counter(struct perfetto *f, const struct ebt_event *ev)
{
	struct perfetto_lane *lane = perfetto_tracks_lane(&f->tracks, ev);
	if (!lane)
		return -ENOMEM;
	const struct perfetto_child *child = perfetto_tracks_child(&f->tracks, lane, ev);
	if (!child)
		return -ENOMEM;
	packets_put_event(&f->packets, PACKET_COUNTER, ev->ts, &child->uuid, ev->arg[0]);
	return 0;
}

/* An event of a lane without a duration. */
static int put_instant(struct perfetto *f, const struct ebt_event *ev)
{
	struct packets *p = &f->packets;
	struct perfetto_lane *lane = perfetto_tracks_lane(&f->tracks, ev);
	if (!lane)
		return -ENOMEM;
	uint32_t name = perfetto_tracks_name(&f->tracks, ev);
	if (ev->kind == EBT_UNIT && !has_news(f, lane, ev)) {
		packets_put_event(p, PACKET_INSTANT, ev->ts, &lane->uuid, name);
		return 0;
	}
	perfetto_args_know(&f->args, ev);
	know_stack(f, ev);
	packets_begin(p, PACKET_INSTANT, ev->ts, &lane->uuid, name);
	perfetto_args_note(&f->args, ev);
	note_news(f, lane, ev);
	packets_end(p);
	return 0;
}

/* A slice of the thread's track "off CPU"; the intervals of a thread do not overlap. */
static int put_offcpu(struct perfetto *f, const struct ebt_event *ev)
{
	struct packets *p = &f->packets;
	struct perfetto_lane *lane = perfetto_tracks_lane(&f->tracks, ev);
	struct offcpu o;
	if (!lane)
		return -ENOMEM;
	const struct packet_uuid *uuid = perfetto_tracks_offcpu(&f->tracks, lane, ev);
	offcpu_get(f->session, ev, &o);
	uint32_t name = packets_intern(p, kinds_offcpu_reason_name(o.reason));
	perfetto_args_know(&f->args, ev);
	know_stack(f, ev);
	/* Intervals of a forged capture might overlap. */
	uint64_t last_ns = lane->offcpu_end_ns;
	uint64_t begin_ns = o.begin_ns > last_ns ? o.begin_ns : last_ns;
	lane->offcpu_end_ns = o.end_ns > begin_ns ? o.end_ns : begin_ns;
	packets_begin(p, PACKET_SLICE_BEGIN, begin_ns, uuid, name);
	perfetto_args_note(&f->args, ev);
	note_news(f, lane, ev);
	packets_end(p);
	packets_put_event(p, PACKET_SLICE_END, lane->offcpu_end_ns, uuid, 0);
	return 0;
}

/* A sample of its thread, which is beside the tracks of the domains. */
static int put_sample(struct perfetto *f, const struct ebt_event *ev)
{
	static const enum packet_unwind unwinds[] = {
		[EBT_SAMPLE_WHOLE] = PACKET_UNWIND_WHOLE,
		[EBT_SAMPLE_UNREAD] = PACKET_UNWIND_MEMORY,
		[EBT_SAMPLE_CUT] = PACKET_UNWIND_MEMORY,
		[EBT_SAMPLE_LEAF] = PACKET_UNWIND_INFO,
		[EBT_SAMPLE_CALL] = PACKET_UNWIND_INFO,
		[EBT_SAMPLE_GAP] = PACKET_UNWIND_INFO,
	};
	if (!perfetto_tracks_process(&f->tracks, ev->process))
		return -ENOMEM;
	know_stack(f, ev);
	bool is_known = ev->id < sizeof(unwinds) / sizeof(*unwinds);
	const struct packet_sample sample = {
		.pid = processes_pid(&f->session->processes, ev->process),
		.tid = ev->tid,
		.cpu = ev->cpu,
		.has_cpu = ev->cpu != EBT_NO_CPU,
		.in_kernel = ev->arg[0],
		.stack = f->stack,
		.unwind = is_known ? unwinds[ev->id] : PACKET_UNWIND_UNKNOWN,
	};
	packets_put_sample(&f->packets, ev->ts, &sample);
	return 0;
}

static uint64_t session_track(struct perfetto *f)
{
	struct packet_track track = {
		.uuid = perfetto_tracks_uuid(USE_SESSION, 0, EBT_NO_DOMAIN, 0, 0),
		.counter = PACKET_NO_COUNTER,
		.name = "ebtrace"};
	if (!f->has_session)
		packets_put_track(&f->packets, &track);
	f->has_session = true;
	return track.uuid;
}

/* The track of the losses of a lane, of a process where no domain is known, or of all processes. */
static struct lost *lost_of(struct perfetto *f, const struct ebt_event *ev, uint64_t *ret_parent)
{
	if (ev->domain != EBT_NO_DOMAIN) {
		struct perfetto_lane *lane = perfetto_tracks_lane(&f->tracks, ev);
		if (!lane)
			return NULL;
		*ret_parent = lane->uuid.value;
		return &lane->lost;
	}
	if (!ev->process) {
		*ret_parent = session_track(f);
		return &f->lost;
	}
	struct perfetto_process *process = perfetto_tracks_process(&f->tracks, ev->process);
	if (!process)
		return NULL;
	*ret_parent = process->uuid.value;
	return &process->lost;
}

static int put_lost(struct perfetto *f, const struct ebt_event *ev)
{
	struct packets *p = &f->packets;
	struct packet_track track = {
		.uuid = perfetto_tracks_uuid(USE_LOST,
					     processes_pid(&f->session->processes, ev->process),
					     ev->domain, 0, 0),
		.counter = PACKET_NO_COUNTER,
		.rank = -1,
		.name = "lost events"};
	struct lost *lost = lost_of(f, ev, &track.parent);
	if (!lost)
		return -ENOMEM;
	if (!lost->described)
		packets_put_track(p, &track);
	lost->described = true;
	uint64_t since = ev->flags & EBT_F_NO_SINCE ? ev->ts : EBT_LOST_SINCE(ev);
	uint64_t begin = since > lost->end_ns ? since : lost->end_ns;
	lost->end_ns = ev->ts > begin ? ev->ts : begin;
	struct packet_uuid uuid;
	packet_uuid_set(&uuid, track.uuid);
	packets_begin(p, PACKET_SLICE_BEGIN, begin, &uuid, packets_intern(p, "lost"));
	if (ev->arg[0] != EBT_LOST_UNCOUNTED)
		packets_note_u64(p, PACKET_NOTE_EVENTS, ev->arg[0]);
	if (ev->arg[1] || ev->arg[0] == EBT_LOST_UNCOUNTED)
		packets_note_u64(p, PACKET_NOTE_WORDS, ev->arg[1]);
	if (ev->flags & EBT_F_HISTORY)
		packets_note_true(p, PACKET_NOTE_HISTORY);
	packets_end(p);
	packets_put_event(p, PACKET_SLICE_END, lost->end_ns, &uuid, 0);
	return 0;
}

/* An instant of a whole process: what it did, or where its ring is damaged. */
static int put_process(struct perfetto *f, const struct ebt_event *ev)
{
	struct packets *p = &f->packets;
	struct perfetto_process *process = perfetto_tracks_process(&f->tracks, ev->process);
	if (!process)
		return -ENOMEM;
	bool damage = ev->kind == EBT_DAMAGE;
	char scratch[NAMES_MADE_BYTES];
	uint32_t name = packets_intern(p, names_label(f->session, ev, scratch));
	perfetto_args_know(&f->args, ev);
	packets_begin(p, PACKET_INSTANT, ev->ts, &process->uuid, name);
	perfetto_args_note(&f->args, ev);
	if (damage && ev->domain != EBT_NO_DOMAIN)
		packets_note_u64(p, PACKET_NOTE_DOMAIN, ev->domain);
	packets_end(p);
	if (damage)
		return 0;
	if (ev->id != EBT_PROCESS_FORK) {
		f->tracks.ended_ns = ev->ts;
		perfetto_tracks_drop_lanes(&f->tracks, ev->process);
	}
	if (ev->id == EBT_PROCESS_EXEC) { /* it may be called otherwise now */
		process->name = NULL;
		process->batch = 0;
	}
	if (ev->id == EBT_PROCESS_EXIT)
		perfetto_tracks_drop_process(&f->tracks, process);
	return 0;
}

static void begin_trace(struct perfetto *f, uint64_t ts)
{
	if (!f->has_header)
		packets_put_header(&f->packets, f->session, ts);
	f->has_header = true;
}

static int put_phase(struct perfetto *f, const struct ebt_event *ev)
{
	struct perfetto_lane *lane = perfetto_tracks_known(&f->tracks, ev);
	if (!lane || !lane->phases)
		return tracks_push(f->spans, ev);
	return tracks_push_inline(f->spans, lane->phases, ev, &visitor, f);
}

/* An event that may cut phases, spans and fibers. */
static int push_cut(struct perfetto *f, const struct ebt_event *ev)
{
	int err = fiber_tracks_event(f->fibers.tracks, ev);
	return err ? err : tracks_push(f->spans, ev);
}

static int one_event(struct perfetto *f, const struct ebt_event *ev)
{
	int err;
	f->late = ev->flags & EBT_F_LATE;
	f->end = ev;
	switch (ev->kind) {
	case EBT_BEGIN:
	case EBT_END:
		return put_phase(f, ev);
	case EBT_COUNTER:
		return put_counter(f, ev);
	case EBT_SPAN_BEGIN:
	case EBT_SPAN_END:
		err = tracks_push(f->spans, ev);
		return err ? err : fiber_tracks_event(f->fibers.tracks, ev);
	case EBT_LOST:
		err = push_cut(f, ev);
		return err ? err : put_lost(f, ev);
	case EBT_PROCESS:
		err = push_cut(f, ev);
		return err ? err : put_process(f, ev);
	case EBT_UNIT:
	case EBT_INT:
	case EBT_CUSTOM:
		err = put_instant(f, ev);
		return err ? err : fiber_tracks_event(f->fibers.tracks, ev);
	case EBT_DAMAGE:
		return put_process(f, ev);
	case EBT_OFFCPU:
		return put_offcpu(f, ev);
	case EBT_SAMPLE:
		return put_sample(f, ev);
	default:
		err = put_instant(f, ev);
		return err ? err : derived_tracks_event(&f->derived, ev);
	}
}

static int perfetto_events(struct sink *k, const struct ebt_event *ev, size_t n)
{
	struct perfetto *f = (struct perfetto *)k;
	int err = 0;
	f->tracks.batch++;
	begin_trace(f, ev->ts);
	for (size_t i = 0; i < n && !err; i++)
		err = one_event(f, &ev[i]);
	return err ? err : f->packets.out.err;
}

static int perfetto_flush(struct sink *k)
{
	return buf_flush(&((struct perfetto *)k)->packets.out);
}

static bool perfetto_ready(struct sink *k)
{
	return buf_ready(&((struct perfetto *)k)->packets.out);
}

static void put_summary(struct perfetto *f, uint64_t end_ns)
{
	struct packets *p = &f->packets;
	struct packet_uuid track;
	packet_uuid_set(&track, session_track(f));
	packets_begin(p, PACKET_INSTANT, end_ns, &track, packets_intern(p, "summary"));
	struct totals_row row;
	for (unsigned at = 0; totals_next(&f->session->totals, false, &at, &row);)
		if (row.known)
			packets_note_named(p, row.key, row.value);
	packets_end(p);
}

static int put_derived(void *ctx, const struct derived_counter *c)
{
	struct perfetto *f = ctx;
	struct perfetto_process *p = perfetto_tracks_process(&f->tracks, c->process);
	struct perfetto_child *track = p ? perfetto_tracks_derived(&f->tracks, p, c) : NULL;
	if (!track)
		return -ENOMEM;
	packets_put_event(&f->packets, PACKET_COUNTER, c->ts, &track->uuid, c->value);
	return 0;
}

/* Slices as long as the trace, below those of bigger sites: end_sites() ends them. */
static int put_site(void *ctx, const struct derived_site *site)
{
	struct perfetto *f = ctx;
	struct packets *p = &f->packets;
	if (!site->rank) {
		uint64_t uuid = perfetto_tracks_uuid(USE_MEMORY, 0, EBT_NO_DOMAIN, 0, 0);
		packet_uuid_set(&f->sites, uuid);
		packets_put_track(p, &(struct packet_track){.uuid = uuid,
							    .parent = session_track(f),
							    .counter = PACKET_NO_COUNTER,
							    .name = DERIVED_SITES});
	}
	f->site_count++;
	packets_begin(p, PACKET_SLICE_BEGIN, f->session->totals.first_ns, &f->sites,
		      packets_intern(p, site->name));
	packets_note_named(p, "bytes", site->bytes);
	packets_note_named(p, "low_bytes", site->low_bytes);
	packets_note_named(p, "high_bytes", site->high_bytes);
	packets_note_named(p, "objects", site->objects);
	packets_note_named(p, "samples", site->samples);
	packets_end(p);
	return 0;
}

static void end_sites(struct perfetto *f)
{
	for (; f->site_count; f->site_count--)
		packets_put_event(&f->packets, PACKET_SLICE_END, f->session->totals.last_ns,
				  &f->sites, 0);
}

static const struct derived_visitor derived_visitor = {.counter = put_derived, .site = put_site};

static int perfetto_end(struct sink *k)
{
	struct perfetto *f = (struct perfetto *)k;
	const struct session *s = f->session;
	uint64_t last_ns =
		s->totals.timed ? s->totals.last_ns : s->timebase.at[TIMEBASE_MONOTONIC].ns;
	uint64_t end_ns = s->run_end.ns > last_ns ? s->run_end.ns : last_ns;
	begin_trace(f, end_ns);
	f->late = false;
	int err = fiber_tracks_end(f->fibers.tracks, end_ns);
	if (!err)
		err = tracks_end(f->spans, end_ns);
	if (!err)
		err = derived_tracks_end(&f->derived);
	end_sites(f);
	perfetto_tracks_follow_names(&f->tracks);
	put_summary(f, end_ns);
	int written = buf_finish(&f->packets.out);
	return err ? err : written;
}

static void perfetto_free(struct sink *k)
{
	struct perfetto *f = (struct perfetto *)k;
	tracks_free(f->spans);
	perfetto_tracks_done(&f->tracks);
	derived_tracks_done(&f->derived);
	perfetto_fibers_done(&f->fibers);
	perfetto_stacks_done(&f->stacks);
	packets_done(&f->packets);
	free(f);
}

static int perfetto_forget(struct sink *k, uint32_t process)
{
	struct perfetto *f = (struct perfetto *)k;
	f->late = false;
	uint64_t last_ns = f->session->totals.last_ns;
	int err = fiber_tracks_forget(f->fibers.tracks, process, last_ns);
	if (!err)
		err = tracks_forget(f->spans, process, last_ns);
	if (!err)
		err = derived_tracks_forget(&f->derived, process);
	perfetto_tracks_forget(&f->tracks, process);
	return err ? err : f->packets.out.err;
}

static const struct sink_ops perfetto_ops = {
	.forget = perfetto_forget,
	.events = perfetto_events,
	.flush = perfetto_flush,
	.ready = perfetto_ready,
	.end = perfetto_end,
	.free = perfetto_free,
};

int perfetto_new(const struct session *s, int fd, struct sink **ret)
{
	struct perfetto *f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	int err = packets_init(&f->packets, fd);
	if (err) {
		free(f);
		return err;
	}
	f->base.ops = &perfetto_ops;
	f->base.out = &f->packets.out;
	f->session = s;
	perfetto_args_init(&f->args, s, &f->packets);
	perfetto_stacks_init(&f->stacks, s, &f->packets);
	perfetto_tracks_init(&f->tracks, s, &f->packets);
	err = derived_tracks_init(&f->derived, s, &derived_visitor, f);
	if (!err)
		err = perfetto_fibers_init(&f->fibers, s, &f->packets);
	if (!err)
		err = tracks_new(&s->processes, &visitor, f, &f->spans);
	if (err) {
		perfetto_free(&f->base);
		return err;
	}
	*ret = &f->base;
	return 0;
}
