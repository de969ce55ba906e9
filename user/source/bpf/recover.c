// SPDX-License-Identifier: BSD-2-Clause
#include "source/bpf/recover.h"

#include <errno.h>
#include <stdlib.h>

#include "proc/process.h"

/* Between two searches for slots: each passes all of them through the kernel's queue. */
#define SEARCH_NS 100000000u

static void find_children(struct bpf_kernel *k, struct bpf_traced *t, uint64_t now_ns)
{
	struct bpf_birth birth = {.ts = now_ns};
	uint32_t pid = 0, slot;
	while (bpf_kernel_next(k, &pid))
		if (bpf_kernel_find(k, (pid_t)pid, &slot))
			bpf_traced_add_child(t, (pid_t)pid, slot, &birth, now_ns);
}

static void find_ends(struct bpf_kernel *k, struct bpf_traced *t, uint64_t now_ns)
{
	uint32_t slot;
	for (uint32_t i = 0; bpf_kernel_sees_exits(k) && i < t->slots; i++) {
		struct bpf_process *proc = bpf_traced_get(t, i);
		if (proc && !bpf_kernel_find(k, proc->pid, &slot))
			bpf_traced_exited(t, proc, now_ns);
	}
}

void bpf_recover_late(struct bpf_kernel *k, struct bpf_traced *t, uint64_t now_ns)
{
	uint32_t slot;
	for (uint32_t i = 0; i < t->slots; i++) {
		struct bpf_process *proc = bpf_traced_get(t, i);
		if (!proc || proc->ended || !proc->unmapped || !process_has_ended(proc->pid))
			continue;
		/* The record of its exit is on its way if it is in the map no more. */
		if (!bpf_kernel_find(k, proc->pid, &slot) || slot != i)
			continue;
		bpf_kernel_remove(k, proc->pid);
		bpf_traced_exited(t, proc, now_ns);
	}
}

/* True if another search is needed. */
static bool find_slots(struct bpf_kernel *k, struct bpf_traced *t)
{
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

void bpf_recover_init(struct bpf_recover *r, uint64_t begin_ns)
{
	*r = (struct bpf_recover){.since_ns = begin_ns};
}

int bpf_recover(struct bpf_recover *r, struct bpf_kernel *k, struct bpf_traced *t,
		struct bpf_losses *losses, uint64_t now_ns)
{
	struct ebt_dropped dropped = bpf_kernel_dropped(k);
	int err = 0;
	if (dropped.children != r->children)
		err = bpf_losses_children(losses, r->since_ns);
	if (dropped.control != r->control) {
		find_children(k, t, now_ns);
		find_ends(k, t, now_ns);
	}
	if (dropped.control != r->control || dropped.children != r->children)
		r->search_ns = now_ns;
	r->control = dropped.control;
	r->children = dropped.children;
	r->since_ns = now_ns;
	if (r->search_ns && now_ns >= r->search_ns)
		r->search_ns = find_slots(k, t) ? now_ns + SEARCH_NS : 0;
	return err;
}
