// SPDX-License-Identifier: BSD-2-Clause
#include "source/bpf/attach_ocaml.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "bpf/abi.h"
#include "proc/memory_reader.h"
#include "runtime/ocaml/probes.h"
#include "session/kinds.h"
#include "session/versions.h"
#include "source/bpf/numberings.h"
#include "source/bpf/plan.h"

struct file_runtime {
	struct attach_env *env;
	uint32_t slot;
	pid_t pid;
	uint16_t domain_base;
	uint64_t after_ns; /* not to be probed before */
	struct ocaml_runtime runtime;
	struct ocaml_location location;
	struct ocaml_allocs allocs; /* how its stacks are walked; zeroes: they are not */
	bool reported;		    /* what its probes lack */
	bool begins;		    /* too lately to have its ring on, when that is asked first */
};

static bool match(const struct runtime_file *what)
{
	return what->runtime.language;
}

/* Without a probe an event costs the program nothing. Functions whose events are few, or have names
 * of the program's own, are probed all the same. */
static void leave_unwanted(struct ocaml_runtime *r, uint64_t unwanted)
{
	static const uint64_t kinds[OCAML_FUNCTIONS] = {
		[OCAML_COUNTER] = 1ull << EBT_COUNTER,
		[OCAML_ALLOC_FLUSH] = 1ull << EBT_ALLOC_SIZES,
		[OCAML_USER_WRITE] = 1ull << EBT_CUSTOM,
	};
	unsigned sites = 0;
	for (unsigned i = 0; i < r->sites; i++)
		if (!(kinds[r->site[i].function] & unwanted))
			r->site[sites++] = r->site[i];
	r->sites = sites;
}

/* A program that was started with its ring on gets time to make it; no other has to wait. */
static uint64_t probe_after(const struct attach_env *env, const struct attach_process *process)
{
	char one[2];
	if (!env->plan->own_ring_ns ||
	    memory_reader_getenv(env->plan->memory, process->pid, "OCAML_RUNTIME_EVENTS_START", one,
				 sizeof(one)) < 0)
		return 0;
	return process->since_ns + env->plan->own_ring_ns;
}

struct ebt_ocaml_stacks attach_ocaml_stacks(const struct ocaml_allocs *a, uint64_t bias)
{
	return (struct ebt_ocaml_stacks){
		.frames = a->frames ? a->frames + bias : 0,
		.current_stack = a->current_stack,
		.c_stack = a->c_stack,
		.first_frame = a->first_frame,
		.is_indirect = a->is_indirect,
	};
}

static void find_stacks(struct file_runtime *o, const struct attach_file *file)
{
	struct ocaml_runtime r = o->runtime;
	int err = ocaml_allocs_read(file->fd, &r, &o->allocs);
	if (!err)
		o->runtime = r;
	else
		messages_at(o->env->messages, LOG_NORMAL,
			    "process %d: %s: its events get no stacks: %s", o->pid,
			    versions_text(r.version).text,
			    err == -ENOENT ? "it is no native code" : "its code is unknown");
}

static int begin(struct attach_env *env, const struct attach_process *process,
		 const struct attach_file *file, void **ret_state)
{
	if (file->what->probes_error)
		return file->what->probes_error;
	struct file_runtime *o = calloc(1, sizeof(*o));
	if (!o)
		return -ENOMEM;
	o->env = env;
	o->slot = process->slot;
	o->pid = process->pid;
	o->domain_base = (uint16_t)(ATTACH_OCAML_DOMAINS * process->before);
	o->runtime = file->what->ocaml;
	leave_unwanted(&o->runtime, env->plan->unwanted);
	o->after_ns = probe_after(env, process);
	o->begins = process->begins;
	if (env->plan->runtime.language)
		o->runtime.version = env->plan->runtime;
	if (env->stacks)
		find_stacks(o, file);
	ocaml_probes_locate(file->fd, &o->runtime, env->plan->memory, process->pid, file->map,
			    &o->location);
	messages_at(env->messages, LOG_VERBOSE, "pid %d: %s holds %s", process->pid,
		    file->map->path, versions_text(o->runtime.version).text);
	*ret_state = o;
	return 0;
}

static bool records_itself(struct file_runtime *o)
{
	struct memory_reader *memory = o->env->plan->memory;
	if (o->env->plan->no_ring)
		return false;
	bool is_on = !o->begins && ocaml_probes_ring_is_on(memory, o->pid, &o->location) > 0;
	o->begins = false;
	ocaml_probes_expect_ring(memory, o->pid, &o->location);
	return is_on;
}

static enum attach_when update(void *state, uint64_t now_ns)
{
	struct file_runtime *o = state;
	if (records_itself(o))
		return ATTACH_NOT;
	bool never = o->env->plan->allocs_only || o->env->plan->yield == PROBE_NOTHING;
	return now_ns < o->after_ns || never ? ATTACH_LATER : ATTACH_NOW;
}

static bool is_shareable(const void *state)
{
	const struct file_runtime *o = state;
	return o->runtime.is_program &&
	       (o->runtime.tls == OCAML_TLS_STATIC || o->runtime.tls == OCAML_TLS_NONE);
}

static struct ebt_ocaml_runtime describe(const struct file_runtime *o, bool shared)
{
	struct ebt_ocaml_runtime r = {
		.flag = o->location.flag,
		.tls_offset = o->location.offset,
		.tls_module = o->location.module,
		.tls = o->location.tls == OCAML_TLS_STATIC   ? EBT_OCAML_TLS_STATIC
		       : o->location.tls == OCAML_TLS_MODULE ? EBT_OCAML_TLS_MODULE
							     : EBT_OCAML_TLS_NONE,
		.id_offset = o->runtime.id_offset,
		.slot = o->slot,
		.domain_base = o->domain_base,
		.user_event = o->runtime.version.minor >= 2,
		.release = (uint16_t)versions_release(o->runtime.version),
		.numbering = (uint16_t)numberings_of(o->runtime.version),
		.stacks = attach_ocaml_stacks(&o->allocs, o->location.flag - o->runtime.flag),
	};
	if (shared) {
		r.slot = EBT_NO_SLOT;
		r.flag = o->runtime.flag;
		r.domain_base = 0;
		r.stacks = attach_ocaml_stacks(&o->allocs, 0);
		for (unsigned i = 0; i < o->runtime.sites; i++)
			r.site[o->runtime.site[i].function] = o->runtime.site[i].address;
	}
	if (o->env->plan->no_ring)
		r.flag = 0;
	return r;
}

static void report_lacks(struct file_runtime *o)
{
	unsigned slow = 0;
	for (unsigned i = 0; i < o->runtime.sites; i++)
		slow += !o->runtime.site[i].emulated;
	if (slow && !o->reported)
		messages_at(
			o->env->messages, LOG_NORMAL,
			"process %d: %u of its functions can only be probed at an instruction that "
			"the kernel has to single-step (9 us a call)",
			o->pid, slow);
	if (o->location.tls == OCAML_TLS_NONE && !o->reported)
		messages_at(o->env->messages, LOG_NORMAL,
			    "process %d: its domains are not known: threads are shown", o->pid);
	o->reported = true;
}

/* The kernel's entry is written before the first site is attached. */
static int plan(void *state, bool shared, struct attach_plan *ret)
{
	struct file_runtime *o = state;
	struct ebt_ocaml_runtime r = describe(o, shared);
	ret->site = calloc(o->runtime.sites + 1u, sizeof(*ret->site));
	if (!ret->site)
		return -ENOMEM;
	ret->key = ++o->env->last_key;
	ret->sites = o->runtime.sites;
	for (unsigned i = 0; i < o->runtime.sites; i++) {
		const struct ocaml_site *from = &o->runtime.site[i];
		bool in_ax = from->flag_in_ax && !o->env->plan->no_ring;
		ret->site[i].offset = from->offset;
		ret->site[i].cookie = EBT_OCAML_COOKIE(ret->key, from->function,
						       in_ax ? EBT_OCAML_FLAG_IN_AX : 0);
	}
	struct attach_env *env = o->env;
	int err = shared ? attacher_count_foreign(env, ret->key) : 0;
	if (!err)
		err = env->set(env->ctx, BPF_TABLE_RUNTIMES, ret->key, &r);
	if (!err)
		report_lacks(o);
	return err;
}

static void unplan(struct attach_env *env, uint32_t key)
{
	env->set(env->ctx, BPF_TABLE_RUNTIMES, key, NULL);
	env->set(env->ctx, BPF_TABLE_FOREIGN, key, NULL);
}

/* Another program's runtime lies elsewhere. */
static bool survives_exec(void *state)
{
	(void)state;
	return false;
}

const struct attacher attach_ocaml = {
	.name = "ocaml",
	.program = BPF_PROBE_RUNTIME,
	.changes = true,
	.match = match,
	.begin = begin,
	.update = update,
	.is_shareable = is_shareable,
	.plan = plan,
	.unplan = unplan,
	.survives_exec = survives_exec,
	.end = free,
};
