/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Writers at full speed into tiny rings against readers: first threads and a cursor in one process
 * (for the thread sanitizer too), then a process against two cursors of its parent. Whatever the
 * interleaving, a reader may only see what was written, in its order, with every jump announced
 * by an EBT_LOST of exactly that size. RACE_SECONDS (default 10) is shared by the two halves.
 */
#include <ebtrace/cursor.h>
#include <ebtrace/probes.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "tests/tap.h"

#define THREADS	    3
#define MAX_RINGS   128
#define MAX_PAYLOAD 200 /* bytes behind the number and the sum */

/* What a thread writes, round after round: number n is an int, a unit, a span or a payload. */
enum step { STEP_INT, STEP_SPAN_BEGIN, STEP_CUSTOM, STEP_SPAN_END, STEPS };

struct payload {
	uint64_t number, sum;
	uint8_t bytes[MAX_PAYLOAD];
};

static int ids[3]; /* int, span, custom */
static _Atomic bool stopping;

static uint64_t checksum(const struct payload *p, size_t bytes)
{
	uint64_t sum = p->number * 0x9e3779b97f4a7c15u + bytes;
	for (size_t i = 0; i < bytes; i++)
		sum = (sum ^ p->bytes[i]) * 0x100000001b3u;
	return sum;
}

static size_t payload_bytes(uint64_t number)
{
	return (size_t)(number * 2654435761u >> 7) % (MAX_PAYLOAD + 1);
}

static void write_number(uint64_t n)
{
	struct payload p = {.number = n};
	switch (n % STEPS) {
	case STEP_INT:
		ebt_int(ids[0], (int64_t)n);
		break;
	case STEP_SPAN_BEGIN:
		ebt_span_begin(ids[1]);
		break;
	case STEP_CUSTOM:
		for (size_t i = 0; i < payload_bytes(n); i++)
			p.bytes[i] = (uint8_t)(n + 7 * i);
		p.sum = checksum(&p, payload_bytes(n));
		ebt_custom(ids[2], &p, offsetof(struct payload, bytes) + payload_bytes(n));
		break;
	case STEP_SPAN_END:
		ebt_span_end(ids[1]);
		break;
	}
}

/* Returns how many it wrote. */
static void *writer(void *arg)
{
	uint64_t n = 0;
	while (!atomic_load_explicit(&stopping, memory_order_relaxed))
		write_number(n++);
	*(uint64_t *)arg = n;
	return arg;
}

static bool record(void)
{
	setenv("EBTRACE_LOG_WSIZE", "9", 1);
	setenv("EBTRACE_DIR", "/dev/shm", 1);
	ids[0] = ebt_register("race.int", EBT_USER_INT);
	ids[1] = ebt_register("race.span", EBT_USER_SPAN);
	ids[2] = ebt_register("race.custom", EBT_USER_CUSTOM);
	return !ebt_start();
}

/* What a reader knows of one ring. `first` is the seq of number 0: lifecycle events come before. */
struct ring {
	uint64_t seq; /* of the next event, as a whole number */
	uint64_t first, delivered, lost;
	bool based;
};
struct reader {
	struct ebt_cursor *c;
	struct ring ring[MAX_RINGS];
	uint64_t bad, payloads, losses;
	char what[200];
};

static void complain(struct reader *r, const struct ebt_event *ev, const char *what)
{
	if (!r->bad++)
		snprintf(r->what, sizeof(r->what), "%s: ring %u kind %u seq %u position %llu", what,
			 ev->domain, ev->kind, ev->seq, (unsigned long long)ev->pos);
}

/* Which number the event is, where the event itself says it. */
static void check_number(struct reader *r, struct ring *g, const struct ebt_event *ev,
			 const void *data, size_t bytes)
{
	static const uint16_t kinds[STEPS] = {EBT_INT, EBT_SPAN_BEGIN, EBT_CUSTOM, EBT_SPAN_END};
	struct payload p = {0};
	uint64_t number = ev->arg[0];

	if (ev->kind == EBT_CUSTOM) {
		memcpy(&p, data, bytes < sizeof(p) ? bytes : sizeof(p));
		number = p.number;
		r->payloads++;
		size_t rest = bytes - offsetof(struct payload, bytes);
		if (rest != payload_bytes(number) || checksum(&p, rest) != p.sum)
			complain(r, ev, "a payload is not what was written");
	}
	if (ev->kind == EBT_INT || ev->kind == EBT_CUSTOM) {
		if (!g->based) {
			g->based = true;
			g->first = g->seq - number;
		}
		if (g->seq - number != g->first)
			complain(r, ev, "a number is not where it belongs");
	}
	if (g->based && kinds[(g->seq - g->first) % STEPS] != ev->kind)
		complain(r, ev, "an event is out of turn"); /* nesting of the spans too */
}

static int check(const struct ebt_event *ev, const void *data, size_t bytes, void *ctx)
{
	struct reader *r = ctx;
	struct ring *g = &r->ring[ev->domain % MAX_RINGS];

	if (ev->kind == EBT_DAMAGE) {
		complain(r, ev, "a sound ring is said to be damaged");
	} else if (ev->kind == EBT_LOST) {
		r->losses++;
		g->lost += ev->arg[0];
		g->seq += ev->arg[0];
	} else {
		if ((uint32_t)g->seq != ev->seq)
			complain(r, ev, "a jump that no loss announced");
		if (ev->kind >= EBT_UNIT && ev->kind <= EBT_CUSTOM)
			check_number(r, g, ev, data, bytes);
		g->seq++;
		g->delivered++;
	}
	return 0;
}

static bool reader_open(struct reader *r, pid_t pid)
{
	char reason[EBT_REASON_BYTES] = "";
	*r = (struct reader){0};
	int err = ebt_cursor_open_pid(pid, "/dev/shm", EBT_RELEASE_AUTO, &r->c, reason);
	if (err)
		diag("%s", reason);
	return !err;
}

static uint64_t total(const struct reader *r, bool lost)
{
	uint64_t sum = 0;
	for (int i = 0; i < MAX_RINGS; i++)
		sum += lost ? r->ring[i].lost : r->ring[i].delivered;
	return sum;
}

/* What both kinds of race are held to; `written` counts without lifecycle events. */
static void verdict(struct reader *r, uint64_t written, const char *who)
{
	struct ebt_cursor_info info;
	ebt_cursor_info(r->c, &info);
	uint64_t delivered = total(r, false), lost = total(r, true);
	if (!ok(!r->bad, "%s sees only what was written, in order, and every jump is told", who))
		diag("%llu times; first: %s", (unsigned long long)r->bad, r->what);
	ok(delivered && r->payloads, "%s sees events and payloads", who);
	ok(info.events == delivered && info.lost_events == lost, "%s counts as it delivers", who);
	uint64_t others = delivered + lost - written; /* lifecycle events, of each ring a few */
	ok(delivered + lost >= written && others <= 4 * (THREADS + 1),
	   "%s: emitted = delivered + lost", who);
	diag("%s: %llu written, %llu delivered, %llu lost in %llu holes", who,
	     (unsigned long long)written, (unsigned long long)delivered, (unsigned long long)lost,
	     (unsigned long long)r->losses);
	ebt_cursor_close(r->c);
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void race_threads(double seconds)
{
	pthread_t thread[THREADS];
	uint64_t wrote[THREADS] = {0}, sum = 0;
	static struct reader r;

	if (!ok(record() && reader_open(&r, 0), "a process opens its own rings"))
		return;
	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, writer, &wrote[i]);
	for (double end = now() + seconds; now() < end;)
		ebt_cursor_poll(r.c, check, &r, 0);
	stopping = true;
	for (int i = 0; i < THREADS; i++) {
		pthread_join(thread[i], NULL);
		sum += wrote[i];
	}
	while (ebt_cursor_poll(r.c, check, &r, 0) > 0)
		;
	verdict(&r, sum, "a reader in the process itself");
	ebt_stop();
}

/* The writing process: says that it has a ring, writes until its input ends, says how much. */
static int run_writer(void)
{
	pthread_t thread;
	uint64_t wrote = 0;
	char byte = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!record() || write(STDOUT_FILENO, &byte, 1) != 1 ||
	    pthread_create(&thread, NULL, writer, &wrote))
		return 1;
	bool go = read(STDIN_FILENO, &byte, 1) == 1;
	stopping = true;
	pthread_join(thread, NULL);
	go &= write(STDOUT_FILENO, &wrote, sizeof(wrote)) == sizeof(wrote);
	return !go || read(STDIN_FILENO, &byte, 1) != 0; /* the ring lasts until it was read */
}

static pid_t start_writer(int *ret_in, int *ret_out)
{
	int in[2], out[2];
	char byte;

	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC))
		return -1;
	pid_t pid = fork();
	if (!pid) {
		dup2(in[0], STDIN_FILENO);
		dup2(out[1], STDOUT_FILENO);
		execl("/proc/self/exe", "race-writer", (char *)NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	*ret_in = in[1];
	*ret_out = out[0];
	return read(out[0], &byte, 1) == 1 ? pid : -1;
}

/* One reader polls, the other fetches arrays: both ways into the cursor. */
static void *poll_on(void *arg)
{
	struct reader *r = arg;
	while (!atomic_load_explicit(&stopping, memory_order_relaxed))
		ebt_cursor_poll(r->c, check, r, 1000);
	return NULL;
}

static ssize_t read_some(struct reader *r)
{
	struct ebt_event ev[100];
	ssize_t n = ebt_cursor_read(r->c, ev, 100);
	const char *base = ebt_cursor_payloads(r->c);
	for (ssize_t i = 0; i < n; i++) {
		bool payload = ev[i].flags & EBT_F_PAYLOAD;
		check(&ev[i], payload ? base + ev[i].arg[0] : NULL, payload ? ev[i].arg[1] : 0, r);
	}
	return n;
}

static void race_process(double seconds)
{
	static struct reader poller, fetcher;
	pthread_t thread;
	int in = -1, out = -1, status;
	uint64_t wrote = 0;
	pid_t pid = start_writer(&in, &out);

	if (!ok(pid > 0 && reader_open(&poller, pid) && reader_open(&fetcher, pid),
		"two readers open the ring of another process"))
		return;
	pthread_create(&thread, NULL, poll_on, &poller);
	for (double end = now() + seconds; now() < end;)
		read_some(&fetcher);
	stopping = true;
	pthread_join(thread, NULL);
	ok(write(in, "", 1) == 1 && read(out, &wrote, sizeof(wrote)) == sizeof(wrote),
	   "the writer says how much it wrote");
	while (read_some(&fetcher) > 0)
		;
	while (ebt_cursor_poll(poller.c, check, &poller, 0) > 0)
		;
	verdict(&poller, wrote, "a reader that polls");
	verdict(&fetcher, wrote, "a reader that fetches");
	close(in);
	close(out);
	ok(waitpid(pid, &status, 0) == pid && !status, "the writer ends well");
	stopping = false;
}

int main(int argc, char **argv)
{
	(void)argc;
	if (!strcmp(argv[0], "race-writer"))
		return run_writer();
	const char *text = getenv("RACE_SECONDS");
	double seconds = text ? atof(text) : 10;
	race_process(seconds / 2);
	race_threads(seconds / 2);
	return tap_done();
}
