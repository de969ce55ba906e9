/* SPDX-License-Identifier: BSD-2-Clause */
#include "format/perfetto/fibers.h"

#include <stdio.h>

/* The uuid of a track, which is described first if it is new. */
static void use_track(struct perfetto_fibers *f, struct fiber_track *t, struct packet_uuid *ret)
{
	const struct processes *ps = &f->session->processes;
	uint32_t pid = processes_pid(ps, t->process), tid = processes_lane_at(ps, t->lane)->tid;
	packet_uuid_set(ret, perfetto_tracks_uuid(USE_FIBERS, pid, t->domain, tid, t->number));
	if (t->user)
		return;
	t->user = 1;
	char name[32];
	snprintf(name, sizeof(name), "fibers %u", t->number);
	packets_put_track(f->packets,
			  &(struct packet_track){.uuid = ret->value,
						 .parent = perfetto_tracks_uuid(USE_DOMAIN, pid,
										t->domain, tid, 0),
						 .counter = PACKET_NO_COUNTER,
						 .rank = t->number,
						 .name = name});
}

/* Writes the names of notes, before the packet that has them is opened. */
static void know_notes(struct perfetto_fibers *f)
{
	static const char *const names[] = {
		[PERFETTO_FIBERS_FIBER] = "fiber",
		[PERFETTO_FIBERS_CONTEXT] = "context",
		[PERFETTO_FIBERS_TYPE] = "type",
		[PERFETTO_FIBERS_OPERATION] = "operation",
	};
	for (unsigned i = 0; i < PERFETTO_FIBERS_NOTES; i++)
		if (!packets_know_note(f->packets, f->note[i]))
			f->note[i] = packets_intern_note(f->packets, names[i]);
}

static void note_slice(struct perfetto_fibers *f, const struct fiber_slice *s)
{
	struct packets *p = f->packets;
	switch (s->kind) {
	case FIBER_SLICE_FIBER:
		packets_note_i64(p, f->note[PERFETTO_FIBERS_FIBER], s->id);
		if (s->has_context)
			packets_note_i64(p, f->note[PERFETTO_FIBERS_CONTEXT], s->context);
		break;
	case FIBER_SLICE_CONTEXT:
		packets_note_i64(p, f->note[PERFETTO_FIBERS_CONTEXT], s->id);
		if (s->type)
			packets_note_text(p, f->note[PERFETTO_FIBERS_TYPE], s->type);
		break;
	case FIBER_SLICE_SUSPENDED:
		if (s->operation)
			packets_note_text(p, f->note[PERFETTO_FIBERS_OPERATION], s->operation);
		break;
	case FIBER_SLICE_SPAN:
	case FIBER_SLICE_RUNNING:
	case FIBER_SLICE_READY:
		break;
	}
	if (s->arrow)
		packets_flow_end(p, s->arrow);
}

static int on_begin(void *ctx, struct fiber_track *t, const struct fiber_slice *s)
{
	struct perfetto_fibers *f = ctx;
	struct packet_uuid uuid;
	use_track(f, t, &uuid);
	know_notes(f);
	uint32_t name = packets_intern(f->packets, s->name);
	packets_begin(f->packets, PACKET_SLICE_BEGIN, s->begin_ns, &uuid, name);
	note_slice(f, s);
	packets_end(f->packets);
	return f->packets->out.err;
}

static int on_end(void *ctx, struct fiber_track *t, const struct fiber_slice *s)
{
	struct perfetto_fibers *f = ctx;
	struct packet_uuid uuid;
	use_track(f, t, &uuid);
	const char *cut = perfetto_tracks_cut(s->how);
	if (!cut) {
		packets_put_event(f->packets, PACKET_SLICE_END, s->end_ns, &uuid, 0);
		return f->packets->out.err;
	}
	packets_begin(f->packets, PACKET_SLICE_END, s->end_ns, &uuid, 0);
	packets_note_text(f->packets, PACKET_NOTE_CUT, cut);
	packets_end(f->packets);
	return f->packets->out.err;
}

static int on_whole(void *ctx, struct fiber_track *t, const struct fiber_slice *s)
{
	int err = on_begin(ctx, t, s);
	return err ? err : on_end(ctx, t, s);
}

static int on_note(void *ctx, struct fiber_track *t, const struct ebt_event *ev, const char *text)
{
	struct perfetto_fibers *f = ctx;
	struct packet_uuid uuid;
	use_track(f, t, &uuid);
	packets_put_event(f->packets, PACKET_INSTANT, ev->ts, &uuid,
			  packets_intern(f->packets, text));
	return f->packets->out.err;
}

static int on_put(void *ctx, struct fiber_track *t, const struct ebt_event *ev, uint64_t arrow,
		  unsigned count)
{
	struct perfetto_fibers *f = ctx;
	struct packet_uuid uuid;
	use_track(f, t, &uuid);
	uint32_t name = packets_intern(f->packets, "put");
	packets_begin(f->packets, PACKET_INSTANT, ev->ts, &uuid, name);
	for (unsigned i = 0; i < count; i++)
		packets_flow_begin(f->packets, arrow + i);
	packets_end(f->packets);
	return f->packets->out.err;
}

static const struct fiber_tracks_visitor visitor = {
	.begin = on_begin, .end = on_end, .whole = on_whole, .note = on_note, .put = on_put};

int perfetto_fibers_init(struct perfetto_fibers *f, const struct session *s, struct packets *p)
{
	f->session = s;
	f->packets = p;
	return fiber_tracks_new(s, &visitor, f, &f->tracks);
}

void perfetto_fibers_done(struct perfetto_fibers *f)
{
	fiber_tracks_free(f->tracks);
}
