/* SPDX-License-Identifier: BSD-2-Clause */
#include "session/names.h"

#include <stdio.h>

#include "session/marker_values.h"

const char *names_event(const struct session *s, const struct ebt_event *ev)
{
	switch ((enum kinds_label)kinds_get(ev->kind)->label) {
	case KINDS_LABEL_phase:
		return kinds_phase_name(ev->id);
	case KINDS_LABEL_counter:
		return kinds_counter_name(ev->id);
	case KINDS_LABEL_lifecycle:
		return kinds_lifecycle_name(ev->id);
	case KINDS_LABEL_user:
		return processes_user_name(&s->processes, ev->process, ev->id);
	case KINDS_LABEL_change:
		return kinds_change_name(ev->id);
	case KINDS_LABEL_none:
		break;
	}
	return NULL;
}

uint32_t names_number(const struct session *s, const struct ebt_event *ev)
{
	bool is_phase = kinds_get(ev->kind)->label == KINDS_LABEL_phase;
	if (marker_id_is(ev->id) && kinds_get(ev->kind)->label == KINDS_LABEL_user)
		return marker_id_base(ev->id) & ~MARKER_ID;
	return is_phase ? processes_raw_phase(&s->processes, ev->process, ev->id)
			: ev->id & ~EBT_UNKNOWN_ID;
}

const char *names_label(const struct session *s, const struct ebt_event *ev,
			char scratch[NAMES_MADE_BYTES])
{
	const struct kind *kind = kinds_get(ev->kind);
	const char *name = names_event(s, ev);
	if (name)
		return name;
	if (kind->label == KINDS_LABEL_none)
		return kinds_name(ev->kind);
	snprintf(scratch, NAMES_MADE_BYTES, "%s_%u", kinds_label_name(kind->label),
		 names_number(s, ev));
	return scratch;
}
