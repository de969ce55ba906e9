/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/input/capture.h"

#include <string.h>

#include "engine/damage.h"
#include "engine/input/census.h"
#include "engine/input/info.h"

_Static_assert(INPUT_HEAD_BYTES >= CAPTURE_HEAD_BYTES, "the head of a capture fits");

static enum engine_end open_source(const struct engine *e, struct input *in, bool keeps,
				   struct source **source)
{
	struct capture_options co = {
		.name = in->name,
		.head = in->head,
		.head_bytes = in->head_bytes,
		.alone = in->alone,
		.keeps = keeps,
	};
	struct capture_source *made;
	int err = capture_source_new(e->session, in->fd, &co, &made);
	if (err) {
		messages_error(&e->session->messages, "'%s': %s", in->name, strerror(-err));
		return ENGINE_FAILED;
	}
	*source = capture_source_base(made);
	return ENGINE_OK;
}

static enum engine_end capture_open(const struct engine *e, struct input *in,
				    struct source **source)
{
	return open_source(e, in, false, source);
}

static bool capture_damage(const struct messages *r, struct source *source)
{
	return damage_report_capture(r, capture_source_of(source));
}

/* A damaged capture is described, damage included; a file that is none is not. */
static enum engine_end describe(const struct messages *r, const struct capture_source *s,
				struct input_info *ret)
{
	const struct capture_fault *fault = capture_source_fault(s);
	if (capture_source_error(s) && !damage_report_capture(r, s))
		return ENGINE_FAILED;
	ret->capture = *capture_source_stats(s);
	if (fault)
		ret->fault = *fault;
	return ENGINE_OK;
}

/* Reads it to its end as any run does, into a sink that counts; all its processes are described. */
static enum engine_end capture_info(const struct engine *e, struct loop *l, struct input *in,
				    struct input_info *ret)
{
	struct source *source;
	ret->name = in->name;
	enum engine_end end = capture_open(e, in, &source);
	in->fd = -1;
	if (end)
		return end;
	end = census_count(e, l, in->name, source, ret->kinds);
	if (!end)
		end = describe(&e->session->messages, capture_source_of(source), ret);
	source_free(source);
	return end;
}

const struct input_kind input_capture = {
	.origin = ORIGIN_CAPTURE,
	.recognise = capture_is,
	.open = capture_open,
	.damage = capture_damage,
	.info = capture_info,
};
