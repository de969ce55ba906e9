/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/live/marker_limits.h"

#include <stdio.h>
#include <unistd.h>

#include "base/regular.h"
#include "proc/executable.h"
#include "runtime/inspect.h"
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

static enum engine_end check_sites(const struct engine *e, uint32_t sites, const char *where)
{
	char text[TEXT_BYTES + 256];
	if (sites <= MARKER_REQUEST_SITES)
		return ENGINE_OK;
	snprintf(text, sizeof(text), "-U asks for %u sites in %s, more than %u", sites, where,
		 MARKER_REQUEST_SITES);
	return refuse(e, text);
}

/* Its libraries are not known yet. */
static uint32_t sites_of_program(const struct marker_requests *asked, const char *name)
{
	char path[PATH_MAX];
	int fd = executable_find(name, path, sizeof(path)) ? regular_open(path, 0, 0) : -1;
	if (fd < 0)
		return 0;
	uint32_t sites = marker_requests_sites(asked, fd);
	close(fd);
	return sites;
}

enum engine_end marker_limits_check(const struct engine *e, struct inspect *inspect)
{
	const struct engine_options *o = e->options;
	const struct marker_requests *asked = &o->markers;
	char where[TEXT_BYTES];
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
	for (unsigned i = 0; i < o->pid_count && !end; i++) {
		struct inspect_process p;
		inspect_process(inspect, o->pids[i], &p);
		snprintf(where, sizeof(where), "process %d", o->pids[i]);
		end = check_sites(e, p.asked_markers, where);
	}
	if (!end && o->program) {
		snprintf(where, sizeof(where), "'%.64s'", o->program[0]);
		end = check_sites(e, sites_of_program(asked, o->program[0]), where);
	}
	return end;
}
