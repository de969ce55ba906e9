/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/spans/model/grouping.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/utf8.h"
#include "session/marker_values.h"

/* False: the event has no such argument. */
static bool put_argument(const struct session *s, const struct ebt_event *ev, const char *name,
			 unsigned number, char ret[SPAN_GROUP_BYTES])
{
	struct marker_value v;
	size_t bytes = 0;
	const void *data = session_blob(s, ev, &bytes);
	char value[96] = "?";
	bool is_cut;
	if (!data || !marker_values_get(data, bytes, number, &v))
		return false;
	if (v.type == MARKER_UNSIGNED)
		snprintf(value, sizeof(value), "%" PRIu64, v.number);
	else if (v.type == MARKER_SIGNED)
		snprintf(value, sizeof(value), "%" PRId64, (int64_t)v.number);
	else if (v.type == MARKER_TEXT)
		value[utf8_copy(value, sizeof(value) - 1, v.text, v.bytes, &is_cut)] = 0;
	snprintf(ret, SPAN_GROUP_BYTES, "%.128s #%u=%s", name, number, value);
	return true;
}

const char *span_program(const struct session *s, uint32_t process)
{
	const struct process *p = processes_at(&s->processes, process);
	return *p->comm ? p->comm : p->mappings.program;
}

const char *span_group_name(const struct span_grouping *g, const struct session *s,
			    uint32_t process, const struct ebt_event *begin, const char *name,
			    char scratch[SPAN_GROUP_BYTES])
{
	if (g->owner != SPANS_OF_ALL) {
		const char *program = span_program(s, process);
		int n = snprintf(scratch, SPAN_GROUP_BYTES, "%.160s of %.31s", name,
				 *program ? program : "a program without a name");
		if (g->owner == SPANS_BY_PROCESS)
			snprintf(scratch + n, SPAN_GROUP_BYTES - (size_t)n, " (%" PRIu32 ")",
				 processes_pid(&s->processes, process));
		return scratch;
	}
	bool has_value = g->argument && begin && marker_id_is(begin->id) &&
			 put_argument(s, begin, name, g->argument - 1, scratch);
	return has_value ? scratch : name;
}
