/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Chrome's and the Fuchsia trace format of what no ring of the samples holds: several processes,
 * threads without a domain, hostile names, long payloads, tables that overflow, write errors. The
 * outputs are read by jq and by fxt_dump.
 */
#include "format/chrome/chrome.h"
#include "format/fxt/fxt.h"
#include "format/fxt/record.h"
#include "session/marker_values.h"
#include "session/offcpu.h"
#include "session/session.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <unistd.h>

#include "tests/tap.h"
#include "tests/unit/processes_fixture.h"

#define NS(x) (1000000000000ull + (x))

typedef int make_fn(const struct session *, int, struct sink **);

static char dir[] = "/tmp/test_timelines.XXXXXX";
static char dump[4096];

/* A sink on a file, and what it is fed. */
struct run {
	struct session *s;
	struct sink *sink;
	char path[64];
	int fd;
};

static void start(struct run *r, make_fn *make)
{
	snprintf(r->path, sizeof(r->path), "%s/out", dir);
	r->fd = open(r->path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (r->fd < 0 || session_new(&r->s) || enter_processes(r->s, 64) ||
	    make(r->s, r->fd, &r->sink))
		abort();
}

static int push(struct run *r, struct ebt_event ev)
{
	if (!ev.pos && ev.kind != EBT_LOST)
		ev.pos = EBT_NO_POS;
	if (!ev.cpu)
		ev.cpu = EBT_NO_CPU;
	if (!r->s->totals.timed++)
		r->s->totals.first_ns = ev.ts;
	r->s->totals.last_ns = ev.ts;
	r->s->totals.events++;
	int err = sink_events(r->sink, &ev, 1);
	session_drop_event(r->s, &ev);
	return err;
}
/* An event of kind `k` in domain `d` of process `p`, with more fields. */
#define PUSH(r, k, p, d, t, ...) \
	push(r, (struct ebt_event){.kind = k, .pid = p, .domain = d, .ts = NS(t), __VA_ARGS__})

static int end(struct run *r)
{
	int err = sink_end(r->sink);
	sink_free(r->sink);
	session_free(r->s);
	close(r->fd);
	return err;
}

/* What a shell command prints about the output, $F, without the last newline. */
static const char *ask(const struct run *r, const char *command)
{
	static char out[65536];
	setenv("F", r->path, 1);
	setenv("DUMP", dump, 1);
	FILE *p = popen(command, "r");
	size_t n = p ? fread(out, 1, sizeof(out) - 1, p) : 0;
	int status = p ? pclose(p) : -1;
	while (n && out[n - 1] == '\n')
		n--;
	out[n] = '\0';
	if (status)
		snprintf(out + n, sizeof(out) - n, " (status %d)", status);
	return out;
}

struct check {
	const char *name, *command, *want;
};

static void check_all(const struct run *r, const struct check *checks, size_t count)
{
	for (size_t i = 0; i < count; i++)
		is_str(ask(r, checks[i].command), checks[i].want, checks[i].name);
}
#define CHECK_ALL(r, ...)                           \
	check_all(r, (struct check[]){__VA_ARGS__}, \
		  sizeof((struct check[]){__VA_ARGS__}) / sizeof(struct check))

#define JQ(filter)   "jq -rc '[.[] | " filter "] | .[]' $F"
#define DUMP(filter) "$DUMP $F | awk -F'\t' -v OFS=, '" filter "'"

/* Two processes whose domains have the same number, a thread in no domain, all that cuts a span. */
static void feed_spans(struct run *r)
{
	processes_set_user_name(&r->s->processes, 10, 3, "request");
	snprintf(processes_announce(&r->s->processes, 10)->comm, 16, "server");
	PUSH(r, EBT_BEGIN, 10, 0, 1, .id = 11, .tid = 100, .cpu = 2);
	PUSH(r, EBT_BEGIN, 20, 0, 2, .id = 11);
	PUSH(r, EBT_BEGIN, 10, EBT_NO_DOMAIN, 3, .id = 6, .tid = 77);
	PUSH(r, EBT_SPAN_BEGIN, 10, 0, 4, .id = 3);
	PUSH(r, EBT_SPAN_BEGIN, 10, 0, 5, .id = 3);
	PUSH(r, EBT_SPAN_END, 10, 0, 6, .id = 3);
	PUSH(r, EBT_BEGIN, 10, 0, 7, .id = 12);
	PUSH(r, EBT_END, 10, 0, 8, .id = 11);
	PUSH(r, EBT_END, 10, 0, 9, .id = 11);
	PUSH(r, EBT_BEGIN, 10, 0, 10, .id = 11);
	PUSH(r, EBT_LOST, 10, 0, 20, .pos = NS(15), .arg = {7, 30});
	PUSH(r, EBT_PROCESS, 20, EBT_NO_DOMAIN, 30, .id = EBT_PROCESS_EXIT);
	snprintf(processes_announce(&r->s->processes, 10)->comm, 16, "worker");
	PUSH(r, EBT_PROCESS, 10, EBT_NO_DOMAIN, 40, .id = EBT_PROCESS_FORK, .arg = {21});
	PUSH(r, EBT_END, 10, EBT_NO_DOMAIN, 1000999, .id = 6, .tid = 77);
}

static void test_spans_chrome(void)
{
	struct run r;
	start(&r, chrome_new);
	feed_spans(&r);
	is(end(&r), 0, "Chrome: the end succeeds");
	CHECK_ALL(
		&r,
		{"Chrome: rows of processes, domains and threads do not mix",
		 JQ("select(.ph == \"B\" or .ph == \"E\") | [.ph,.pid,.tid,.name] | @csv"),
		 "\"B\",10,0,\"minor\"\n\"B\",20,0,\"minor\"\n\"B\",10,10000077,\"major\"\n"
		 "\"B\",10,0,\"minor_local_roots\"\n\"E\",10,0,\"minor_local_roots\"\n"
		 "\"E\",10,0,\"minor\"\n\"B\",10,0,\"minor\"\n\"E\",10,0,\"minor\"\n"
		 "\"E\",20,0,\"minor\"\n\"E\",10,10000077,\"major\""},
		{"Chrome: an instant on the row of a phase that was cut has the reason, at its end",
		 JQ("select(.ph == \"i\" and .cat == \"phase\") | "
		    "[.pid,.tid,.ts,.s,.name,.args.cut] | @csv"),
		 "10,0,1000000000.008,\"t\",\"end of minor_local_roots\",\"outer\"\n"
		 "10,0,1000000000.015,\"t\",\"end of minor\",\"lost\"\n"
		 "20,0,1000000000.03,\"t\",\"end of minor\",\"process\""},
		{"Chrome: user spans nest, a loss cuts them",
		 JQ("select(.cat == \"user\") | [.ph,.id,.name,.args.cut] | @csv"),
		 "\"b\",4,\"request\",\n\"b\",4,\"request\",\n\"e\",4,\"request\",\n"
		 "\"e\",4,\"request\",\"lost\""},
		{"Chrome: a loss has its length and its counts",
		 JQ("select(.ph == \"X\") | [.tid,.ts,.dur,.args.events,.args.words] | @csv"),
		 "100000,1000000000.015,0.005,7,30"},
		{"Chrome: a phase has no thread and no CPU, which may differ at its end",
		 JQ("select(.ph == \"B\" or .ph == \"E\") | .args // empty"), ""},
		{"Chrome: rows have names", JQ("select(.name == \"thread_name\").args.name"),
		 "domain 0\ndomain 0\nthread 77\nlost events (domain 0)\nprocess\nprocess"},
		{"Chrome: a process that is renamed is named again",
		 JQ("select(.name == \"process_name\") | [.pid,.args.name] | @csv"),
		 "10,\"server\"\n20,\"process not known\"\n10,\"worker\""},
		{"Chrome: a time is exact to the nanosecond", "grep -o '\"ts\":1000001[^,}]*' $F",
		 "\"ts\":1000001000.999"},
		{"Chrome: what happens to a process is an instant of it",
		 JQ("select(.s == \"p\") | [.pid,.name,.args.child] | @csv"),
		 "20,\"exit\",\n10,\"fork\",21"}, );
}

static void test_spans_fxt(void)
{
	struct run r;
	start(&r, fxt_new);
	feed_spans(&r);
	is(end(&r), 0, "FXT: the end succeeds");
	CHECK_ALL(&r,
		  {"FXT: rows of processes, domains and threads do not mix",
		   DUMP("$5 == \"phase\" { print $1, $3, $4, $6, $7, $8, $9 }"),
		   "complete,10,0,minor,tid=100,cpu=2,end=1000000000008\n"
		   "complete,10,0,minor_local_roots,cut=outer,end=1000000000008,\n"
		   "complete,10,0,minor,cut=lost,end=1000000000015,\n"
		   "complete,20,0,minor,cut=process,end=1000000000030,\n"
		   "complete,10,10000077,major,tid=77,end=1000001000999,"},
		  {"FXT: user spans nest", DUMP("$1 ~ /^async/ { print $1, $6, $7, $8 }"),
		   "async_begin,request,id=4,\nasync_begin,request,id=4,\nasync_end,request,id=4,\n"
		   "async_end,request,cut=lost,id=4"},
		  {"FXT: a loss has its length and its counts",
		   DUMP("$6 == \"lost\" { print $2, $4, $7, $8, $9 }"),
		   "1000000000015,100000,events=7,words=30,end=1000000000020"},
		  {"FXT: processes are named, and named again",
		   DUMP("$1 == \"process\" { print $2, $3 }"),
		   "10,server\n20,process not known\n10,worker"},
		  {"FXT: rows are named, and say whose they are",
		   DUMP("$1 == \"thread_object\" && $3 ~ /^[dt]/ { print $2, $3, $4 }") " | sort",
		   "0,domain 0,process=koid:10\n0,domain 0,process=koid:20\n"
		   "10000077,thread 77,process=koid:10"}, );
}

/* Values at their limits, names and payloads at theirs. */
static void feed_values(struct run *r)
{
	static char payload[40000], longest[601];
	memset(payload, 0xab, sizeof(payload));
	memset(longest, 'n', sizeof(longest) - 1);
	processes_set_user_name(&r->s->processes, 10, 1, "say \"hi\\\n\xff\xc3\xa9");
	processes_set_user_name(&r->s->processes, 10, 2, longest);
	PUSH(r, EBT_UNIT, 10, 0, 1, .id = 1);
	PUSH(r, EBT_INT, 10, 0, 2, .id = 99, .sarg = {INT64_MIN});
	PUSH(r, EBT_COUNTER, 10, 3, 3, .id = 4, .arg = {UINT64_MAX});
	PUSH(r, EBT_COUNTER, 10, 3, 4, .id = EBT_UNKNOWN_ID | 60, .arg = {5});
	PUSH(r, EBT_COUNTER, 10, EBT_NO_DOMAIN, 5, .id = 4, .tid = 77, .arg = {6});
	struct ebt_event ev = {
		.kind = EBT_CUSTOM, .ts = NS(6), .pid = 10, .id = 2, .flags = EBT_F_CUT};
	if (session_put_blob(r->s, &ev, payload, sizeof(payload)))
		abort();
	push(r, ev);
	uint64_t sizes[EBT_ALLOC_BUCKETS];
	for (unsigned i = 0; i < EBT_ALLOC_BUCKETS; i++)
		sizes[i] = UINT64_MAX - i;
	ev = (struct ebt_event){.kind = EBT_ALLOC_SIZES, .ts = NS(7), .pid = 10};
	if (session_put_blob(r->s, &ev, sizes, sizeof(sizes)))
		abort();
	push(r, ev);
	PUSH(r, EBT_DAMAGE, 0, 1, 8, .arg = {4096, 3});
	PUSH(r, EBT_LOST, 0, EBT_NO_DOMAIN, 9, .pos = 0, .flags = EBT_F_HISTORY,
	     .arg = {EBT_LOST_UNCOUNTED, 0});
	PUSH(r, EBT_BEGIN, 10, 0, 10, .id = 11, .flags = EBT_F_LATE);
	PUSH(r, EBT_END, 10, 0, 12, .id = 11, .flags = EBT_F_LATE);
	PUSH(r, EBT_BEGIN, 10, 0, 13, .id = 11);
	/* A tail that nothing ends. */
	r->s->run_end = moment_at(NS(5000));
}

static void test_values_chrome(void)
{
	struct run r;
	start(&r, chrome_new);
	feed_values(&r);
	is(end(&r), 0, "Chrome: strange values are written");
	CHECK_ALL(&r,
		  {"Chrome: a name of any bytes",
		   JQ("select(.ts == 1000000000.001 and .ph == \"i\").name | @json"),
		   "\"say \\\"hi\\\\\\n\xef\xbf\xbd\xc3\xa9\""},
		  {"Chrome: values at the limits of 64 bits",
		   "grep -o '\"value\":-\\?[0-9]*' $F | xargs",
		   "value:-9223372036854775808 value:18446744073709551615 value:5 value:6"},
		  {"Chrome: what has no name gets one of its number",
		   JQ("select(.name | test(\"_[0-9]+$\")).name"), "user_99\ncounter_60"},
		  {"Chrome: counters are distinguished by their domains and threads",
		   JQ("select(.ph == \"C\").id"), "domain 3\ndomain 3\nthread 77"},
		  {"Chrome: a payload is whole, and said to be cut if it was",
		   JQ("select(.args.data) | [(.args.data | length), .args.cut] | @csv"),
		   "80000,true"},
		  {"Chrome: sizes of allocations", JQ("select(.args.values).args.values | length"),
		   "20"},
		  {"Chrome: what is of no process is shown all the same",
		   JQ("select(.pid == 4194304 and .ph != \"M\") | [.ph,.tid,.name] | @csv"),
		   "\"i\",1,\"damage\"\n\"X\",165535,\"lost\""},
		  {"Chrome: a loss since nobody knows when begins with the trace",
		   JQ("select(.ph == \"X\") | [.ts,.dur,.args.events,.args.history] | @csv"),
		   "1000000000.001,0.008,,true"},
		  {"Chrome: what came late is said to be",
		   JQ("select(.args.late == true) | [.ph,.ts,.name] | @csv"),
		   "\"i\",1000000000.01,\"begin of minor\"\n\"i\",1000000000.012,\"end of minor\""},
		  {"Chrome: what is open ends with the run",
		   JQ("select(.ph == \"E\" or .args.cut == \"unfinished\") | [.ph,.ts,.args.cut] | "
		      "@csv"),
		   "\"E\",1000000000.012,\n\"i\",1000000005,\"unfinished\"\n\"E\",1000000005,"}, );
}

/* With a stack of one function at this address, which nothing but the sink holds from then on. */
static void push_with_stack(struct run *r, struct ebt_event ev, uint64_t address)
{
	struct session *s = r->s;
	uint32_t frame =
		frames_put(s->frames, &(struct frame){.address = address, .has_address = true});
	session_put_stack(s, &ev, stacks_push(s->stacks, 0, frame));
	frames_drop(s->frames, frame);
	ev.pid = 10;
	push(r, ev);
	stacks_free_unheld(s->stacks);
}

static void test_stacks_chrome(void)
{
	struct run r;
	start(&r, chrome_new);
	push_with_stack(&r, (struct ebt_event){.kind = EBT_BEGIN, .ts = NS(1), .id = 11}, 1111);
	push_with_stack(&r, (struct ebt_event){.kind = EBT_BEGIN, .ts = NS(2), .id = 12}, 2222);
	push_with_stack(&r, (struct ebt_event){.kind = EBT_UNIT, .ts = NS(3), .id = 1}, 3333);
	PUSH(&r, EBT_END, 10, 0, 4, .id = 11);
	stacks_free_unheld(r.s->stacks);
	uint32_t left = stacks_count(r.s->stacks);
	is(end(&r), 0, "Chrome: phases with stacks are written");
	CHECK_ALL(&r,
		  {"Chrome: a phase has the stack of its begin at its end, too",
		   JQ("select(.ph == \"B\" or .ph == \"E\") | [.ph,.name,.args]"),
		   "[\"B\",\"minor\",{\"stack\":[\"$1111\"]}]\n"
		   "[\"B\",\"minor_local_roots\",{\"stack\":[\"$2222\"]}]\n"
		   "[\"E\",\"minor_local_roots\",{\"stack\":[\"$2222\"]}]\n"
		   "[\"E\",\"minor\",{\"stack\":[\"$1111\"]}]"}, );
	is(left, 0, "Chrome: and holds it no longer");
}

static void test_values_fxt(void)
{
	struct run r;
	start(&r, fxt_new);
	feed_values(&r);
	is(end(&r), 0, "FXT: strange values are written");
	CHECK_ALL(&r,
		  {"FXT: a name of any bytes",
		   DUMP("$1 == \"instant\" && $2 == \"1000000000001\" { print $6 }"),
		   "say \"hi\\x5c\\x0a\xef\xbf\xbd\xc3\xa9"},
		  {"FXT: values at the limits of 64 bits, counters by their domains and threads",
		   DUMP("$1 == \"counter\" || $6 == \"user_99\" { print $6, $7, $8 }"),
		   "user_99,value=-9223372036854775808,\n"
		   "minor_promoted,domain 3=18446744073709551615,id=3\n"
		   "counter_60,domain 3=5,id=3\nminor_promoted,thread 77=6,id=10000077"},
		  {"FXT: a long payload is cut, and says so",
		   DUMP("$9 ~ /^data=/ { print $7, $8, length($9) - 5 }"),
		   "bytes=40000,cut=1,31000"},
		  {"FXT: a long name is cut, and says so",
		   DUMP("$9 ~ /^data=/ { print substr($6, 252) }"), "nn\xe2\x80\xa6"},
		  {"FXT: sizes of allocations",
		   DUMP("$6 == \"alloc_sizes\" { print $7 }") " | tr ',' '\n' | tail -1",
		   "18446744073709551596"},
		  {"FXT: what is of no process is shown all the same",
		   DUMP("$3 == \"4194304\" && NF > 5 && $5 != \"ebtrace\" { print $1, $4, $7 }"),
		   "instant,1,offset=4096\ncomplete,165535,words=0"},
		  {"FXT: a loss since nobody knows when begins with the trace",
		   DUMP("$6 == \"lost\" { print $2, $8, $9 }"),
		   "1000000000001,history=1,end=1000000000009"},
		  {"FXT: what is open ends with the run",
		   DUMP("$6 == \"minor\" { print $2, $7, $8, $9 }"),
		   "1000000000010,late=1,end=1000000000012,\n"
		   "1000000000013,cut=unfinished,end=1000000005000,"}, );
}

static void push_payload(struct run *r, uint16_t kind, uint64_t t, uint16_t flags, size_t bytes)
{
	static const uint8_t payload[40000];
	struct ebt_event ev = {.kind = kind, .ts = NS(t), .pid = 10, .flags = flags};
	if (session_put_blob(r->s, &ev, payload, bytes))
		abort();
	push(r, ev);
}

/* A user event whose name is another one each time, as that of a program that registers many. */
static void test_names(make_fn *make, const char *name)
{
	struct run r;
	char text[32];
	start(&r, make);
	for (unsigned i = 0; i < 2000; i++) {
		snprintf(text, sizeof(text), "request %u", i);
		processes_set_user_name(&r.s->processes, 10, 3, text);
		PUSH(&r, EBT_SPAN_BEGIN, 10, 0, 4 * i, .id = 3);
		PUSH(&r, EBT_SPAN_END, 10, 0, 4 * i + 2, .id = 3);
	}
	ok(strings_count(r.s->strings) < 20, "%s: names that are gone are not kept (%u)", name,
	   strings_count(r.s->strings));
	is(end(&r), 0, name);
}

/* What was cut before it came is said to be, as is what no value of the format has room for. */
static void test_cuts_fxt(void)
{
	struct run r;
	struct offcpu o = {.begin_ns = NS(10),
			   .end_ns = NS(20),
			   .reason = EBT_OFFCPU_SLEEP,
			   .syscall = 35,
			   .runner_cpu = EBT_NO_CPU};
	struct ebt_event off = {.kind = EBT_OFFCPU, .ts = NS(20), .pid = 10, .tid = 9};
	start(&r, fxt_new);
	push_payload(&r, EBT_CUSTOM, 1, EBT_F_CUT, 8);
	push_payload(&r, EBT_CUSTOM, 2, 0, 8);
	push_payload(&r, EBT_CUSTOM, 3, 0, FXT_VALUE_BYTES / 2);
	push_payload(&r, EBT_CUSTOM, 4, 0, FXT_VALUE_BYTES / 2 + 1);
	push_payload(&r, EBT_ALLOC_SIZES, 5, EBT_F_CUT, 16);
	push_payload(&r, EBT_ALLOC_SIZES, 6, 0, 16);
	push_payload(&r, EBT_ALLOC_SIZES, 7, 0, 8 * 2000);
	if (offcpu_put(r.s, &off, &o))
		abort();
	push(&r, off);
	is(end(&r), 0, "FXT: payloads are written");
	CHECK_ALL(&r,
		  {"FXT: what is cut says so, and nothing else does",
		   DUMP("$1 == \"instant\" && $5 != \"ebtrace\" "
			"{ print substr($2, 13), /cut=1/ }") " | xargs",
		   "1,1 2,0 3,0 4,1 5,1 6,0 7,1"},
		  {"FXT: a thread sleeps in a system call of this number",
		   "$DUMP $F | grep -o 'syscall=[-0-9]*'", "syscall=35"}, );
}

/* A marker with the most values, and one with values that were cut. */
static void feed_markers(struct run *r)
{
	unsigned char payload[MARKER_VALUES_BYTES], *end_of = payload;
	struct ebt_event all = {.kind = EBT_MARKER_HIT, .ts = NS(1), .pid = 10};
	struct ebt_event cut = {.kind = EBT_MARKER_HIT, .ts = NS(2), .pid = 10, .flags = EBT_F_CUT};
	for (unsigned i = 0; i < MARKER_VALUES_MAX; i++) {
		struct marker_value number = {.type = MARKER_UNSIGNED, .number = i};
		struct marker_value text = {.type = MARKER_TEXT, .text = "a \xff", .bytes = 3};
		end_of = marker_values_put(end_of, i == 10 ? &text : &number);
	}
	if (session_put_blob(r->s, &all, payload, (size_t)(end_of - payload)))
		abort();
	push(r, all);
	push(r, cut);
}

static void test_markers_fxt(void)
{
	struct run r;
	start(&r, fxt_new);
	feed_markers(&r);
	is(end(&r), 0, "FXT: markers are written");
	CHECK_ALL(&r,
		  {"FXT: nine values are arguments, and the others one; what is cut says so",
		   DUMP("$1 == \"instant\" && $5 != \"ebtrace\" { print $7, $8, $15, $16, $17 }"),
		   "arg0=0,arg1=1,arg8=8,more=arg9=9 arg10=a \xef\xbf\xbd arg11=11,\ncut=1,,,,"}, );
}

static void test_markers_chrome(void)
{
	struct run r;
	start(&r, chrome_new);
	feed_markers(&r);
	is(end(&r), 0, "Chrome: markers are written");
	CHECK_ALL(&r,
		  {"Chrome: each value is an argument; what is cut says so",
		   JQ("select(.ts < 1000000000.003 and .ph == \"i\").args | "
		      "[length, .arg0, .arg10, .arg11, .cut]"),
		   "[12,0,\"a \xef\xbf\xbd\",11,null]\n[1,null,null,null,true]"}, );
}

/* More names and rows than the tables of strings and threads have places. */
static void test_overflow(void)
{
	struct run r;
	char name[300];
	int failed = 0;
	start(&r, fxt_new);
	for (uint32_t i = 0; i < 9000; i++) {
		snprintf(name, sizeof(name), "name %u", i);
		processes_set_user_name(&r.s->processes, 10, i, name);
	}
	for (uint32_t round = 0; round < 2; round++)
		for (uint32_t i = 0; i < 9000; i++)
			failed |=
				PUSH(&r, EBT_INT, 10, (uint16_t)(i % 600), i, .id = i, .sarg = {i});
	failed |= PUSH(&r, EBT_COUNTER, 10, 599, 1, .id = 4, .arg = {1});
	is(end(&r) | failed, 0, "FXT: more names and rows than there are places for");
	CHECK_ALL(&r,
		  {"FXT: every name is right, kept or not",
		   DUMP("$5 == \"user\" { v = substr($7, 7); n += $6 == \"name \" v; m += $4 == v "
			"% 600 }"
			" END { print n, m }"),
		   "18000,18000"},
		  {"FXT: the table of strings is bounded",
		   DUMP("$1 == \"string\" { n++ } END { print n }"), "4096"},
		  {"FXT: the table of threads too",
		   DUMP("$1 == \"thread\" { n++ } END { print n }"), "255"}, );
}

/* What has been flushed can be read, whole events and all of them, with no end written. */
static void test_flush(make_fn *make, const char *count, const char *name)
{
	struct run r;
	bool good = true;
	start(&r, make);
	for (unsigned round = 1; round <= 4; round++) {
		for (unsigned i = 0; i < 1500; i++) {
			PUSH(&r, EBT_BEGIN, 10, 1, round * 10000 + 2 * i, .id = 11);
			PUSH(&r, EBT_END, 10, 1, round * 10000 + 2 * i + 1, .id = 11);
		}
		if (sink_flush(r.sink))
			abort();
		char want[16];
		snprintf(want, sizeof(want), "%u", round * 1500);
		/* A thread writes; it is given its time. */
		bool same = false;
		for (unsigned tries = 0; !same && tries < 6000; tries++) {
			same = !strcmp(ask(&r, count), want);
			if (!same)
				usleep(10000);
		}
		good &= same;
	}
	ok(good, "%s", name);
	end(&r);
}

static void test_full(make_fn *make, const char *name)
{
	struct run r;
	start(&r, make);
	int full = open("/dev/full", O_WRONLY);
	if (full < 0 || dup2(full, r.fd) < 0)
		abort();
	int err = 0;
	for (unsigned i = 0; i < 200000 && !err; i++)
		err = PUSH(&r, EBT_UNIT, 10, 1, i, .id = 1);
	int at_end = end(&r);
	close(full);
	ok(err == -ENOSPC && at_end == -ENOSPC, "%s", name);
}

int main(int argc, char **argv)
{
	(void)argc;
	snprintf(dump, sizeof(dump), "%s/../../prog/fxt_dump", dirname(strdupa(argv[0])));
	if (!mkdtemp(dir) || access(dump, X_OK))
		return skip_all("fxt_dump is not built");
	test_spans_chrome();
	test_spans_fxt();
	test_values_chrome();
	test_stacks_chrome();
	test_values_fxt();
	test_cuts_fxt();
	test_markers_fxt();
	test_markers_chrome();
	test_names(fxt_new, "FXT");
	test_names(chrome_new, "Chrome");
	test_overflow();
	test_flush(chrome_new,
		   "{ cat $F; echo ']'; } | jq '[.[] | select(.ph == \"E\")] | length' 2>&1",
		   "Chrome: what was flushed lacks the bracket alone");
	test_flush(fxt_new, "$DUMP $F 2>&1 | grep -c '^complete'",
		   "FXT: what was flushed are whole records");
	test_full(chrome_new, "Chrome: a full disk is an error, then and at the end");
	test_full(fxt_new, "FXT: a full disk is an error, then and at the end");
	char command[64];
	snprintf(command, sizeof(command), "rm -r %s", dir);
	return system(command) ? 1 : tap_done();
}
