/* SPDX-License-Identifier: BSD-2-Clause */
#include "format/perfetto/args.h"

#include "session/event_args.h"

void perfetto_args_init(struct perfetto_args *f, const struct session *s, struct packets *p)
{
	f->session = s;
	f->packets = p;
}

static void note_payload(struct perfetto_args *f, const struct ebt_event *ev,
			 enum kinds_payload payload)
{
	size_t bytes = 0;
	const void *data = session_blob(f->session, ev, &bytes);
	if (payload == KINDS_PAYLOAD_words)
		packets_note_words(f->packets, PACKET_NOTE_VALUES, data, data ? bytes : 0);
	else
		packets_note_bytes(f->packets, data, data ? bytes : 0);
	if (ev->flags & EBT_F_CUT)
		packets_note_true(f->packets, PACKET_NOTE_TRUNCATED);
}

void perfetto_args_know(struct perfetto_args *f, const struct ebt_event *ev)
{
	const struct kind *kind = kinds_get(ev->kind);
	uint32_t *notes = f->notes[ev->kind % EBT_KINDS];
	for (size_t i = 0; kind->args[i].name; i++)
		if (!packets_know_note(f->packets, notes[i]))
			notes[i] = packets_intern_note(f->packets, kind->args[i].name);
}

static void note_arg(struct packets *p, uint32_t note, const struct event_arg *a)
{
	char scratch[KINDS_TEXT_BYTES];
	switch ((enum kinds_type)a->arg->type) {
	case KINDS_TYPE_u64:
		packets_note_u64(p, note, a->value);
		break;
	case KINDS_TYPE_count:
	case KINDS_TYPE_syscall:
		packets_note_u64(p, note, a->value - 1);
		break;
	case KINDS_TYPE_i64:
		packets_note_i64(p, note, (int64_t)a->value);
		break;
	case KINDS_TYPE_hex:
		packets_note_address(p, note, a->value);
		break;
	case KINDS_TYPE_flag:
		packets_note_true(p, note);
		break;
	case KINDS_TYPE_alloc_source:
	case KINDS_TYPE_page_cause:
	case KINDS_TYPE_offcpu_reason:
	case KINDS_TYPE_phase:
		packets_note_text(p, note, kinds_arg_text(a->arg, a->value, scratch));
		break;
	case KINDS_TYPE_text:
		packets_note_text(p, note, a->text);
		break;
	}
}

void perfetto_args_note(struct perfetto_args *f, const struct ebt_event *ev)
{
	const struct kind *kind = kinds_get(ev->kind);
	const uint32_t *note = f->notes[ev->kind % EBT_KINDS];
	struct event_arg arg;
	for (unsigned at = 0; event_args_next(f->session, ev, &at, &arg);)
		note_arg(f->packets, note[at - 1], &arg);
	if (kind->payload == KINDS_PAYLOAD_words || kind->payload == KINDS_PAYLOAD_bytes)
		note_payload(f, ev, kind->payload);
}
