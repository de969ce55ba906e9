/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/input/pagetrace.h"

#include <stdio.h>
#include <string.h>

#include "engine/damage.h"
#include "engine/input/census.h"
#include "engine/input/info.h"
#include "source/file/pagetrace.h"

static enum engine_end pagetrace_open(const struct engine *e, struct input *in,
				      struct source **source)
{
	struct pagetrace_options o = {
		.name = in->name,
		.head = in->head,
		.head_bytes = in->head_bytes,
		.alone = in->alone,
	};
	struct pagetrace_source *made;
	if (*source) {
		messages_error(&e->session->messages,
			       "'%s' is a second page trace: they do not say of which "
			       "process they are, so only one can be read at a time",
			       in->name);
		return ENGINE_MISUSED;
	}
	int err = pagetrace_source_new(e->session, in->fd, &o, &made);
	if (err) {
		messages_error(&e->session->messages, "cannot read '%s': %s", in->name,
			       strerror(-err));
		return ENGINE_FAILED;
	}
	*source = pagetrace_source_base(made);
	return ENGINE_OK;
}

static bool pagetrace_damage(const struct messages *r, struct source *source)
{
	return damage_report_pagetrace(r, pagetrace_source_of(source));
}

static enum engine_end pagetrace_info(const struct engine *e, struct loop *l, struct input *in,
				      struct input_info *ret)
{
	struct source *source = NULL;
	ret->name = in->name;
	in->alone = true;
	enum engine_end end = pagetrace_open(e, in, &source);
	in->fd = -1;
	if (end)
		return end;
	struct pagetrace_source *s = pagetrace_source_of(source);
	end = census_count(e, l, in->name, source, ret->kinds);
	if (!end && pagetrace_source_error(s) && !pagetrace_damage(&e->session->messages, source))
		end = ENGINE_FAILED;
	ret->pagetrace = pagetrace_source_counts(s);
	snprintf(ret->reason, sizeof(ret->reason), "%s", pagetrace_source_reason(s));
	source_free(source);
	return end;
}

const struct input_kind input_pagetrace = {
	.origin = ORIGIN_PAGETRACE,
	.clock = TIMEBASE_MONOTONIC,
	.recognise = ebt_pagetrace_is,
	.open = pagetrace_open,
	.damage = pagetrace_damage,
	.info = pagetrace_info,
};
