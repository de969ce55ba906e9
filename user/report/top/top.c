/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/top/top.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/stat/model/tallies.h"
#include "report/top/detail.h"
#include "report/top/json.h"
#include "report/top/list.h"

#define BUFFER_BYTES 65536
#define ASKS_NS	     50000000ull
#define KEPT_MAX     (2 * STAT_OWN)
#define WHERE_FRAMES 16 /* a process may be moved to another group */

struct top {
	struct sink base;
	struct session *session;
	struct top_options opt;
	int fd;
	struct buf buf;
	struct stat_model model;
	struct stat_snapshot snapshot;
	/* Of a recording all pauses, of a live run those of the process that is opened; NULL: of
	 * none. */
	struct blame *blame;
	uint32_t blamed; /* that process, by its index; 0: all */
	struct top_pasts pasts;
	struct stat_tallies tallies;
	uint64_t tally_ns; /* when the next ones are asked for */
	struct top_rows rows;
	struct top_view view;
	struct moment horizon;	/* of the last events; not known: none has come */
	uint64_t last_ns;	/* of the frame before */
	uint64_t asks_ns;	/* when the host is asked next about new processes */
	uint64_t next_ns;	/* the next step of the history of a recording */
	bool cancelled, failed; /* failed: no memory for the past of a process */
};

static struct top *of(struct sink *k)
{
	return (struct top *)k;
}

/* ---- events ---- */

static void on_pause(void *ctx, const struct blame_pause *p)
{
	struct top *t = ctx;
	struct top_past *past = p->process ? top_pasts_make(&t->pasts, p->process) : NULL;
	if (past)
		top_past_pause(past, p);
	else
		t->failed |= p->process != PROCESS_UNKNOWN;
}

/* Begins with the pauses of a process, or of all (0). 0 or -ENOMEM. */
static int begin_blame(struct top *t, uint32_t process)
{
	blame_free(t->blame);
	t->blame = NULL;
	t->blamed = process;
	int err = blame_new(t->session, 0, &t->blame);
	if (!err)
		blame_watch(t->blame, on_pause, t);
	return err;
}

static void end_blame(struct top *t)
{
	if (!t->opt.is_live)
		return;
	blame_free(t->blame);
	t->blame = NULL;
}

/* Losses may be of any process. 0 or -ENOMEM. */
static int blame_some(struct top *t, const struct ebt_event *ev, size_t n)
{
	int err = 0;
	if (!t->blamed)
		return blame_events(t->blame, ev, n);
	for (size_t i = 0; i < n && !err; i++)
		if (ev[i].process == t->blamed || !ev[i].process)
			err = blame_events(t->blame, &ev[i], 1);
	return err;
}

static int on_alloc(struct top *t, const struct ebt_event *ev)
{
	if (!ev->process)
		return 0;
	struct top_past *past = top_pasts_make(&t->pasts, ev->process);
	return past ? top_past_alloc(past, t->session, ev) : -ENOMEM;
}

static int top_advance(struct sink *base, uint64_t now_ns)
{
	struct top *t = of(base);
	if (now_ns == UINT64_MAX || !t->session->run_begin.known)
		return 0;
	t->horizon = moment_at(now_ns);
	return stat_tallies_apply(&t->tallies, &t->model, now_ns);
}

static int top_forget(struct sink *base, uint32_t process)
{
	struct top *t = of(base);
	const struct stat_process *p = stat_processes_find(&t->model.processes, process);
	int err = 0;
	if (t->blame && (!t->blamed || t->blamed == process))
		err = blame_forget(t->blame, process);
	if (t->blamed == process)
		end_blame(t);
	if (p && !err)
		err = top_pasts_release(&t->pasts, process, p->number);
	top_pasts_forget(&t->pasts, t->session, process);
	if (!err)
		err = stat_tallies_forget(&t->tallies, &t->model, process);
	int forgotten = stat_model_forget(&t->model, process);
	if (t->pasts.kept_count > KEPT_MAX)
		top_pasts_prune(&t->pasts, t->session, t->model.processes.first);
	return err ? err : forgotten;
}

/* ---- a frame ---- */

static uint64_t begin_ns(const struct top *t)
{
	return t->session->run_begin.known ? t->session->run_begin.ns : t->model.first.ns;
}

static void find_where(struct top *t, struct top_past *past, const struct process *p)
{
	const struct top_host *h = &t->opt.host;
	if (!h->where || p->ended || past->where_age++ % WHERE_FRAMES)
		return;
	struct top_where where = {0};
	if (h->where(h->ctx, p, &where))
		past->where = where;
}

/* Every process of the snapshot has a past. 0 or -ENOMEM. */
static int find_pasts(struct top *t)
{
	for (const struct stat_process *p = t->snapshot.first; p; p = p->next) {
		if (!p->process)
			continue;
		struct top_past *past = top_pasts_make(&t->pasts, p->process);
		if (!past)
			return -ENOMEM;
		find_where(t, past, processes_at(&t->session->processes, p->process));
	}
	return 0;
}

/* At the end of a run, when the one frame is written, no process is traced any more. */
static int top_tick(struct sink *base, uint64_t now_ns)
{
	struct top *t = of(base);
	if (t->opt.counters && now_ns >= t->tally_ns) {
		t->tally_ns = now_ns + t->opt.step_ns;
		t->base.wants_open = true;
	}
	if (t->fd < 0 || !t->opt.host.where || now_ns < t->asks_ns)
		return 0;
	t->asks_ns = now_ns + ASKS_NS;
	for (const struct stat_process *p = t->model.processes.first; p; p = p->next) {
		struct top_past *past = p->process ? top_pasts_make(&t->pasts, p->process) : NULL;
		if (past && !past->where_age)
			find_where(t, past, processes_at(&t->session->processes, p->process));
	}
	return 0;
}

static uint64_t losses(const struct stat_numbers *n)
{
	return n->lost.events + n->lost.words + n->lost.uncounted;
}

/* A value that is not known is negative. */
static void note_history(struct top_past *past, const struct stat_process *p, uint64_t at_ns)
{
	const struct stat_numbers *n = &p->numbers;
	const struct top_marks *m = &past->last;
	struct top_history *h = &past->history;
	unsigned i = (unsigned)(h->frames++ % TOP_HISTORY);
	uint64_t since_ns = m->at_ns ? m->at_ns : p->begin_ns;
	double seconds = at_ns > since_ns ? (double)(at_ns - since_ns) / 1e9 : 0;
	uint64_t elapsed = n->elapsed_ns > m->elapsed_ns ? n->elapsed_ns - m->elapsed_ns : 0;
	uint64_t gc = n->gc_ns > m->gc_ns ? n->gc_ns - m->gc_ns : 0;
	struct stat_words words = stat_numbers_minor_words(n);
	uint64_t gained = words.words > m->words ? words.words - m->words : 0;
	h->at[TOP_F_GC][i] = elapsed ? (float)stat_numbers_percent(gc, elapsed) : -1;
	h->at[TOP_F_PAUSE][i] = (float)p->longest_ns;
	h->at[TOP_F_ALLOC][i] =
		words.seen && seconds > 0 ? (float)((double)gained * 8 / seconds) : -1;
	h->at[TOP_F_HEAP][i] = n->heap.seen ? (float)n->heap.words * 8 : -1;
	h->at[TOP_F_LOST][i] = (float)(losses(n) - past->lost);
	past->lost = losses(n);
}

static void note_marks(struct top_past *past, const struct stat_process *p, uint64_t at_ns)
{
	past->before = past->last;
	past->last = (struct top_marks){
		.at_ns = at_ns,
		.gc_ns = p->numbers.gc_ns,
		.elapsed_ns = p->numbers.elapsed_ns,
		.words = stat_numbers_minor_words(&p->numbers).words,
	};
}

/* What the next frame needs of this one. */
static void note_frame(struct top *t, uint64_t at_ns)
{
	for (const struct stat_process *p = t->snapshot.first; p; p = p->next) {
		struct top_past *past = top_pasts_of(&t->pasts, p);
		struct stat_process *own = stat_processes_find(&t->model.processes, p->process);
		if (!past)
			continue;
		note_history(past, p, at_ns);
		note_marks(past, p, at_ns);
		if (own)
			own->longest_ns = 0;
	}
	t->last_ns = at_ns;
}

/* Processes that have ended are shown where nothing runs, too. */
static struct top_order order_now(const struct top *t)
{
	struct top_order o = top_view_order(&t->view);
	uint32_t running = 0;
	for (const struct stat_process *p = t->snapshot.first; p && !running; p = p->next)
		running += !p->end.known && p->process;
	o.ended |= !running || !t->opt.is_live;
	o.whole |= !t->opt.is_live;
	return o;
}

/* 0 or -ENOMEM. */
static int make_rows(struct top *t, struct moment at, bool next)
{
	int err = stat_snapshot_take(&t->snapshot, &t->model, at);
	uint64_t at_ns = at.known ? at.ns : t->model.stream.now_ns;
	/* Without new events there is no time for rates to be of. */
	next &= at_ns > t->last_ns;
	if (!err)
		err = find_pasts(t);
	if (err)
		return err;
	struct top_order o = order_now(t);
	err = top_rows_make(&t->rows, &t->snapshot, at_ns, t->session, &t->pasts, next, &o);
	if (!err && next)
		note_frame(t, at_ns);
	return err;
}

static int count_events(struct top *t, const struct ebt_event *ev, size_t n)
{
	int err = t->blame ? blame_some(t, ev, n) : 0;
	for (size_t i = 0; i < n && !err;) {
		size_t next = stat_tallies_before(&t->tallies, ev + i, n - i);
		err = next ? stat_model_events(&t->model, ev + i, next)
			   : stat_tallies_apply(&t->tallies, &t->model, ev[i].ts);
		i += next;
	}
	for (size_t i = 0; i < n && !err; i++)
		if (ev[i].kind == EBT_ALLOC)
			err = on_alloc(t, &ev[i]);
	return err ? err : t->failed ? -ENOMEM : 0;
}

/* Of a recording the history is that of its time, not of the frames while it is read. 0 or
 * -ENOMEM. */
static int note_step(struct top *t, uint64_t now_ns)
{
	int err = t->next_ns ? make_rows(t, moment_at(now_ns), true) : 0;
	t->next_ns = now_ns + t->opt.step_ns;
	return err;
}

static int top_events(struct sink *base, const struct ebt_event *ev, size_t n)
{
	struct top *t = of(base);
	const struct ebt_event *end = ev + n;
	int err = 0;
	if (t->opt.is_live || t->fd >= 0 || !t->opt.step_ns)
		return count_events(t, ev, n);
	while (ev < end && !err) {
		const struct ebt_event *next = ev;
		while (next < end && next->ts < t->next_ns)
			next++;
		err = count_events(t, ev, (size_t)(next - ev));
		if (!err && next < end)
			err = note_step(t, next->ts);
		ev = next;
	}
	return err;
}

static struct top_caption caption(const struct top *t, char scratch[ORIGIN_TEXT_BYTES],
				  bool has_keys)
{
	uint64_t from_ns = begin_ns(t);
	return (struct top_caption){
		.source = origin_text(t->session->origins, scratch),
		.note = t->opt.note ? t->opt.note : "",
		.wall_ns = t->rows.at_ns > from_ns ? t->rows.at_ns - from_ns : 0,
		.is_live = t->opt.is_live,
		.has_keys = has_keys,
	};
}

/* False: the process is not there any more. */
static bool draw_detail(struct top *t, struct top_frame *f, const struct top_caption *c)
{
	struct top_opened o = {.session = t->session,
			       .begin_ns = begin_ns(t),
			       .row = top_rows_find(&t->rows, t->view.opened)};
	for (const struct stat_process *p = t->snapshot.first; o.row && p; p = p->next)
		if (p->number == o.row->number)
			o.process = p;
	if (!o.process)
		return false;
	o.past = top_pasts_of(&t->pasts, o.process);
	top_detail_draw(f, &t->view, &o, c);
	return true;
}

static void draw(struct top *t, struct top_frame *f, bool has_keys)
{
	char scratch[ORIGIN_TEXT_BYTES];
	struct top_caption c = caption(t, scratch, has_keys);
	if (t->view.screen == TOP_HELP) {
		top_help_draw(f);
		return;
	}
	if (t->view.screen == TOP_DETAIL && draw_detail(t, f, &c))
		return;
	t->view.screen = TOP_LIST;
	top_list_draw(f, &t->view, &t->rows, &c);
}

int top_frame(struct sink *k, struct top_frame *f, bool next)
{
	struct top *t = of(k);
	struct moment at = t->session->run_end.known ? t->session->run_end : t->horizon;
	int err = make_rows(t, at, next && t->opt.is_live);
	if (!err)
		draw(t, f, true);
	return err;
}

/* The pauses of the process that is opened are wanted from now on. */
static void follow_opened(struct top *t)
{
	const struct top_row *r = top_rows_find(&t->rows, t->view.opened);
	uint32_t process = t->view.screen == TOP_DETAIL && r ? r->process : 0;
	if (!t->opt.is_live || (t->blame && process == t->blamed))
		return;
	if (process)
		t->failed |= begin_blame(t, process) != 0;
	else
		end_blame(t);
}

enum top_action top_key(struct sink *k, uint32_t key)
{
	struct top *t = of(k);
	enum top_action action = top_view_key(&t->view, &t->rows, key);
	follow_opened(t);
	return action;
}

const struct top_kill *top_kill(const struct sink *k)
{
	return &((const struct top *)k)->view.kill;
}

void top_say(struct sink *k, const char *text)
{
	snprintf(of(k)->view.said, sizeof(of(k)->view.said), "%s", text);
}

bool top_is_paused(const struct sink *k)
{
	return ((const struct top *)k)->view.paused;
}

void top_take_tally(void *ctx, struct tally *y)
{
	stat_tallies_add(&of(ctx)->tallies, y);
}

void top_set_note(struct sink *k, const char *note)
{
	of(k)->opt.note = note;
}

/* ---- the frame that is written ---- */

/* 0 or -ENOMEM. */
static int put_text(struct top *t)
{
	struct top_frame f = {.utf8 = t->opt.utf8};
	uint32_t rows = t->rows.count;
	if (t->opt.most && rows > t->opt.most)
		rows = t->opt.most;
	int err = top_frame_begin(&f, rows + TOP_LIST_HEAD + 1, t->opt.cols);
	if (!err) {
		f.rows = rows ? rows + TOP_LIST_HEAD : f.rows;
		draw(t, &f, false);
		top_frame_text(&f, &t->buf);
	}
	top_frame_done(&f);
	return err;
}

static int top_end(struct sink *base)
{
	struct top *t = of(base);
	if (t->cancelled || t->fd < 0)
		return 0;
	t->view.ended = true;
	t->view.whole = true;
	int err = stat_tallies_apply(&t->tallies, &t->model, UINT64_MAX);
	if (!err)
		err = stat_model_end(&t->model, t->session->run_end);
	if (!err)
		err = make_rows(t, t->session->run_end, false);
	struct top_order o = order_now(t);
	if (!err && t->opt.json)
		top_json(&t->buf, t->session, &t->rows, &o, begin_ns(t), t->opt.most);
	else if (!err)
		err = put_text(t);
	int written = buf_finish(&t->buf);
	return err ? err : written;
}

static int top_flush(struct sink *base)
{
	return of(base)->fd < 0 ? 0 : buf_flush(&of(base)->buf);
}

static void top_cancel(struct sink *base)
{
	of(base)->cancelled = true;
}

static void top_free(struct sink *base)
{
	struct top *t = of(base);
	top_rows_done(&t->rows);
	top_pasts_done(&t->pasts, t->session);
	stat_tallies_done(&t->tallies);
	stat_snapshot_done(&t->snapshot);
	stat_model_done(&t->model);
	blame_free(t->blame);
	buf_done(&t->buf);
	free(t);
}

static const struct sink_ops top_ops = {
	.events = top_events,
	.advance = top_advance,
	.tick = top_tick,
	.forget = top_forget,
	.flush = top_flush,
	.cancel = top_cancel,
	.end = top_end,
	.free = top_free,
};

int top_new(struct session *s, int fd, const struct top_options *o, struct sink **ret)
{
	struct top *t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->session = s;
	t->fd = fd;
	t->opt = *o;
	int err = stat_model_init(&t->model, s, 0);
	if (!err && o->is_live)
		stat_model_be_coarse(&t->model);
	if (!err && fd < 0 && !o->is_live)
		err = begin_blame(t, 0);
	if (!err)
		err = buf_init(&t->buf, fd, BUFFER_BYTES);
	if (err) {
		blame_free(t->blame);
		stat_model_done(&t->model);
		free(t);
		return err;
	}
	t->base.ops = &top_ops;
	t->base.out = fd < 0 ? NULL : &t->buf;
	t->view = (struct top_view){.sort = o->sort, .group = o->group, .tree = o->tree};
	snprintf(t->view.filter, sizeof(t->view.filter), "%s", o->filter ? o->filter : "");
	*ret = &t->base;
	return 0;
}
