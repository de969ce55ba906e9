/* SPDX-License-Identifier: BSD-2-Clause */
#include "format/fxt/fxt.h"

#include "format/fiber_tracks.h"
#include "format/fxt/args.h"
#include "format/fxt/spans.h"
#include "format/rows.h"
#include "session/event_stack.h"
#include "session/names.h"
#include "session/offcpu.h"
#include "stream/name_slots.h"
#include "stream/tracks.h"
#include <errno.h>
#include <stdlib.h>

#define INLINE 0x8000u

/* References to the name and category of events of one kind and name. */
struct name {
	uint16_t name, category; /* 0: not known */
};

struct fxt {
	struct sink base;
	const struct session *session;
	struct tracks *tracks;
	struct fxt_spans spans;
	struct fiber_tracks *fibers;
	struct rows rows;
	struct buf buf;
	struct fxt_record record;
	struct name_slots slots;
	struct name names[NAME_SLOTS];
	const struct ebt_event *end; /* the event at hand, with which phases may end */
	bool started;
};

static int name_process(struct fxt *f, uint32_t process)
{
	int renamed = rows_process_renamed(&f->rows, process);
	if (renamed <= 0)
		return renamed;
	const struct processes *ps = &f->session->processes;
	const struct process *p = processes_announced(ps, process);
	struct fxt_record *r = &f->record;
	struct fxt_string name;
	fxt_record_string(r, rows_process_name(p), &name);
	fxt_record_object(r, FXT_PROCESS_OBJECT, rows_pid(processes_pid(ps, process)), &name);
	if (p && *p->producer)
		fxt_record_name(r, "producer", p->producer);
	if (p && *p->runtime)
		fxt_record_name(r, "runtime", p->runtime);
	fxt_record_close(r);
	return 0;
}

/* The thread of a row, written and named if it is new. */
static int thread_of(struct fxt *f, uint32_t process, const struct row *row, bool is_new,
		     struct fxt_thread *ret)
{
	if (!row)
		return -ENOMEM;
	*ret = (struct fxt_thread){row->number, rows_pid(row->pid), row->tid};
	if (!is_new)
		return 0;
	struct fxt_record *r = &f->record;
	char text[ROWS_NAME_BYTES];
	struct fxt_string name;
	int err = name_process(f, process);
	if (err)
		return err;
	fxt_record_thread(r, ret);
	rows_name(row->tid, text);
	fxt_record_string(r, text, &name);
	fxt_record_object(r, FXT_THREAD_OBJECT, row->tid, &name);
	fxt_record_koid(r, "process", ret->process);
	fxt_record_close(r);
	return 0;
}

static int thread_of_event(struct fxt *f, const struct ebt_event *ev, struct fxt_thread *ret)
{
	bool is_new;
	const struct row *row = rows_of(&f->rows, ev, &is_new);
	return thread_of(f, ev->process, row, is_new, ret);
}

static int thread_of_track(struct fxt *f, const struct track *t, struct fxt_thread *ret)
{
	bool is_new;
	const struct row *row = rows_of_lane(&f->rows, t->lane, &is_new);
	return thread_of(f, t->process, row, is_new, ret);
}

static void find_names(struct fxt *f, const struct ebt_event *ev, struct fxt_string *category,
		       struct fxt_string *name)
{
	char scratch[NAMES_MADE_BYTES];
	fxt_record_literal(&f->record, rows_category(ev->kind), category);
	fxt_record_string(&f->record, names_label(f->session, ev, scratch), name);
}

/* find_names() with a cache by kind and name, for phases and counters: nearly all events. */
static void find_kept_names(struct fxt *f, const struct ebt_event *ev, struct fxt_string *category,
			    struct fxt_string *name)
{
	bool is_new;
	struct name *n = &f->names[name_slots_find(&f->slots, ev, &is_new)];
	if (!is_new && n->name) {
		category->ref = n->category;
		name->ref = n->name;
		return;
	}
	find_names(f, ev, category, name);
	*n = (struct name){0};
	if (!((category->ref | name->ref) & INLINE))
		*n = (struct name){.name = name->ref, .category = category->ref};
}

/* The name of a row, as a string. */
static void find_key(struct fxt *f, struct row *row, struct fxt_string *ret)
{
	ret->ref = (uint16_t)row->user;
	if (row->user)
		return;
	char text[ROWS_NAME_BYTES];
	rows_name(row->tid, text);
	fxt_record_string(&f->record, text, ret);
	if (!(ret->ref & INLINE))
		row->user = ret->ref;
}

static int put_instant(struct fxt *f, const struct ebt_event *ev)
{
	struct fxt_record *r = &f->record;
	struct fxt_thread t;
	struct fxt_string category, name;
	if (thread_of_event(f, ev, &t))
		return -ENOMEM;
	find_names(f, ev, &category, &name);
	fxt_record_event(r, FXT_INSTANT, ev->ts, &t, &category, &name);
	fxt_args_who(r, ev);
	fxt_args(r, f->session, ev);
	if (event_stack_is_shown(ev))
		fxt_args_stack(r, f->session, ev->stack);
	fxt_record_close(r);
	return 0;
}

static int put_counter(struct fxt *f, const struct ebt_event *ev)
{
	struct fxt_thread t;
	struct fxt_string category, name, key;
	bool is_new;
	struct row *row = rows_of(&f->rows, ev, &is_new);
	if (thread_of(f, ev->process, row, is_new, &t))
		return -ENOMEM;
	find_kept_names(f, ev, &category, &name);
	find_key(f, row, &key);
	fxt_record_event(&f->record, FXT_COUNTER, ev->ts, &t, &category, &name);
	fxt_record_u64_of(&f->record, &key, ev->arg[0]);
	fxt_record_word(&f->record, t.thread);
	fxt_record_close(&f->record);
	return 0;
}

static int put_lost(struct fxt *f, const struct ebt_event *ev)
{
	struct fxt_record *r = &f->record;
	struct fxt_thread t;
	struct fxt_string category, name;
	if (thread_of_event(f, ev, &t))
		return -ENOMEM;
	find_names(f, ev, &category, &name);
	fxt_record_event(r, FXT_DURATION_COMPLETE, rows_lost_since(f->session, ev), &t, &category,
			 &name);
	if (ev->arg[0] != EBT_LOST_UNCOUNTED)
		fxt_record_u64(r, "events", ev->arg[0]);
	if (ev->arg[1] || ev->arg[0] == EBT_LOST_UNCOUNTED)
		fxt_record_u64(r, "words", ev->arg[1]);
	if (ev->flags & EBT_F_HISTORY)
		fxt_record_u64(r, "history", 1);
	fxt_record_word(r, ev->ts);
	fxt_record_close(r);
	return 0;
}

static int put_offcpu(struct fxt *f, const struct ebt_event *ev)
{
	struct fxt_record *r = &f->record;
	struct fxt_thread t;
	struct fxt_string category, name;
	struct offcpu o;
	if (thread_of_event(f, ev, &t))
		return -ENOMEM;
	offcpu_get(f->session, ev, &o);
	fxt_record_literal(r, rows_category(ev->kind), &category);
	fxt_record_string(r, kinds_offcpu_reason_name(o.reason), &name);
	fxt_record_event(r, FXT_DURATION_COMPLETE, o.begin_ns, &t, &category, &name);
	fxt_args_who(r, ev);
	fxt_args(r, f->session, ev);
	fxt_record_word(r, o.end_ns);
	fxt_record_close(r);
	return 0;
}

static int put_phase(void *ctx, const struct track *t, enum fxt_event_type type,
		     const struct fxt_span *s)
{
	struct fxt *f = ctx;
	struct fxt_record *r = &f->record;
	struct ebt_event ev = {.kind = EBT_BEGIN,
			       .id = s->id,
			       .process = t->process,
			       .tid = s->tid,
			       .cpu = s->cpu,
			       .flags = s->late ? EBT_F_LATE : 0};
	struct fxt_thread thread;
	struct fxt_string category, name;
	if (thread_of_track(f, t, &thread))
		return -ENOMEM;
	find_kept_names(f, &ev, &category, &name);
	fxt_record_event(r, type, type == FXT_DURATION_END ? s->end_ns : s->begin_ns, &thread,
			 &category, &name);
	if (type != FXT_DURATION_END)
		fxt_args_who(r, &ev);
	if (type != FXT_DURATION_BEGIN && rows_cut((enum track_end)s->how))
		fxt_record_name(r, "cut", rows_cut((enum track_end)s->how));
	for (unsigned i = 0; type != FXT_DURATION_BEGIN && s->counts && i < PAUSE_COUNTS; i++)
		if (s->counts->count[i] != PAUSE_UNKNOWN)
			fxt_record_u64(r, pause_counts_key(i), s->counts->count[i]);
	fxt_args_stack(r, f->session, s->stack);
	if (type == FXT_DURATION_COMPLETE)
		fxt_record_word(r, s->end_ns);
	fxt_record_close(r);
	return 0;
}

/* One end of a user span, without its arguments. */
static int open_span(struct fxt *f, const struct track *t, uint64_t ts, enum fxt_event_type type,
		     const char *span_name)
{
	struct fxt_thread thread;
	struct fxt_string category, name;
	if (!span_name || thread_of_track(f, t, &thread))
		return -ENOMEM;
	fxt_record_literal(&f->record, rows_category(EBT_SPAN_BEGIN), &category);
	fxt_record_string(&f->record, span_name, &name);
	fxt_record_event(&f->record, type, ts, &thread, &category, &name);
	return 0;
}

static void close_span(struct fxt *f, const struct track *t)
{
	fxt_record_word(&f->record, t->number);
	fxt_record_close(&f->record);
}

static int on_begin(void *ctx, struct track *t, struct track_span *s, unsigned depth,
		    const struct ebt_event *ev)
{
	struct fxt *f = ctx;
	char scratch[NAMES_MADE_BYTES];
	if (t->span == TRACK_PHASES)
		return fxt_spans_begin(&f->spans, t, s, ev);
	int err = open_span(
		f, t, s->begin_ns, FXT_ASYNC_BEGIN,
		rows_begin_span(&f->rows, t, names_label(f->session, ev, scratch), depth));
	if (err)
		return err;
	fxt_args_who(&f->record, ev);
	fxt_args(&f->record, f->session, ev);
	fxt_args_stack(&f->record, f->session, ev->stack);
	close_span(f, t);
	return 0;
}

static int on_end(void *ctx, struct track *t, const struct track_span *s, unsigned depth,
		  uint64_t end_ns, enum track_end how)
{
	struct fxt *f = ctx;
	struct pause_counts counts;
	(void)depth;
	if (t->span == TRACK_PHASES) {
		bool has_counts =
			how == TRACK_ENDED && pause_counts_get(f->session, f->end, &counts);
		return fxt_spans_end(&f->spans, t, s, end_ns, how, has_counts ? &counts : NULL);
	}
	int err = open_span(f, t, end_ns, FXT_ASYNC_END, rows_end_span(&f->rows, t));
	if (err)
		return err;
	if (rows_cut(how))
		fxt_record_name(&f->record, "cut", rows_cut(how));
	else
		fxt_args(&f->record, f->session, f->end);
	close_span(f, t);
	return 0;
}

static void on_forget(void *ctx, struct track *t)
{
	struct fxt *f = ctx;
	if (t->span == TRACK_PHASES)
		fxt_spans_forget(&f->spans, t);
	else
		rows_forget_span(&f->rows, t);
}

/* Opens an event of a track of fibers. */
static int open_fiber(struct fxt *f, struct fiber_track *t, enum fxt_event_type type,
		      const char *text, uint64_t ts)
{
	bool is_new;
	struct row row = rows_of_fibers(&f->rows, t, &is_new);
	struct fxt_thread thread;
	struct fxt_string category, name;
	int err = thread_of(f, t->process, &row, is_new, &thread);
	if (err)
		return err;
	fxt_record_literal(&f->record, FIBER_CATEGORY, &category);
	fxt_record_string(&f->record, text, &name);
	fxt_record_event(&f->record, type, ts, &thread, &category, &name);
	return 0;
}

static int put_slice(struct fxt *f, struct fiber_track *t, enum fxt_event_type type,
		     const struct fiber_slice *s)
{
	struct fxt_record *r = &f->record;
	int err =
		open_fiber(f, t, type, s->name, type == FXT_DURATION_END ? s->end_ns : s->begin_ns);
	if (err)
		return err;
	if (type == FXT_DURATION_BEGIN && s->kind == FIBER_SLICE_FIBER)
		fxt_record_i64(r, "fiber", s->id);
	if (type == FXT_DURATION_BEGIN && s->kind == FIBER_SLICE_FIBER && s->has_context)
		fxt_record_i64(r, "context", s->context);
	if (type == FXT_DURATION_BEGIN && s->kind == FIBER_SLICE_CONTEXT)
		fxt_record_i64(r, "context", s->id);
	if (type == FXT_DURATION_BEGIN && s->type)
		fxt_record_name(r, "type", s->type);
	if (s->operation)
		fxt_record_name(r, "operation", s->operation);
	if (type != FXT_DURATION_BEGIN && rows_cut(s->how))
		fxt_record_name(r, "cut", rows_cut(s->how));
	if (type == FXT_DURATION_COMPLETE)
		fxt_record_word(r, s->end_ns);
	fxt_record_close(r);
	return f->buf.err;
}

static int on_fiber_begin(void *ctx, struct fiber_track *t, const struct fiber_slice *s)
{
	return put_slice(ctx, t, FXT_DURATION_BEGIN, s);
}

static int on_fiber_end(void *ctx, struct fiber_track *t, const struct fiber_slice *s)
{
	return put_slice(ctx, t, FXT_DURATION_END, s);
}

/* An end of an arrow. */
static int put_arrow(struct fxt *f, struct fiber_track *t, enum fxt_event_type type, uint64_t ts,
		     uint64_t arrow)
{
	int err = open_fiber(f, t, type, "put", ts);
	if (err)
		return err;
	fxt_record_word(&f->record, arrow);
	fxt_record_close(&f->record);
	return 0;
}

static int on_fiber_whole(void *ctx, struct fiber_track *t, const struct fiber_slice *s)
{
	int err = put_slice(ctx, t, FXT_DURATION_COMPLETE, s);
	return !err && s->arrow ? put_arrow(ctx, t, FXT_FLOW_END, s->begin_ns, s->arrow) : err;
}

static int on_fiber_note(void *ctx, struct fiber_track *t, const struct ebt_event *ev,
			 const char *text)
{
	struct fxt *f = ctx;
	int err = open_fiber(f, t, FXT_INSTANT, text, ev->ts);
	if (!err)
		fxt_record_close(&f->record);
	return err;
}

static int on_fiber_put(void *ctx, struct fiber_track *t, const struct ebt_event *ev,
			uint64_t arrow, unsigned count)
{
	int err = 0;
	for (unsigned i = 0; i < count && !err; i++)
		err = put_arrow(ctx, t, FXT_FLOW_BEGIN, ev->ts, arrow + i);
	return err;
}

static const struct fiber_tracks_visitor fiber_visitor = {.begin = on_fiber_begin,
							  .end = on_fiber_end,
							  .whole = on_fiber_whole,
							  .note = on_fiber_note,
							  .put = on_fiber_put};

/* An event that may cut phases, spans and fibers. */
static int push_cut(struct fxt *f, const struct ebt_event *ev)
{
	int err = fiber_tracks_event(f->fibers, ev);
	return err ? err : tracks_push(f->tracks, ev);
}

static int put_event(struct fxt *f, const struct ebt_event *ev)
{
	int err;
	switch (ev->kind) {
	case EBT_BEGIN:
	case EBT_END:
		return tracks_push(f->tracks, ev);
	case EBT_SPAN_BEGIN:
	case EBT_SPAN_END:
		err = tracks_push(f->tracks, ev);
		return err ? err : fiber_tracks_event(f->fibers, ev);
	case EBT_UNIT:
	case EBT_INT:
	case EBT_CUSTOM:
		err = put_instant(f, ev);
		return err ? err : fiber_tracks_event(f->fibers, ev);
	case EBT_COUNTER:
		return put_counter(f, ev);
	case EBT_OFFCPU:
		return put_offcpu(f, ev);
	case EBT_LOST:
		err = push_cut(f, ev);
		return err ? err : put_lost(f, ev);
	case EBT_PROCESS:
		err = push_cut(f, ev);
		if (!err)
			err = name_process(f, ev->process);
		return err ? err : put_instant(f, ev);
	default:
		return put_instant(f, ev);
	}
}

static void start(struct fxt *f)
{
	f->started = true;
	fxt_record_preamble(&f->record, "ebtrace " EBT_VERSION);
}

static int one_event(struct fxt *f, const struct ebt_event *ev)
{
	f->end = ev;
	if (!f->started)
		start(f);
	int err = fxt_spans_advance(&f->spans, ev->ts);
	if (!err)
		err = put_event(f, ev);
	return err ? err : f->buf.err;
}

static int fxt_events(struct sink *k, const struct ebt_event *ev, size_t n)
{
	struct fxt *f = (struct fxt *)k;
	int err = 0;
	for (size_t i = 0; i < n && !err; i++)
		err = one_event(f, &ev[i]);
	return err;
}

static int fxt_advance(struct sink *k, uint64_t horizon_ns)
{
	return fxt_spans_advance(&((struct fxt *)k)->spans, horizon_ns);
}

static int fxt_flush(struct sink *k)
{
	return buf_flush(&((struct fxt *)k)->buf);
}

static bool fxt_ready(struct sink *k)
{
	return buf_ready(&((struct fxt *)k)->buf);
}

/* An instant in a category of its own, at the end. */
static int put_summary(struct fxt *f, uint64_t end_ns)
{
	char origins[ORIGIN_TEXT_BYTES];
	const struct session *s = f->session;
	const struct process *p = processes_next(&s->processes, NULL);
	struct fxt_record *r = &f->record;
	struct fxt_thread t;
	struct fxt_string category, name;
	struct ebt_event end = {.process = p ? p->index : PROCESS_UNKNOWN, .domain = EBT_NO_DOMAIN};
	if (thread_of_event(f, &end, &t))
		return -ENOMEM;
	fxt_record_string(r, "ebtrace", &category);
	fxt_record_string(r, "summary", &name);
	fxt_record_event(r, FXT_INSTANT, end_ns, &t, &category, &name);
	fxt_record_name(r, "source", origin_text(s->origins, origins));
	fxt_record_name(r, "clock", timebase_name(s->timebase.clock));
	struct totals_row row;
	for (unsigned at = 0; totals_next(&s->totals, false, &at, &row);)
		if (row.known)
			fxt_record_u64(r, row.key, row.value);
	fxt_record_close(r);
	return 0;
}

static int fxt_end(struct sink *k)
{
	struct fxt *f = (struct fxt *)k;
	const struct session *s = f->session;
	uint64_t end_ns = s->run_end.known ? s->run_end.ns : s->totals.last_ns;
	if (!f->started)
		start(f);
	int err = fiber_tracks_end(f->fibers, end_ns);
	if (!err)
		err = tracks_end(f->tracks, end_ns);
	for (const struct process *p = NULL; !err && (p = processes_next(&s->processes, p));)
		err = name_process(f, p->index);
	if (!err)
		err = put_summary(f, end_ns);
	int unwritten = buf_finish(&f->buf);
	return err ? err : unwritten;
}

static void fxt_free(struct sink *k)
{
	struct fxt *f = (struct fxt *)k;
	tracks_free(f->tracks);
	fiber_tracks_free(f->fibers);
	rows_done(&f->rows);
	name_slots_done(&f->slots);
	fxt_record_done(&f->record);
	buf_done(&f->buf);
	free(f);
}

static int fxt_forget(struct sink *k, uint32_t process)
{
	struct fxt *f = (struct fxt *)k;
	if (!f->started)
		start(f);
	uint64_t last_ns = f->session->totals.last_ns;
	int err = fiber_tracks_forget(f->fibers, process, last_ns);
	if (!err)
		err = tracks_forget(f->tracks, process, last_ns);
	if (!err && rows_has_pid(&f->rows, process))
		err = name_process(f, process);
	rows_forget(&f->rows, process);
	return err ? err : f->buf.err;
}

static const struct sink_ops fxt_ops = {
	.forget = fxt_forget,
	.events = fxt_events,
	.advance = fxt_advance,
	.flush = fxt_flush,
	.ready = fxt_ready,
	.end = fxt_end,
	.free = fxt_free,
};

static const struct tracks_visitor visitor = {
	.begin = on_begin, .end = on_end, .forget = on_forget};

int fxt_new(const struct session *s, int fd, struct sink **ret)
{
	struct fxt *f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->base.ops = &fxt_ops;
	f->base.out = &f->buf;
	f->session = s;
	rows_init(&f->rows, s);
	fxt_spans_init(&f->spans, put_phase, f, s->stacks);
	name_slots_init(&f->slots, s);
	int err = tracks_new(&s->processes, &visitor, f, &f->tracks);
	if (!err)
		err = fiber_tracks_new(s, &fiber_visitor, f, &f->fibers);
	if (!err)
		err = fxt_record_init(&f->record, &f->buf);
	if (!err)
		err = buf_init_behind(&f->buf, fd, SINK_BUFFER_BYTES, SINK_BEHIND_BYTES);
	if (err) {
		fxt_free(&f->base);
		return err;
	}
	*ret = &f->base;
	return 0;
}
