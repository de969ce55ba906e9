/* SPDX-License-Identifier: BSD-2-Clause */
#include "source/ring/live_files.h"

int ring_live_add(struct ring_live *l, struct ring_file *f)
{
	struct ring_file *next = ptrmap_get(&l->first, f->process);
	int err = ptrmap_set(&l->first, f->process, f);
	if (err)
		return err;
	f->next_live = next;
	if (next)
		next->prev_live = f;
	return 0;
}

void ring_live_remove(struct ring_live *l, struct ring_file *f)
{
	if (!f->live)
		return;
	if (f->next_live)
		f->next_live->prev_live = f->prev_live;
	if (f->prev_live)
		f->prev_live->next_live = f->next_live;
	else if (f->next_live)
		ptrmap_set(&l->first, f->process, f->next_live); /* has its key */
	else
		ptrmap_remove(&l->first, f->process);
}

static void end(struct ring_file *f)
{
	for (; f; f = f->next_live)
		f->live = false;
}

void ring_live_end(struct ring_live *l, uint32_t process)
{
	end(ptrmap_remove(&l->first, process));
}

struct ring_file *ring_live_first(const struct ring_live *l, uint32_t process)
{
	return ptrmap_get(&l->first, process);
}

void ring_live_end_all(struct ring_live *l)
{
	size_t at = 0;
	for (struct ring_file *f; (f = ptrmap_next(&l->first, &at));)
		end(f);
	ring_live_done(l);
}

void ring_live_done(struct ring_live *l)
{
	ptrmap_done(&l->first);
}
