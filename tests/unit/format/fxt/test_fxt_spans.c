/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Phases held until they end: which become one record, which two, and in what order. The phases
 * come through stream/tracks, as in the sink.
 */
#include "format/fxt/args.h"
#include "format/fxt/spans.h"

#include "tests/tap.h"

#define SECOND 1000000000ull

struct run {
	struct processes processes;
	struct strings *strings;
	struct frames *frames;
	struct stacks *stacks;
	struct fxt_spans spans;
	struct tracks *tracks;
	char text[1 << 16]; /* what was written: "X 11 10-20 " */
	size_t len;
	unsigned records;
	bool counts; /* without text */
	unsigned of_type[FXT_DURATION_COMPLETE + 1];
};

static int record(void *ctx, const struct track *t, enum fxt_event_type type,
		  const struct fxt_span *s)
{
	static const char *const cuts[] = {"", " outer", " lost", " process", " unfinished"};
	struct run *r = ctx;
	char *to = r->text + r->len;
	size_t room = sizeof(r->text) - r->len;
	unsigned long long begin = s->begin_ns, end = s->end_ns;
	int n;
	r->of_type[type]++;
	if (r->counts)
		return 0;
	if (type == FXT_DURATION_BEGIN)
		n = snprintf(to, room, "B%u.%u %llu;", t->domain, s->id, begin);
	else if (type == FXT_DURATION_END)
		n = snprintf(to, room, "E%u.%u %llu%s;", t->domain, s->id, end, cuts[s->how]);
	else
		n = snprintf(to, room, "X%u.%u %llu-%llu%s;", t->domain, s->id, begin, end,
			     cuts[s->how]);
	if (type != FXT_DURATION_END && s->stack) {
		r->len += (size_t)n;
		n = snprintf(r->text + r->len - 1, sizeof(r->text) - r->len, " stack %u;",
			     s->stack) -
		    1;
	}
	if (type != FXT_DURATION_END && s->tid) {
		r->len += (size_t)n;
		n = snprintf(r->text + r->len - 1, sizeof(r->text) - r->len, " tid %u;", s->tid) -
		    1;
	}
	r->len += (size_t)n;
	r->records++;
	return 0;
}

static int on_begin(void *ctx, struct track *t, struct track_span *s, unsigned depth,
		    const struct ebt_event *ev)
{
	(void)depth;
	return fxt_spans_begin(&((struct run *)ctx)->spans, t, s, ev);
}

static int on_end(void *ctx, struct track *t, const struct track_span *s, unsigned depth,
		  uint64_t end_ns, enum track_end how)
{
	(void)depth;
	return fxt_spans_end(&((struct run *)ctx)->spans, t, s, end_ns, how, NULL);
}

static void on_forget(void *ctx, struct track *t)
{
	fxt_spans_forget(&((struct run *)ctx)->spans, t);
}

static struct run *start(void)
{
	struct run *r = calloc(1, sizeof(*r));
	static const struct tracks_visitor v = {
		.begin = on_begin, .end = on_end, .forget = on_forget};
	uint32_t process;
	if (!r || strings_new(&r->strings) || frames_new(r->strings, &r->frames) ||
	    stacks_new(r->frames, &r->stacks) || processes_init(&r->processes, NULL) ||
	    processes_of(&r->processes, 1, &process) ||
	    tracks_new(&r->processes, &v, r, &r->tracks))
		abort();
	fxt_spans_init(&r->spans, record, r, r->stacks);
	return r;
}

static void push(struct run *r, struct ebt_event ev)
{
	ev.cpu = EBT_NO_CPU;
	if (fxt_spans_advance(&r->spans, ev.ts) || tracks_push(r->tracks, &ev))
		abort();
}
#define B(d, t, i, ...)                                                                     \
	(struct ebt_event)                                                                  \
	{                                                                                   \
		.kind = EBT_BEGIN, .process = 1, .domain = d, .ts = t, .id = i, __VA_ARGS__ \
	}
#define E(d, t, i)                                                           \
	(struct ebt_event)                                                   \
	{                                                                    \
		.kind = EBT_END, .process = 1, .domain = d, .ts = t, .id = i \
	}

static void done(struct run *r)
{
	tracks_free(r->tracks);
	uint32_t refs = 0;
	for (uint32_t id = 1; id <= stacks_count(r->stacks); id++)
		refs += stacks_node(r->stacks, id)->refs;
	if (refs)
		ok(false, "stacks are dropped: %u are not", refs);
	stacks_free(r->stacks);
	frames_free(r->frames);
	strings_free(r->strings);
	processes_done(&r->processes);
	free(r);
}

/* What is written of these events, and what tracks_end() adds at `end_ns`. */
static void check(const char *name, const struct ebt_event *ev, size_t n, uint64_t end_ns,
		  const char *want)
{
	struct run *r = start();
	for (size_t i = 0; i < n; i++)
		push(r, ev[i]);
	if (end_ns && tracks_end(r->tracks, end_ns))
		abort();
	is_str(r->text, want, name);
	done(r);
}
#define CHECK(name, end_ns, want, ...)                                                            \
	check(name, (const struct ebt_event[]){__VA_ARGS__},                                      \
	      sizeof((const struct ebt_event[]){__VA_ARGS__}) / sizeof(struct ebt_event), end_ns, \
	      want)

static void check_rows(void)
{
	CHECK("a phase is one record", 0, "X0.7 10-20;", B(0, 10, 7), E(0, 20, 7));
	CHECK("an outer one comes before those inside it, also if they begin together", 0,
	      "X0.7 10-30;X0.8 10-20;X0.9 20-20;", B(0, 10, 7), B(0, 10, 8), E(0, 20, 8),
	      B(0, 20, 9), E(0, 20, 9), E(0, 30, 7));
	CHECK("one that is open holds back those inside it", 0, "", B(0, 10, 7), B(0, 11, 8),
	      E(0, 12, 8));
	CHECK("but not those of another row", 0, "X1.8 11-12;", B(0, 10, 7), B(1, 11, 8),
	      E(1, 12, 8));
	CHECK("one that lasts is a begin and an end, those inside it are one record", 0,
	      "B0.7 10;X0.8 20-30;X0.8 50-60;E0.7 200000000;", B(0, 10, 7), B(0, 20, 8),
	      E(0, 30, 8), B(0, 50, 8), E(0, 60, 8), E(0, 200000000, 7));
	CHECK("as long as the limit is one record, a nanosecond more is two", 0,
	      "X0.7 1-100000001;B0.7 200000000;E0.7 300000001;", B(0, 1, 7), E(0, 100000001, 7),
	      B(0, 200000000, 7), E(0, 300000001, 7));
	CHECK("all that are open for too long begin, each in its time", 0,
	      "B0.7 10;B0.8 20;B1.9 30;X2.5 400000000-400000001;", B(0, 10, 7), B(0, 20, 8),
	      B(1, 30, 9), B(2, 400000000, 5), E(2, 400000001, 5));
	CHECK("the end of one ends what is open inside it", 0, "X0.7 10-30;X0.8 20-30 outer;",
	      B(0, 10, 7), B(0, 20, 8), E(0, 30, 7));
	CHECK("a loss cuts them at its beginning", 0, "X0.7 10-25 lost;X0.8 20-25 lost;",
	      B(0, 10, 7), B(0, 20, 8),
	      {.kind = EBT_LOST, .process = 1, .ts = 30, .pos = 25, .arg = {3}});
	CHECK("what is open at the end is written then", 100, "X0.7 10-100 unfinished;",
	      B(0, 10, 7));
	CHECK("a process that ends takes its rows with it", 0, "X0.7 10-20 process;X0.7 30-40;",
	      B(0, 10, 7), {.kind = EBT_PROCESS, .process = 1, .ts = 20, .id = EBT_PROCESS_EXIT},
	      B(0, 30, 7), E(0, 40, 7));
	CHECK("a thread is told when it is another", 0,
	      "X0.7 1-2 tid 5;X0.7 3-4;X0.7 5-6 tid 6;X0.7 7-8;", B(0, 1, 7, .tid = 5), E(0, 2, 7),
	      B(0, 3, 7, .tid = 5), E(0, 4, 7), B(0, 5, 7, .tid = 6), E(0, 6, 7), B(0, 7, 7),
	      E(0, 8, 7));
}

/* Silence: the clock of the events goes on without any. */
static void check_advance(void)
{
	struct run *r = start();
	push(r, B(0, SECOND, 7));
	fxt_spans_advance(&r->spans, SECOND + FXT_SPANS_NS);
	is_str(r->text, "", "a phase is held as long as the limit");
	fxt_spans_advance(&r->spans, SECOND + FXT_SPANS_NS + 1);
	is_str(r->text, "B0.7 1000000000;", "and begins after it, whether events come or not");
	fxt_spans_advance(&r->spans, UINT64_MAX);
	push(r, E(0, 2 * SECOND, 7));
	is_str(r->text, "B0.7 1000000000;E0.7 2000000000;", "once");
	done(r);
}

/* Each phase begins inside of the one before, which then lasts too long to be held. */
static void check_deep(void)
{
	enum { DEPTH = 20 };
	const uint64_t apart = 60000000, end = SECOND + DEPTH * apart;
	char want[4096] = "";
	size_t n = 0;
	struct run *r = start();
	for (uint32_t i = 0; i < DEPTH; i++)
		push(r, B(0, SECOND + i * apart, i));
	for (uint32_t i = DEPTH; i--;)
		push(r, E(0, end + DEPTH - i, i));
	for (uint32_t i = 0; i < DEPTH - 1; i++)
		n += (size_t)snprintf(want + n, sizeof(want) - n, "B0.%u %llu;", i,
				      (unsigned long long)(SECOND + i * apart));
	n += (size_t)snprintf(want + n, sizeof(want) - n, "X0.%u %llu-%llu;", DEPTH - 1,
			      (unsigned long long)(end - apart), (unsigned long long)(end + 1));
	for (uint32_t i = DEPTH - 1; i--;)
		n += (size_t)snprintf(want + n, sizeof(want) - n, "E0.%u %llu;", i,
				      (unsigned long long)(end + DEPTH - i));
	is_str(r->text, want, "of many that last inside one another each begins in its time");
	done(r);
}

static void check_stacks(void)
{
	struct run *r = start();
	struct frame f = {.address = 7, .has_address = true};
	uint32_t frame = frames_put(r->frames, &f);
	uint32_t stack = stacks_push(r->stacks, 0, frame);
	frames_drop(r->frames, frame);
	push(r, B(0, 1, 7, .stack = stack));
	push(r, B(0, 2, 8, .stack = stack));
	push(r, B(0, 3, 9));
	is(stacks_node(r->stacks, stack)->refs, 2, "the stacks of begins are held");
	push(r, E(0, 4, 9));
	push(r, E(0, 5, 8));
	push(r, E(0, 6, 7));
	is_str(r->text, "X0.7 1-6 stack 1;X0.8 2-5 stack 1;X0.9 3-4;", "until they are written");
	push(r, B(0, SECOND, 7, .stack = stack));
	done(r);
}

/* A stack of `frames` functions in a record that has `words` words already. */
static size_t put_stack(unsigned frames, unsigned words, struct buf *out)
{
	struct session *session;
	struct fxt_record r = {0};
	struct fxt_string name = {0};
	uint32_t stack = 0;
	if (session_new(&session) || buf_init(out, -1, 4096) || fxt_record_init(&r, out))
		abort();
	for (unsigned i = 0; i < frames; i++) {
		char text[200];
		int n = snprintf(text, sizeof(text), "%0150u\xff", i);
		struct frame_position p = {.function =
						   strings_put(session->strings, text, (size_t)n)};
		stack = stacks_push(
			session->stacks, stack,
			frames_put(session->frames, &(struct frame){.count = 1, .position = &p}));
	}
	fxt_record_event(&r, FXT_INSTANT, 1, &(struct fxt_thread){.index = 1}, &name, &name);
	while (words--)
		fxt_record_word(&r, 0);
	out->len = 0; /* of the strings before it */
	fxt_args_stack(&r, session, stack);
	fxt_record_close(&r);
	fxt_record_done(&r);
	session_free(session);
	return out->len / 8;
}

static void check_long_stacks(void)
{
	struct buf out;
	size_t words = put_stack(3, 0, &out);
	ok(words > 50 && words < 100 && !memmem(out.data, out.len, "left out", 8),
	   "a stack is a string");
	buf_done(&out);
	words = put_stack(1000, 0, &out);
	const char *more = memmem(out.data, out.len, " frames left out)", 17);
	ok(words > 3000 && words <= FXT_RECORD_WORDS && more && !strnlen(more + 17, 1) &&
		   memmem(out.data, out.len, "0000999?", 8),
	   "of one that is too long the innermost functions are there");
	buf_done(&out);
	words = put_stack(1000, 3000, &out);
	ok(words > 3500 && words <= FXT_RECORD_WORDS, "as many as there is room for");
	buf_done(&out);
	words = put_stack(1000, 4050, &out);
	ok(words < 4070, "or none");
	buf_done(&out);
}

/* A phase with more inside it than are held. */
static void check_bound(void)
{
	struct run *r = start();
	push(r, B(0, 1, 7));
	unsigned most = 0, begun = 1;
	for (unsigned i = 0; i < 10 * FXT_SPANS_HELD; i++) {
		push(r, B(0, 2 + 2 * i, 8));
		push(r, E(0, 3 + 2 * i, 8));
		begun++;
		most = begun - r->records > most ? begun - r->records : most;
	}
	ok(most <= FXT_SPANS_HELD, "at most so many are held") || (diag("%u", most), 0);
	is(r->records, begun, "then all are written");
	is(strncmp(r->text, "B0.7 1;X0.8 2-3;X0.8 4-5;", 25), 0, "in order, the first as a begin");
	push(r, E(0, 90000, 7));
	is(r->records, begun + 1, "and later its end");
	done(r);
}

/* Two phases in each of more threads than phases are held. */
static void check_many_tracks(void)
{
	enum { THREADS = FXT_SPANS_TOTAL + 1000 };
	struct run *r = start();
	uint64_t ts = SECOND;
	uint32_t most = 0;
	r->counts = true;
	for (uint32_t id = 7; id < 9; id++)
		for (uint32_t tid = 1; tid <= THREADS; tid++) {
			push(r, B(EBT_NO_DOMAIN, ts++, id, .tid = tid));
			most = r->spans.held > most ? r->spans.held : most;
		}
	is(most, FXT_SPANS_TOTAL, "threads together hold so many phases");
	is(r->of_type[FXT_DURATION_BEGIN], 2 * THREADS - FXT_SPANS_TOTAL,
	   "the oldest are written as begins");
	for (uint32_t id = 9; --id >= 7;)
		for (uint32_t tid = 1; tid <= THREADS; tid++) {
			struct ebt_event end = E(EBT_NO_DOMAIN, ts++, id);
			end.tid = tid;
			push(r, end);
		}
	is(r->of_type[FXT_DURATION_END], r->of_type[FXT_DURATION_BEGIN], "each of these ends");
	is(r->of_type[FXT_DURATION_COMPLETE], FXT_SPANS_TOTAL, "the others are whole");
	is(r->spans.held, 0, "and none is held any more");
	done(r);
}

int main(void)
{
	check_rows();
	check_advance();
	check_deep();
	check_stacks();
	check_long_stacks();
	check_bound();
	check_many_tracks();
	return tap_done();
}
