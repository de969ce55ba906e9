/* SPDX-License-Identifier: BSD-2-Clause */
/* processes: incarnations by rule, then random histories of a few pids against a simple model. */
#include "session/processes.h"
#include "tests/tap.h"

#include <errno.h>

static struct process_start at(uint64_t boot_ns)
{
	return (struct process_start){boot_ns, true};
}

static uint32_t begin(struct processes *ps, uint32_t pid, const struct process_start *start)
{
	uint32_t index;
	if (processes_begin(ps, pid, start, &index))
		abort();
	return index;
}

static void test_incarnations(void)
{
	struct processes ps;
	uint32_t same;
	struct process_start one = at(10), two = at(20);
	if (processes_init(&ps, NULL))
		abort();
	is(begin(&ps, 0, NULL), PROCESS_UNKNOWN, "pid 0 is no known process");
	is(processes_pid(&ps, PROCESS_UNKNOWN), 0, "which has an entry, with pid 0");
	is(processes_find(&ps, 7), PROCESS_UNKNOWN, "a pid that nobody entered is not found");
	uint32_t a = begin(&ps, 7, NULL);
	is(processes_pid(&ps, a), 7, "an entry has its pid");
	is(begin(&ps, 7, NULL), a, "a process that lives is entered once");
	is(begin(&ps, 7, &one), a, "its start may become known later");
	is(begin(&ps, 7, NULL), a, "or not be known to who enters it next");
	is(begin(&ps, 7, &one), a, "or be known to him, too");
	uint32_t b = begin(&ps, 7, &two);
	ok(b != a && processes_at(&ps, a)->ended,
	   "with another start it is another, and the first has ended");
	ok(processes_at(&ps, b)->number > processes_at(&ps, a)->number &&
		   processes_at(&ps, b)->older == a,
	   "which knows the one before it");
	processes_end(&ps, b);
	is(processes_find(&ps, 7), b, "one that has ended is found by its pid");
	ok(!processes_of(&ps, 7, &same) && same == b, "and meant by it");
	is(begin(&ps, 7, &two), b, "a late report of its start is of it");
	uint32_t c = begin(&ps, 7, NULL);
	ok(c != b && !processes_at(&ps, c)->plain && processes_at(&ps, a)->plain,
	   "a pid that comes again is another process");
	processes_end(&ps, a);
	ok(!processes_at(&ps, c)->ended, "the end of the first is not the end of the last");
	processes_done(&ps);
}

static void test_announced(void)
{
	struct processes ps;
	if (processes_init(&ps, NULL))
		abort();
	uint32_t a = begin(&ps, 5, NULL), b = begin(&ps, 3, NULL);
	ok(!processes_next(&ps, NULL) && !processes_announced(&ps, a),
	   "outputs see no process before it is announced");
	processes_announce(&ps, b);
	processes_announce(&ps, a);
	processes_announce(&ps, b);
	processes_announce(&ps, PROCESS_UNKNOWN);
	char order[64] = "";
	for (const struct process *p = NULL; (p = processes_next(&ps, p));)
		snprintf(order + strlen(order), sizeof(order) - strlen(order), "%u ", p->pid);
	is_str(order, "3 5 0 ", "they are listed once, in the order in which they were announced");
	processes_done(&ps);
}

static void test_names(void)
{
	struct processes ps;
	struct strings *strings;
	if (strings_new(&strings) || processes_init(&ps, strings))
		abort();
	uint32_t a = begin(&ps, 1, NULL), b = begin(&ps, 2, NULL);
	processes_set_user_name(&ps, a, 7, "one");
	processes_set_user_name(&ps, b, 7, "two");
	is_str(processes_user_name(&ps, a, 7), "one", "a user event's name belongs to its process");
	is_str(processes_user_name(&ps, b, 7), "two", "another process has its own");
	ok(!processes_user_name(&ps, a, 8), "an unknown one has none");
	uint32_t string = processes_user_string(&ps, a, 7);
	processes_set_user_name(&ps, a, 7, "one");
	is(processes_user_string(&ps, a, 7), string, "the same name again is the same string");
	processes_set_user_name(&ps, b, 8, "one");
	is(processes_user_string(&ps, b, 8), string, "and so it is in another process");
	is(strings_count(strings), 2, "one copy of a name is kept");
	processes_set_user_name(&ps, a, 7, "new");
	is_str(processes_user_name(&ps, a, 7), "new", "a new name replaces the old one");
	processes_set_user_name(&ps, b, 8, "new");
	is(strings_count(strings), 2, "which is dropped with its last process");
	processes_end(&ps, a);
	ok(!processes_user_name(&ps, begin(&ps, 1, NULL), 7),
	   "the next process with the pid has no names yet");
	static const uint16_t raw[] = {5, 6, 7};
	struct process *p = processes_at(&ps, b);
	p->traits.raw_phase = raw;
	p->traits.raw_phases = 3;
	is(processes_raw_phase(&ps, b, 2), 7, "a phase has its producer's number");
	is(processes_raw_phase(&ps, a, 2), 2,
	   "which is the canonical one where nothing else is known");
	is(processes_raw_phase(&ps, b, EBT_UNKNOWN_ID | 60), 60, "an unknown one is as it came");
	processes_done(&ps);
	is(strings_count(strings), 0, "names end with their processes");
	strings_free(strings);
}

/* Announced when it had already been queued, it heads the outputs. */
static void test_announced_late(void)
{
	struct processes ps;
	if (processes_init(&ps, NULL))
		abort();
	uint32_t head = begin(&ps, 1, NULL), other = begin(&ps, 2, NULL);
	processes_end(&ps, head);
	processes_end(&ps, other);
	is(processes_gone(&ps), 2, "what has ended before any process was announced is gone");
	processes_announce(&ps, head);
	processes_announce(&ps, other);
	is(processes_take_gone(&ps), PROCESS_UNKNOWN, "but for the first one that is announced");
	is(processes_take_gone(&ps), other, "the next one may go");
	processes_done(&ps);
}

static void test_gone(void)
{
	struct processes ps;
	if (processes_init(&ps, NULL))
		abort();
	uint32_t head = begin(&ps, 1, NULL), a = begin(&ps, 2, NULL), b = begin(&ps, 3, NULL);
	processes_announce(&ps, head);
	processes_announce(&ps, a);
	strcpy(processes_at(&ps, a)->producer, "ocaml 5.3");
	processes_ref(&ps, a);
	processes_end(&ps, a);
	is(processes_gone(&ps), 0, "one that is referred to is not gone at its end");
	processes_unref(&ps, a);
	is(processes_gone(&ps), 1, "it is when nobody refers to it");
	processes_ref(&ps, b);
	processes_unref(&ps, b);
	is(processes_gone(&ps), 1, "one that lives is not");
	processes_end(&ps, head);
	is(processes_gone(&ps), 1, "nor is the one that heads the outputs");
	processes_ref(&ps, a);
	is(processes_take_gone(&ps), PROCESS_UNKNOWN, "who refers to it again keeps it");
	processes_unref(&ps, a);
	uint32_t lane = processes_lane(&ps, a, 4), other = processes_lane(&ps, b, 4);
	ok(lane && other && lane != other && lane == processes_lane(&ps, a, 4),
	   "a domain of each process has a lane of its own, always the same");
	uint32_t thread = processes_thread_lane(&ps, a, 4);
	ok(thread && thread != lane && thread == processes_thread_lane(&ps, a, 4) &&
		   thread != processes_thread_lane(&ps, a, 5) &&
		   thread != processes_thread_lane(&ps, b, 4),
	   "so has a thread outside of any domain, whatever domain has its number");
	is(processes_thread_lane(&ps, a, 0), processes_lane(&ps, a, EBT_NO_DOMAIN),
	   "where no thread is known there is one for all");
	struct ebt_event ev = {.process = a, .tid = 4, .domain = 4};
	is(processes_lane_of(&ps, &ev), lane, "an event of a domain is of the domain's lane");
	ev.domain = EBT_NO_DOMAIN;
	is(processes_lane_of(&ps, &ev), thread, "one of no domain is of its thread's");
	const struct process_lane *about = processes_lane_at(&ps, thread);
	ok(about->process == a && about->tid == 4 && about->domain == EBT_NO_DOMAIN,
	   "the registry knows whose lane it is");
	unsigned lanes = 0;
	for (uint32_t l = processes_first_lane(&ps, a); l; l = processes_next_lane(&ps, l))
		lanes += processes_lane_at(&ps, l)->process == a;
	is(lanes, 4, "and lists all lanes of a process, and no other's");
	uint32_t assigned = ps.lanes->count;
	is(processes_take_gone(&ps), a, "what is gone is taken once");
	processes_release(&ps, a);
	ok(!processes_at(&ps, a) && !processes_find(&ps, 2), "and is no more when it is released");
	size_t at = 0;
	struct process_kind kind = {0};
	processes_next_kind(&ps, &at, &kind);
	is_str(kind.producer, "ocaml 5.3", "its kind is remembered");
	uint32_t again = begin(&ps, 2, NULL);
	is(again, a, "its index is used again");
	uint32_t first = processes_lane(&ps, again, 9), second = processes_lane(&ps, again, 0),
		 third = processes_thread_lane(&ps, again, 4),
		 fourth = processes_thread_lane(&ps, again, 6);
	ok(first != second && first != third && third != fourth && second != fourth &&
		   ps.lanes->count == assigned,
	   "and so are its lanes, each once");
	ok(!processes_announced(&ps, again) && !processes_at(&ps, again)->plain,
	   "by a process of which nothing is known yet, but that it may not be the first");
	processes_done(&ps);
}

/* Processes that come and go for long, some of which wait in the queue at each time. */
static void test_long_run(void)
{
	enum { ALIVE = 50, ROUNDS = 2000 };
	struct processes ps;
	uint32_t entries = 0, lanes = 0, pid = 1, wrong = 0;
	if (processes_init(&ps, NULL))
		abort();
	processes_announce(&ps, begin(&ps, pid++, NULL));
	uint32_t released = 0, alive[ALIVE];
	for (int i = 0; i < ALIVE; i++)
		alive[i] = begin(&ps, pid++, NULL);
	for (int round = 0; round < ROUNDS; round++) {
		uint32_t *p = &alive[(round * 7) % ALIVE];
		for (uint16_t domain = 0; domain < 3; domain++)
			processes_lane(&ps, *p, domain);
		struct process *last = processes_announce(&ps, *p);
		snprintf(last->producer, sizeof(last->producer), "producer %d", round);
		processes_end(&ps, *p);
		*p = begin(&ps, pid++, NULL);
		/* Between 5 and 30 of them wait. */
		uint32_t least = round % 100 < 50 ? 30 : 5;
		while (processes_gone(&ps) > least) {
			uint32_t gone = processes_take_gone(&ps);
			wrong += gone == PROCESS_UNKNOWN || !processes_at(&ps, gone) ||
				 !processes_at(&ps, gone)->ended;
			if (gone >= ps.count || !processes_at(&ps, gone))
				break;
			processes_release(&ps, gone);
			released++;
		}
		if (round == ROUNDS / 10) {
			entries = ps.count;
			lanes = ps.lanes->count;
		}
	}
	ok(!wrong && released > ROUNDS - 40, "processes that have ended are taken, each once");
	ok(ps.count <= entries + 1 && ps.lanes->count <= lanes + 9,
	   "entries and lanes of those that were released are used again (%u, %u)", ps.count,
	   ps.lanes->count);
	ok(ps.kinds == 64, "the kinds of many programs are kept up to a limit (%u)", ps.kinds);
	processes_done(&ps);
}

/* Incarnations of one pid are released in any order. */
static void test_chain(void)
{
	for (unsigned order = 0; order < 6; order++) {
		struct processes ps;
		uint32_t p[3];
		if (processes_init(&ps, NULL))
			abort();
		processes_announce(&ps, begin(&ps, 1, NULL));
		for (unsigned i = 0; i < 3; i++) {
			p[i] = begin(&ps, 7, NULL);
			processes_end(&ps, p[i]);
		}
		unsigned first = order % 3, second = (first + 1 + order / 3) % 3;
		processes_release(&ps, p[first]);
		processes_release(&ps, p[second]);
		uint32_t last = p[3 - first - second];
		ok(processes_find(&ps, 7) == last && !processes_at(&ps, last)->older,
		   "of three with one pid the last is found, and has none before it (%u)", order);
		processes_done(&ps);
	}
}

/* What the registry promises, as a list of incarnations that is searched from its end. */
struct life {
	uint32_t pid;
	struct process_start start;
	bool ended;
};

static uint32_t model_newest(const struct life *lives, uint32_t count, uint32_t pid)
{
	for (uint32_t i = count; i-- > 1;)
		if (lives[i].pid == pid)
			return i;
	return 0;
}

static bool model_same(const struct life *l, const struct process_start *start)
{
	if (start && l->start.known)
		return l->start.boot_ns == start->boot_ns;
	return !l->ended;
}

/* True if the registry does as the model over a random history. */
static bool model_round(unsigned seed)
{
	static struct life lives[3000];
	struct processes ps;
	uint32_t count = 1, index;
	bool good = !processes_init(&ps, NULL);
	srand(seed);
	for (int step = 0; good && step < 2000; step++) {
		uint32_t pid = 1 + (uint32_t)rand() % 40;
		struct process_start start = at((uint64_t)rand() % 3);
		const struct process_start *told = rand() % 2 ? &start : NULL;
		uint32_t newest = model_newest(lives, count, pid);
		if (rand() % 3 == 0) {
			processes_end(&ps, newest);
			lives[newest].ended = newest;
		} else if (rand() % 3 == 0) {
			good = !processes_of(&ps, pid, &index);
			if (!newest)
				lives[newest = count++] = (struct life){.pid = pid};
			good = good && index == newest;
		} else {
			good = !processes_begin(&ps, pid, told, &index);
			if (!newest || !model_same(&lives[newest], told)) {
				lives[newest].ended = newest;
				lives[newest = count++] = (struct life){.pid = pid};
			}
			if (told)
				lives[newest].start = start;
			good = good && index == newest;
		}
	}
	for (uint32_t i = 1; good && i < count; i++) {
		const struct process *p = processes_at(&ps, i);
		good = p->pid == lives[i].pid && p->ended == lives[i].ended &&
		       p->start.known == lives[i].start.known &&
		       p->start.boot_ns == lives[i].start.boot_ns;
	}
	good = good && ps.count == count;
	processes_done(&ps);
	return good;
}

/* ---- whoever learns of a process, in any order ---- */

#define MS	1000000ull
#define TICK	PROCESS_TICK_NS
#define LIVES	200
#define LATE_MS 250 /* what a source says comes so late at most */
#define APART	(2 * LATE_MS)

enum saying { FORK, EXIT, SCAN, SCAN_NO_START, PIDFD, ATTACH, INBOX, SAYINGS };

struct word {
	uint64_t at_ns; /* when it is heard */
	uint64_t lived_ns;
	uint32_t life;
	enum saying saying;
};

static int compare_words(const void *a, const void *b)
{
	const struct word *x = a, *y = b;
	return x->at_ns < y->at_ns ? -1 : x->at_ns > y->at_ns;
}

static uint32_t word_seed;
static uint64_t any_ms(uint64_t below)
{
	word_seed = word_seed * 1664525u + 1013904223u;
	return (word_seed >> 8) % below * MS;
}

/* The words of a life that lasts from start_ns to end_ns. Returns their number. */
static uint32_t speak(struct word *w, uint32_t life, uint64_t start_ns, uint64_t end_ns)
{
	uint32_t n = 0;
	uint64_t seen = start_ns + any_ms((end_ns - start_ns) / MS), late = any_ms(LATE_MS);
	uint64_t made = start_ns + any_ms((end_ns - start_ns) / MS);
	w[n++] = (struct word){start_ns + late, start_ns, life, FORK};
	/* Records come in the order in which they were made. */
	w[n++] =
		(struct word){(end_ns > start_ns + late ? end_ns : start_ns + late) + any_ms(9) + 1,
			      end_ns, life, EXIT};
	if (any_ms(2)) {
		w[n++] = (struct word){seen + 1, seen, life, any_ms(2) ? SCAN : SCAN_NO_START};
		w[n++] = (struct word){end_ns + 2 + any_ms(LATE_MS), end_ns, life, PIDFD};
		/* It may be gone by then. */
		w[n++] = (struct word){seen + 2 + any_ms(LATE_MS), seen, life, ATTACH};
	}
	if (any_ms(2))
		w[n++] = (struct word){end_ns + 3 + any_ms(LATE_MS), made + TICK, life, INBOX};
	return n;
}

static int hear(struct processes *ps, const struct word *w, uint32_t pid, uint64_t start_ns,
		uint32_t *ret)
{
	struct process_start start = at(start_ns - start_ns % TICK);
	switch (w->saying) {
	case FORK:
	case SCAN:
		if (processes_begin(ps, pid, &start, ret))
			return -ENOMEM;
		processes_ref(ps, *ret);
		return 0;
	case SCAN_NO_START:
		if (processes_lived(ps, pid, w->lived_ns, ret))
			return -ENOMEM;
		processes_ref(ps, *ret);
		return 0;
	case INBOX:
		if (processes_lived(ps, pid, w->lived_ns, ret))
			return -ENOMEM;
		processes_end_unused(ps, *ret);
		return 0;
	default:
		return processes_of(ps, pid, ret);
	}
}

static void test_any_order(void)
{
	static struct word word[SAYINGS * LIVES];
	unsigned wrong = 0, heard = 0;
	for (unsigned round = 1; round <= 300; round++) {
		struct processes ps;
		uint64_t start[LIVES], free_ns[4] = {0};
		uint32_t index[LIVES] = {0}, n = 0;
		word_seed = round;
		if (processes_init(&ps, NULL))
			abort();
		for (uint32_t i = 0; i < LIVES; i++) {
			uint64_t *from = &free_ns[i % 4], ms = 1 + any_ms(40) / MS;
			start[i] = *from + (APART + 1) * MS + any_ms(300);
			*from = start[i] + ms * MS;
			n += speak(&word[n], i, start[i], *from);
		}
		qsort(word, n, sizeof(*word), compare_words);
		for (uint32_t i = 0; i < n; i++) {
			const struct word *w = &word[i];
			uint32_t life = w->life, got;
			if (w->saying == EXIT || w->saying == PIDFD) {
				processes_ended(&ps, index[life], w->at_ns);
				processes_unref(&ps, index[life]);
				continue;
			}
			if (hear(&ps, w, 100 + life % 4, start[life], &got))
				abort();
			wrong += index[life] && index[life] != got;
			for (uint32_t k = life % 4; k < LIVES; k += 4)
				wrong += k != life && index[k] == got;
			index[life] = got;
			heard++;
		}
		processes_done(&ps);
	}
	ok(heard > 100000 && !wrong, "a process is one incarnation, in whatever order fork, exit, "
				     "scan, pidfd, attach and its "
				     "ring are heard of");
	diag("%u words, %u wrong", heard, wrong);
}

static void test_lived(void)
{
	struct processes ps;
	uint32_t a, b, c, d;
	struct process_start one = at(100), two = at(300);
	if (processes_init(&ps, NULL))
		abort();
	if (processes_lived(&ps, 7, 150, &a))
		abort();
	processes_end_unused(&ps, a);
	ok(processes_at(&ps, a)->ended, "a process whose ring was found has ended");
	is(begin(&ps, 7, &one), a, "it is the one of which the fork is heard later");
	b = begin(&ps, 7, &two);
	ok(b != a, "but not the next one with its pid");
	ok(!processes_lived(&ps, 7, 250, &c) && c == a, "a ring of before is of the one before");
	ok(!processes_lived(&ps, 7, 350, &c) && c == b, "one of now is of that of now");
	ok(!processes_lived(&ps, 7, 50, &c) && c != a && c != b && processes_find(&ps, 7) == b &&
		   processes_at(&ps, a)->older == c && !processes_at(&ps, c)->plain,
	   "one of before all is of one before all");
	if (processes_lived(&ps, 9, 500, &d) || processes_lived(&ps, 9, 450, &d) ||
	    processes_lived(&ps, 9, 520, &d))
		abort();
	struct process_start between = at(480), before = at(440);
	is(begin(&ps, 9, &before), d, "of moments at which a process lived the first counts");
	if (processes_lived(&ps, 11, 500, &d) || processes_lived(&ps, 11, 450, &d))
		abort();
	ok(begin(&ps, 11, &between) != d, "one that started behind it is another");
	processes_end(&ps, c);
	processes_release(&ps, c);
	ok(!processes_at(&ps, a)->older && processes_find(&ps, 7) == b, "which may be released");
	processes_done(&ps);
}

/* Of three incarnations the one in the middle is heard of last, and the first one goes first. */
static void test_between(void)
{
	const uint64_t s = 1000000000;
	struct processes ps;
	struct process_start one = at(1 * s), three = at(9 * s);
	uint32_t two, again;
	if (processes_init(&ps, NULL))
		abort();
	uint32_t first = begin(&ps, 7, &one);
	processes_ended(&ps, first, 2 * s);
	uint32_t last = begin(&ps, 7, &three);
	ok(!processes_lived(&ps, 7, 5 * s, &two) && two != first && two != last &&
		   processes_at(&ps, last)->older == two && processes_at(&ps, two)->older == first,
	   "a moment between two is of one between them");
	processes_release(&ps, first);
	ok(processes_at(&ps, last)->older == two && !processes_at(&ps, two)->older,
	   "which stays when the first one is released");
	ok(!processes_lived(&ps, 7, 5 * s, &again) && again == two, "and is found again");
	processes_end(&ps, two);
	processes_release(&ps, two);
	ok(!processes_at(&ps, last)->older && processes_find(&ps, 7) == last,
	   "until it is released, too");
	processes_done(&ps);
}

/* Several report the end of a process, each at a time of its own: the first of them is the nearest,
 * in whichever order they come. */
static void test_ended_twice(void)
{
	const uint64_t s = 1000000000;
	for (unsigned i = 0; i < 2; i++) {
		struct processes ps;
		struct process_start start = at(1 * s);
		uint32_t later;
		if (processes_init(&ps, NULL))
			abort();
		uint32_t first = begin(&ps, 7, &start);
		processes_ended(&ps, first, i ? 5 * s : 2 * s);
		processes_ended(&ps, first, i ? 2 * s : 5 * s);
		ok(!processes_lived(&ps, 7, 3 * s, &later) && later != first,
		   "a process that was alive behind the %s report of an end is another one",
		   i ? "later" : "earlier");
		processes_done(&ps);
	}
}

int main(void)
{
	test_incarnations();
	test_announced();
	test_names();
	test_announced_late();
	test_gone();
	test_long_run();
	test_chain();
	int bad = 0;
	for (unsigned seed = 1; seed <= 100; seed++)
		bad += !model_round(seed);
	is(bad, 0, "100 random histories of 40 pids give the incarnations of the model");
	test_lived();
	test_between();
	test_ended_twice();
	test_any_order();
	return tap_done();
}
