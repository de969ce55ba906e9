/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>

#include <ebtrace/probes.h>

#include "tests/tap.h"
#include "tests/unit/ringdump.h"

#define ELEMENTS 512 /* EBTRACE_LOG_WSIZE=9 */
static struct dump_event ev[ELEMENTS];

static int read_ring(void)
{
	struct dump d;
	if (!dump_open(&d, ebt_ring_path()))
		return -1;
	static uint64_t copy[ELEMENTS * 24];
	int n = dump_ring(&d, 0, ev, ELEMENTS);
	uint64_t *to = copy;
	for (int i = 0; i < n; i++) {
		size_t words = ev[i].words - 2;
		memcpy(to, ev[i].payload, words * 8);
		ev[i].payload = to;
		to += words;
	}
	dump_close(&d);
	return n;
}

static void test_layout(void)
{
	struct dump d;
	if (!ok(dump_open(&d, ebt_ring_path()), "the file can be read"))
		return;
	static const uint64_t want[8] = {1,   4,  80,	       4096,
					 512, 64, 64 + 4 * 80, 64 + 4 * 80 + 4 * 4096};
	ok(!memcmp(d.w, want, sizeof(want)), "the file's header is OCaml's, word by word");
	is(d.bytes,
	   want[7] + 1048576 + (size_t) * (const uint64_t *)(const void *)(dump_ext(&d) + 8),
	   "the extension block says its size and ends the file");
	ok(!memcmp(dump_ext(&d), "EBTEXT01", 8), "the extension block has its magic");
	is_str(dump_ext(&d) + 56 + 40, "ebtrace-probes " EBT_VERSION, "the producer is named");
	is_str(dump_ext(&d) + 56 + 40 + 64, "test runtime", "the runtime is named");
	is(*(const uint64_t *)(const void *)(dump_ext(&d) + 32), getpid(), "the pid is ours");
	const char *tables = dump_ext(&d) + 56 + 40 + 128 + 16 + 64;
	is_str(tables + 11 * 64, "minor", "the table of phases follows");
	is_str(tables + (50 + 4) * 64, "minor_promoted", "then the table of counters");
	is_str(tables + (50 + 28 + 7) * 64, "domain_terminate", "then that of lifecycles");
	is_str(dump_name(&d, 0), "before", "a name registered before the start is in the file");
	dump_close(&d);
	int n = read_ring();
	ok(n == 1 && ev[0].type == 1 && ev[0].id == 0 && ev[0].words == 3 && ev[0].seq == 0 &&
		   ev[0].payload[0] == (uint64_t)getpid(),
	   "the first event is ring_start with the pid");
}

static void test_events(int unit)
{
	int number = ebt_register("number", EBT_USER_INT);
	int span = ebt_register("span", EBT_USER_SPAN);
	int base = read_ring();
	errno = 77;
	ebt_begin(EBT_PHASE_minor);
	ebt_end(EBT_PHASE_minor);
	ebt_counter(EBT_COUNTER_minor_promoted, UINT64_MAX);
	ebt_unit(unit);
	ebt_int(number, INT64_MIN + 1);
	ebt_span_begin(span);
	ebt_span_end(span);
	is(errno, 77, "probes leave errno alone");
	ebt_int(unit, 1);
	ebt_unit(number);
	ebt_unit(-1);
	ebt_unit(8191);
	ebt_unit(8192);
	ebt_begin((enum ebt_phase)50);
	ebt_counter((enum ebt_counter)28, 1);
	int n = read_ring();
	is(n - base, 7, "probes with an unknown number, id or another type are ignored");
	static const unsigned int want[7][4] = {{0, 2, 11, 2}, {0, 3, 11, 2}, {0, 4, 4, 3},
						{1, 0, 0, 2},  {1, 1, 1, 3},  {1, 2, 2, 2},
						{1, 3, 2, 2}};
	int good = 1, ordered = 1;
	for (int i = 0; i < 7 && n - base == 7; i++) {
		struct dump_event *e = &ev[base + i];
		good &= e->user == want[i][0] && e->type == want[i][1] && e->id == want[i][2] &&
			e->words == want[i][3];
		ordered &= e->ts >= e[-1].ts && e->seq == e[-1].seq + 1;
	}
	ok(good, "every kind of probe writes its type, id and length");
	ok(ordered, "ordinals go on by one and time stamps never back");
	ok(ev[base + 2].payload[0] == UINT64_MAX, "a counter holds 64 bits");
	ok((int64_t)ev[base + 4].payload[0] == INT64_MIN + 1, "a user int holds 64 bits");
}

static void test_custom(void)
{
	static unsigned char bytes[EBT_CUSTOM_MAX_BYTES + 1];
	int id = ebt_register("custom", EBT_USER_CUSTOM);
	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)(i * 7 + 1);
	int bad = 0;
	/* half a ring of 512 words: 256 - 2 words of payload, one byte of them the count */
	for (size_t len = 0; len <= 254 * 8 - 1; len++) {
		ebt_custom(id, len ? bytes : NULL, len);
		int n = read_ring();
		struct dump_event *e = &ev[n > 0 ? n - 1 : 0];
		const unsigned char *p = (const unsigned char *)e->payload;
		size_t all = (e->words - 2) * 8;
		bad += n < 1 || !e->user || e->type != 4 || e->id != (unsigned int)id ||
		       all - 1 - p[all - 1] != len || memcmp(p, bytes, len) != 0;
	}
	is(bad, 0, "a custom payload of every length comes back whole");

	struct dump d;
	ok(dump_open(&d, ebt_ring_path()), "the file can be read again");
	uint64_t events = dump_field(&d, 0, 2), dropped = dump_field(&d, 0, 3);
	ebt_custom(id, bytes, 254 * 8);
	ebt_custom(id, bytes, EBT_CUSTOM_MAX_BYTES + 1);
	is(dump_field(&d, 0, 2), events,
	   "a payload beyond half a ring or the limit is not written");
	is(dump_field(&d, 0, 3), dropped + 2, "but counted as dropped");
	dump_close(&d);
	unsigned int before = ev[read_ring() - 1].seq;
	ebt_begin(EBT_PHASE_major);
	is(ev[read_ring() - 1].seq, before + 3, "and the next ordinal shows the hole");
}

static void test_wrap(void)
{
	int bad = 0, pads = 0;
	uint64_t last = 0;
	for (int i = 0; i < ELEMENTS; i++) /* pushes out the hole that the last test left */
		ebt_begin(EBT_PHASE_minor);
	for (int i = 0; i < 20000; i++) {
		if (i % 3 == 0)
			ebt_counter(EBT_COUNTER_minor_promoted, (uint64_t)i);
		else if (i % 50 == 1)
			ebt_alloc_flush();
		else
			ebt_begin(EBT_PHASE_minor);
		if (i % 7)
			continue;
		int n = read_ring();
		bad += n < 1;
		for (int k = 1; k < n; k++) {
			bad += ev[k].seq != ev[k - 1].seq + 1 || ev[k].ts < ev[k - 1].ts;
			pads += ev[k].pos != ev[k - 1].pos + ev[k - 1].words;
		}
		bad += n > 0 && ev[n - 1].pos <= last;
		last = n > 0 ? ev[n - 1].pos : 0;
	}
	is(bad, 0, "around the ring's end 100 times, every look finds whole events in order");
	ok(pads > 0, "padding was among what was read");
}

static void test_buckets(void)
{
	static const size_t sizes[] = {0, 0, 1, 9, 10, 19, 20, 99, 100, 1u << 30};
	static const uint64_t want[20] = {
		[0] = 2, [1] = 1, [9] = 1, [10] = 2, [11] = 1, [18] = 1, [19] = 2};
	static const uint64_t zero[20];
	ebt_alloc_flush();
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		ebt_alloc(sizes[i]);
	ebt_alloc_flush();
	int n = read_ring();
	ok(n > 0 && ev[n - 1].type == 5 && ev[n - 1].words == 22, "a flush writes 20 buckets");
	ok(n > 0 && !memcmp(ev[n - 1].payload, want, sizeof(want)),
	   "sizes fall into their buckets");
	ebt_alloc_flush();
	n = read_ring();
	ok(n > 0 && !memcmp(ev[n - 1].payload, zero, sizeof(zero)),
	   "a flush resets all of them, the first one too");
}

static void test_pause(void)
{
	int n = read_ring();
	unsigned int seq = ev[n - 1].seq;
	is(ebt_pause(), 0, "pause");
	is(ebt_pause(), 0, "a second pause does no harm");
	n = read_ring();
	ok(ev[n - 1].type == 1 && ev[n - 1].id == 2 && ev[n - 1].seq == seq + 1,
	   "ring_pause is recorded, once");
	ebt_begin(EBT_PHASE_minor);
	ebt_alloc(1);
	is(ev[read_ring() - 1].seq, seq + 1, "a probe in the pause writes nothing");
	is(ebt_resume(), 0, "resume");
	n = read_ring();
	ok(ev[n - 1].id == 3 && ev[n - 1].seq == seq + 2 && ev[n - 1].payload[0] == 0,
	   "ring_resume comes next, with data 0");
	ebt_begin(EBT_PHASE_minor);
	is(ev[read_ring() - 1].seq, seq + 3, "probes write again");
}

static void test_registry(void)
{
	char name[140];
	memset(name, 'n', sizeof(name));
	name[128] = 0;
	is(ebt_register(name, EBT_USER_UNIT), -EINVAL, "a name of 128 bytes is refused");
	is(ebt_register("", EBT_USER_UNIT), -EINVAL, "an empty name is refused");
	is(ebt_register(NULL, EBT_USER_UNIT), -EINVAL, "no name is refused");
	is(ebt_register("x", (enum ebt_user_type)4), -EINVAL, "an unknown type is refused");
	name[127] = 0;
	int longest = ebt_register(name, EBT_USER_UNIT);
	ok(longest > 0, "a name of 127 bytes is taken");
	is(ebt_register("before", EBT_USER_UNIT), 0, "a known name has its id");
	is(ebt_register("before", EBT_USER_INT), -EEXIST, "but not with another type");
	int last = longest, bad = 0;
	while (last < 8191) {
		char text[16];
		snprintf(text, sizeof(text), "e%d", last);
		int id = ebt_register(text, EBT_USER_UNIT);
		bad += id != last + 1;
		last++;
	}
	is(bad, 0, "8192 names are taken, one id after the other");
	is(ebt_register("one more", EBT_USER_UNIT), -ENOSPC, "the 8193rd is refused");
	ebt_unit(8191);
	is(ev[read_ring() - 1].id, 8191, "the last id can be written");
	struct dump d;
	if (!ok(dump_open(&d, ebt_ring_path()), "the file can be read"))
		return;
	is_str(dump_name(&d, (unsigned int)longest), name, "the longest name is in the file");
	is_str(dump_name(&d, 8191), "e8190", "so is the last one");
	ok(!memcmp(dump_ext(&d), "EBTEXT01", 8), "nothing is written behind it");
	dump_close(&d);
}

static void test_late_name(void)
{
	struct dump d;
	ebt_runtime_name("renamed");
	if (!ok(dump_open(&d, ebt_ring_path()), "the file can be read again"))
		return;
	const char *runtime = (const char *)dump_ext(&d) + 160;
	is_str(runtime, "renamed", "a runtime that names itself late is in the file too");
	dump_close(&d);
}

int main(int argc, char **argv)
{
	(void)argc;
	dump_rerun(argv, (const char *[]){"EBTRACE_LOG_WSIZE=1", "EBTRACE_MAX_DOMAINS=4", NULL});
	int unit = ebt_register("before", EBT_USER_UNIT);
	ebt_runtime_name("test runtime");
	ok(!ebt_enabled(), "nobody listens at first");
	is(ebt_pause(), -EAGAIN, "there is nothing to pause yet");
	is(ebt_start(), 0, "recording starts");
	is(ebt_start(), 0, "starting twice does no harm");
	ok(ebt_enabled(), "now it shows that somebody listens");
	test_layout();
	test_events(unit);
	test_custom();
	test_wrap();
	test_buckets();
	test_pause();
	test_registry();
	test_late_name();
	is(ebt_stop(), 0, "recording stops");
	ok(!ebt_ring_path() && !ebt_enabled(), "then there is no file and nobody listens");
	ebt_begin(EBT_PHASE_minor);
	is(ebt_start(), 0, "it can start again");
	is(read_ring(), 1, "in a new file");
	is(ebt_stop(), 0, "and stop again");
	is(rmdir(getenv("EBTRACE_DIR")), 0, "no file is left in the directory");
	return tap_done();
}
