// SPDX-License-Identifier: BSD-2-Clause
#include "source/bpf/recover.h"

#include <errno.h>
#include <stdlib.h>

#include "proc/process.h"

/* Between two searches for slots: each passes all of them through the kernel's queue. */
#define SEARCH_NS 100000000u

static void find_children(struct bpf_kernel *k, struct bpf_records *in)
{
	struct bpf_birth birth = {.ts = in->started_ns};
	uint32_t pid = 0, slot;
	while (bpf_kernel_next(k, &pid))
		if (bpf_kernel_find(k, (pid_t)pid, &slot))
			bpf_records_add_child(in, (pid_t)pid, slot, &birth);
}

static void find_ends(struct bpf_kernel *k, struct bpf_records *in)
{
	uint32_t slot;
	for (uint32_t i = 0; bpf_kernel_sees_exits(k) && i < in->traced.slots; i++) {
		struct bpf_process *proc = bpf_traced_get(&in->traced, i);
		if (proc && !bpf_kernel_find(k, proc->pid, &slot))
			bpf_records_end(in, proc, in->started_ns);
	}
}

void bpf_recover_late(struct bpf_kernel *k, struct bpf_records *in)
{
	uint32_t slot;
	for (uint32_t i = 0; i < in->traced.slots; i++) {
		struct bpf_process *proc = bpf_traced_get(&in->traced, i);
		if (!proc || proc->ended || !proc->unmapped || !process_has_ended(proc->pid))
			continue;
		/* The record of its exit is on its way if it is in the map no more. */
		if (!bpf_kernel_find(k, proc->pid, &slot) || slot != i)
			continue;
		bpf_kernel_remove(k, proc->pid);
		bpf_records_end(in, proc, in->started_ns);
	}
}

/* True if another search is needed. */
static bool find_slots(struct bpf_kernel *k, struct bpf_records *in)
{
	struct bpf_traced *t = &in->traced;
	bool *found = calloc(t->slots, sizeof(*found));
	uint32_t pid = 0, slot;
	if (!found)
		return true;
	for (uint32_t i = t->in_kernel; i && bpf_kernel_pop_slot(k, &slot); i--)
		found[slot] = !bpf_kernel_push_slot(k, slot);
	while (bpf_kernel_next(k, &pid))
		if (bpf_kernel_find(k, (pid_t)pid, &slot) && slot < t->slots)
			found[slot] = true;
	bool again = bpf_traced_free_lost_slots(t, found);
	free(found);
	return again;
}

int bpf_recover(struct bpf_recover *r, struct bpf_kernel *k, struct bpf_records *in)
{
	struct ebt_dropped dropped = bpf_kernel_dropped(k);
	uint64_t now = in->started_ns;
	int err = 0;
	if (dropped.children != r->children)
		err = bpf_losses_children(&in->losses, r->since_ns);
	if (dropped.control != r->control) {
		find_children(k, in);
		find_ends(k, in);
	}
	if (dropped.control != r->control || dropped.children != r->children)
		r->search_ns = now;
	r->control = dropped.control;
	r->children = dropped.children;
	r->since_ns = now;
	if (r->search_ns && now >= r->search_ns)
		r->search_ns = find_slots(k, in) ? now + SEARCH_NS : 0;
	return err;
}
