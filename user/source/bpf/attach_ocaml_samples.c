// SPDX-License-Identifier: BSD-2-Clause
/*
 * Gives the program of samples how the stacks of a process with OCaml 5 are walked. Nothing is
 * attached to the process.
 */
#include "source/bpf/attacher.h"

#include <errno.h>
#include <stdlib.h>

#include "base/log.h"
#include "bpf/abi.h"
#include "runtime/ocaml/allocs.h"
#include "session/versions.h"
#include "source/bpf/attach_ocaml.h"
#include "source/bpf/plan.h"

struct file_samples {
	struct attach_env *env;
	uint32_t slot;
	bool is_set; /* the table has the process */
};

static bool match(const struct runtime_file *what)
{
	return what->runtime.language && !what->probes_error;
}

static struct ebt_ocaml_runtime describe(const struct file_samples *o,
					 const struct ocaml_runtime *r,
					 const struct ocaml_location *at,
					 const struct ocaml_allocs *allocs)
{
	return (struct ebt_ocaml_runtime){
		.tls_offset = at->offset,
		.tls_module = at->module,
		.tls = at->tls == OCAML_TLS_STATIC   ? EBT_OCAML_TLS_STATIC
		       : at->tls == OCAML_TLS_MODULE ? EBT_OCAML_TLS_MODULE
						     : EBT_OCAML_TLS_NONE,
		.id_offset = r->id_offset,
		.slot = o->slot,
		.domain_self = r->self,
		.release = (uint16_t)versions_release(r->version),
		.stacks = attach_ocaml_stacks(allocs, at->flag - r->flag),
		.glue = allocs->glue + at->flag - r->flag,
		.glue_end = allocs->glue_end + at->flag - r->flag,
	};
}

static void find_stacks(struct file_samples *o, const struct attach_process *process,
			const struct attach_file *file)
{
	struct attach_env *env = o->env;
	struct ocaml_runtime r = file->what->ocaml;
	struct ocaml_allocs allocs;
	struct ocaml_location at;
	int err = ocaml_allocs_read(file->fd, &r, &allocs);
	if (err && !attacher_has_reported_of(env, file->map, "samples"))
		messages_at(env->messages, LOG_NORMAL,
			    "process %d: %s: its stacks are those of C: %s", process->pid,
			    versions_text(r.version).text,
			    err == -ENOENT ? "it is no native code" : "its code is unknown");
	if (err)
		return;
	if (env->plan->runtime.language)
		r.version = env->plan->runtime;
	ocaml_probes_locate(file->fd, &r, env->plan->memory, process->pid, file->map, &at);
	struct ebt_ocaml_runtime value = describe(o, &r, &at, &allocs);
	o->is_set = !env->set(env->ctx, BPF_TABLE_SAMPLED, o->slot, &value);
}

/* Of a process with several runtimes the stacks of the first one are walked. */
static int begin(struct attach_env *env, const struct attach_process *process,
		 const struct attach_file *file, void **ret_state)
{
	struct file_samples *o = calloc(1, sizeof(*o));
	if (!o)
		return -ENOMEM;
	o->env = env;
	o->slot = process->slot;
	bool wanted = env->plan->sample_ns || env->plan->offcpu_stacks;
	if (wanted && !process->before)
		find_stacks(o, process, file);
	*ret_state = o;
	return 0;
}

static enum attach_when update(void *state, uint64_t now_ns)
{
	(void)state;
	(void)now_ns;
	return ATTACH_LATER;
}

static int plan(void *state, bool shared, struct attach_plan *ret)
{
	(void)state;
	(void)shared;
	(void)ret;
	return 0;
}

/* Another program's runtime lies elsewhere. */
static bool survives_exec(void *state)
{
	(void)state;
	return false;
}

static void end(void *state)
{
	struct file_samples *o = state;
	if (o->is_set)
		o->env->set(o->env->ctx, BPF_TABLE_SAMPLED, o->slot, NULL);
	free(o);
}

const struct attacher attach_ocaml_samples = {
	.name = "OCaml samples",
	.program = BPF_PROBE_NONE,
	.samples = true,
	.match = match,
	.begin = begin,
	.update = update,
	.plan = plan,
	.survives_exec = survives_exec,
	.end = end,
};
