/* SPDX-License-Identifier: BSD-2-Clause */
/* Arguments of events in their payloads: of an interval off CPU, there and back, and of payloads
 * that nobody of ours has written. */
#include "session/offcpu.h"
#include "session/pause_counts.h"
#include "session/session.h"

#include "tests/tap.h"
#include <string.h>

static struct session *session;

static const struct offcpu whole = {
	.begin_ns = 1000,
	.end_ns = 5000000000000,
	.wait_ns = 4999000000000,
	.run_delay_ns = UINT64_MAX,
	.reason = EBT_OFFCPU_IOWAIT,
	.syscall = 0,
	.waker = 11,
	.runner = UINT32_MAX,
	.runner_cpu = 65534,
	.waker_comm = "waker",
	.runner_comm = "fifteen letters",
	.interrupt = true,
	.open = true,
};

/* "name=value " of each. */
static const char *args_of(const struct ebt_event *ev)
{
	static char text[1024];
	char scratch[KINDS_TEXT_BYTES];
	struct event_arg a;
	*text = 0;
	for (unsigned at = 0; event_args_next(session, ev, &at, &a);)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s=%s ", a.arg->name,
			 a.text ? a.text : kinds_arg_text(a.arg, a.value, scratch));
	return text;
}

static struct ebt_event event_of(const struct offcpu *o)
{
	struct ebt_event ev = {.ts = o->end_ns, .kind = EBT_OFFCPU, .domain = EBT_NO_DOMAIN};
	is(offcpu_put(session, &ev, o), 0, "an interval becomes an event");
	return ev;
}

static void test_round_trip(void)
{
	struct ebt_event ev = event_of(&whole);
	struct offcpu o;
	offcpu_get(session, &ev, &o);
	ok(o.begin_ns == whole.begin_ns && o.end_ns == whole.end_ns && o.wait_ns == whole.wait_ns &&
		   o.run_delay_ns == whole.run_delay_ns,
	   "its times come back, whatever their size");
	ok(o.reason == whole.reason && o.syscall == 0 && o.waker == 11 && o.runner == UINT32_MAX &&
		   o.runner_cpu == 65534 && o.open && o.interrupt,
	   "and its numbers");
	ok(!strcmp(o.waker_comm, "waker") && !strcmp(o.runner_comm, "fifteen letters"),
	   "and its names");
	is_str(args_of(&ev),
	       "duration_ns=4999999999000 reason=iowait syscall=0 wait_ns=4999000000000 "
	       "run_delay_ns=18446744073709551615 waker=11 waker_comm=waker interrupt=1 "
	       "runner=4294967295 runner_comm=fifteen letters runner_cpu=65534 open=1 ",
	       "its arguments stand in the order of events.def");
	/* As merge does with one that comes late. */
	ev.ts += 7000;
	ev.size = 7;
	offcpu_get(session, &ev, &o);
	ok(o.begin_ns == whole.begin_ns && o.end_ns == whole.end_ns,
	   "a late one has its own times");
	session_drop_event(session, &ev);
}

static void test_absent(void)
{
	struct offcpu none = {.begin_ns = 1, .end_ns = 2, .syscall = OFFCPU_NO_SYSCALL}, o;
	struct ebt_event ev = event_of(&none);
	is_str(args_of(&ev), "duration_ns=1 reason=preempted wait_ns=0 run_delay_ns=0 ",
	       "what there is not is absent");
	offcpu_get(session, &ev, &o);
	is(o.syscall, OFFCPU_NO_SYSCALL, "no system call is none");
	session_drop_event(session, &ev);
	is_str(args_of(&ev), "duration_ns=1 reason=preempted wait_ns=0 run_delay_ns=0 ",
	       "nor is there anything without a payload");
}

static void test_pause(void)
{
	static const struct pause_counts counted = {{[PAUSE_RUN_DELAY] = 5000000000000,
						     [PAUSE_VOLUNTARY] = 0,
						     [PAUSE_INVOLUNTARY] = 3,
						     [PAUSE_MINOR_FAULTS] = PAUSE_UNKNOWN,
						     [PAUSE_MAJOR_FAULTS] = 1,
						     [PAUSE_MIGRATIONS] = 2,
						     [PAUSE_FAULT_NS] = PAUSE_UNKNOWN}};
	struct ebt_event ev = {.kind = EBT_END};
	struct pause_counts u;
	ok(!pause_counts_get(session, &ev, &u), "the end of a phase has no counts");
	is_str(args_of(&ev), "", "nor arguments");
	is(pause_counts_put(session, &ev, &counted), 0, "that of a pause may");
	ok(pause_counts_get(session, &ev, &u) && !memcmp(&u, &counted, sizeof(u)),
	   "they come back, whatever their size");
	is_str(args_of(&ev),
	       "run_delay_ns=5000000000000 voluntary_switches=0 involuntary_switches=3 "
	       "major_faults=1 migrations=2 ",
	       "what is 0 is an argument, what is not known is none");
	session_drop_event(session, &ev);
	ev.flags = 0;
	session_put_blob(session, &ev, "short", 5);
	ok(pause_counts_get(session, &ev, &u) && u.count[PAUSE_RUN_DELAY] == PAUSE_UNKNOWN,
	   "of a payload that is too short nothing is known");
	session_drop_event(session, &ev);
}

static void test_forged(void)
{
	unsigned char bytes[200];
	struct offcpu o;
	memset(bytes, 0xff, sizeof(bytes));
	memcpy(bytes, "a\033]b\n\177\xc3", 7);
	bool good = true;
	for (size_t n = 0; n <= sizeof(bytes); n++) {
		struct ebt_event ev = {.ts = 1000, .pos = UINT64_MAX, .kind = EBT_OFFCPU, .id = 99};
		session_put_blob(session, &ev, bytes, n);
		offcpu_get(session, &ev, &o);
		good &= o.begin_ns == 0 && o.end_ns == 1000 && o.wait_ns <= 1000;
		good &= strlen(o.waker_comm) < sizeof(o.waker_comm);
		const char *text = args_of(&ev);
		good &= !strpbrk(text, "\033\n\177") && strstr(text, "reason=unknown");
		session_drop_event(session, &ev);
	}
	ok(good, "a payload of any length and content has times within bounds and harmless names");
}

static const char *meaning_of(uint32_t id, uint16_t kind, const void *data, size_t bytes)
{
	static char text[2048];
	struct ebt_event ev = {.kind = kind, .id = id, .sarg = {-5}};
	if (data && session_put_blob(session, &ev, data, bytes))
		abort();
	enum kinds_payload rest = event_args_rest(session, &ev);
	snprintf(text, sizeof(text), "%s%s", args_of(&ev),
		 rest == KINDS_PAYLOAD_bytes ? "and bytes" : "");
	session_drop_event(session, &ev);
	return text;
}

static void test_meanings(void)
{
	const uint32_t id = 3, own = 4, far = PROCESS_USER_IDS + 3;
	struct processes *ps = &session->processes;
	processes_set_user_name(ps, PROCESS_UNKNOWN, id, "eio.name");
	processes_set_user_name(ps, PROCESS_UNKNOWN, own, "eio.mine");
	processes_set_user_name(ps, PROCESS_UNKNOWN, far, "eio.name");
	is_str(meaning_of(id, EBT_CUSTOM, "\2\0\0\0\0\0\0\0a\0b\xff\n", 13),
	       "of=2 text=a?b"
	       "\xef\xbf\xbd"
	       "\n ",
	       "bytes of an event that is known have a meaning");
	is_str(meaning_of(id, EBT_CUSTOM, "\2\0\0", 3), "and bytes", "but not if they are too few");
	is_str(meaning_of(id, EBT_CUSTOM, NULL, 0), "and bytes", "or missing");
	is_str(meaning_of(id, EBT_INT, NULL, 0), "value=-5 ", "or if it is of another kind");
	is_str(meaning_of(own, EBT_INT, NULL, 0), "value=-5 ",
	       "a name of the program's own has none");
	is_str(meaning_of(far, EBT_CUSTOM, "\2\0\0\0\0\0\0\0a", 9), "and bytes",
	       "nor has an id that no ring can have");
	processes_set_user_name(ps, PROCESS_UNKNOWN, id, "eio.fiber");
	is_str(meaning_of(id, EBT_INT, NULL, 0), "fiber=-5 ", "a meaning follows the name");
	processes_set_user_name(ps, PROCESS_UNKNOWN, id, "eio.create_cc");
	is_str(meaning_of(id, EBT_CUSTOM, "\2\0\0\0\0\0\0\0\6", 9), "context=2 type=root ",
	       "a type has its name");
	is_str(meaning_of(id, EBT_CUSTOM, "\2\0\0\0\0\0\0\0\x63", 9), "context=2 type=99 ",
	       "or its number");
	processes_set_user_name(ps, PROCESS_UNKNOWN, id, "mine");
	is_str(meaning_of(id, EBT_INT, NULL, 0), "value=-5 ", "and goes with it");
}

static void test_long_text(void)
{
	static char bytes[3 * EVENT_ARGS_LONG_BYTES];
	struct ebt_event ev = {.kind = EBT_CUSTOM, .id = 3};
	struct event_arg a;
	unsigned at = 0;
	memset(bytes, 'x', sizeof(bytes));
	processes_set_user_name(&session->processes, PROCESS_UNKNOWN, 3, "eio.log");
	if (session_put_blob(session, &ev, bytes, sizeof(bytes)))
		abort();
	ok(event_args_next(session, &ev, &at, &a) && strlen(a.text) == EVENT_ARGS_LONG_BYTES,
	   "a text that is too long is cut");
	session_drop_event(session, &ev);
}

/* Values of a marker, and a payload that ends within one. */
static void test_values(void)
{
	static const struct marker_value values[] = {
		{.type = MARKER_UNSIGNED, .number = UINT64_MAX},
		{.type = MARKER_SIGNED, .number = (uint64_t)-5},
		{.type = MARKER_TEXT, .text = "a \"b\"\n\xff", .bytes = 7},
		{.type = MARKER_UNREADABLE},
		{.type = MARKER_TEXT, .text = "", .bytes = 0},
		{.type = MARKER_UNSIGNED, .number = 0},
	};
	unsigned char bytes[200], *end = bytes;
	for (unsigned i = 0; i < sizeof(values) / sizeof(*values); i++)
		end = marker_values_put(end, &values[i]);
	struct ebt_event ev = {.kind = EBT_MARKER_HIT, .id = marker_id(1, 0)};
	is_str(args_of(&ev), "", "a marker without arguments has none");
	session_put_blob(session, &ev, bytes, (size_t)(end - bytes));
	is_str(args_of(&ev),
	       "arg0=18446744073709551615 arg1=-5 arg2=a \"b\"\n\xff arg3=? arg4= arg5=0 ",
	       "each value comes back with its type, also one that is 0 or could not be read");
	session_drop_event(session, &ev);
	bool good = true;
	for (size_t n = 0; n <= (size_t)(end - bytes); n++) {
		struct ebt_event cut = {.kind = EBT_SPAN_BEGIN, .id = marker_id(1, 2)};
		session_put_blob(session, &cut, bytes, n);
		const char *text = args_of(&cut);
		good &= (n < 9) == !*text && (n < 18) == !strstr(text, "arg1");
		session_drop_event(session, &cut);
	}
	ok(good, "of a payload that is cut the values before that are read");
}

static void test_forged_values(void)
{
	unsigned char bytes[3 * 1100];
	bool good = true;
	for (unsigned type = 0; type < 256; type++) {
		struct ebt_event ev = {.kind = EBT_MARKER_HIT};
		memset(bytes, 0xff, sizeof(bytes));
		bytes[0] = (unsigned char)type;
		session_put_blob(session, &ev, bytes, sizeof(bytes));
		good &= strlen(args_of(&ev)) < 30;
		session_drop_event(session, &ev);
	}
	ok(good, "an unknown type, or a text that is too long, ends the values");
	struct ebt_event ev = {.kind = EBT_MARKER_HIT};
	memset(bytes, MARKER_UNREADABLE, 100);
	session_put_blob(session, &ev, bytes, 100);
	ok(strstr(args_of(&ev), "arg11=? ") && !strstr(args_of(&ev), "arg12"),
	   "there are twelve at most");
	session_drop_event(session, &ev);
}

static void test_ids(void)
{
	uint32_t id = marker_id(255, MARKER_SLOTS - 1);
	ok(marker_id_is(id) && marker_id_slot(id) == MARKER_SLOTS - 1 && (id & 255) == 255 &&
		   !(id & EBT_UNKNOWN_ID),
	   "an id has its request and its slot, and is not an unknown one");
	ok(!marker_id_is(8191) && !marker_id_slot(8191),
	   "events that programs register have other ids");
}

int main(void)
{
	if (session_new(&session))
		return 1;
	test_meanings();
	test_long_text();
	test_round_trip();
	test_absent();
	test_pause();
	test_forged();
	test_values();
	test_forged_values();
	test_ids();
	session_free(session);
	return tap_done();
}
