/* SPDX-License-Identifier: BSD-2-Clause */
#include "format/perfetto/packet.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/proto.h"
#include "base/utf8.h"
#include "stream/sink.h"

#define ONE_BYTES (16 * 1024)

#define SEQUENCE 1u

/* The fields in use, by message. */
enum { TRACE_PACKET = 1 };
enum {
	PACKET_CLOCK_SNAPSHOT = 6,
	PACKET_TIMESTAMP = 8,
	PACKET_SEQUENCE_ID = 10,
	PACKET_TRACK_EVENT = 11,
	PACKET_INTERNED_DATA = 12,
	PACKET_SEQUENCE_FLAGS = 13,
	PACKET_DEFAULTS = 59,
	PACKET_TRACK_DESCRIPTOR = 60,
	PACKET_PERF_SAMPLE = 66,
	PACKET_FIRST_ON_SEQUENCE = 87,
};
enum { FLAG_CLEARED = 1, FLAG_NEEDS_STATE = 2 };
enum { DEFAULTS_CLOCK_ID = 58 };
enum { SNAPSHOT_CLOCKS = 1, SNAPSHOT_PRIMARY = 2 };
enum { CLOCK_ID = 1, CLOCK_TIMESTAMP = 2 };
enum { CLOCK_IS_REALTIME = 1, CLOCK_IS_MONOTONIC = 3, CLOCK_IS_BOOTTIME = 6 };
enum { INTERNED_EVENT_NAMES = 2, INTERNED_NOTE_NAMES = 3 };
enum { NAME_IID = 1, NAME_TEXT = 2 };
enum {
	DESCRIPTOR_UUID = 1,
	DESCRIPTOR_NAME = 2,
	DESCRIPTOR_PROCESS = 3,
	DESCRIPTOR_PARENT = 5,
	DESCRIPTOR_COUNTER = 8,
	DESCRIPTOR_CHILD_ORDERING = 11,
	DESCRIPTOR_RANK = 12,
	DESCRIPTOR_MERGE = 15,
};
enum { ORDERING_EXPLICIT = 3 };
enum { MERGE_NONE = 2 };
enum { PROCESS_PID = 1, PROCESS_NAME = 6 };
enum { COUNTER_UNIT = 3, COUNTER_UNIT_NAME = 6 };
enum {
	EVENT_NOTES = 4,
	EVENT_TYPE = 9,
	EVENT_NAME_IID = 10,
	EVENT_TRACK = 11,
	EVENT_COUNTER_VALUE = 30,
	EVENT_FLOW = 47,
	EVENT_FLOW_ENDS = 48,
	EVENT_CALLSTACK_IID = 56,
};
enum {
	NOTE_NAME_IID = 1,
	NOTE_BOOL = 2,
	NOTE_UINT = 3,
	NOTE_INT = 4,
	NOTE_STRING = 6,
	NOTE_POINTER = 7,
	NOTE_NAME = 10,
	NOTE_ARRAY = 12,
	NOTE_STRING_IID = 17,
};

enum {
	SAMPLE_CPU = 1,
	SAMPLE_PID = 2,
	SAMPLE_TID = 3,
	SAMPLE_CALLSTACK = 4,
	SAMPLE_MODE = 5,
	SAMPLE_UNWIND_ERROR = 16,
};
enum { MODE_IS_KERNEL = 1, MODE_IS_USER = 2 };

/* In struct packet_uuid: where the event begins, and how many bytes its type has there. */
enum { COMMON_EVENT = 6, EVENT_TYPE_BYTES = 2 };

struct name {
	uint32_t iid;
	char text[];
};

int packets_init(struct packets *p, int fd)
{
	*p = (struct packets){.first_iid = 1, .next_iid = 1};
	int err = buf_init(&p->one, -1, ONE_BYTES);
	if (err)
		return err;
	err = buf_init_behind(&p->out, fd, SINK_BUFFER_BYTES, SINK_BEHIND_BYTES);
	if (err)
		buf_done(&p->one);
	return err;
}

static void forget_names(struct packets *p)
{
	ptrmap_free(&p->names);
	p->name_count = 0;
	p->first_iid = p->next_iid;
}

void packets_done(struct packets *p)
{
	forget_names(p);
	buf_done(&p->one);
	buf_done(&p->out);
}

static void open_packet(struct packets *p, uint32_t flags)
{
	p->one.len = 0;
	p->packet = proto_open(&p->one, TRACE_PACKET);
	char *at = proto_format_u64(buf_room(&p->one), PACKET_SEQUENCE_ID, SEQUENCE);
	at = proto_format_u64(at, PACKET_SEQUENCE_FLAGS, flags);
	p->one.len = (size_t)(at - p->one.data);
}

static void close_packet(struct packets *p)
{
	proto_close(&p->one, p->packet);
	if (p->one.err && !p->out.err)
		p->out.err = p->one.err;
	buf_put(&p->out, p->one.data, p->one.len);
}

static void put_name(struct packets *p, uint32_t field, uint32_t iid, const char *text)
{
	size_t name = proto_open(&p->one, field);
	proto_put_u64(&p->one, NAME_IID, iid);
	proto_put_text(&p->one, NAME_TEXT, text);
	proto_close(&p->one, name);
}

static const char *const notes[] = {"",
#define X(note, name) #name,
				    PACKET_NOTES(X)
#undef X
};

/* State that later packets need: the clock of their times, the names of notes. */
static void put_state(struct packets *p)
{
	size_t defaults = proto_open(&p->one, PACKET_DEFAULTS);
	proto_put_u64(&p->one, DEFAULTS_CLOCK_ID, CLOCK_IS_MONOTONIC);
	proto_close(&p->one, defaults);
	size_t interned = proto_open(&p->one, PACKET_INTERNED_DATA);
	for (uint32_t i = 1; i < PACKET_NOTES_END; i++)
		put_name(p, INTERNED_NOTE_NAMES, i, notes[i]);
	proto_close(&p->one, interned);
}

static void put_clock(struct packets *p, uint64_t id, uint64_t ns)
{
	size_t clock = proto_open(&p->one, SNAPSHOT_CLOCKS);
	proto_put_u64(&p->one, CLOCK_ID, id);
	proto_put_u64(&p->one, CLOCK_TIMESTAMP, ns);
	proto_close(&p->one, clock);
}

void packets_put_header(struct packets *p, const struct session *s, uint64_t ts)
{
	const struct moment *now = s->timebase.at, *own = &now[TIMEBASE_MONOTONIC];
	open_packet(p, FLAG_CLEARED);
	proto_put_u64(&p->one, PACKET_FIRST_ON_SEQUENCE, 1);
	put_state(p);
	size_t snapshot = proto_open(&p->one, PACKET_CLOCK_SNAPSHOT);
	put_clock(p, CLOCK_IS_MONOTONIC, own->known ? own->ns : ts);
	if (own->known) {
		put_clock(p, CLOCK_IS_REALTIME, now[TIMEBASE_REALTIME].ns);
		put_clock(p, CLOCK_IS_BOOTTIME, now[TIMEBASE_BOOTTIME].ns);
	}
	proto_put_u64(&p->one, SNAPSHOT_PRIMARY, CLOCK_IS_MONOTONIC);
	proto_close(&p->one, snapshot);
	close_packet(p);
}

void packets_begin_interned(struct packets *p)
{
	open_packet(p, FLAG_NEEDS_STATE);
	p->event = proto_open(&p->one, PACKET_INTERNED_DATA);
}

void packets_end_interned(struct packets *p)
{
	packets_end(p);
}

static uint32_t emit_name(struct packets *p, uint64_t key, const char *text)
{
	uint32_t iid = p->next_iid++;
	size_t size = strlen(text) + 1;
	struct name *name = malloc(sizeof(*name) + size);
	if (!name || ptrmap_set(&p->names, key, name)) {
		p->out.err = p->out.err ? p->out.err : -ENOMEM;
		free(name);
		return iid;
	}
	name->iid = iid;
	memcpy(name->text, text, size);
	p->name_count++;
	open_packet(p, FLAG_NEEDS_STATE);
	size_t interned = proto_open(&p->one, PACKET_INTERNED_DATA);
	put_name(p, INTERNED_EVENT_NAMES, iid, text);
	proto_close(&p->one, interned);
	close_packet(p);
	return iid;
}

uint32_t packets_intern(struct packets *p, const char *text)
{
	/* Texts of the same hash have keys of their own, one behind the other. */
	uint64_t key = hash_string(hash_start(), text);
	for (const struct name *name; (name = ptrmap_get(&p->names, key)); key++)
		if (!strcmp(name->text, text))
			return name->iid;
	if (p->name_count < PACKETS_NAMES)
		return emit_name(p, key, text);
	forget_names(p);
	open_packet(p, FLAG_CLEARED);
	put_state(p);
	close_packet(p);
	return emit_name(p, hash_string(hash_start(), text), text);
}

/* The number of a note of PACKET_NOTES; 0: it is not one. */
static uint32_t find_note(const char *name)
{
	for (uint32_t i = 1; i < PACKET_NOTES_END; i++)
		if (!strcmp(notes[i], name))
			return i;
	return 0;
}

uint32_t packets_intern_note(struct packets *p, const char *name)
{
	uint32_t note = find_note(name);
	if (note)
		return note;
	note = PACKET_NOTES_END + p->next_iid++;
	open_packet(p, FLAG_NEEDS_STATE);
	size_t interned = proto_open(&p->one, PACKET_INTERNED_DATA);
	put_name(p, INTERNED_NOTE_NAMES, note, name);
	proto_close(&p->one, interned);
	close_packet(p);
	return note;
}

static void put_counter(struct packets *p, enum packet_unit unit)
{
	size_t counter = proto_open(&p->one, DESCRIPTOR_COUNTER);
	if (unit == PACKET_WORDS)
		proto_put_text(&p->one, COUNTER_UNIT_NAME, "words");
	else if (unit == PACKET_PAGES)
		proto_put_text(&p->one, COUNTER_UNIT_NAME, "pages");
	else if (unit != PACKET_NO_UNIT)
		proto_put_u64(&p->one, COUNTER_UNIT, unit);
	proto_close(&p->one, counter);
}

void packets_put_track(struct packets *p, const struct packet_track *t)
{
	open_packet(p, FLAG_NEEDS_STATE);
	size_t descriptor = proto_open(&p->one, PACKET_TRACK_DESCRIPTOR);
	proto_put_u64(&p->one, DESCRIPTOR_UUID, t->uuid);
	if (t->parent)
		proto_put_u64(&p->one, DESCRIPTOR_PARENT, t->parent);
	if (t->name)
		proto_put_text(&p->one, DESCRIPTOR_NAME, t->name);
	if (t->pid) {
		size_t process = proto_open(&p->one, DESCRIPTOR_PROCESS);
		proto_put_i64(&p->one, PROCESS_PID, (int32_t)t->pid);
		if (t->process)
			proto_put_text(&p->one, PROCESS_NAME, t->process);
		proto_close(&p->one, process);
	}
	if (t->counter != PACKET_NO_COUNTER)
		put_counter(p, t->counter);
	proto_put_u64(&p->one, DESCRIPTOR_CHILD_ORDERING, ORDERING_EXPLICIT);
	if (t->rank)
		proto_put_i64(&p->one, DESCRIPTOR_RANK, t->rank);
	if (t->separate)
		proto_put_u64(&p->one, DESCRIPTOR_MERGE, MERGE_NONE);
	proto_close(&p->one, descriptor);
	close_packet(p);
}

void packet_uuid_set(struct packet_uuid *ret, uint64_t value)
{
	*ret = (struct packet_uuid){.value = value};
	char text[64], *at = text;
	at = proto_format_u64(at, PACKET_SEQUENCE_ID, SEQUENCE);
	at = proto_format_u64(at, PACKET_SEQUENCE_FLAGS, FLAG_NEEDS_STATE);
	char *event = proto_format_open(at, PACKET_TRACK_EVENT);
	char *track = proto_format_u64(event, EVENT_TYPE, 0);
	assert(event == text + COMMON_EVENT && track == event + EVENT_TYPE_BYTES);
	at = proto_format_u64(track, EVENT_TRACK, value);
	ret->len = (uint8_t)(at - text);
	assert(ret->len <= sizeof(ret->common));
	memcpy(ret->common, text, sizeof(ret->common));
}

/* What an event has behind its track: a value, or the number of its name. */
static inline char *format_value(char *p, enum packet_type type, uint64_t value)
{
	if (type == PACKET_SLICE_END)
		return p;
	if (type == PACKET_COUNTER)
		return proto_format_u64(p, EVENT_COUNTER_VALUE, value);
	return proto_format_u64(p, EVENT_NAME_IID, value);
}

/* Nearly all packets: few branches, and copies of sizes that the compiler knows. */
void packets_put_event(struct packets *p, enum packet_type type, uint64_t ts,
		       const struct packet_uuid *track, uint64_t value)
{
	char *start = buf_room(&p->out);
	char *packet = proto_format_open(start, TRACE_PACKET);
	char *at = proto_format_u64(packet, PACKET_TIMESTAMP, ts);
	memcpy(at, track->common, sizeof(track->common));
	char *event = at + COMMON_EVENT;
	event[EVENT_TYPE_BYTES - 1] = (char)type;
	at = format_value(at + track->len, type, value);
	proto_format_close(event, at);
	proto_format_close(packet, at);
	p->out.len += (size_t)(at - start);
}

void packets_begin(struct packets *p, enum packet_type type, uint64_t ts,
		   const struct packet_uuid *track, uint64_t value)
{
	open_packet(p, FLAG_NEEDS_STATE);
	proto_put_u64(&p->one, PACKET_TIMESTAMP, ts);
	p->event = proto_open(&p->one, PACKET_TRACK_EVENT);
	char *at = proto_format_u64(buf_room(&p->one), EVENT_TYPE, type);
	at = format_value(proto_format_u64(at, EVENT_TRACK, track->value), type, value);
	p->one.len = (size_t)(at - p->one.data);
}

static size_t open_note(struct packets *p, uint32_t note)
{
	size_t opened = proto_open(&p->one, EVENT_NOTES);
	proto_put_u64(&p->one, NOTE_NAME_IID, note);
	return opened;
}

void packets_note_u64(struct packets *p, uint32_t note, uint64_t v)
{
	size_t opened = open_note(p, note);
	proto_put_u64(&p->one, NOTE_UINT, v);
	proto_close(&p->one, opened);
}

void packets_note_named(struct packets *p, const char *name, uint64_t v)
{
	uint32_t note = find_note(name);
	if (note) {
		packets_note_u64(p, note, v);
		return;
	}
	size_t opened = proto_open(&p->one, EVENT_NOTES);
	proto_put_text(&p->one, NOTE_NAME, name);
	proto_put_u64(&p->one, NOTE_UINT, v);
	proto_close(&p->one, opened);
}

void packets_note_i64(struct packets *p, uint32_t note, int64_t v)
{
	size_t opened = open_note(p, note);
	proto_put_i64(&p->one, NOTE_INT, v);
	proto_close(&p->one, opened);
}

void packets_note_address(struct packets *p, uint32_t note, uint64_t v)
{
	size_t opened = open_note(p, note);
	proto_put_u64(&p->one, NOTE_POINTER, v);
	proto_close(&p->one, opened);
}

void packets_note_true(struct packets *p, uint32_t note)
{
	size_t opened = open_note(p, note);
	proto_put_u64(&p->one, NOTE_BOOL, 1);
	proto_close(&p->one, opened);
}

void packets_note_text(struct packets *p, uint32_t note, const char *text)
{
	size_t opened = open_note(p, note);
	proto_put_text(&p->one, NOTE_STRING, text);
	proto_close(&p->one, opened);
}

void packets_note_stack(struct packets *p, uint32_t iid)
{
	size_t opened = open_note(p, PACKET_NOTE_STACK);
	proto_put_u64(&p->one, NOTE_STRING_IID, iid);
	proto_close(&p->one, opened);
	proto_put_u64(&p->one, EVENT_CALLSTACK_IID, iid);
}

void packets_put_sample(struct packets *p, uint64_t ts, const struct packet_sample *s)
{
	open_packet(p, FLAG_NEEDS_STATE);
	proto_put_u64(&p->one, PACKET_TIMESTAMP, ts);
	size_t sample = proto_open(&p->one, PACKET_PERF_SAMPLE);
	if (s->has_cpu)
		proto_put_u64(&p->one, SAMPLE_CPU, s->cpu);
	proto_put_u64(&p->one, SAMPLE_PID, s->pid);
	proto_put_u64(&p->one, SAMPLE_TID, s->tid);
	if (s->stack)
		proto_put_u64(&p->one, SAMPLE_CALLSTACK, s->stack);
	proto_put_u64(&p->one, SAMPLE_MODE, s->in_kernel ? MODE_IS_KERNEL : MODE_IS_USER);
	if (s->unwind != PACKET_UNWIND_WHOLE)
		proto_put_u64(&p->one, SAMPLE_UNWIND_ERROR, s->unwind);
	proto_close(&p->one, sample);
	close_packet(p);
}

void packets_flow_begin(struct packets *p, uint64_t flow)
{
	proto_put_fixed64(&p->one, EVENT_FLOW, flow);
}

void packets_flow_end(struct packets *p, uint64_t flow)
{
	proto_put_fixed64(&p->one, EVENT_FLOW_ENDS, flow);
}

void packets_note_bytes(struct packets *p, const void *data, size_t len)
{
	size_t opened = open_note(p, PACKET_NOTE_DATA);
	proto_put_hex(&p->one, NOTE_STRING, data, len);
	proto_close(&p->one, opened);
	if (!utf8_is_text(data, len))
		return;
	opened = open_note(p, PACKET_NOTE_TEXT);
	proto_put_bytes(&p->one, NOTE_STRING, data, len);
	proto_close(&p->one, opened);
}

void packets_note_words(struct packets *p, uint32_t note, const void *words, size_t bytes)
{
	enum { WORD_BYTES = 2 + 1 + PROTO_VARINT_MAX, AT_ONCE = BUF_ROOM_MAX / WORD_BYTES };
	size_t opened = open_note(p, note);
	for (size_t i = 0, n = bytes / 8; i < n;) {
		char *end = buf_room(&p->one);
		for (size_t most = n - i < AT_ONCE ? n : i + AT_ONCE; i < most; i++) {
			uint64_t v;
			memcpy(&v, (const char *)words + 8 * i, 8);
			char *word = proto_format_open(end, NOTE_ARRAY);
			end = proto_format_u64(word, NOTE_UINT, v);
			proto_format_close(word, end);
		}
		p->one.len = (size_t)(end - p->one.data);
	}
	proto_close(&p->one, opened);
}

void packets_end(struct packets *p)
{
	proto_close(&p->one, p->event);
	close_packet(p);
}
