/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/pages/model/counters.h"

#include <errno.h>
#include <stdlib.h>

#include "report/pages/model/event.h"

struct page_counted {
	uint32_t process;
	struct pages_model model;
	uint64_t changed_ns, due_ns; /* when a state is due again */
	bool has_change;	     /* that no state has yet */
};

static void free_counted(struct page_counted *p)
{
	if (p)
		pages_model_done(&p->model);
	free(p);
}

void page_counters_done(struct page_counters *c)
{
	size_t at = 0;
	for (struct page_counted *p; (p = ptrarray_next(&c->processes, &at));)
		free_counted(p);
	ptrarray_done(&c->processes);
}

static struct page_counters_state state_of(const struct page_counted *p)
{
	return (struct page_counters_state){p->changed_ns, p->process, &p->model};
}

bool page_counters_due(struct page_counters *c, const struct ebt_event *ev,
		       struct page_counters_state *ret)
{
	struct page_counted *p = ptrarray_get(&c->processes, ev->process);
	if (!p || !p->has_change || ev->ts <= p->changed_ns || ev->ts < p->due_ns)
		return false;
	p->due_ns = p->changed_ns + PAGE_COUNTERS_NS;
	p->has_change = false;
	*ret = state_of(p);
	return true;
}

static int make(struct page_counters *c, const struct ebt_event *ev, struct page_counted **ret)
{
	bool is_new;
	struct page_counted *p = *ret = ptrarray_make(&c->processes, ev->process, &is_new);
	if (!p || !is_new)
		return p ? 0 : -ENOMEM;
	const struct process *about = processes_at(&c->session->processes, ev->process);
	p->process = ev->process;
	struct pages_options o = {
		.page_bytes =
			pages_page_bytes(about ? about->page_bytes : 0, EBT_PAGETRACE_PAGE_BYTES),
	};
	o.is_space = pages_event_of_space(ev, o.page_bytes);
	return pages_model_init(&p->model, &o);
}

int page_counters_event(struct page_counters *c, const struct ebt_event *ev)
{
	struct ebt_pagetrace_event e;
	struct page_counted *p;
	int err = make(c, ev, &p);
	if (err || !pages_event_of(ev, p->model.opt.is_space, &e))
		return err;
	p->has_change = true;
	p->changed_ns = ev->ts;
	return pages_model_events(&p->model, &e, 1);
}

bool page_counters_last(struct page_counters *c, uint32_t process, struct page_counters_state *ret)
{
	struct page_counted *p = ptrarray_get(&c->processes, process);
	if (!p || !p->has_change)
		return false;
	p->has_change = false;
	*ret = state_of(p);
	return true;
}

void page_counters_forget(struct page_counters *c, uint32_t process)
{
	free_counted(ptrarray_remove(&c->processes, process));
}

bool page_counters_any(const struct page_counters *c, uint32_t *ret_process)
{
	size_t at = 0;
	const struct page_counted *p = ptrarray_next(&c->processes, &at);
	if (p)
		*ret_process = p->process;
	return p;
}
