/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/pipeline.h"

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

#include "base/plural.h"
#include "engine/guest.h"

/* Wait before an output that accepts no more is flushed again. */
#define OUTPUT_WAIT_NS 1000000
/* Wait without anything to do; each step of the pump also calls the sink's tick. */
#define IDLE_NS 10000000

int pipeline_new(const struct engine *e, struct pump **ret)
{
	const struct engine_options *o = e->options;
	struct pump *p;
	int err = pump_new(e->session, &p);
	if (err)
		return err;
	struct filter *f = pump_filter(p);
	for (unsigned i = 0; !err && i < o->glob_count; i++)
		err = filter_add_glob(f, o->globs[i]);
	for (unsigned i = 0; !err && i < o->stack_glob_count; i++)
		err = filter_note_glob(f, "--stack=", o->stack_globs[i]);
	for (unsigned i = 0; !err && i < o->span_glob_count; i++)
		err = filter_note_glob(f, "--trigger ", o->span_globs[i]);
	for (unsigned i = 0; !err && i < o->domain_count; i++)
		err = filter_add_domain(f, o->domains[i]);
	for (unsigned i = 0; !err && i < o->thread_count; i++)
		err = filter_add_thread(f, o->threads[i]);
	if (!err)
		err = filter_set_min_duration(f, o->min_duration_ns);
	if (o->blame)
		filter_keep_for_pauses(f);
	if (!err)
		err = pump_add_sink(p, e->sink);
	if (err)
		pump_free(p);
	else
		*ret = p;
	return err;
}

/* A pattern that no runtime's event has can be the name of a user event only; at the end of the run
 * it is known that there was none. */
static void report_unknown_globs(const struct engine *e, const struct filter *f)
{
	for (size_t i = 0; i < filter_globs(f); i++) {
		const char *option, *pattern = filter_unknown_glob(f, i, &option);
		if (pattern)
			messages_at(&e->session->messages, LOG_NORMAL,
				    "%s'%s' matched nothing: no event had such a name or kind; "
				    "'ebtrace list --events' lists those of runtimes",
				    option, pattern);
	}
}

void pipeline_free(const struct engine *e, struct pump *p)
{
	if (p)
		report_unknown_globs(e, pump_filter(p));
	uint64_t n = p ? filter_threadless(pump_filter(p)) : 0;
	if (n)
		messages_at(&e->session->messages, LOG_NORMAL,
			    "%" PRIu64
			    " event%s left out because the thread is not known: a ring does not "
			    "record it; %s--mode stream does once it is attached, or for "
			    "programs without markers --mode probes",
			    n, plural_of(n, " is", "s are"), geteuid() ? "as root, " : "");
	pump_free(p);
}

struct run {
	const struct engine *engine;
	struct loop *loop;
	struct pump *pump;
};

static int64_t step(void *ctx)
{
	struct run *p = ctx;
	int moved = pump_step(p->pump);
	if (!moved || guest_ends(p->engine))
		loop_stop(p->loop);
	if (moved != -EAGAIN)
		return moved < 0 ? moved : 0;
	/* The output is slower than we are, or the other end of a pipe is. */
	int err = sink_flush(p->engine->sink);
	return err ? err : pump_drained(p->pump) ? IDLE_NS : OUTPUT_WAIT_NS;
}

int pipeline_run(const struct engine *e, struct loop *l, struct pump *p)
{
	struct run run = {.engine = e, .loop = l, .pump = p};
	int err = guest_join(e, l);
	if (!err)
		err = loop_run(l, step, &run);
	guest_leave(e, l);
	return err;
}
