/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/input/census.h"

#include <string.h>

#include "engine/pipeline.h"
#include "stream/sink.h"

struct census {
	struct sink base;
	uint64_t *kinds;
};

static int census_events(struct sink *k, const struct ebt_event *ev, size_t n)
{
	struct census *c = (struct census *)k;
	for (size_t i = 0; i < n; i++)
		c->kinds[ev[i].kind % EBT_KINDS]++;
	return 0;
}

static int census_end(struct sink *k)
{
	(void)k;
	return 0;
}

static void census_free(struct sink *k)
{
	(void)k;
}

static const struct sink_ops census_ops = {
	.events = census_events,
	.end = census_end,
	.free = census_free,
};

enum engine_end census_count(const struct engine *e, struct loop *l, const char *name,
			     struct source *source, uint64_t ret_kinds[EBT_KINDS])
{
	struct census census = {.base.ops = &census_ops, .kinds = ret_kinds};
	struct engine reader = *e;
	struct pump *p = NULL;
	reader.sink = &census.base;
	int err = pipeline_new(&reader, &p);
	if (!err)
		err = pump_add_source(p, source);
	if (!err)
		err = pipeline_run(&reader, l, p);
	pipeline_free(&reader, p);
	if (err)
		messages_error(&e->session->messages, "'%s': %s", name, strerror(-err));
	return err ? ENGINE_FAILED : ENGINE_OK;
}
