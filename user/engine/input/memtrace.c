/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/input/memtrace.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "engine/damage.h"
#include "engine/input/census.h"
#include "engine/input/info.h"
#include "source/file/memtrace.h"

static enum engine_end memtrace_open(const struct engine *e, struct input *in,
				     struct source **source)
{
	struct memtrace_options o = {
		.name = in->name,
		.head = in->head,
		.head_bytes = in->head_bytes,
		.alone = in->alone,
	};
	struct memtrace_source *made;
	int err = memtrace_source_new(e->session, in->fd, &o, &made);
	if (err) {
		messages_error(&e->session->messages, "'%s': %s", in->name,
			       err == -E2BIG ? "packets of more than 4096 domains"
					     : strerror(-err));
		return ENGINE_FAILED;
	}
	*source = memtrace_source_base(made);
	return ENGINE_OK;
}

static bool memtrace_damage(const struct messages *r, struct source *source)
{
	return damage_report_memtrace(r, memtrace_source_of(source));
}

/* A damaged trace is described, damage included; a file that is none is not. */
static enum engine_end memtrace_info(const struct engine *e, struct loop *l, struct input *in,
				     struct input_info *ret)
{
	struct source *source;
	ret->name = in->name;
	in->alone = true;
	enum engine_end end = memtrace_open(e, in, &source);
	in->fd = -1;
	if (end)
		return end;
	struct memtrace_source *s = memtrace_source_of(source);
	end = census_count(e, l, in->name, source, ret->kinds);
	if (!end && memtrace_source_error(s) && !memtrace_damage(&e->session->messages, source))
		end = ENGINE_FAILED;
	ret->memtrace = memtrace_source_counts(s);
	snprintf(ret->reason, sizeof(ret->reason), "%s", memtrace_source_reason(s));
	source_free(source);
	return end;
}

const struct input_kind input_memtrace = {
	.origin = ORIGIN_MEMTRACE,
	.clock = TIMEBASE_REALTIME,
	.recognise = memtrace_is,
	.open = memtrace_open,
	.damage = memtrace_damage,
	.info = memtrace_info,
};
