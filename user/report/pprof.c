/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/pprof.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/compress.h"
#include "base/map.h"
#include "base/plural.h"
#include "base/proto.h"
#include "session/display_names.h"

/* Numbers of fields, by message. */
enum {
	PROFILE_SAMPLE_TYPE = 1,
	PROFILE_SAMPLE = 2,
	PROFILE_MAPPING = 3,
	PROFILE_LOCATION = 4,
	PROFILE_FUNCTION = 5,
	PROFILE_STRING = 6,
	PROFILE_TIME_NANOS = 9,
	PROFILE_DURATION_NANOS = 10,
	PROFILE_PERIOD_TYPE = 11,
	PROFILE_PERIOD = 12,
	PROFILE_COMMENT = 13,
	PROFILE_DEFAULT_TYPE = 14
};
enum { VALUE_TYPE = 1, VALUE_UNIT = 2 };
enum { SAMPLE_LOCATIONS = 1, SAMPLE_VALUES = 2, SAMPLE_LABEL = 3 };
enum { LABEL_KEY = 1, LABEL_NUMBER = 3 };
enum {
	MAPPING_ID = 1,
	MAPPING_FILE = 5,
	MAPPING_BUILD_ID = 6,
	MAPPING_FUNCTIONS = 7,
	MAPPING_INLINED = 10
};
enum { LOCATION_ID = 1, LOCATION_MAPPING = 2, LOCATION_ADDRESS = 3, LOCATION_LINE = 4 };
enum { LINE_FUNCTION = 1, LINE_LINE = 2 };
enum { FUNCTION_ID = 1, FUNCTION_NAME = 2, FUNCTION_SYSTEM_NAME = 3, FUNCTION_FILE = 4 };

#define BUFFER_BYTES 65536
#define MAIN_MAPPING 1 /* of the executable, and of frames without a known module */
#define UNKNOWN_NAME "?"
#define NO_BACKTRACE "(no backtrace)"
/* Frames that are left out and counted: walking a stack takes time, too. */
#define COUNTED_MAX 65536
#define LEFT_OUT    (UINT64_C(1) << 32) /* added to their number: a location that no frame has */

struct pprof {
	const struct session *session;
	struct display_names *names;
	struct buf body;		 /* of the message, but for what is in the next two */
	struct buf tables;		 /* locations and functions */
	struct buf texts;		 /* the table of strings */
	struct map strings;		 /* of the session, held → index of the table */
	struct map locations, functions; /* frame, name and file → id */
	struct map mappings; /* path and build id of a module → id, less MAIN_MAPPING */
	unsigned types;
	int err;
};

/* The id of a key, from 1. *ret_new: it is new. 0: no memory. */
static uint64_t number_of(struct pprof *p, struct map *m, uint64_t key, bool *ret_new)
{
	uint64_t *number = map_put(m, key);
	if (!number) {
		p->err = p->err ? p->err : -ENOMEM;
		*ret_new = false;
		return 0;
	}
	*ret_new = !*number;
	if (*ret_new)
		*number = m->count;
	return *number;
}

/* The index of a string of the session in the table; entry 0 is the empty one. */
static uint64_t string_of(struct pprof *p, uint32_t string)
{
	bool is_new;
	if (!string)
		return 0;
	uint64_t index = number_of(p, &p->strings, string, &is_new);
	if (is_new) {
		strings_hold(p->session->strings, string);
		proto_put_text(&p->texts, PROFILE_STRING,
			       strings_text(p->session->strings, string));
	}
	return index;
}

/* A string of the session for a text of our own; the table holds it. 0: no memory. */
static uint32_t own_string(struct pprof *p, const char *text)
{
	uint32_t string = strings_put(p->session->strings, text, strlen(text));
	if (!string)
		p->err = p->err ? p->err : -ENOMEM;
	uint64_t index = string_of(p, string);
	strings_drop(p->session->strings, string);
	return index ? string : 0;
}

static uint64_t text_of(struct pprof *p, const char *text)
{
	return string_of(p, own_string(p, text));
}

static void put_type(struct pprof *p, uint32_t field, const struct pprof_type *t)
{
	uint64_t name = text_of(p, t->name), unit = text_of(p, t->unit);
	size_t opened = proto_open(&p->body, field);
	proto_put_u64(&p->body, VALUE_TYPE, name);
	proto_put_u64(&p->body, VALUE_UNIT, unit);
	proto_close(&p->body, opened);
}

/* The mapping declares that names are known, so readers do not resolve symbols. */
static void put_mapping(struct pprof *p, struct buf *to, uint64_t id, uint32_t path,
			uint32_t build_id)
{
	uint64_t file = string_of(p, path), build = string_of(p, build_id);
	size_t opened = proto_open(to, PROFILE_MAPPING);
	proto_put_u64(to, MAPPING_ID, id);
	proto_put_u64(to, MAPPING_FILE, file);
	if (build)
		proto_put_u64(to, MAPPING_BUILD_ID, build);
	for (uint32_t field = MAPPING_FUNCTIONS; field <= MAPPING_INLINED; field++)
		proto_put_u64(to, field, true);
	proto_close(to, opened);
}

static uint64_t mapping_of(struct pprof *p, const struct frame_module *m)
{
	bool is_new;
	if (!m->path)
		return MAIN_MAPPING;
	uint64_t id = MAIN_MAPPING +
		      number_of(p, &p->mappings, (uint64_t)m->path << 32 | m->build_id, &is_new);
	if (is_new)
		put_mapping(p, &p->tables, id, m->path, m->build_id);
	return id;
}

static void put_head(struct pprof *p, const struct pprof_head *h)
{
	proto_put_text(&p->texts, PROFILE_STRING, "");
	for (unsigned i = 0; i < h->types; i++)
		put_type(p, PROFILE_SAMPLE_TYPE, &h->type[i]);
	put_mapping(p, &p->body, MAIN_MAPPING, own_string(p, h->executable), 0);
	if (h->start.known)
		proto_put_u64(&p->body, PROFILE_TIME_NANOS, h->start.ns);
	proto_put_u64(&p->body, PROFILE_DURATION_NANOS, h->duration_ns);
	put_type(p, PROFILE_PERIOD_TYPE, &h->period_type);
	proto_put_u64(&p->body, PROFILE_PERIOD, h->period);
	proto_put_u64(&p->body, PROFILE_DEFAULT_TYPE, text_of(p, h->type[h->shown].name));
}

int pprof_new(const struct session *s, const struct pprof_head *head, struct pprof **ret)
{
	struct pprof *p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	p->session = s;
	p->types = head->types;
	int err = display_names_new(s->strings, &p->names);
	if (!err)
		err = buf_init(&p->body, -1, BUFFER_BYTES);
	if (!err)
		err = buf_init(&p->tables, -1, BUFFER_BYTES);
	if (!err)
		err = buf_init(&p->texts, -1, BUFFER_BYTES);
	if (err) {
		pprof_free(p);
		return err;
	}
	put_head(p, head);
	*ret = p;
	return 0;
}

void pprof_free(struct pprof *p)
{
	if (!p)
		return;
	size_t at = 0;
	for (const struct map_slot *s; (s = map_next(&p->strings, &at));)
		strings_drop(p->session->strings, (uint32_t)s->key);
	map_done(&p->strings);
	map_done(&p->locations);
	map_done(&p->functions);
	map_done(&p->mappings);
	buf_done(&p->body);
	buf_done(&p->tables);
	buf_done(&p->texts);
	display_names_free(p->names);
	free(p);
}

void pprof_comment(struct pprof *p, const char *text)
{
	proto_put_u64(&p->body, PROFILE_COMMENT, text_of(p, text));
}

/* The id of a function by strings of the session. */
static uint64_t function_of(struct pprof *p, uint32_t name, uint32_t file)
{
	bool is_new;
	if (!name)
		name = own_string(p, UNKNOWN_NAME);
	uint64_t id = number_of(p, &p->functions, (uint64_t)name << 32 | file, &is_new);
	if (!is_new)
		return id;
	uint64_t raw = string_of(p, name), shown = string_of(p, display_name(p->names, name)),
		 path = string_of(p, file);
	size_t opened = proto_open(&p->tables, PROFILE_FUNCTION);
	proto_put_u64(&p->tables, FUNCTION_ID, id);
	proto_put_u64(&p->tables, FUNCTION_NAME, shown);
	proto_put_u64(&p->tables, FUNCTION_SYSTEM_NAME, raw);
	proto_put_u64(&p->tables, FUNCTION_FILE, path);
	proto_close(&p->tables, opened);
	return id;
}

static void put_line(struct pprof *p, uint64_t function, uint32_t line)
{
	size_t opened = proto_open(&p->tables, LOCATION_LINE);
	proto_put_u64(&p->tables, LINE_FUNCTION, function);
	proto_put_u64(&p->tables, LINE_LINE, line);
	proto_close(&p->tables, opened);
}

static const struct frame no_frame;

/* functions: of each position of the frame. made: one more, of no frame; 0: none. */
static void put_location(struct pprof *p, uint64_t id, const struct frame *f,
			 const uint64_t *functions, uint64_t made)
{
	uint64_t mapping = mapping_of(p, &f->module);
	size_t opened = proto_open(&p->tables, PROFILE_LOCATION);
	proto_put_u64(&p->tables, LOCATION_ID, id);
	proto_put_u64(&p->tables, LOCATION_MAPPING, mapping);
	if (f->has_address)
		proto_put_u64(&p->tables, LOCATION_ADDRESS, f->address);
	for (uint32_t i = f->count; i-- > 0;) /* the innermost one first */
		put_line(p, functions[i], f->position[i].line);
	if (made)
		put_line(p, made, 0);
	proto_close(&p->tables, opened);
}

static uint64_t location_of(struct pprof *p, uint32_t frame)
{
	uint64_t functions[FRAME_POSITIONS_MAX];
	bool is_new;
	uint64_t id = number_of(p, &p->locations, frame, &is_new);
	if (!is_new)
		return id;
	const struct frame *f = frame ? frames_get(p->session->frames, frame) : &no_frame;
	for (uint32_t i = 0; i < f->count; i++)
		functions[i] = function_of(p, f->position[i].function, f->position[i].file);
	/* An address alone is a location; without it a reader would have nothing to show. */
	uint64_t made = 0;
	if (!f->count && !f->has_address)
		made = function_of(p, frame ? 0 : own_string(p, NO_BACKTRACE), 0);
	put_location(p, id, f, functions, made);
	return id;
}

/* The id of a location that represents the frames that a sample has no room for. */
static uint64_t location_left_out(struct pprof *p, uint32_t stack)
{
	const struct stacks *stacks = p->session->stacks;
	uint32_t count = 0;
	bool is_new;
	for (; stack && count < COUNTED_MAX; stack = stacks_parent(stacks, stack))
		count++;
	uint64_t id = number_of(p, &p->locations, LEFT_OUT + count + !!stack, &is_new);
	if (!is_new)
		return id;
	char name[64];
	snprintf(name, sizeof(name), "(%s%" PRIu32 " frame%s left out)", stack ? "more than " : "",
		 count, plural(count));
	put_location(p, id, &no_frame, NULL, function_of(p, own_string(p, name), 0));
	return id;
}

static void put_varint(struct buf *b, uint64_t v)
{
	char *at = buf_room(b);
	b->len += (size_t)(proto_format_varint(at, v) - at);
}

void pprof_sample(struct pprof *p, uint32_t stack, const int64_t *values, uint32_t pid)
{
	const struct stacks *stacks = p->session->stacks;
	uint64_t key = pid ? text_of(p, "pid") : 0;
	size_t sample = proto_open(&p->body, PROFILE_SAMPLE);
	size_t opened = proto_open(&p->body, SAMPLE_LOCATIONS);
	if (!stack)
		put_varint(&p->body, location_of(p, 0)); /* a sample must have one */
	/* The innermost one first. */
	for (unsigned n = 0; stack && n < PPROF_FRAMES_MAX; n++) {
		put_varint(&p->body, location_of(p, stacks_frame(stacks, stack)));
		stack = stacks_parent(stacks, stack);
	}
	if (stack)
		put_varint(&p->body, location_left_out(p, stack));
	proto_close(&p->body, opened);
	opened = proto_open(&p->body, SAMPLE_VALUES);
	for (unsigned i = 0; i < p->types; i++)
		put_varint(&p->body, (uint64_t)values[i]);
	proto_close(&p->body, opened);
	if (pid) {
		opened = proto_open(&p->body, SAMPLE_LABEL);
		proto_put_u64(&p->body, LABEL_KEY, key);
		proto_put_u64(&p->body, LABEL_NUMBER, pid);
		proto_close(&p->body, opened);
	}
	proto_close(&p->body, sample);
}

int pprof_finish(struct pprof *p, struct buf *out)
{
	buf_put(&p->body, p->tables.data, p->tables.len);
	buf_put(&p->body, p->texts.data, p->texts.len);
	const int errs[] = {p->err, p->tables.err, p->texts.err, p->body.err};
	for (size_t i = 0; i < sizeof(errs) / sizeof(*errs); i++)
		if (errs[i])
			return errs[i];
	return compress_gzip(out, p->body.data, p->body.len);
}
