/* SPDX-License-Identifier: BSD-2-Clause */
/* Records of the user's markers become events: arguments, texts, and spans by an argument. */
#include "source/bpf/usdt_events.h"

#include <malloc.h>
#include <string.h>

#include "session/event_args.h"
#include "session/marker_values.h"
#include "session/names.h"
#include "source/bpf/traced.h"
#include "source/bpf/usdt_specs.h"
#include "tests/random.h"
#include "tests/tap.h"

enum { EVENT, TEXT, THREAD, KEY };

static struct session *session;
static struct marker_requests requests;
static struct usdt_events events;
static uint32_t process;

static struct {
	struct ebt_usdt_record rec;
	char text[EBT_USDT_TEXTS][EBT_USDT_TEXT_BYTES];
} record;

static void start(void)
{
	static const char *const asked[] = {"p:event", "p:text#1:str#0:str", "p:a~p:b",
					    "p:open#1~p:close#0"};
	if (session_new(&session) || processes_of(&session->processes, 7, &process))
		return;
	for (unsigned i = 0; i < 4; i++)
		marker_requests_add(&requests, asked[i]);
	usdt_events_init(&events, session, &requests);
}

static void make_record(uint32_t request, uint16_t kind, uint16_t args)
{
	memset(&record, 0, sizeof(record));
	record.rec.head.site = kind;
	record.rec.request = request;
	record.rec.args = args;
}

/* "kind name slot: arg0=… …", of the record. */
static const char *made(size_t payload)
{
	static char text[2048];
	char scratch[KINDS_TEXT_BYTES], name[NAMES_MADE_BYTES];
	struct ebt_event ev = {.process = process, .tid = 11, .pos = EBT_NO_POS};
	struct event_arg a;
	int err = usdt_events_make(&events, &record.rec, payload, &ev);
	if (err) {
		snprintf(text, sizeof(text), "error %d", err);
		return text;
	}
	int n = snprintf(text, sizeof(text), "%s %s %u%s:", kinds_name(ev.kind),
			 names_label(session, &ev, name), marker_id_slot(ev.id),
			 ev.flags & EBT_F_CUT ? " cut" : "");
	for (unsigned at = 0; event_args_next(session, &ev, &at, &a);)
		n += snprintf(text + n, sizeof(text) - (size_t)n, " %s",
			      a.text ? a.text : kinds_arg_text(a.arg, a.value, scratch));
	session_drop_event(session, &ev);
	return text;
}

static void test_values(void)
{
	make_record(EVENT, EBT_MARKER_HIT, 4);
	record.rec.arg[0] = 5;
	record.rec.arg[1] = record.rec.arg[2] = (uint64_t)-5;
	record.rec.is_signed = 1 << 1;
	record.rec.missing = 1 << 3;
	is_str(made(0), "marker p:event 0: 5 -5 18446744073709551611 ?",
	       "numbers have their sign, and what could not be read is no number");
	make_record(EVENT, EBT_MARKER_HIT, 0);
	is_str(made(0), "marker p:event 0:", "a marker may have no arguments");
	make_record(99, EBT_MARKER_HIT, 0);
	is_str(made(0), "error -2", "a record of no request makes no event");
	make_record(EVENT, EBT_MARKER_HIT, 60000);
	ok(strlen(made(0)) < 100, "a record with too many arguments has twelve");
}

static void test_texts(void)
{
	const size_t all = sizeof(record.text);
	make_record(TEXT, EBT_MARKER_HIT, 2);
	record.rec.arg[0] = record.rec.arg[1] = 0x1000;
	strcpy(record.text[0], "second");
	strcpy(record.text[1], "first");
	record.rec.text[0] = sizeof("second");
	record.rec.text[1] = sizeof("first");
	is_str(made(all), "marker p:text 0: first second", "texts are those of their arguments");
	record.rec.text[1] = 0;
	is_str(made(all), "marker p:text 0: ? second", "one that could not be read is none");
	record.rec.arg[0] = 0;
	is_str(made(all), "marker p:text 0: 0 second", "the address of nothing is 0");
	memset(record.text[0], 'x', EBT_USDT_TEXT_BYTES - 1);
	record.rec.text[0] = EBT_USDT_TEXT_BYTES;
	ok(!strncmp(made(all), "marker p:text 0 cut: 0 xxx", 24), "one that fills its room is cut");
	is_str(made(EBT_USDT_TEXT_BYTES - 1), "marker p:text 0: 0 ?",
	       "nor is there one beyond the payload");
	record.rec.text[0] = UINT16_MAX;
	is_str(made(all), "marker p:text 0: 0 ?", "or one that is longer than its room");
}

/* Begins or ends the span with a key; the slot. */
static unsigned slot_of(bool begins, uint64_t key)
{
	char kind[32], name[64];
	unsigned slot = 9999;
	make_record(KEY, begins ? EBT_SPAN_BEGIN : EBT_SPAN_END, 2);
	record.rec.dropped = events.dropped;
	record.rec.arg[begins ? 1 : 0] = key;
	sscanf(made(0), "%31s %63s %u", kind, name, &slot);
	return slot;
}

static void test_spans(void)
{
	make_record(THREAD, EBT_SPAN_BEGIN, 1);
	is_str(made(0), "span_begin p:a~p:b 0: 0", "a span by thread has no slot");
	unsigned a = slot_of(true, 100), b = slot_of(true, UINT64_MAX);
	ok(a && b && a != b, "two spans by argument have two slots");
	ok(slot_of(true, 100) == a && slot_of(false, 100) == a && slot_of(false, 100) == a,
	   "spans with one argument nest in one slot");
	is(slot_of(false, 100), 0, "an end without a begin has none");
	is(slot_of(false, UINT64_MAX), b, "an end finds its begin by the argument");
	a = slot_of(true, 1);
	make_record(KEY, EBT_SPAN_END, 2);
	record.rec.arg[0] = 1;
	record.rec.dropped = events.dropped + 1;
	ok(!strncmp(made(0), "span_end p:open~p:close 0:", 26),
	   "when records were dropped, no span is open any more");
	a = slot_of(true, 2);
	usdt_events_end(&events, process);
	ok(a && !slot_of(false, 2), "nor when the process has ended");
	make_record(KEY, EBT_SPAN_BEGIN, 2);
	record.rec.dropped = events.dropped;
	record.rec.missing = 2;
	is_str(made(0), "marker p:open~p:close 0: 0 ?",
	       "a begin whose argument could not be read is an event");
}

struct call {
	bool begins;
	uint32_t tid;
	uint64_t ip, frame, caller;
};

/* The levels of a span by thread that begins and ends in these calls, up to one of no thread; '-':
 * of no span. */
static const char *levels(const struct call *c)
{
	static char text[64];
	size_t n = 0;
	for (; c->tid && n + 1 < sizeof(text); c++) {
		struct ebt_event ev = {.process = process, .tid = c->tid, .pos = EBT_NO_POS};
		make_record(THREAD, c->begins ? EBT_SPAN_BEGIN : EBT_SPAN_END, 0);
		record.rec.dropped = events.dropped;
		record.rec.ip = c->ip;
		record.rec.frame = c->frame;
		record.rec.caller = c->caller;
		if (usdt_events_make(&events, &record.rec, 0, &ev))
			return "error";
		uint32_t level = marker_id_level(ev.id);
		text[n++] = level ? (char)('0' + level) : '-';
	}
	text[n] = 0;
	usdt_events_end(&events, process);
	return text;
}

#define B(frame, caller)               \
	{                              \
		1, 9, 5, frame, caller \
	}
#define E(frame, caller)               \
	{                              \
		0, 9, 6, frame, caller \
	}

static void test_levels(void)
{
	static const struct {
		const char *name, *want;
		struct call call[12];
	} rows[] = {
		{"spans in deeper frames nest",
		 "123321",
		 {B(90, 7), B(80, 7), B(70, 7), E(70, 7), E(80, 7), E(90, 7)}},
		{"one that begins in the frame of another, by the same call, is on its level",
		 "11111",
		 {B(90, 7), E(90, 7), B(90, 7), B(90, 7), E(90, 7)}},
		{"so is one in a frame above it, or by another call: all inside have been left",
		 "1112321",
		 {B(90, 7), E(90, 7), B(90, 7), B(80, 8), B(70, 8), B(80, 9), B(90, 6)}},
		{"another site in one call nests",
		 "1112",
		 {B(90, 7), E(90, 7), B(90, 7), {1, 9, 4, 90, 7}}},
		{"an end in the call of a begin is of that",
		 "1231",
		 {B(90, 7), B(80, 7), B(70, 7), E(90, 7)}},
		{"another thread has its own levels",
		 "111112",
		 {B(90, 7), E(90, 7), B(90, 7), {1, 8, 5, 90, 7}, {0, 8, 6, 90, 7}, B(80, 7)}},
		{"before the first end it is not known whether both are in one function",
		 "12",
		 {B(90, 7), B(90, 7)}},
		{"where they are not, all nest",
		 "1112332",
		 {B(90, 7), E(90, 8), B(90, 7), B(90, 7), B(90, 7), E(90, 8), E(90, 8)}},
		{"and where callers are not known",
		 "1112",
		 {B(90, 0), E(90, 0), B(90, 0), B(90, 0)}},
		{"an end that comes all the same shows that spans had not been left",
		 "11111--12",
		 {B(90, 7), E(90, 7), B(90, 7), B(95, 7), E(95, 7), E(90, 7), E(90, 7), B(90, 7),
		  B(95, 7)}},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		is_str(levels(rows[i].call), rows[i].want, rows[i].name);
}

static void test_most_levels(void)
{
	static struct call many[600];
	uint32_t wrong = 0;
	for (uint32_t i = 0; i < 300; i++) {
		many[i] = (struct call){true, 9, 5, 9000 - i, 7};
		many[599 - i] = (struct call){false, 9, 6, 9000 - i, 7};
	}
	for (uint32_t i = 0; i < 600; i++) {
		struct ebt_event ev = {.process = process, .tid = 9, .pos = EBT_NO_POS};
		uint32_t open = i < 300 ? i + 1 : 600 - i;
		make_record(THREAD, many[i].begins ? EBT_SPAN_BEGIN : EBT_SPAN_END, 0);
		record.rec.dropped = events.dropped;
		record.rec.frame = many[i].frame;
		record.rec.caller = 7;
		wrong += usdt_events_make(&events, &record.rec, 0, &ev) ||
			 marker_id_level(ev.id) != (open < MARKER_LEVELS ? open : MARKER_LEVELS);
	}
	is(wrong, 0, "levels have a limit, behind which all spans have the highest one");
	usdt_events_end(&events, process);
	/* Both are in one function; then more than the limit nest, and their functions are left. */
	wrong = 0;
	for (uint32_t i = 0; i < 306; i++) {
		struct ebt_event ev = {.process = process, .tid = 9, .pos = EBT_NO_POS};
		bool begins = i != 1 && i < 303, is_inner = i >= 2 && i < 302;
		make_record(THREAD, begins ? EBT_SPAN_BEGIN : EBT_SPAN_END, 0);
		record.rec.dropped = events.dropped;
		record.rec.ip = begins ? 5 : 6;
		record.rec.frame = is_inner ? 9000 - i : 9500;
		record.rec.caller = 7;
		uint32_t open = is_inner ? i - 1 : i < 304 ? 1 : 0;
		wrong += usdt_events_make(&events, &record.rec, 0, &ev) ||
			 marker_id_level(ev.id) != (open < MARKER_LEVELS ? open : MARKER_LEVELS);
	}
	is(wrong, 0, "those beyond the limit are left with the others");
	usdt_events_end(&events, process);
}

/* Against a table of all keys: any order of begins and ends. */
static void test_model(void)
{
	enum { KEYS = 300, STEPS = 20000 };
	static unsigned open[KEYS], slot[KEYS];
	static uint8_t used[MARKER_SLOTS];
	unsigned wrong = 0;
	uint64_t seed = 5;
	for (unsigned i = 0; i < STEPS; i++) {
		unsigned k = (unsigned)(random_next(&seed) % KEYS);
		bool begins = random_next(&seed) % 100 < 52 && open[k] < 50;
		unsigned got = slot_of(begins, k);
		if (begins && !open[k]++) {
			wrong += !got || used[got];
			slot[k] = got;
			used[got] = 1;
		} else if (begins || open[k]) {
			wrong += got != slot[k];
			if (!begins && !--open[k])
				used[got] = 0;
		} else {
			wrong += got != 0;
		}
	}
	is(wrong, 0, "of any begins and ends each open argument has one slot of its own");
	usdt_events_end(&events, process);
	for (unsigned i = 1; i < MARKER_SLOTS; i++)
		wrong += !slot_of(true, i);
	is(wrong, 0, "as many spans are open as there are slots");
	make_record(KEY, EBT_SPAN_BEGIN, 2);
	record.rec.dropped = events.dropped;
	record.rec.arg[1] = MARKER_SLOTS;
	ok(!strncmp(made(0), "marker ", 7), "one more is an event");
	ok(slot_of(false, 77) && slot_of(true, MARKER_SLOTS), "until one of them ends");
}

static void test_specs(void)
{
	struct usdt_specs specs = {0};
	struct ebt_usdt_spec spec = {.request = 1};
	bool is_new;
	ok(!usdt_specs_key(&specs, &spec, &is_new) && is_new, "the first kind of site is new");
	spec.arg[11].number = 1;
	ok(usdt_specs_key(&specs, &spec, &is_new) == 1 && is_new, "so is another one");
	ok(usdt_specs_key(&specs, &spec, &is_new) == 1 && !is_new, "which is known then");
	unsigned n = 2;
	for (int key = 0; key >= 0; n += key >= 0) {
		spec.arg[0].number = n;
		key = usdt_specs_key(&specs, &spec, &is_new);
	}
	is(n, EBT_USDT_SPECS, "there is a limit");
	usdt_specs_done(&specs);
}

static size_t allocated(void)
{
	struct mallinfo2 i = mallinfo2();
	return i.uordblks + i.hblkhd;
}

static void find_sites(void)
{
	struct bpf_traced t;
	struct ebt_usdt_spec spec = {0};
	struct site_file file = {.fd = -1, .path = "", .hash = 1};
	struct messages messages = {0};
	bool is_new;
	bpf_traced_init(&t, &(struct bpf_traced_options){0}, &(struct bpf_scanner){0});
	for (unsigned n = 0; n < 10; n++) {
		spec.request = (uint16_t)n;
		usdt_specs_key(&t.by.env.specs, &spec, &is_new);
		site_callers_find(&t.by.env.callers, &file, n, &messages);
	}
	site_callers_close(&file);
	bpf_traced_done(&t);
}

/* The first rounds have what libraries keep. Under a sanitizer, which finds itself what is left,
 * both figures are 0. */
static void test_end_of_run(void)
{
	size_t early = 0;
	for (unsigned round = 0; round < 20; round++) {
		find_sites();
		early = round == 9 ? allocated() : early;
	}
	ok(allocated() <= early, "what is known of sites is freed with what is traced");
}

int main(void)
{
	start();
	test_values();
	test_texts();
	test_spans();
	test_levels();
	test_most_levels();
	test_model();
	test_specs();
	test_end_of_run();
	usdt_events_done(&events);
	marker_requests_done(&requests);
	session_free(session);
	return tap_done();
}
