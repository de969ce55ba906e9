// SPDX-License-Identifier: BSD-2-Clause
/*
 * The attacher that samples allocations of OCaml 5 programs that were not prepared
 * (runtime/ocaml/allocs.h), in runs that are for allocations alone. It leaves files with markers of
 * sampled allocations to the attacher of these (attach_alloc.c).
 */
#include "source/bpf/attacher.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "bpf/abi.h"
#include "proc/process.h"
#include "runtime/ocaml/allocs.h"
#include "session/versions.h"
#include "source/bpf/attach_ocaml.h"
#include "source/bpf/plan.h"

struct file_ocaml_allocs {
	struct attach_env *env;
	uint32_t slot;
	uint16_t domain_base;
	bool counts_before;
	struct ocaml_runtime runtime;
	struct ocaml_location location;
	struct ocaml_allocs allocs;
};

static bool match(const struct runtime_file *what)
{
	return what->runtime.language && !what->probes_error && !what->alloc_markers;
}

/* True if the process was started later than this one: all its allocations can be seen. */
static bool is_younger(pid_t pid)
{
	struct process_status it, own;
	process_read_status(pid, &it);
	process_read_status(getpid(), &own);
	return it.start_time > own.start_time;
}

static int begin(struct attach_env *env, const struct attach_process *process,
		 const struct attach_file *file, void **ret_state)
{
	struct file_ocaml_allocs *o = calloc(1, sizeof(*o));
	if (!o)
		return -ENOMEM;
	o->env = env;
	o->slot = process->slot;
	o->domain_base = (uint16_t)(ATTACH_OCAML_DOMAINS * process->before);
	o->runtime = file->what->ocaml;
	*ret_state = o;
	if (!env->plan->allocs_only)
		return 0;
	/* An exec may be known only after the program that it starts was found: what that has
	 * allocated was counted then. */
	o->counts_before = !process->again && is_younger(process->pid);
	if (env->plan->runtime.language)
		o->runtime.version = env->plan->runtime;
	int err = ocaml_allocs_read(file->fd, &o->runtime, &o->allocs);
	/* The program runs on, and may start others. */
	if (err && !attacher_has_reported(env, file->map))
		messages_at(env->messages, LOG_NORMAL,
			    "process %d: %s: its allocations cannot be probed: %s", process->pid,
			    versions_text(o->runtime.version).text,
			    err == -ENOENT ? "it is bytecode, whose stack has no frame descriptors"
					   : "its code is unknown");
	ocaml_probes_locate(file->fd, &o->runtime, env->plan->memory, process->pid, file->map,
			    &o->location);
	return 0;
}

static enum attach_when update(void *state, uint64_t now_ns)
{
	const struct file_ocaml_allocs *o = state;
	(void)now_ns;
	return o->allocs.sites ? ATTACH_NOW : ATTACH_LATER;
}

static struct ebt_ocaml_allocs describe(const struct file_ocaml_allocs *o)
{
	return (struct ebt_ocaml_allocs){
		.stacks = attach_ocaml_stacks(&o->allocs, o->location.flag - o->runtime.flag),
		.state =
			{
				.tls_offset = o->location.offset,
				.tls_module = o->location.module,
				.tls = o->location.tls == OCAML_TLS_STATIC   ? EBT_OCAML_TLS_STATIC
				       : o->location.tls == OCAML_TLS_MODULE ? EBT_OCAML_TLS_MODULE
									     : EBT_OCAML_TLS_NONE,
				.id_offset = o->runtime.id_offset,
			},
		.slot = o->slot,
		.trigger = o->allocs.trigger,
		.allocated_words = o->allocs.allocated_words,
		.minor_words = o->allocs.minor_words,
		.counts_before = o->counts_before,
		.domain_base = o->domain_base,
		.release = (uint16_t)versions_release(o->runtime.version),
	};
}

static uint32_t function_of(enum ocaml_alloc_function function)
{
	static const uint32_t functions[] = {
		[OCAML_ALLOC_SMALL] = EBT_OCAML_ALLOC_SMALL,
		[OCAML_ALLOC_LARGE] = EBT_OCAML_ALLOC_LARGE,
		[OCAML_ALLOC_LIFE] = EBT_OCAML_ALLOC_LIFE,
		[OCAML_ALLOC_EXIT] = EBT_OCAML_ALLOC_EXIT,
		[OCAML_ALLOC_INPUT] = EBT_OCAML_ALLOC_INPUT,
		[OCAML_ALLOC_READ] = EBT_OCAML_ALLOC_READ,
	};
	return functions[function];
}

/* The kernel's entry is written before the first site is attached. */
static int plan(void *state, bool shared, struct attach_plan *ret)
{
	struct file_ocaml_allocs *o = state;
	struct ebt_ocaml_allocs allocs = describe(o);
	(void)shared;
	ret->site = calloc(o->allocs.sites, sizeof(*ret->site));
	if (!ret->site)
		return -ENOMEM;
	ret->key = ++o->env->last_key;
	ret->sites = o->allocs.sites;
	for (uint32_t i = 0; i < ret->sites; i++) {
		const struct ocaml_alloc_site *from = &o->allocs.site[i];
		ret->site[i].offset = from->offset;
		ret->site[i].cookie = EBT_OCAML_ALLOC_COOKIE(ret->key, function_of(from->function));
	}
	o->env->alloc_sites += ret->sites;
	o->env->unprepared_sites += ret->sites;
	return o->env->set(o->env->ctx, BPF_TABLE_RUNTIME_ALLOCS, ret->key, &allocs);
}

static void unplan(struct attach_env *env, uint32_t key)
{
	env->report_rest(env->ctx, key);
	env->set(env->ctx, BPF_TABLE_RUNTIME_ALLOCS, key, NULL);
}

/* Another program's runtime lies elsewhere. */
static bool survives_exec(void *state)
{
	(void)state;
	return false;
}

const struct attacher attach_ocaml_alloc = {
	.name = "OCaml allocations",
	.program = BPF_PROBE_RUNTIME_ALLOC,
	.samples = true,
	.match = match,
	.begin = begin,
	.update = update,
	.plan = plan,
	.unplan = unplan,
	.survives_exec = survives_exec,
	.end = free,
};
