// SPDX-License-Identifier: BSD-2-Clause
/* Profiles of stacks that traces of memtrace's own programs do not have, read back. */
#include "report/pprof.h"

#include <zlib.h>

#include "tests/tap.h"
#include "tests/unit/proto_reader.h"

#define UNPACKED_BYTES 16384
#define TABLE	       64

/* A profile as it was read: texts by index, functions and locations by id. */
struct profile {
	unsigned char bytes[UNPACKED_BYTES];
	struct reader whole;
	char *text[TABLE];
	unsigned texts;
	char function[TABLE][128]; /* "NAME/SYSTEM NAME" */
	char location[TABLE][256]; /* its lines, the innermost first */
};

static uint64_t number(const struct field *message, uint32_t wanted)
{
	struct reader r = reader_in(message);
	for (struct field f; reader_next(&r, &f);)
		if (f.number == wanted)
			return f.value;
	return 0;
}

static const char *text(const struct profile *p, uint64_t index)
{
	return index < p->texts ? p->text[index] : "!";
}

static void read_location(struct profile *p, const struct field *message)
{
	char *to = p->location[number(message, 1) % TABLE];
	struct reader r = reader_in(message);
	if (number(message, 3))
		to += sprintf(to, "%llx ", (unsigned long long)number(message, 3));
	for (struct field f; reader_next(&r, &f);)
		if (f.number == 4)
			to += sprintf(to, "[%s:%u]", p->function[number(&f, 1) % TABLE],
				      (unsigned)number(&f, 2));
}

static struct profile *unpack(const struct buf *packed)
{
	struct profile *p = calloc(1, sizeof(*p));
	z_stream z = {.next_in = (Bytef *)packed->data, .avail_in = (uInt)packed->len};
	if (!p || inflateInit2(&z, 15 + 16) != Z_OK)
		exit(1);
	z.next_out = p->bytes;
	z.avail_out = sizeof(p->bytes);
	is(inflate(&z, Z_FINISH), Z_STREAM_END, "a profile is a gzip file");
	p->whole = reader_of(p->bytes, sizeof(p->bytes) - z.avail_out);
	inflateEnd(&z);
	struct reader r = p->whole;
	for (struct field f; reader_next(&r, &f);)
		if (f.number == 6 && p->texts < TABLE)
			p->text[p->texts++] = strndup((const char *)f.data, f.value);
	ok(!r.bad, "of protobuf");
	is_str(text(p, 0), "", "the first string is empty");
	r = p->whole;
	for (struct field f; reader_next(&r, &f);)
		if (f.number == 5)
			snprintf(p->function[number(&f, 1) % TABLE], 128, "%s/%s",
				 text(p, number(&f, 2)), text(p, number(&f, 3)));
	r = p->whole;
	for (struct field f; reader_next(&r, &f);)
		if (f.number == 4)
			read_location(p, &f);
	return p;
}

/* The sample with this number: "VALUE VALUE LOCATION; LOCATION KEY=VALUE". */
static const char *sample(const struct profile *p, unsigned n)
{
	static char line[1024];
	char places[512] = "", values[256] = "", label[128] = "";
	struct reader r = p->whole;
	for (struct field f; reader_next(&r, &f);) {
		if (f.number != 2 || n--)
			continue;
		struct reader s = reader_in(&f);
		for (struct field part; reader_next(&s, &part);) {
			struct reader v = reader_in(&part);
			if (part.number == 3)
				sprintf(label, " %s=%u", text(p, number(&part, 1)),
					(unsigned)number(&part, 3));
			while (part.number < 3 && v.at < v.end) {
				uint64_t of = reader_varint(&v);
				if (part.number == 2)
					sprintf(values + strlen(values), "%lld ", (long long)of);
				else
					sprintf(places + strlen(places), "%s; ",
						p->location[of % TABLE]);
			}
		}
		break;
	}
	sprintf(line, "%s%s%s", values, places, label);
	return line;
}

static uint32_t put(struct session *s, const char *name)
{
	return name ? strings_put(s->strings, name, strlen(name)) : 0;
}

static uint32_t frame(struct session *s, uint64_t address, const char *outer, const char *inner)
{
	const struct frame_position position[] = {
		{.function = put(s, outer), .file = put(s, "a.cc"), .line = 7, .has_line = true},
		{.function = put(s, inner), .line = 9, .has_line = true},
	};
	struct frame f = {.address = address, .has_address = address, .position = position};
	f.count = inner ? 2 : outer ? 1 : 0;
	return frames_put(s->frames, &f);
}

/* "FILE BUILD-ID" of the mapping of the location with this address. */
static const char *mapping(const struct profile *p, uint64_t address)
{
	static char found[64];
	uint64_t id = 0;
	struct reader r = p->whole;
	for (struct field f; reader_next(&r, &f);)
		if (f.number == 4 && number(&f, 3) == address)
			id = number(&f, 2);
	r = p->whole;
	for (struct field f; reader_next(&r, &f);)
		if (f.number == 3 && number(&f, 1) == id)
			snprintf(found, sizeof(found), "%s %s", text(p, number(&f, 5)),
				 text(p, number(&f, 6)));
	return found;
}

static void put_samples(struct session *s, struct pprof *out)
{
	uint32_t main = stacks_push(s->stacks, 0, frame(s, 0x10, "main", NULL)),
		 inlined = stacks_push(s->stacks, main, frame(s, 0x20, "_Z1fi", "camlMain__g_1")),
		 unresolved =
			 stacks_push(s->stacks, main, frame(s, 0xfffffffffffffff0, NULL, NULL)),
		 unknown = stacks_push(s->stacks, main, frame(s, 0, NULL, NULL)),
		 broken = stacks_push(s->stacks, 0, frame(s, 0, "a\xff", NULL));
	pprof_sample(out, inlined, (const int64_t[]){1, 800}, 0);
	pprof_sample(out, unresolved, (const int64_t[]){INT64_MAX, 0}, 0);
	pprof_sample(out, unknown, (const int64_t[]){3, 4}, 12);
	pprof_sample(out, broken, (const int64_t[]){5, 6}, 0);
	pprof_sample(out, 0, (const int64_t[]){7, 8}, 0);
	struct frame mapped = {.address = 0x30,
			       .has_address = true,
			       .module = {put(s, "/lib/x.so"), put(s, "12ab"), 0x1030}};
	uint32_t in_module = stacks_push(s->stacks, main, frames_put(s->frames, &mapped));
	pprof_sample(out, in_module, (const int64_t[]){9, 9}, 0);
}

#define SAMPLES 40

/* Samples of so many frames, the same again and again; what: a name that the profile has. */
static void check_deep(unsigned frames, const char *what)
{
	static const struct pprof_type type = {"alloc_space", "bytes"};
	static unsigned char bytes[1 << 20];
	const struct pprof_head head = {
		.type = &type, .types = 1, .period_type = type, .executable = "prog"};
	struct session *s;
	struct pprof *out;
	struct buf packed;
	if (session_new(&s) || pprof_new(s, &head, &out) || buf_init(&packed, -1, 0))
		exit(1);
	uint32_t stack = 0, again = frame(s, 0, "again", NULL);
	for (unsigned i = 0; i < frames; i++)
		stack = stacks_push(s->stacks, stack, again);
	for (unsigned i = 0; i < SAMPLES; i++)
		pprof_sample(out, stack, (const int64_t[]){1}, 0);
	ok(!pprof_finish(out, &packed), "a profile of stacks of %u frames is written", frames);
	pprof_free(out);
	z_stream z = {.next_in = (Bytef *)packed.data, .avail_in = (uInt)packed.len};
	if (inflateInit2(&z, 15 + 16) != Z_OK)
		exit(1);
	z.next_out = bytes;
	z.avail_out = sizeof(bytes);
	is(inflate(&z, Z_FINISH), Z_STREAM_END, "its samples have not all the frames");
	size_t n = sizeof(bytes) - z.avail_out;
	inflateEnd(&z);
	ok(memmem(bytes, n, what, strlen(what)), "the others are one location: %s", what);
	buf_done(&packed);
	session_free(s);
}

static void test_deep(void)
{
	check_deep(PPROF_FRAMES_MAX, "again");
	check_deep(PPROF_FRAMES_MAX + 3, "(3 frames left out)");
	check_deep(100000, "(more than 65536 frames left out)");
}

int main(void)
{
	test_deep();
	static const struct pprof_type types[] = {{"alloc_objects", "count"},
						  {"alloc_space", "bytes"}};
	const struct pprof_head head = {.type = types,
					.types = 2,
					.shown = 1,
					.period_type = {"space", "bytes"},
					.executable = "prog"};
	struct session *s;
	struct pprof *out;
	struct buf packed;
	if (session_new(&s) || pprof_new(s, &head, &out) || buf_init(&packed, -1, 0))
		return 1;
	put_samples(s, out);
	is(pprof_finish(out, &packed), 0, "a profile is written");
	pprof_free(out);
	pprof_free(NULL);
	struct profile *p = unpack(&packed);
	is_str(sample(p, 0),
	       "1 800 20 [Main.g_1/camlMain__g_1:9][f(int)/_Z1fi:7]; 10 [main/main:7]; ",
	       "inlined functions are lines of one location, the innermost first, by their "
	       "source's "
	       "names");
	is_str(sample(p, 1), "9223372036854775807 0 fffffffffffffff0 ; 10 [main/main:7]; ",
	       "a frame that was not resolved is an address");
	is_str(sample(p, 2), "3 4 [?/?:0]; 10 [main/main:7];  pid=12",
	       "one without an address has a function, and a process is a label");
	is_str(sample(p, 3), "5 6 [a\xef\xbf\xbd/a\xef\xbf\xbd:7]; ",
	       "bytes of a name that are not UTF-8 are replaced");
	is_str(sample(p, 4), "7 8 [(no backtrace)/(no backtrace):0]; ",
	       "a sample without a backtrace has a location");
	is_str(mapping(p, 0x30), "/lib/x.so 12ab", "a frame of a known module has its mapping");
	is_str(mapping(p, 0x10), "prog ", "others have that of the program");
	for (unsigned i = 0; i < p->texts; i++)
		free(p->text[i]);
	free(p);
	buf_done(&packed);
	session_free(s);
	return tap_done();
}
