/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/live/marker_limits.h"

#include <stdio.h>
#include <unistd.h>

#include "base/regular.h"
#include "proc/executable.h"
#include "proc/process.h"
#include "runtime/inspect.h"
#include "runtime/marker_names.h"
#include "source/bpf/uprobe.h"

#define PRICE_BYTES 128
#define TEXT_BYTES  96

/* "each hit costs …": of a probe that does nothing, measured now. */
static void price_text(const struct engine *e, char ret[PRICE_BYTES])
{
	bool one_by_one = e->options->attach == BPF_ATTACH_PERF || !uprobe_multi_works();
	double ns = uprobe_price_ns();
	int n = ns > 0 ? snprintf(ret, PRICE_BYTES,
				  "each hit costs the program at least %.0f ns (measured now)", ns)
		       : snprintf(ret, PRICE_BYTES, "each hit costs the program about 500 ns");
	if (one_by_one)
		snprintf(ret + n, PRICE_BYTES - (size_t)n, ", and each site %.2f s at the end",
			 UPROBE_PERF_LINK_S);
}

static enum engine_end refuse(const struct engine *e, const char *what)
{
	char price[PRICE_BYTES];
	price_text(e, price);
	messages_error(&e->session->messages, "%s; %s; --many allows it", what, price);
	return ENGINE_MISUSED;
}

static enum engine_end check_counts(const struct engine *e, const struct marker_counts *counts,
				    const char *where)
{
	char text[TEXT_BYTES + 256 + 4 * MARKER_NAME_BYTES];
	if (counts->frequent)
		snprintf(text, sizeof(text),
			 "-U '%s' asks for %s in %s, which fires on every call, line or "
			 "instruction of an interpreter",
			 e->options->markers.at[counts->request].label, counts->frequent, where);
	else
		snprintf(text, sizeof(text), "-U asks for %u sites in %s, more than %u",
			 counts->sites, where, MARKER_REQUEST_SITES);
	return counts->frequent || counts->sites > MARKER_REQUEST_SITES ? refuse(e, text)
									: ENGINE_OK;
}

static enum engine_end check_process(const struct engine *e, struct inspect *inspect, pid_t pid)
{
	char where[TEXT_BYTES];
	struct inspect_process p;
	inspect_process(inspect, pid, &p);
	snprintf(where, sizeof(where), "process %d", pid);
	return check_counts(e, &p.asked, where);
}

struct all_processes {
	const struct engine *engine;
	struct inspect *inspect;
};

static int check_one(pid_t pid, void *ctx)
{
	const struct all_processes *all = ctx;
	return (int)(pid == getpid() ? ENGINE_OK : check_process(all->engine, all->inspect, pid));
}

/* Those that cannot be listed now are not traced, either. */
static enum engine_end check_all(const struct engine *e, struct inspect *inspect)
{
	struct all_processes all = {e, inspect};
	int end = process_each(check_one, &all);
	return end > 0 ? (enum engine_end)end : ENGINE_OK;
}

/* Its libraries are not known yet. */
static enum engine_end check_program(const struct engine *e, const char *name)
{
	char path[PATH_MAX], where[TEXT_BYTES];
	struct marker_counts counts;
	struct notes notes;
	int fd = executable_find(name, path, sizeof(path)) ? regular_open(path, 0, 0) : -1;
	int err = fd < 0 ? fd : notes_read(fd, NULL, &notes);
	if (fd >= 0)
		close(fd);
	if (err)
		return ENGINE_OK;
	marker_names_count(&e->options->markers, &notes, &counts);
	notes_done(&notes);
	snprintf(where, sizeof(where), "'%.64s'", name);
	return check_counts(e, &counts, where);
}

enum engine_end marker_limits_check(const struct engine *e, struct inspect *inspect)
{
	const struct engine_options *o = e->options;
	const struct marker_requests *asked = &o->markers;
	if (!asked->count || asked->many)
		return ENGINE_OK;
	const struct marker_side *frequent = marker_requests_frequent(asked);
	if (frequent) {
		char text[2 * MARKER_NAME_BYTES + TEXT_BYTES];
		snprintf(text, sizeof(text),
			 "%s:%s fires on every call, line or instruction of an interpreter",
			 frequent->provider, frequent->name);
		return refuse(e, text);
	}
	enum engine_end end = ENGINE_OK;
	if (o->all)
		end = check_all(e, inspect);
	for (unsigned i = 0; i < o->pid_count && !end; i++)
		end = check_process(e, inspect, o->pids[i]);
	return end || !o->program ? end : check_program(e, o->program[0]);
}
