/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/input_capture.h"

#include <string.h>

#include "engine/faults.h"

_Static_assert(INPUT_HEAD_BYTES >= CAPTURE_HEAD_BYTES, "the head of a capture tells what it is");

static enum engine_end capture_open(const struct engine *e, struct input *in,
				    struct source **source)
{
	struct capture_options co = {
		.name = in->name,
		.head = in->head,
		.head_bytes = in->head_bytes,
		.alone = in->alone,
	};
	struct capture_source *made;
	int err = capture_source_new(e->session, in->fd, &co, &made);
	if (err) {
		report_error(&e->report, "'%s': %s", in->name, strerror(-err));
		return ENGINE_FAILED;
	}
	*source = capture_source_base(made);
	return ENGINE_OK;
}

static bool capture_faults(const struct report *r, struct source *source)
{
	return faults_report_capture(r, capture_source_of(source));
}

const struct input_kind input_capture = {
	.origin = ORIGIN_CAPTURE,
	.recognise = capture_is,
	.open = capture_open,
	.faults = capture_faults,
};
