// SPDX-License-Identifier: BSD-2-Clause
/*
 * The attacher for the markers of sampled allocations (runtime/alloc_markers.h), if the run asks
 * for them. If a file has our own markers, OpenTelemetry's that fire with them give only the sample
 * rate. A site with arguments that cannot be read is reported and not attached.
 */
#include "source/bpf/attacher.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/plural.h"
#include "bpf/abi.h"
#include "runtime/alloc_markers.h"
#include "source/bpf/operand.h"
#include "source/bpf/plan.h"

struct file_allocs {
	struct attach_env *env;
	uint32_t slot;
	pid_t pid;
	int fd;
	bool is_program;
};

static bool match(const struct runtime_file *what)
{
	return what->alloc_markers;
}

static int begin(struct attach_env *env, const struct attach_process *process,
		 const struct attach_file *file, void **ret_state)
{
	struct file_allocs *a = calloc(1, sizeof(*a));
	if (!a)
		return -ENOMEM;
	*a = (struct file_allocs){
		.env = env,
		.slot = process->slot,
		.pid = process->pid,
		.fd = file->fd,
		.is_program = file->is_program,
	};
	*ret_state = a;
	return 0;
}

static enum attach_when update(void *state, uint64_t now_ns)
{
	const struct file_allocs *a = state;
	(void)now_ns;
	return a->env->plan->allocs ? ATTACH_NOW : ATTACH_LATER;
}

/* Which arguments of a marker the program copies, in the order of enum ebt_alloc_site_kind. */
static struct ebt_alloc_site describe(enum alloc_marker marker, bool ours,
				      const struct usdt_args *args)
{
	static const struct {
		uint32_t kind;
		uint8_t args, from[EBT_ALLOC_ARGS];
	} rows[ALLOC_MARKERS] = {
		[ALLOC_MARKER_ALLOC] = {EBT_ALLOC_SITE_ALLOC, 6, {0, 1, 2, 3, 4, 5}},
		[ALLOC_MARKER_PROMOTE] = {EBT_ALLOC_SITE_PROMOTE, 3, {0, 1, 2}},
		[ALLOC_MARKER_COLLECT] = {EBT_ALLOC_SITE_COLLECT, 3, {0, 1, 2}},
		[ALLOC_MARKER_OTEL_ALLOC] = {EBT_ALLOC_SITE_OTEL_ALLOC, 3, {0, 1, 2}},
		[ALLOC_MARKER_OTEL_FREE] = {EBT_ALLOC_SITE_OTEL_FREE, 1, {0}},
		[ALLOC_MARKER_PAGE_ALLOC] = {EBT_ALLOC_SITE_PAGE_ALLOC, 4, {0, 1, 2, 3}},
		[ALLOC_MARKER_PAGE_FREE] = {EBT_ALLOC_SITE_PAGE_FREE, 4, {0, 1, 2, 3}},
		[ALLOC_MARKER_PAGE_SCAVENGE] = {EBT_ALLOC_SITE_PAGE_SCAVENGE, 4, {0, 1, 2, 3}},
	};
	struct ebt_alloc_site site = {.kind = rows[marker].kind, .args = rows[marker].args};
	if (ours && marker == ALLOC_MARKER_OTEL_ALLOC)
		site.kind = EBT_ALLOC_SITE_OTEL_WEIGHT;
	for (unsigned i = 0; i < site.args; i++)
		site.arg[i] = operand_of_arg(&args->arg[rows[marker].from[i]]);
	return site;
}

/* The index of a description, which sites with the same arguments share; -E2BIG: no room. */
static int find_site(struct ebt_alloc_file *file, const struct ebt_alloc_site *site)
{
	for (uint32_t i = 0; i < file->sites; i++)
		if (!memcmp(&file->site[i], site, sizeof(*site)))
			return (int)i;
	if (file->sites == EBT_ALLOC_SITES)
		return -E2BIG;
	file->site[file->sites] = *site;
	return (int)file->sites++;
}

static bool has_ours(const struct notes *notes)
{
	struct usdt_args args;
	for (uint32_t i = 0; i < notes->sites; i++)
		if (alloc_marker_of(&notes->site[i], &args) == ALLOC_MARKER_ALLOC)
			return true;
	return false;
}

/* The sites of a file, without those of pages if it is for allocations alone. The number of those
 * that were left out in *ret_refused. */
static uint32_t plan_sites(const struct attach_env *env, const struct notes *notes,
			   struct ebt_alloc_file *file, struct uprobe_site *site,
			   uint32_t *ret_refused)
{
	bool ours = has_ours(notes);
	uint32_t n = 0;
	for (uint32_t i = 0; i < notes->sites; i++) {
		const struct notes_site *from = &notes->site[i];
		struct usdt_args args;
		enum alloc_marker marker = alloc_marker_of(from, &args);
		if (marker == ALLOC_MARKERS || (ours && marker == ALLOC_MARKER_OTEL_FREE) ||
		    (env->plan->allocs_only && alloc_marker_is_of_pages(marker)))
			continue;
		struct ebt_alloc_site is = describe(marker, ours, &args);
		int index = find_site(file, &is);
		*ret_refused += index < 0;
		if (index >= 0)
			site[n++] = (struct uprobe_site){
				.offset = from->offset,
				.semaphore = from->semaphore,
				.cookie = EBT_ALLOC_COOKIE(env->last_key, index),
			};
	}
	return n;
}

/* In a program that we start, as its other markers are. */
static bool is_shareable(const void *state)
{
	const struct file_allocs *a = state;
	const struct probe_plan *p = a->env->plan;
	return a->is_program && p->hold && p->allocs && !p->everyone;
}

static int set_tables(struct attach_env *env, uint32_t key, const struct ebt_alloc_file *file)
{
	int err = env->set(env->ctx, BPF_TABLE_ALLOC_FILES, key, file);
	if (!err && file->slot == EBT_NO_SLOT)
		err = attacher_count_foreign(env, key);
	return err;
}

static int plan(void *state, bool shared, struct attach_plan *ret)
{
	struct file_allocs *a = state;
	struct ebt_alloc_file file = {.slot = shared ? EBT_NO_SLOT : a->slot};
	const struct known_file *known;
	uint32_t refused = 0;
	int err = known_notes_read(&a->env->notes, a->fd, &known);
	if (err)
		return err == -ENOEXEC || err == -EBADMSG ? 0 : err;
	const struct notes *notes = &known->notes;
	ret->site = calloc(notes->sites + 1u, sizeof(*ret->site));
	ret->key = ++a->env->last_key;
	if (ret->site)
		ret->sites = plan_sites(a->env, notes, &file, ret->site, &refused);
	if (!ret->site)
		return -ENOMEM;
	if (refused)
		messages_at(
			a->env->messages, LOG_NORMAL,
			"process %d: %u site%s of sampled allocations %s not probed: a file may "
			"have %u kinds of arguments",
			a->pid, refused, plural(refused), plural_of(refused, "is", "are"),
			EBT_ALLOC_SITES);
	a->env->alloc_sites += ret->sites;
	return ret->sites ? set_tables(a->env, ret->key, &file) : 0;
}

static void unplan(struct attach_env *env, uint32_t key)
{
	env->set(env->ctx, BPF_TABLE_ALLOC_FILES, key, NULL);
	env->set(env->ctx, BPF_TABLE_FOREIGN, key, NULL);
}

/* The sites are the file's. */
static bool survives_exec(void *state)
{
	(void)state;
	return true;
}

const struct attacher attach_alloc = {
	.name = "allocations",
	.program = BPF_PROBE_ALLOC,
	.samples = true,
	.exclusive = true,
	.match = match,
	.begin = begin,
	.update = update,
	.is_shareable = is_shareable,
	.plan = plan,
	.unplan = unplan,
	.survives_exec = survives_exec,
	.end = free,
};
