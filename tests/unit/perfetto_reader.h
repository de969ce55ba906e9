/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A Perfetto trace as text, a line a packet, with numbers of tracks and names resolved, and no
 * spaces in the names of tracks:
 *
 *   track 7 prog            the track of process 7
 *   track 7/domain_0        a track below it; "counter bytes" and the like follow it
 *   5 begin 7/domain_0 minor tid=8
 *
 * What cannot be resolved, is not known to the reader or breaks the rules is a line "! ...".
 */
#ifndef TESTS_PERFETTO_READER_H
#define TESTS_PERFETTO_READER_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/unit/proto_reader.h"

#define TRACE_TRACKS 512
#define TRACE_NAMES  65536

struct trace_track {
	uint64_t uuid;
	char path[256];
};

struct trace {
	FILE *out;
	bool cleared;
	struct trace_track tracks[TRACE_TRACKS];
	unsigned track_count;
	char *names[TRACE_NAMES]; /* by number; "" after all names were cleared */
	char notes[64][32];
};

static const char *trace_path(struct trace *t, uint64_t uuid)
{
	for (unsigned i = 0; i < t->track_count; i++)
		if (t->tracks[i].uuid == uuid)
			return t->tracks[i].path;
	return "!";
}

static void trace_clear(struct trace *t)
{
	for (unsigned i = 0; i < TRACE_NAMES; i++)
		if (t->names[i])
			*t->names[i] = 0;
}

static void trace_name(struct trace *t, const struct field *message, bool note)
{
	struct reader r = reader_in(message);
	uint64_t iid = 0;
	const struct field none = {.data = (const unsigned char *)""};
	struct field text = none;
	for (struct field f; reader_next(&r, &f);) {
		if (f.number == 1)
			iid = f.value;
		else if (f.number == 2)
			text = f;
	}
	int len = (int)text.value;
	if (note && iid && iid < 64)
		snprintf(t->notes[iid], sizeof(t->notes[iid]), "%.*s", len, (char *)text.data);
	else if (note || !iid || iid >= TRACE_NAMES || t->names[iid])
		fprintf(t->out, "! name %u told twice, or beyond all bounds\n", (unsigned)iid);
	else if (asprintf(&t->names[iid], "%.*s", len, (char *)text.data) < 0)
		abort();
}

static void trace_interned(struct trace *t, const struct field *message)
{
	struct reader r = reader_in(message);
	for (struct field f; reader_next(&r, &f);)
		trace_name(t, &f, f.number == 3);
}

static void trace_clock(struct trace *t, const struct field *message)
{
	struct reader r = reader_in(message);
	fputs("clock", t->out);
	for (struct field f; reader_next(&r, &f);) {
		if (f.number == 2)
			fprintf(t->out, " primary=%u", (unsigned)f.value);
		if (f.number != 1)
			continue;
		struct reader c = reader_in(&f);
		for (struct field g; reader_next(&c, &g);)
			fprintf(t->out, g.number == 1 ? " %u=" : "%u", (unsigned)g.value);
	}
	fputc('\n', t->out);
}

static void trace_counter(const struct field *message, char *ret, size_t size)
{
	struct reader r = reader_in(message);
	snprintf(ret, size, " counter");
	for (struct field f; reader_next(&r, &f);) {
		size_t at = strlen(ret);
		if (f.number == 6)
			snprintf(ret + at, size - at, " %.*s", (int)f.value, (char *)f.data);
		else
			snprintf(ret + at, size - at, " unit=%u", (unsigned)f.value);
	}
}

static void trace_descriptor(struct trace *t, const struct field *message)
{
	struct reader r = reader_in(message);
	uint64_t uuid = 0;
	char parent[128] = "", name[128] = "", counter[64] = "";
	for (struct field f; reader_next(&r, &f);) {
		if (f.number == 1)
			uuid = f.value;
		else if (f.number == 2)
			snprintf(name, sizeof(name), "%.*s", (int)f.value, (char *)f.data);
		else if (f.number == 5)
			snprintf(parent, sizeof(parent), "%.100s/", trace_path(t, f.value));
		else if (f.number == 8)
			trace_counter(&f, counter, sizeof(counter));
		if (f.number != 3)
			continue;
		struct reader p = reader_in(&f);
		for (struct field g; reader_next(&p, &g);)
			if (g.number == 1)
				snprintf(name, sizeof(name), "%u", (unsigned)g.value);
			else
				snprintf(counter, sizeof(counter), " %.*s", (int)g.value,
					 (char *)g.data);
	}
	unsigned i = 0;
	while (i < t->track_count && t->tracks[i].uuid != uuid)
		i++;
	if (!uuid || i == TRACE_TRACKS) {
		fputs("! uuid\n", t->out);
		return;
	}
	t->track_count += i == t->track_count;
	t->tracks[i].uuid = uuid;
	char *path = t->tracks[i].path;
	snprintf(path, sizeof(t->tracks[i].path), "%s%s", parent, name);
	for (char *c = path; (c = strchr(c, ' '));)
		*c = '_';
	fprintf(t->out, "track %s%s\n", path, counter);
}

static void trace_note(struct trace *t, const struct field *message)
{
	struct reader r = reader_in(message);
	for (struct field f; reader_next(&r, &f);) {
		if (f.number == 1)
			fprintf(t->out, " %s=", f.value < 64 ? t->notes[f.value] : "!");
		else if (f.number == 10)
			fprintf(t->out, " %.*s=", (int)f.value, (char *)f.data);
		else if (f.number == 12)
			trace_note(t, &f);
		else if (f.wire == 2)
			fprintf(t->out, "'%.*s'", (int)f.value, (char *)f.data);
		else if (f.number == 2)
			fputs(f.value == 1 ? "true" : "!", t->out);
		else
			fprintf(t->out, "%lld,", (long long)f.value);
	}
}

static void trace_event(struct trace *t, const struct field *message, uint64_t ts)
{
	static const char *const types[] = {"!", "begin", "end", "instant", "count"};
	struct reader r = reader_in(message);
	fprintf(t->out, "%llu", (unsigned long long)ts);
	for (struct field f; reader_next(&r, &f);) {
		if (f.number == 9)
			fprintf(t->out, " %s", f.value < 5 ? types[f.value] : "!");
		else if (f.number == 11)
			fprintf(t->out, " %s", trace_path(t, f.value));
		else if (f.number == 10)
			fprintf(t->out, " %s",
				f.value < TRACE_NAMES && t->names[f.value] && *t->names[f.value]
					? t->names[f.value]
					: "!");
		else if (f.number == 30)
			fprintf(t->out, " %lld", (long long)f.value);
		else if (f.number == 4)
			trace_note(t, &f);
		else if (f.number == 47 || f.number == 48)
			fprintf(t->out, " flow_%s=%llu", f.number == 47 ? "begin" : "end",
				(unsigned long long)f.value);
		else
			fputs(" !", t->out);
	}
	fputc('\n', t->out);
}

static void trace_packet(struct trace *t, const struct field *packet)
{
	struct reader r = reader_in(packet);
	uint64_t ts = 0, sequence = 0, flags = 0;
	struct field event = {0}, descriptor = {0}, interned = {0}, clock = {0};
	for (struct field f; reader_next(&r, &f);) {
		if (f.number == 8)
			ts = f.value;
		else if (f.number == 10)
			sequence = f.value;
		else if (f.number == 13)
			flags = f.value;
		else if (f.number == 11)
			event = f;
		else if (f.number == 60)
			descriptor = f;
		else if (f.number == 12)
			interned = f;
		else if (f.number == 6)
			clock = f;
		else if (f.number != 59 && f.number != 87)
			fprintf(t->out, "! field %u\n", f.number);
	}
	if (r.bad || sequence != 1 || (flags != 1 && flags != 2) || (!t->cleared && flags != 1))
		fputs("! packet\n", t->out);
	if (flags == 1)
		trace_clear(t);
	t->cleared = true;
	if (interned.data)
		trace_interned(t, &interned);
	if (clock.data)
		trace_clock(t, &clock);
	if (descriptor.data)
		trace_descriptor(t, &descriptor);
	if (event.data)
		trace_event(t, &event, ts);
}

/* The whole trace as text, to be freed. */
static char *trace_text(const void *data, size_t len)
{
	struct trace *t = calloc(1, sizeof(*t));
	char *text = NULL;
	size_t size;
	if (!t || !(t->out = open_memstream(&text, &size)))
		abort();
	struct reader r = reader_of(data, len);
	for (struct field f; reader_next(&r, &f);) {
		if (f.number == 1 && f.wire == 2)
			trace_packet(t, &f);
		else
			fputs("! no packet\n", t->out);
	}
	if (r.bad)
		fputs("! ends inside a packet\n", t->out);
	fclose(t->out);
	for (unsigned i = 0; i < TRACE_NAMES; i++)
		free(t->names[i]);
	free(t);
	return text;
}

#endif
