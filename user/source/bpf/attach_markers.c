// SPDX-License-Identifier: BSD-2-Clause
/*
 * The attacher for our own markers (provider ebtrace): those that the mode needs, without the
 * request for a ring where a seccomp filter could kill the program for it. A site whose note names
 * other arguments than our BPF program reads is reported, once a file, and not attached.
 */
#include "source/bpf/attacher.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "bpf/abi.h"
#include "elf/notes.h"
#include "proc/process.h"
#include "runtime/marker_args.h"
#include "source/bpf/plan.h"

struct file_markers {
	struct attach_env *env;
	uint32_t slot;
	pid_t pid;
	int fd;
	bool filtered; /* a thread runs under a seccomp filter */
	bool lean;     /* its ring has the events */
	bool is_program;
};

struct marker {
	const char *name;
	uint16_t site;
	bool event;
};

static const struct marker markers[] = {
#define EBT_MARKER(name, KIND, args) {#name, KIND, true},
#include <ebtrace/events.def>
	{"ring_request", EBT_SITE_RING_REQUEST, false},
	{"ring_start", EBT_SITE_RING_START, false},
	{"ring_stop", EBT_SITE_RING_STOP, false},
	{"watermark", EBT_SITE_WATERMARK, false},
};

/* Those of sampled allocations and of pages have an attacher of their own. */
static bool has_own_attacher(const struct marker *m)
{
	return m->event && m->site >= EBT_ALLOC && m->site <= EBT_PAGE_SCAVENGE;
}

/* NULL: we have none of this name. */
static const struct marker *find_marker(const char *name)
{
	for (size_t i = 0; i < sizeof(markers) / sizeof(*markers); i++)
		if (!strcmp(markers[i].name, name) && !has_own_attacher(&markers[i]))
			return &markers[i];
	return NULL;
}

static bool match(const struct runtime_file *what)
{
	return what->markers || what->refused_markers;
}

/* Our program would read other registers than those that a refused site has its arguments in. */
static void report_refused(const struct messages *messages, pid_t pid,
			   const struct attach_file *file)
{
	bool seen[sizeof(markers) / sizeof(*markers)] = {false};
	struct notes notes;
	if (notes_read(file->fd, "ebtrace", &notes))
		return;
	for (uint32_t i = 0; i < notes.sites; i++) {
		char expected[MARKER_ARGS_BYTES];
		const struct notes_site *site = &notes.site[i];
		const struct marker *m = find_marker(site->name);
		if (!m || seen[m - markers] || marker_args_match(site) ||
		    !marker_args_expected(site->name, expected))
			continue;
		seen[m - markers] = true;
		messages_at(messages, LOG_NORMAL,
			    "process %d: marker %s of %s is not probed: its arguments are '%.80s', "
			    "expected '%s'; it was not built with libebtrace-probes",
			    pid, site->name, file->map->path, site->args, expected);
	}
	notes_done(&notes);
}

static int begin(struct attach_env *env, const struct attach_process *process,
		 const struct attach_file *file, void **ret_state)
{
	struct file_markers *m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	*m = (struct file_markers){
		.env = env,
		.slot = process->slot,
		.pid = process->pid,
		.fd = file->fd,
		.is_program = file->is_program,
	};
	if (file->what->refused_markers && !attacher_has_reported(env, file->map))
		report_refused(env->messages, process->pid, file);
	*ret_state = m;
	return 0;
}

static enum attach_when update(void *state, uint64_t now_ns)
{
	(void)state;
	(void)now_ns;
	return ATTACH_NOW;
}

/* What is not counted would only cost. */
static bool is_left_out(const struct attach_env *env, const struct marker *m)
{
	return env->plan->yield == PROBE_TALLIES && m->event && m->site != EBT_BEGIN &&
	       m->site != EBT_END && m->site != EBT_COUNTER && m->site != EBT_LIFECYCLE;
}

/*
 * A ring that is asked for makes the program open files, for which a seccomp filter may kill it.
 * Without a ring all its events come through the markers. A link that others share, which may be
 * under a filter, asks for none: a program that we start finds that in its environment.
 */
static const struct marker *wanted_marker(const struct file_markers *of, bool shared,
					  const char *name)
{
	bool spare =
		(shared || (of->filtered && of->env->plan->ring_request != RING_REQUEST_ALWAYS)) &&
		!of->env->plan->everyone;
	bool by_ring = of->lean || (of->env->plan->yield == PROBE_WATERMARKS && !spare);
	const struct marker *m = find_marker(name);
	if (of->env->plan->allocs_only || of->env->plan->yield == PROBE_NOTHING ||
	    (m && m->event && by_ring))
		return NULL;
	if (m && is_left_out(of->env, m))
		return NULL;
	if (m && m->site == EBT_SITE_RING_REQUEST &&
	    (of->env->plan->ring_request == RING_REQUEST_NEVER || spare))
		return NULL;
	return m;
}

/*
 * The kernel sets the semaphores of all processes that run the file, and of those that come: where
 * not all are traced, of a program that we start, for which a link a child would cost more than all
 * that it does. Not where a marker asks for the ring: one that is not traced would be asked, too.
 */
static bool is_shareable(const void *state)
{
	const struct file_markers *of = state;
	const struct probe_plan *p = of->env->plan;
	bool asks = p->ring_request == RING_REQUEST_ALWAYS ||
		    (p->ring_request == RING_REQUEST_AUTO && !p->own_ring_ns);
	bool of_ours = p->hold && of->is_program && p->yield == PROBE_EVENTS && !p->allocs_only &&
		       !p->budgeted && !asks && of->env->last_key < EBT_SHARED_KEYS - 1;
	return p->everyone || of_ours;
}

static void unplan(struct attach_env *env, uint32_t key)
{
	if (key)
		env->set(env->ctx, BPF_TABLE_FOREIGN, key, NULL);
}

static int plan(void *state, bool shared, struct attach_plan *ret)
{
	struct file_markers *of = state;
	const struct known_file *file;
	of->filtered = process_is_filtered(of->pid);
	if (of->filtered && of->env->plan->ring_request == RING_REQUEST_AUTO)
		messages_at(
			of->env->messages, LOG_VERBOSE,
			"process %d runs under a seccomp filter: it is not asked for a ring, which "
			"it might be killed for; its events come through probes (--ring-request "
			"always asks all the same)",
			of->pid);
	int err = known_notes_read(&of->env->notes, of->fd, &file);
	if (err)
		return err == -ENOEXEC || err == -EBADMSG ? 0 : err;
	if (shared && !of->env->plan->everyone)
		ret->key = ++of->env->last_key;
	err = ret->key ? attacher_count_foreign(of->env, ret->key) : 0;
	if (err)
		return err;
	const struct notes *notes = &file->notes;
	struct uprobe_site *site = calloc(notes->sites + 1u, sizeof(*site));
	uint32_t n = 0;
	for (uint32_t i = 0; site && i < notes->sites; i++) {
		const struct notes_site *from = &notes->site[i];
		const struct marker *m =
			file->is_ours[i] ? wanted_marker(of, shared, from->name) : NULL;
		if (m)
			site[n++] = (struct uprobe_site){
				.offset = from->offset,
				.semaphore = from->semaphore,
				.cookie = EBT_COOKIE(shared ? EBT_NO_SLOT : of->slot, m->site),
			};
	}
	ret->site = site;
	ret->sites = n;
	return site ? 0 : -ENOMEM;
}

static void set_lean(void *state, bool lean)
{
	((struct file_markers *)state)->lean = lean;
}

/* The sites are the file's; a filter that was installed since they were attached is not. */
static bool survives_exec(void *state)
{
	struct file_markers *of = state;
	return of->filtered || !process_is_filtered(of->pid);
}

const struct attacher attach_markers = {
	.name = "markers",
	.program = BPF_PROBE_MARKER,
	.in_rings = true,
	.exclusive = true,
	.match = match,
	.begin = begin,
	.update = update,
	.is_shareable = is_shareable,
	.plan = plan,
	.unplan = unplan,
	.set_lean = set_lean,
	.survives_exec = survives_exec,
	.end = free,
};
