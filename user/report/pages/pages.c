/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/pages/pages.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "report/pages/model/event.h"

#define BUFFER_BYTES 65536
#define BATCH	     256
#define USUAL_ROWS   10

/* Whether the pages that an address space had when tracing began have been received. */
enum snapshot { SNAPSHOT_TO_COME, SNAPSHOT_COMES, SNAPSHOT_TAKEN };

struct pages {
	struct sink base;
	pages_put *put;
	uint32_t top;
	uint32_t pid; /* see struct pages_report_options */
	struct buf buf;
	struct pages_model model;
	const struct session *session;
	bool has_process;
	uint32_t process; /* the one that is reported, while it is in the registry */
	bool forgotten;	  /* it no longer is: the index may mean another one */
	/* What the registry has of the process, copied at the latest when that forgets it. */
	char program[32];
	uint32_t program_pid;
	struct mappings mappings;
	enum snapshot snapshot;
	uint64_t others;
	bool cancelled;
};

/* Now it is known what the process's pages are. 0 or -ENOMEM. */
static int choose(struct pages *k, const struct ebt_event *ev)
{
	const struct process *p = processes_at(&k->session->processes, ev->process);
	struct pages_options o = k->model.opt;
	k->has_process = true;
	k->process = ev->process;
	o.page_bytes = pages_page_bytes(p ? p->page_bytes : 0, o.page_bytes);
	o.is_space = pages_event_of_space(ev, o.page_bytes);
	pages_model_done(&k->model);
	return pages_model_init(&k->model, &o);
}

/* True if the event is of the process that is reported. */
static bool is_own(struct pages *k, const struct ebt_event *ev, int *ret_err)
{
	*ret_err = 0;
	if (!k->has_process &&
	    (!k->pid || processes_pid(&k->session->processes, ev->process) == k->pid))
		*ret_err = choose(k, ev);
	if (k->has_process && !k->forgotten && ev->process == k->process)
		return true;
	k->others++;
	return false;
}

/* Takes an event of an address space. Events of the program itself begin behind the snapshot. */
static int take(struct pages *k, const struct ebt_event *ev, const struct ebt_pagetrace_event *e)
{
	bool is_snapshot = ev->kind == EBT_PAGE_ALLOC &&
			   (ev->id == EBT_PAGE_SNAPSHOT || ev->id == EBT_PAGE_FORK);
	if (k->snapshot == SNAPSHOT_COMES && !is_snapshot) {
		k->snapshot = SNAPSHOT_TAKEN;
		pages_model_restart(&k->model);
	} else if (k->snapshot == SNAPSHOT_TO_COME && is_snapshot) {
		k->snapshot = SNAPSHOT_COMES;
	}
	return pages_model_space_event(&k->model, e, ev->id, ev->seq * 1000ull);
}

static int pages_events(struct sink *base, const struct ebt_event *ev, size_t n)
{
	struct pages *k = (struct pages *)base;
	struct ebt_pagetrace_event batch[BATCH];
	size_t used = 0;
	int err = 0;
	for (size_t i = 0; i < n && !err; i++) {
		if (kinds_family(ev[i].kind) != KINDS_pages || !is_own(k, &ev[i], &err) || err ||
		    !pages_event_of(&ev[i], k->model.opt.is_space, &batch[used]))
			continue;
		if (k->model.opt.is_space) {
			err = take(k, &ev[i], &batch[used]);
		} else if (++used == BATCH) {
			err = pages_model_events(&k->model, batch, used);
			used = 0;
		}
	}
	return err ? err : pages_model_events(&k->model, batch, used);
}

int pages_take(struct sink *base, const struct ebt_pagetrace_event *ev, size_t n)
{
	return pages_model_events(&((struct pages *)base)->model, ev, n);
}

void pages_set_trace(struct sink *base, const struct pages_trace *t)
{
	((struct pages *)base)->model.trace = *t;
}

/* What is traced was watched until then, also if nothing happened. */
static int pages_advance(struct sink *base, uint64_t horizon_ns)
{
	struct pages *k = (struct pages *)base;
	if (k->model.opt.is_space && !k->forgotten && horizon_ns != UINT64_MAX)
		pages_model_watched(&k->model, horizon_ns);
	return 0;
}

/* 0 or -ENOMEM. */
static int copy_process(struct pages *k)
{
	const struct process *p = processes_at(&k->session->processes, k->process);
	if (!p)
		return 0;
	const char *now = p->mappings.program;
	snprintf(k->program, sizeof(k->program), "%s", *now ? now : p->comm);
	k->program_pid = p->pid;
	return mappings_copy(&k->mappings, &p->mappings);
}

static int pages_forget(struct sink *base, uint32_t process)
{
	struct pages *k = (struct pages *)base;
	if (k->forgotten || !k->has_process || k->process != process)
		return 0;
	k->forgotten = true;
	return copy_process(k);
}

static int pages_flush(struct sink *base)
{
	return buf_flush(&((struct pages *)base)->buf);
}

static void pages_cancel(struct sink *base)
{
	((struct pages *)base)->cancelled = true;
}

static int pages_end(struct sink *base)
{
	struct pages *k = (struct pages *)base;
	if (k->cancelled)
		return 0;
	if (k->snapshot == SNAPSHOT_COMES)
		pages_model_restart(&k->model);
	int err = pages_model_end(&k->model);
	if (!err && k->has_process && !k->forgotten)
		err = copy_process(k);
	struct pages_view view = {
		.session = k->session,
		.model = &k->model,
		.program = k->program,
		.pid = k->program_pid,
		.mappings = &k->mappings,
		.others = k->others,
		.top = k->top ? k->top : USUAL_ROWS,
		.has_top = k->top,
	};
	if (!err)
		err = k->put(&k->buf, &view);
	int written = buf_finish(&k->buf);
	return err ? err : written;
}

static void pages_free(struct sink *base)
{
	struct pages *k = (struct pages *)base;
	pages_model_done(&k->model);
	mappings_done(&k->mappings);
	buf_done(&k->buf);
	free(k);
}

static const struct sink_ops pages_ops = {
	.events = pages_events,
	.advance = pages_advance,
	.forget = pages_forget,
	.flush = pages_flush,
	.cancel = pages_cancel,
	.end = pages_end,
	.free = pages_free,
};

int pages_new(const struct session *s, int fd, pages_put *put, const struct pages_report_options *o,
	      struct sink **ret)
{
	struct pages *k = calloc(1, sizeof(*k));
	if (!k)
		return -ENOMEM;
	int err = pages_model_init(&k->model, &o->model);
	if (!err)
		err = buf_init_behind(&k->buf, fd, BUFFER_BYTES, SINK_BEHIND_BYTES);
	if (err) {
		pages_model_done(&k->model);
		free(k);
		return err;
	}
	k->base.ops = &pages_ops;
	k->base.out = &k->buf;
	k->session = s;
	k->put = put;
	k->top = o->top;
	k->pid = o->pid;
	*ret = &k->base;
	return 0;
}
