/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/spans/model/by_argument.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/utf8.h"
#include "session/marker_values.h"

void span_name_by_argument(const struct session *s, const struct ebt_event *ev, const char *name,
			   unsigned number, char ret[SPAN_ARGUMENT_BYTES])
{
	struct marker_value v;
	size_t bytes = 0;
	const void *data = session_blob(s, ev, &bytes);
	char value[96] = "?";
	bool is_cut;
	if (!data || !marker_values_get(data, bytes, number, &v)) {
		snprintf(ret, SPAN_ARGUMENT_BYTES, "%s", name);
		return;
	}
	if (v.type == MARKER_UNSIGNED)
		snprintf(value, sizeof(value), "%" PRIu64, v.number);
	else if (v.type == MARKER_SIGNED)
		snprintf(value, sizeof(value), "%" PRId64, (int64_t)v.number);
	else if (v.type == MARKER_TEXT)
		value[utf8_copy(value, sizeof(value) - 1, v.text, v.bytes, &is_cut)] = 0;
	snprintf(ret, SPAN_ARGUMENT_BYTES, "%.128s #%u=%s", name, number, value);
}
