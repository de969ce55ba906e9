/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * fxt_dump [FILE]: prints a trace in the Fuchsia trace format, a line a record, fields separated by
 * tabs. Written from the published format alone, as an oracle for what writes it: strict, so that
 * whatever the format does not allow (or we do not know) ends it with status 1 and says where.
 *
 *   provider ID NAME | init TICKS | string INDEX TEXT | thread INDEX PROCESS THREAD
 *   process KOID NAME ARGS… | thread_object KOID NAME ARGS…
 *   instant|counter|begin|end|complete|async_begin|async_end TS PROCESS THREAD CATEGORY NAME
 *       [id=N | end=TS] ARGS…
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAGIC 0x0016547846040010ull

struct text {
	const unsigned char *s;
	size_t len;
};

struct dump {
	const unsigned char *data;
	size_t size, offset; /* of the file, of the record */
	size_t at, end;	     /* within the record: next byte, end */
	uint64_t header;
	struct text strings[0x8000];
	bool has_string[0x8000], has_thread[0x100], has_provider;
	uint64_t process[0x100], thread[0x100];
};

__attribute__((format(printf, 2, 3), noreturn)) static void bad(const struct dump *d,
								const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	fflush(stdout);
	fprintf(stderr, "fxt_dump: record at byte %zu: ", d->offset);
	vfprintf(stderr, fmt, ap);
	fputc('\n', stderr);
	va_end(ap);
	exit(1);
}

static uint64_t bits(uint64_t word, unsigned from, unsigned to)
{
	return word >> from & (to - from == 63 ? UINT64_MAX : (1ull << (to - from + 1)) - 1);
}

static void must_be_zero(const struct dump *d, uint64_t word, unsigned from, unsigned to)
{
	if (bits(word, from, to))
		bad(d, "bits %u to %u are reserved", from, to);
}

static uint64_t word(struct dump *d)
{
	uint64_t v;
	if (d->end - d->at < 8)
		bad(d, "too short");
	memcpy(&v, d->data + d->at, 8);
	d->at += 8;
	return v;
}

/* The next sequence of UTF-8, by the table of the Unicode standard; 0: it is none. */
static size_t sequence(const unsigned char *s, size_t left)
{
	unsigned char lo = 0x80, hi = 0xbf;
	size_t n;
	if (s[0] < 0x80)
		return 1;
	if (s[0] >= 0xc2 && s[0] <= 0xdf)
		n = 2;
	else if (s[0] >= 0xe0 && s[0] <= 0xef)
		n = 3;
	else if (s[0] >= 0xf0 && s[0] <= 0xf4)
		n = 4;
	else
		return 0;
	if (s[0] == 0xe0)
		lo = 0xa0;
	else if (s[0] == 0xed)
		hi = 0x9f;
	else if (s[0] == 0xf0)
		lo = 0x90;
	else if (s[0] == 0xf4)
		hi = 0x8f;
	if (left < n || s[1] < lo || s[1] > hi)
		return 0;
	for (size_t i = 2; i < n; i++)
		if (s[i] < 0x80 || s[i] > 0xbf)
			return 0;
	return n;
}

static struct text stream(struct dump *d, size_t len)
{
	struct text t = {d->data + d->at, len};
	size_t padded = (len + 7) & ~(size_t)7;
	if (padded > d->end - d->at)
		bad(d, "a text of %zu bytes does not fit", len);
	if (len > 32000)
		bad(d, "a text of %zu bytes", len);
	for (size_t i = len; i < padded; i++)
		if (t.s[i])
			bad(d, "a text is not padded with zeros");
	for (size_t i = 0, n; i < len; i += n)
		if (!(n = sequence(t.s + i, len - i)))
			bad(d, "a text is not UTF-8");
	d->at += padded;
	return t;
}

static struct text string(struct dump *d, uint64_t ref)
{
	if (ref & 0x8000)
		return stream(d, ref & 0x7fff);
	if (ref && !d->has_string[ref])
		bad(d, "string %" PRIu64 " is not known", ref);
	return ref ? d->strings[ref] : (struct text){(const unsigned char *)"", 0};
}

static void print_text(struct text t)
{
	for (size_t i = 0; i < t.len; i++)
		if (t.s[i] < 0x20 || t.s[i] == '\\' || t.s[i] == 0x7f)
			printf("\\x%02x", t.s[i]);
		else
			putchar(t.s[i]);
}

static void metadata(struct dump *d)
{
	if (bits(d->header, 16, 19) != 1)
		bad(d, "metadata of type %" PRIu64, bits(d->header, 16, 19));
	must_be_zero(d, d->header, 60, 63);
	printf("provider\t%" PRIu64 "\t", bits(d->header, 20, 51));
	print_text(stream(d, bits(d->header, 52, 59)));
	d->has_provider = true;
}

static void initialization(struct dump *d)
{
	must_be_zero(d, d->header, 16, 63);
	uint64_t ticks = word(d);
	if (!ticks)
		bad(d, "no ticks in a second");
	printf("init\t%" PRIu64, ticks);
}

static void string_record(struct dump *d)
{
	uint64_t index = bits(d->header, 16, 30);
	must_be_zero(d, d->header, 31, 31);
	must_be_zero(d, d->header, 47, 63);
	if (!index)
		bad(d, "string 0 is reserved");
	d->strings[index] = stream(d, bits(d->header, 32, 46));
	d->has_string[index] = true;
	printf("string\t%" PRIu64 "\t", index);
	print_text(d->strings[index]);
}

static void thread_record(struct dump *d)
{
	uint64_t index = bits(d->header, 16, 23);
	must_be_zero(d, d->header, 24, 63);
	if (!index)
		bad(d, "thread 0 is reserved");
	d->process[index] = word(d);
	d->thread[index] = word(d);
	d->has_thread[index] = true;
	printf("thread\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64, index, d->process[index],
	       d->thread[index]);
}

static void argument(struct dump *d)
{
	size_t start = d->at;
	uint64_t h = word(d);
	unsigned type = (unsigned)bits(h, 0, 3);
	size_t size = bits(h, 4, 15) * 8;
	putchar('\t');
	print_text(string(d, bits(h, 16, 31)));
	putchar('=');
	if (type != 1 && type != 2)
		must_be_zero(d, h, type == 6 ? 48 : 32, 63);
	if (type == 1) {
		printf("%" PRId32, (int32_t)bits(h, 32, 63));
	} else if (type == 2) {
		printf("%" PRIu64, bits(h, 32, 63));
	} else if (type == 3) {
		int64_t v = (int64_t)word(d);
		if (v >= INT32_MIN && v <= INT32_MAX)
			bad(d, "a signed value that fits 32 bits is written in 64");
		printf("%" PRId64, v);
	} else if (type == 4) {
		uint64_t v = word(d);
		if (v <= UINT32_MAX)
			bad(d, "a value that fits 32 bits is written in 64");
		printf("%" PRIu64, v);
	} else if (type == 6) {
		print_text(string(d, bits(h, 32, 47)));
	} else if (type == 8) {
		printf("koid:%" PRIu64, word(d));
	} else {
		bad(d, "argument of type %u", type);
	}
	if (d->at - start != size)
		bad(d, "an argument says it has %zu bytes, has %zu", size, d->at - start);
}

static void event(struct dump *d)
{
	static const char *const names[16] = {
		"instant",	 "counter",   "begin",	    "end",	 "complete", "async_begin",
		"async_instant", "async_end", "flow_begin", "flow_step", "flow_end"};
	unsigned type = (unsigned)bits(d->header, 16, 19);
	unsigned args = (unsigned)bits(d->header, 20, 23);
	unsigned ref = (unsigned)bits(d->header, 24, 31);
	if (!names[type])
		bad(d, "event of type %u", type);
	if (!d->has_provider)
		bad(d, "an event of no provider");
	uint64_t ts = word(d);
	if (ref && !d->has_thread[ref])
		bad(d, "thread %u is not known", ref);
	uint64_t process = ref ? d->process[ref] : word(d);
	uint64_t thread = ref ? d->thread[ref] : word(d);
	printf("%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t", names[type], ts, process, thread);
	print_text(string(d, bits(d->header, 32, 47)));
	putchar('\t');
	print_text(string(d, bits(d->header, 48, 63)));
	for (unsigned i = 0; i < args; i++)
		argument(d);
	if (type == 1 && !args)
		bad(d, "a counter without a value");
	if (type == 4) {
		uint64_t end = word(d);
		if (end < ts)
			bad(d, "a duration ends before it begins");
		printf("\tend=%" PRIu64, end);
	} else if (type == 1 || type >= 5) {
		printf("\tid=%" PRIu64, word(d));
	}
}

static void object(struct dump *d)
{
	unsigned type = (unsigned)bits(d->header, 16, 23);
	unsigned args = (unsigned)bits(d->header, 40, 43);
	must_be_zero(d, d->header, 44, 63);
	if (type != 1 && type != 2)
		bad(d, "kernel object of type %u", type);
	printf("%s\t%" PRIu64 "\t", type == 1 ? "process" : "thread_object", word(d));
	print_text(string(d, bits(d->header, 24, 39)));
	for (unsigned i = 0; i < args; i++)
		argument(d);
}

static void record(struct dump *d)
{
	static void (*const readers[16])(struct dump *) = {
		[0] = metadata,	     [1] = initialization, [2] = string_record,
		[3] = thread_record, [4] = event,	   [7] = object};
	d->at = d->offset;
	d->end = d->size;
	d->header = word(d);
	uint64_t size = bits(d->header, 4, 15) * 8;
	unsigned type = (unsigned)bits(d->header, 0, 3);
	if (!size || size > d->size - d->offset)
		bad(d, "%" PRIu64 " bytes, %zu are left", size, d->size - d->offset);
	if (!readers[type])
		bad(d, "type %u", type);
	d->end = d->offset + size;
	readers[type](d);
	putchar('\n');
	if (d->at != d->end)
		bad(d, "%zu bytes behind its end", d->end - d->at);
	d->offset = d->end;
}

static unsigned char *slurp(FILE *in, size_t *ret_size)
{
	size_t size = 0, cap = 1 << 16, n;
	unsigned char *data = malloc(cap);
	while (data && (n = fread(data + size, 1, cap - size, in))) {
		size += n;
		if (size == cap)
			data = realloc(data, cap *= 2);
	}
	*ret_size = size;
	return ferror(in) ? NULL : data;
}

int main(int argc, char **argv)
{
	FILE *in = argc > 1 ? fopen(argv[1], "rb") : stdin;
	struct dump *d = calloc(1, sizeof(*d));
	d->data = in ? slurp(in, &d->size) : NULL;
	if (!d->data) {
		fprintf(stderr, "fxt_dump: cannot read\n");
		return 1;
	}
	uint64_t magic = 0;
	if (d->size >= 8)
		memcpy(&magic, d->data, 8);
	if (magic != MAGIC)
		bad(d, "not the magic number");
	d->offset = 8;
	while (d->offset < d->size)
		record(d);
	free((void *)d->data);
	free(d);
	if (in != stdin)
		fclose(in);
	return fflush(stdout) ? 1 : 0;
}
