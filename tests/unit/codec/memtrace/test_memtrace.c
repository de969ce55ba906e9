/* SPDX-License-Identifier: BSD-2-Clause */
/* memtrace traces that our writer wrote: read back, in versions 1 to 3, and damaged. */
#include "codec/memtrace/locations.h"
#include "codec/memtrace/packet.h"
#include "tests/fuzz/memtrace_body.h"
#include "tests/unit/memtrace_model.h"

#include "tests/tap.h"

#define HEAD 68

/* What a reader returned, held against a model. */
struct check {
	struct model *m;
	size_t next[5];		       /* by domain: where its next event is in the model */
	int64_t stack[5][MODEL_DEPTH]; /* as the reader's caller keeps it */
	size_t depth[5];
	size_t events, damages, unknown, wrong;
	uint64_t damage_at, damage_bytes, lost;
};

static bool same_names(const struct model *m, struct ebt_memtrace_reader *r, int64_t code)
{
	const struct ebt_memtrace_location *got, *want;
	size_t n = model_locations((void *)m, code, &want);
	if (ebt_memtrace_locations(r, code, &got) != n)
		return false;
	for (size_t i = 0; i < n; i++) {
		uint32_t line = want[i].line > 0xfffff ? 0xfffff : want[i].line;
		uint16_t first = want[i].first_char > 255 ? 255 : want[i].first_char;
		uint16_t last = want[i].last_char > 1023 ? 1023 : want[i].last_char;
		if (strcmp(got[i].file, want[i].file) ||
		    strcmp(got[i].function, want[i].function) || got[i].line != line ||
		    got[i].first_char != first || got[i].last_char != last)
			return false;
	}
	return true;
}

static void keep_stack(struct check *c, const struct ebt_memtrace_event *e)
{
	int64_t *stack = c->stack[e->domain];
	if (e->again)
		return;
	for (size_t i = c->depth[e->domain]; i < e->common && i < MODEL_DEPTH; i++)
		stack[i] = EBT_MEMTRACE_UNKNOWN;
	for (size_t i = 0; i < e->frames && e->common + i < MODEL_DEPTH; i++)
		stack[e->common + i] = e->frame[i];
	c->depth[e->domain] = e->common + e->frames;
}

/* The stack is the model's, but for frames that are not known. */
static bool same_stack(struct check *c, const struct model_event *v)
{
	size_t depth = c->depth[v->e.domain];
	if (depth != v->depth)
		return false;
	for (size_t i = 0; i < depth; i++) {
		int64_t code = c->stack[v->e.domain][i];
		c->unknown += code == EBT_MEMTRACE_UNKNOWN;
		if (code != EBT_MEMTRACE_UNKNOWN && code != v->stack[i])
			return false;
	}
	return true;
}

static bool same_event(const struct ebt_memtrace_event *a, const struct ebt_memtrace_event *b)
{
	return a->what == b->what && a->time_us == b->time_us && a->obj == b->obj &&
	       a->domain == b->domain &&
	       (a->what != EBT_MEMTRACE_ALLOC ||
		(a->words == b->words && a->samples == b->samples && a->source == b->source &&
		 a->common == b->common));
}

static void damage(struct check *c, const struct ebt_memtrace_event *e)
{
	c->damages++;
	c->damage_at = e->obj;
	c->damage_bytes = (uint64_t)e->words;
	c->lost += (uint64_t)e->samples;
	for (uint16_t d = 0; d < 5; d++)
		if (d == e->domain || e->domain == EBT_NO_DOMAIN)
			c->depth[d] = 0;
}

/* Events of the model may be missing; those that are returned must be in it, in order. */
static void check_event(void *ctx, struct ebt_memtrace_reader *r, struct ebt_memtrace_event *e)
{
	struct check *c = ctx;
	const struct model *m = c->m;
	if (e->what == EBT_MEMTRACE_DAMAGE) {
		damage(c, e);
		return;
	}
	c->events++;
	if (e->domain > 4) {
		c->wrong++;
		return;
	}
	if (e->what == EBT_MEMTRACE_ALLOC)
		keep_stack(c, e);
	size_t *next = &c->next[e->domain];
	while (*next < m->events && !same_event(&m->event[*next].e, e))
		++*next;
	if (*next == m->events) {
		c->wrong++;
		*next = 0;
		return;
	}
	const struct model_event *v = &m->event[(*next)++];
	if (e->what != EBT_MEMTRACE_ALLOC)
		return;
	c->wrong += !same_stack(c, v);
	for (uint32_t i = 0; i < e->frames && !c->damages; i++)
		c->wrong += !same_names(m, r, e->frame[i]);
}

static struct check read_bytes(struct model *m, const uint8_t *trace, size_t bytes, size_t piece,
			       ssize_t *end, struct ebt_memtrace_counts *counts)
{
	struct check c = {.m = m};
	struct memtrace_body b = {.on_event = check_event, .ctx = &c};
	memtrace_body(&b, trace, bytes, piece, 0);
	*end = b.end;
	if (counts)
		*counts = ebt_memtrace_counts(b.reader);
	ebt_memtrace_reader_free(b.reader);
	return c;
}

static void test_round_trip(void)
{
	ssize_t end;
	for (uint64_t seed = 1; seed <= 5; seed++) {
		struct model *m = model_new(seed, 2500, MODEL_DEPTH / 4, 3);
		struct check c =
			read_bytes(m, m->trace, m->bytes, seed == 5 ? 1 : 10000, &end, NULL);
		ok(!end && c.events == m->events && !c.wrong && !c.damages && !c.unknown,
		   "%zu events of 3 domains in %zu packets are read as they were written",
		   m->events, m->packets);
		model_done(m);
	}
	struct model *m = model_new(9, 30000, 4, 3);
	struct check c = read_bytes(m, m->trace, m->bytes, 1u << 20, &end, NULL);
	ok(!end && c.events == m->events && !c.wrong && !c.damages,
	   "numbers of objects go from one piece of 10,000 to the next");
	model_done(m);
}

static void test_selected(void)
{
	struct model *m = model_new(11, 2500, MODEL_DEPTH / 4, 3);
	size_t events = 0, wrong = 0;
	for (uint16_t domain = 0; domain < 5; domain++) {
		struct check c = {.m = m};
		struct memtrace_body b = {.on_event = check_event, .ctx = &c, .domain = &domain};
		memtrace_body(&b, m->trace, m->bytes, 10000, 0);
		ebt_memtrace_reader_free(b.reader);
		for (uint16_t d = 0; d < 5; d++)
			wrong += c.next[d] > 0 && d != domain;
		wrong += c.wrong + c.damages;
		events += c.events;
	}
	is(wrong, 0, "one domain's events are read alone");
	is(events, m->events, "those of three domains are all");
	model_done(m);
}

static int drop_packet(void *ctx, const void *packet, size_t bytes)
{
	(void)ctx;
	(void)packet;
	(void)bytes;
	return 0;
}

/* Of 10 bytes a frame that was not seen before. */
static void test_cut(void)
{
	static int64_t codes[1000];
	struct model m = {0};
	struct ebt_memtrace_trace t = {drop_packet, model_locations, &m, 0, 0, 0};
	void *memory = calloc(1, ebt_memtrace_writer_bytes());
	struct ebt_memtrace_writer *w = ebt_memtrace_writer_init(memory, &t, 0, 0);
	for (uint32_t i = 0; i < 1000; i++)
		codes[i] = model_code(3 * i + 2);
	struct ebt_memtrace_event e = {.what = EBT_MEMTRACE_ALLOC,
				       .obj = EBT_MEMTRACE_NEW_OBJ,
				       .words = 1,
				       .samples = 1,
				       .frame = codes,
				       .frames = 409};
	ebt_memtrace_write(w, &e);
	is(ebt_memtrace_writer_cut(w), 0, "a backtrace of 4,090 bytes is written whole");
	e.obj = EBT_MEMTRACE_NEW_OBJ;
	e.frame = codes + 500;
	e.frames = 500;
	ebt_memtrace_write(w, &e);
	is(ebt_memtrace_writer_cut(w), 91, "of a longer one the frames that are cut are counted");
	static int64_t same[400000];
	for (size_t i = 0; i < 400000; i++)
		same[i] = codes[999];
	memset(memory, 0, ebt_memtrace_writer_bytes());
	w = ebt_memtrace_writer_init(memory, &t, 0, 0);
	e.obj = EBT_MEMTRACE_NEW_OBJ;
	e.frame = same;
	e.frames = 400000;
	ebt_memtrace_write(w, &e);
	/* As memtrace's writer: a miss, 1,359 runs of 256, the last of which ends at the limit, a
	 * hit. */
	is(400000 - ebt_memtrace_writer_cut(w), 1 + 1359 * 256 + 1,
	   "of one code again and again as many frames are written as memtrace writes");
	free(memory);
}

static size_t count_code(void *ctx, int64_t code, const struct ebt_memtrace_location **ret)
{
	(void)code;
	++*(uint64_t *)ctx;
	*ret = NULL;
	return 0;
}

/* An object of a word, with this code for its backtrace. */
static struct ebt_memtrace_event alloc_at(const int64_t *code)
{
	return (struct ebt_memtrace_event){.what = EBT_MEMTRACE_ALLOC,
					   .obj = EBT_MEMTRACE_NEW_OBJ,
					   .words = 1,
					   .samples = 1,
					   .frame = code,
					   .frames = 1};
}

/* The writer remembers which codes have been defined, and forgets all when it has no room. */
static void test_many_codes(void)
{
	uint64_t asked = 0;
	struct ebt_memtrace_trace t = {drop_packet, count_code, &asked, 0, 0, 0};
	void *memory = calloc(1, ebt_memtrace_writer_bytes());
	struct ebt_memtrace_writer *w = ebt_memtrace_writer_init(memory, &t, 0, 0);
	int err = 0;
	for (int64_t code = 1; code <= 100000 && !err; code++) {
		struct ebt_memtrace_event e = alloc_at(&code);
		err = ebt_memtrace_write(w, &e);
	}
	ok(!err && !ebt_memtrace_write_flush(w, 1) && asked == 100000,
	   "of 100,000 codes each is defined once");
	free(memory);
}

/* The largest location that an event may have, and what is one byte or one position more. */
#define MOST_POSITIONS 255
#define MOST_NAME      (4096 - 9 - 6 - 2 - 1)

struct located {
	struct model m;
	struct ebt_memtrace_location at[MOST_POSITIONS + 1];
	size_t positions, name; /* what the reader found */
	char file[16];
};

/* Code 1 and 2: many positions; 3 and 4: a long name. */
static size_t locate_large(void *ctx, int64_t code, const struct ebt_memtrace_location **ret)
{
	static char name[MOST_NAME + 2];
	struct located *t = (struct located *)ctx;
	size_t n = code == 1 ? MOST_POSITIONS : code == 2 ? MOST_POSITIONS + 1 : 1;
	memset(name, 'n', sizeof(name));
	name[code == 3 ? MOST_NAME : code == 4 ? MOST_NAME + 1 : 1] = 0;
	for (size_t i = 0; i < n; i++)
		t->at[i] = (struct ebt_memtrace_location){"f", name, 1, 1, 1};
	*ret = t->at;
	return n;
}

static void see_location(void *ctx, struct ebt_memtrace_reader *r, struct ebt_memtrace_event *e)
{
	struct located *t = ctx;
	const struct ebt_memtrace_location *l;
	t->positions = ebt_memtrace_locations(r, e->frame[0], &l);
	t->name = t->positions ? strlen(l->function) : 0;
	snprintf(t->file, sizeof(t->file), "%s", t->positions ? l->file : "");
}

static void test_large_locations(void)
{
	static const struct {
		size_t positions, name;
		const char *file;
	} want[] = {
		{MOST_POSITIONS, 1, "f"},
		{1, 2, "<unknown>"},
		{1, MOST_NAME, "f"},
		{1, 2, "<unknown>"},
	};
	for (int64_t code = 1; code <= 4; code++) {
		struct located *t = calloc(1, sizeof(*t));
		void *memory = calloc(1, ebt_memtrace_writer_bytes());
		if (!t || !memory)
			abort();
		struct ebt_memtrace_trace trace = {model_store, locate_large, t, 0, 0, 0};
		struct ebt_memtrace_info info = {.word_bits = 64,
						 .executable = "",
						 .host = "",
						 .runtime_params = "",
						 .context = ""};
		struct ebt_memtrace_event e = alloc_at(&code);
		ebt_memtrace_write_info(&trace, &info);
		struct ebt_memtrace_writer *w = ebt_memtrace_writer_init(memory, &trace, 0, 0);
		if (ebt_memtrace_write(w, &e) || ebt_memtrace_write_flush(w, 1))
			abort();
		struct memtrace_body b = {.on_event = see_location, .ctx = t};
		memtrace_body(&b, t->m.trace, t->m.bytes, 65536, 0);
		ok(!b.end && b.events == 1 && t->positions == want[code - 1].positions &&
			   t->name == want[code - 1].name && !strcmp(t->file, want[code - 1].file),
		   "%s",
		   code % 2 ? "a location of the largest size is written"
			    : "a larger one is unknown") ||
			(diag("%zu positions, a name of %zu, '%s'", t->positions, t->name, t->file),
			 1);
		ebt_memtrace_reader_free(b.reader);
		free(t->m.trace);
		free(memory);
		free(t);
	}
}

/* The trace as an older writer's: no domain in the heads of packets, no context before version
 * 2. */
static size_t to_version(const struct model *m, uint16_t version, uint8_t *to)
{
	uint8_t *at = to;
	for (size_t i = 0; i < m->packets; i++) {
		size_t next = i + 1 < m->packets ? m->packet[i + 1] : m->bytes;
		const uint8_t *p = m->trace + m->packet[i];
		size_t bytes = next - m->packet[i];
		uint32_t bits;
		memcpy(at, p, 38);
		memcpy(at + 38, p + 40, bytes - 40);
		bytes -= 2;
		if (!i && version < 2)
			bytes -= strlen("a test") + 1;
		bits = (uint32_t)bytes * 8;
		memcpy(at + 4, &bits, 4);
		memcpy(at + 28, &version, 2);
		at += bytes;
	}
	return (size_t)(at - to);
}

static void test_versions(void)
{
	for (uint16_t version = 1; version <= 2; version++) {
		struct model *m = model_new(version, 2500, 100, 1);
		uint8_t *old = malloc(m->bytes);
		size_t bytes = to_version(m, version, old);
		ssize_t end;
		struct check c = read_bytes(m, old, bytes, 5000, &end, NULL);
		ok(!end && c.events == m->events && !c.wrong && !c.damages && !c.unknown,
		   "a trace of version %d is read", version);
		free(old);
		model_done(m);
	}
}

/* The position of a code of its own: indices in the tables of names, 31 with the name behind it. */
static bool locate(struct memtrace_locations *l, struct memtrace_files *f, bool before_v2,
		   unsigned file, const char *file_name, unsigned function,
		   const char *function_name)
{
	static int64_t code;
	uint8_t bytes[128] = {0}, *p = bytes;
	const char *why;
	int64_t number = ++code;
	memcpy(p, &number, 8);
	p[8] = 1;
	uint64_t bits = (uint64_t)file << 38 | (uint64_t)function << 43 | 7;
	memcpy(p + 9, &bits, MEMTRACE_POSITION_BYTES);
	p += 9 + MEMTRACE_POSITION_BYTES;
	if (file == MEMTRACE_NAMES)
		p = (uint8_t *)stpcpy((char *)p, file_name) + 1;
	if (function == MEMTRACE_NAMES)
		p = (uint8_t *)stpcpy((char *)p, function_name) + 1;
	if (memtrace_location(l, f, before_v2, bytes, p, &why) != p)
		return false;
	const struct ebt_memtrace_location *at;
	return memtrace_locations_of(l, number, &at) == 1 && at->line == 7 &&
	       !strcmp(at->file, file_name) && !strcmp(at->function, function_name);
}

/*
 * memtrace 1 gave the functions of the file that fell off the table to the new one, as they were: a
 * function of the new file may be named by an index there, and only there.
 */
static void test_many_files(void)
{
	for (unsigned version = 1; version <= 2; version++) {
		struct memtrace_locations l = {0};
		struct memtrace_files f = {0};
		char file[16], function[24];
		unsigned good = 0;
		for (unsigned i = 0; i < MEMTRACE_NAMES; i++) {
			snprintf(file, sizeof(file), "file%u", i);
			snprintf(function, sizeof(function), "function%u", i);
			good += locate(&l, &f, version < 2, MEMTRACE_NAMES, file, MEMTRACE_NAMES,
				       function);
		}
		is(good, MEMTRACE_NAMES, "as many files as a table has are named");
		good = locate(&l, &f, version < 2, MEMTRACE_NAMES - 1, "file0", 0, "function0");
		for (unsigned i = 1; i < MEMTRACE_NAMES; i++) {
			snprintf(function, sizeof(function), "other%u", i);
			good += locate(&l, &f, version < 2, 0, "file0", MEMTRACE_NAMES, function);
		}
		good += locate(&l, &f, version < 2, 0, "file0", MEMTRACE_NAMES - 1, "function0");
		is(good, MEMTRACE_NAMES + 1, "and as many functions of one of them");
		/* The others come first again. */
		for (unsigned i = 1; i < MEMTRACE_NAMES; i++) {
			snprintf(file, sizeof(file), "file%u", i);
			snprintf(function, sizeof(function), "function%u", i);
			locate(&l, &f, version < 2, MEMTRACE_NAMES - 1, file, 0, function);
		}
		/* file0 falls off: it was used first. */
		bool left = locate(&l, &f, version < 2, MEMTRACE_NAMES, "file31", 0, "function0");
		if (version == 1) {
			ok(left,
			   "in version 1 one more has the functions of the one that falls off");
			ok(locate(&l, &f, true, 0, "file31", MEMTRACE_NAMES, "new") &&
				   locate(&l, &f, true, 0, "file31", 1, "function0"),
			   "behind those that are new");
		} else {
			ok(!left, "from version 2 on it has none");
		}
		/* The oldest of the others, and its own function. */
		ok(locate(&l, &f, version < 2, MEMTRACE_NAMES - 1, "file1", 0, "function1"),
		   "those that stay have their own");
		memtrace_locations_done(&l);
	}
}

/* A location of code 1: its line, the lines of others behind it. */
static bool define(struct memtrace_locations *l, struct memtrace_files *f, const char *lines,
		   const char **why)
{
	uint8_t bytes[128] = {1}, *p = bytes + 9;
	bytes[8] = (uint8_t)strlen(lines);
	for (; *lines; lines++) {
		uint64_t bits = (uint64_t)MEMTRACE_NAMES << 38 | (uint64_t)MEMTRACE_NAMES << 43 |
				(uint64_t)*lines;
		memcpy(p, &bits, MEMTRACE_POSITION_BYTES);
		p = (uint8_t *)stpcpy((char *)p + MEMTRACE_POSITION_BYTES, "file") + 1;
		p = (uint8_t *)stpcpy((char *)p, "function") + 1;
	}
	return memtrace_location(l, f, false, bytes, p, why) == p;
}

static void test_defined_twice(void)
{
	struct memtrace_locations l = {0};
	struct memtrace_files f = {0};
	const struct ebt_memtrace_location *at;
	const char *why;
	ok(define(&l, &f, "ab", &why) && define(&l, &f, "ab", &why),
	   "a location may be defined again");
	ok(!define(&l, &f, "ac", &why) && why && !define(&l, &f, "cb", &why) && why,
	   "but not with another position");
	ok(!define(&l, &f, "a", &why) && !define(&l, &f, "abb", &why),
	   "nor with another number of them");
	ok(memtrace_locations_of(&l, 1, &at) == 2 && at[0].line == 'a' && at[1].line == 'b',
	   "the first definition stays");
	memtrace_locations_done(&l);
}

static size_t packet_bytes(const struct model *m, size_t i)
{
	return (i + 1 < m->packets ? m->packet[i + 1] : m->bytes) - m->packet[i];
}

/* Each packet but the first in turn is damaged at its head. */
static void test_lost_packet(void)
{
	struct model *m = model_new(7, 600, 60, 3);
	size_t bad = 0, offsets = 0, lost_unknown = 0;
	for (size_t i = 1; i < m->packets; i++) {
		ssize_t end;
		m->trace[m->packet[i]] ^= 0x55;
		struct check c = read_bytes(m, m->trace, m->bytes, 3000, &end, NULL);
		m->trace[m->packet[i]] ^= 0x55;
		bad += end != 0 || c.wrong || c.damages != 1;
		offsets += c.damage_at == m->packet[i] && c.damage_bytes == packet_bytes(m, i);
		lost_unknown += c.unknown;
	}
	is(bad, 0,
	   "after a packet without its magic the next ones are read, and no frame is wrong");
	is(offsets, m->packets - 1, "the offset and the bytes of the packet are reported");
	ok(lost_unknown > 100, "frames that it hides are unknown (%zu)", lost_unknown);
	model_done(m);
}

/* An event in the middle of each packet gets a code that is none. */
static void test_damaged_packet(void)
{
	struct model *m = model_new(8, 600, 60, 1);
	size_t bad = 0, damaged = 0, lost = 0, unread = 0;
	for (size_t i = 1; i < m->packets; i++) {
		ssize_t end;
		uint8_t *first = m->trace + m->packet[i] + HEAD + 3, old = *first;
		if (packet_bytes(m, i) == HEAD)
			continue;
		*first = 0x80;
		struct check c = read_bytes(m, m->trace, m->bytes, 3000, &end, NULL);
		*first = old;
		uint64_t ids[2];
		memcpy(ids, m->trace + m->packet[i] + 52, sizeof(ids));
		damaged++;
		bad += end != 0 || c.wrong || c.damages != 1 || c.damage_at != m->packet[i] + HEAD;
		lost += c.lost == ids[1] - ids[0];
		unread += c.damage_bytes == packet_bytes(m, i) - HEAD;
	}
	ok(damaged > 3 && !bad, "a damaged event ends its packet, and no frame behind it is wrong");
	is(lost, damaged, "the allocations that are lost with it are counted");
	is(unread, damaged, "and the bytes");
	model_done(m);
}

/* A time that is not in its packet is the clock's only if the rest of the packet is right. */
static void test_damaged_time(void)
{
	struct model *m = model_new(8, 600, 60, 1);
	size_t bad = 0, tried = 0;
	for (size_t i = 1; i < m->packets; i++) {
		uint8_t *packet = m->trace + m->packet[i];
		ssize_t end;
		if (packet_bytes(m, i) == HEAD)
			continue;
		packet[HEAD + 2] ^= 0x10;
		packet[60]++;
		struct check c = read_bytes(m, m->trace, m->bytes, 3000, &end, NULL);
		packet[60]--;
		packet[HEAD + 2] ^= 0x10;
		tried++;
		bad += end || c.wrong || c.damage_at != m->packet[i] + HEAD;
	}
	ok(tried > 3 && !bad,
	   "a time outside of a packet that lacks an event is damage, and no event is made of it");
	model_done(m);
}

static void test_verifier(void)
{
	struct model *m = model_new(5, 2500, 60, 1);
	size_t bad = 0, tried = 0;
	for (size_t i = 1; i < m->packets; i++) {
		uint8_t *verifier = m->trace + m->packet[i] + 40;
		ssize_t end;
		if (verifier[0] == 0xff && verifier[1] == 0xff)
			continue;
		verifier[5] ^= 1;
		struct check c = read_bytes(m, m->trace, m->bytes, 3000, &end, NULL);
		verifier[5] ^= 1;
		tried++;
		bad += end || c.wrong || c.damages != 1 || c.damage_at != m->packet[i] ||
		       c.events != m->events;
	}
	ok(tried && !bad,
	   "a verifier that does not hold is damage, and no event is lost (%zu packets)", tried);
	model_done(m);
}

static void test_truncation(void)
{
	struct model *m = model_new(6, 100, 20, 2);
	size_t bad = 0;
	for (size_t bytes = 0; bytes < m->bytes; bytes += TAP_STEP) {
		ssize_t end;
		struct ebt_memtrace_counts n;
		struct check c = read_bytes(m, m->trace, bytes, 4000, &end, &n);
		size_t whole = 0;
		while (whole < m->packets && m->packet[whole] + packet_bytes(m, whole) <= bytes)
			whole++;
		bool at_end = whole && bytes == m->packet[whole - 1] + packet_bytes(m, whole - 1);
		bad += c.wrong || (whole ? end != 0 : end != -EBADMSG) || n.packets != whole ||
		       (whole && n.truncated != !at_end);
	}
	is(bad, 0, "cut anywhere, all whole packets are read, and the last one is counted");
	model_done(m);
}

static void test_each_byte(void)
{
	struct model *m = model_new(4, 60, 10, 2);
	size_t errors = 0, damages = 0, read = 0, tried = 0;
	for (size_t i = 0; i < m->bytes; i += TAP_STEP)
		for (int k = 0; k < 3; k++) {
			ssize_t end;
			uint8_t old = m->trace[i];
			m->trace[i] = (uint8_t)(k == 0 ? old ^ 1 << i % 8 : k == 1 ? 0 : 0xff);
			struct check c = read_bytes(m, m->trace, m->bytes, 1u << 20, &end, NULL);
			m->trace[i] = old;
			tried++;
			errors += end == -EBADMSG || end == -EPROTO;
			damages += c.damages != 0;
			read += end == 0 && c.events <= m->bytes;
		}
	ok(errors && damages && errors + read == tried,
	   "each byte changed: %zu errors, %zu traces with damage, and the reader always ends",
	   errors, damages);
	model_done(m);
}

static void test_refusals(void)
{
	static const struct {
		const char *what;
		size_t at;
		uint8_t to;
		ssize_t end;
	} rows[] = {
		{"no magic", 0, 0, -EBADMSG},
		{"version 4", 28, 4, -EPROTO},
		{"version 0", 28, 0, -EPROTO},
		{"a first event that is not trace_info", 71, 2, -EBADMSG},
		{"a size that is not in bytes", 4, 1, -EBADMSG},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		ssize_t end;
		struct model *m = model_new(1, 10, 10, 1);
		m->trace[rows[i].at] = rows[i].to;
		read_bytes(m, m->trace, m->bytes, 1000, &end, NULL);
		is(end, rows[i].end, rows[i].what);
		model_done(m);
	}
	ssize_t end;
	read_bytes(NULL, NULL, 0, 1, &end, NULL);
	is(end, -EBADMSG, "an empty trace");
}

/* Its code words, of 256 frames each, end behind the packet; an empty packet follows. */
static void test_overlong_backtrace(void)
{
	enum { BODY = 500 };
	struct model *m = model_new(1, 0, 1, 1);
	uint8_t *empty = m->trace + m->packet[1], trace[1024], *p = trace;
	size_t head = m->packet[1];
	uint32_t bits = (HEAD + BODY) * 8, event = 101u << 25 | (MODEL_START & 0x1ffffff);
	p = (uint8_t *)memcpy(p, m->trace, head) + head;
	memcpy(p, empty, HEAD);
	memcpy(p + 4, &bits, sizeof(bits));
	memcpy(p + HEAD, &event, sizeof(event)); /* one without frames before it */
	p[HEAD + 4] = p[HEAD + 5] = 0;
	memcpy(p + HEAD + 6, &event, sizeof(event));
	p[HEAD + 10] = 0;
	p[HEAD + 11] = 200;
	for (size_t i = 12; i < BODY; i++)
		p[HEAD + i] = i % 3 == 0 ? 2 : i % 3 == 1 ? 0 : 255;
	p += HEAD + BODY;
	p = (uint8_t *)memcpy(p, empty, HEAD) + HEAD;
	ssize_t end;
	struct ebt_memtrace_counts n;
	struct check c = read_bytes(m, trace, (size_t)(p - trace), 1u << 20, &end, &n);
	ok(!end && c.events == 1 && c.damages == 1 && n.packets == 3,
	   "a backtrace that fills the memory and is not whole is damage, and the next packet is "
	   "read");
	model_done(m);
}

/* An alloc of one word without common frames, of code words: a bucket, and a code or (code 0) the
 * bucket that follows it. */
static uint8_t *put_alloc(uint8_t *p, const uint16_t (*word)[2], uint8_t words)
{
	const uint32_t event = (MEMTRACE_SHORT_ALLOC + 1u) << 25;
	memcpy(p, &event, sizeof(event));
	p[4] = 0;
	p[5] = words;
	p += 6;
	for (; words; words--, word++) {
		uint16_t bits = (uint16_t)(word[0][0] << 2 | (word[0][1] ? 3 : 1));
		uint64_t code = word[0][1];
		memcpy(p, &bits, sizeof(bits));
		memcpy(p + 2, &code, sizeof(code));
		p += word[0][1] ? 10 : 2;
	}
	return p;
}

/* Behind a part that was not read, buckets are followed by what is not known; a word behind such a
 * one is the next of any bucket. */
static void test_lost_bucket(void)
{
	static const uint16_t known[][2] = {{5, 100}, {6, 101}, {7, 102}},
			      lost[][2] = {{9, 0}, {8, 103}}, again[][2] = {{5, 0}};
	for (int is_lost = 0; is_lost < 2; is_lost++) {
		uint8_t trace[256] = {0}, *p = trace;
		struct memtrace_frames frames = {0};
		struct memtrace_stream stream = {.depth = MEMTRACE_NO_DEPTH};
		struct ebt_memtrace_event ev[8] = {0};
		p = put_alloc(p, known, 3);
		if (is_lost)
			p = put_alloc(p, lost, 2);
		p = put_alloc(p, again, 1);
		struct memtrace_packet packet = {
			.at = trace, .end = p, .stream = &stream, .frames = &frames};
		ssize_t n = memtrace_packet_events(&packet, ev, 8);
		const struct ebt_memtrace_event *e = &ev[1 + is_lost];
		ok(n == 2 + is_lost && packet.at == p && e->frames == 2 && e->frame[0] == 100 &&
			   (e->frame[1] == 101) == !is_lost,
		   "a bucket's next one is %s",
		   is_lost ? "not known behind one that is lost" : "known");
		free(frames.codes);
		memtrace_stream_done(&stream);
	}
}

/* An alloc that shares so many frames with the one before it. */
static struct check read_common(int32_t common)
{
	struct model *m = model_new(1, 0, 1, 1);
	uint8_t *empty = m->trace + m->packet[1], trace[1024], *p = trace;
	size_t head = m->packet[1];
	uint32_t event = 2u << 25 | (MODEL_START & 0x1ffffff), bits = (HEAD + 14) * 8;
	p = (uint8_t *)memcpy(p, m->trace, head) + head;
	memcpy(p, empty, HEAD);
	memcpy(p + 4, &bits, sizeof(bits));
	p += HEAD;
	memcpy(p, &event, sizeof(event));
	/* One word, one sample, of the minor heap; a number of four bytes; no codes. */
	memcpy(p + 4, "\1\1\0\376", 4);
	memcpy(p + 8, &common, sizeof(common));
	memset(p + 12, 0, 2);
	p = (uint8_t *)memcpy(p + 14, empty, HEAD) + HEAD;
	ssize_t end;
	struct check c = read_bytes(m, trace, (size_t)(p - trace), 1u << 20, &end, NULL);
	model_done(m);
	return c;
}

static void test_common(void)
{
	struct check c = read_common(1 << 24);
	is(c.events, 1, "a backtrace may share 2^24 frames with the last one, known or not");
	c = read_common((1 << 24) + 1);
	ok(!c.events && c.damages == 1, "one more is damage");
	c = read_common(5 << 24);
	ok(!c.events && c.damages == 1, "and so are five times as many");
	c = read_common(-1);
	ok(!c.events && c.damages == 1, "or less than none");
}

/* Empty packets of so many domains, then one of the first again. Returns the damages. */
static uint64_t read_domains(uint32_t domains)
{
	struct model *m = model_new(1, 0, 1, 1);
	size_t head = m->packet[1];
	uint8_t *trace = malloc(head + (domains + 1) * HEAD), *p = trace;
	p = (uint8_t *)memcpy(p, m->trace, head) + head;
	for (uint32_t i = 0; i <= domains; i++, p += HEAD) {
		uint16_t domain = (uint16_t)(i % domains);
		memcpy(p, m->trace + head, HEAD);
		memcpy(p + 38, &domain, sizeof(domain));
	}
	ssize_t end;
	struct ebt_memtrace_counts n;
	read_bytes(m, trace, (size_t)(p - trace), 1u << 20, &end, &n);
	free(trace);
	model_done(m);
	return end || n.packets != domains + 2 ? UINT64_MAX : n.damaged;
}

static void test_domains(void)
{
	is(read_domains(MEMTRACE_DOMAINS_MAX), 0, "packets of 4,096 domains are read");
	is(read_domains(MEMTRACE_DOMAINS_MAX + 1), 1, "those of one more are damage");
	is(read_domains(5 * MEMTRACE_DOMAINS_MAX), 4 * MEMTRACE_DOMAINS_MAX,
	   "and so are those of any more");
}

int main(void)
{
	test_common();
	test_domains();
	test_overlong_backtrace();
	test_lost_bucket();
	test_round_trip();
	test_selected();
	test_cut();
	test_many_codes();
	test_large_locations();
	test_versions();
	test_many_files();
	test_defined_twice();
	test_lost_packet();
	test_damaged_packet();
	test_damaged_time();
	test_verifier();
	test_truncation();
	test_each_byte();
	test_refusals();
	return tap_done();
}
