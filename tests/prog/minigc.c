// SPDX-License-Identifier: BSD-2-Clause
/*
 * minigc: a small runtime with threads as domains and a garbage collector that does real work on
 * real objects, instrumented with our probes and with a verifier of its own heap. What `make demo`,
 * the live tests and the benches trace. It counts what it emitted, so that a test can demand
 * equality.
 *
 * Counts (-c FILE, else stdout), one line each: DOMAIN KIND COUNT [NAME]. KIND is spelled as in
 * NDJSON. DOMAIN is the order in which the threads first probe, which is the index of their ring:
 * they start one after the other, the main thread is domain 0 and works too. Counted is a probe
 * that was passed while somebody listened (ebt_enabled()).
 *
 * The lines of kind `lifecycle` are events that the library writes by itself, one line a NAME, and
 * follow from its contract, if the ring was on when the work started: `ring_start` in the domain
 * of the starter (0), `domain_spawn` and `domain_terminate` in each domain whose thread began and
 * ended while the ring was on, `ring_stop` in domain 0. ring_stop comes at exit, after the file of
 * counts was written, and after the wait of -l.
 *
 * With -o it also reports its allocations to <ebtrace/alloc.h>, and the counts have for each domain
 * the lines `objects` and `words`, what it allocated, and `alloc`, `promote`, `collect`, the
 * sampled objects that it reported.
 *
 * With -p its old spaces have their chunks from a pool, to which empty ones go back, and it reports
 * these pages. The counts have for each domain the lines `page_alloc`, `page_free` and
 * `page_scavenge`, how many runs it reported, and for domain 0 `pages_allocated`, `pages_free` and
 * `pages_scavenged`, the pages of the heap at the end.
 */
#include "heap/work.h"
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/prog/work.h"

struct options {
	int threads;
	uint64_t events, rate, seed;
	double seconds;
	const char *counts;
	bool wait, linger, user, quiet;
};

struct run {
	struct gc gc;
	struct options opt;
	struct emit_user user;
	struct work work[HEAP_MAX_DOMAINS];
	uint64_t start_ns;
	pthread_barrier_t started;
	_Atomic int begun; /* domains that have passed their first probe */
	_Atomic uint64_t passed;
	bool ring;
};

static volatile sig_atomic_t stop_asked;
static int wake_pipe[2];

static void on_signal(int sig)
{
	int err = errno;
	if (sig != SIGUSR1)
		stop_asked = 1;
	if (write(wake_pipe[1], "", 1) < 0) {
		/* the pipe is full: whoever waits will wake up anyhow */
	}
	errno = err;
}

/* True when this domain has done its share; adds what it passed since `*told` to the total. */
static bool run_over(struct run *r, struct domain *d, uint64_t *told)
{
	r->passed += d->emit.passed - *told;
	*told = d->emit.passed;
	if (stop_asked || (r->opt.events && r->passed >= r->opt.events))
		return true;
	return r->opt.seconds > 0 && (double)(now_ns() - r->start_ns) >= r->opt.seconds * 1e9;
}

/* Sleeps when the domain is ahead of its rate; short waits are left to add up. */
static void pace(struct run *r, struct domain *d, uint64_t *told)
{
	while (!run_over(r, d, told)) {
		uint64_t due = r->start_ns +
			       (uint64_t)((double)d->emit.passed * 1e9 / (double)r->opt.rate);
		uint64_t now = now_ns();
		if (due < now + 100000)
			return;
		major_sleep(d, due - now < 50000000 ? due - now : 50000000);
	}
}

static void domain_work(struct run *r, struct domain *d)
{
	uint64_t told = 0;

	while (!run_over(r, d, &told)) {
		work_batch(d);
		if (r->opt.rate)
			pace(r, d, &told);
	}
	/* At least one major collection a run, so that there is one to look at. */
	if (d->index == 0)
		major_collect(d);
	work_check_all(d);
	major_leave(d);
}

/* The first probe of a thread takes the lowest free ring: so threads come one by one. */
static void domain_begin(struct run *r, struct domain *d)
{
	emit_counter(&d->emit, EBT_COUNTER_minor_allocated, 0);
	work_init(d, &r->work[d->index], r->opt.seed, r->opt.user ? &r->user : NULL);
	r->begun++;
}

struct start {
	struct run *run;
	struct domain *domain;
};

static void *thread_main(void *arg)
{
	struct start s = *(struct start *)arg;
	domain_begin(s.run, s.domain);
	pthread_barrier_wait(&s.run->started);
	domain_work(s.run, s.domain);
	return NULL;
}

static void run_threads(struct run *r)
{
	struct gc *gc = &r->gc;
	struct start start[HEAP_MAX_DOMAINS];

	pthread_barrier_init(&r->started, NULL, (unsigned)gc->domains);
	domain_begin(r, &gc->domain[0]);
	r->ring = ebt_ring_path() != NULL;
	for (int i = 1; i < gc->domains; i++) {
		start[i] = (struct start){r, &gc->domain[i]};
		if (pthread_create(&gc->domain[i].thread, NULL, thread_main, &start[i]))
			heap_fatal("cannot start a thread");
		while (r->begun <= i)
			usleep(100);
	}
	r->start_ns = now_ns();
	pthread_barrier_wait(&r->started);
	domain_work(r, &gc->domain[0]);
	for (int i = 1; i < gc->domains; i++)
		pthread_join(gc->domain[i].thread, NULL);
	pthread_barrier_destroy(&r->started);
	gc->verified += verify_heap(gc, false);
}

static void write_objects(FILE *f, const struct domain *d)
{
	const struct sampled_counts *c = &d->sampled.counts;
	const struct {
		const char *name;
		uint64_t n;
	} line[] = {{"objects", c->objects},
		    {"words", c->words},
		    {"alloc", c->alloc},
		    {"promote", c->promote},
		    {"collect", c->collect}};
	for (size_t i = 0; i < sizeof(line) / sizeof(*line); i++)
		fprintf(f, "%d %s %llu\n", d->index, line[i].name, (unsigned long long)line[i].n);
}

static void write_pages(FILE *f, const struct domain *d)
{
	const struct chunk_pool *pool = &d->gc->pool;
	fprintf(f, "%d page_alloc %llu\n%d page_free %llu\n%d page_scavenge %llu\n", d->index,
		(unsigned long long)d->pages.alloc, d->index, (unsigned long long)d->pages.free,
		d->index, (unsigned long long)d->pages.scavenge);
	if (d->index == 0)
		fprintf(f, "0 pages_allocated %llu\n0 pages_free %llu\n0 pages_scavenged %llu\n",
			(unsigned long long)pool_pages(pool->in_use),
			(unsigned long long)pool_pages(pool->n - pool->scavenged),
			(unsigned long long)pool_pages(pool->scavenged));
}

static int write_counts(const struct run *r)
{
	static const char *const kind[EMIT_KINDS] = {
		"begin", "end",	       "counter",  "alloc_sizes", "unit",
		"int",	 "span_begin", "span_end", "custom",
	};
	FILE *f = r->opt.counts ? fopen(r->opt.counts, "w") : stdout;
	if (!f)
		return -errno;
	for (int i = 0; i < r->gc.domains; i++) {
		for (int k = 0; k < EMIT_KINDS; k++)
			fprintf(f, "%d %s %llu\n", i, kind[k],
				(unsigned long long)r->gc.domain[i].emit.n[k]);
		if (r->gc.sample)
			write_objects(f, &r->gc.domain[i]);
		if (r->gc.pages)
			write_pages(f, &r->gc.domain[i]);
		if (!r->ring)
			continue;
		if (i == 0)
			fputs("0 lifecycle 1 ring_start\n0 lifecycle 1 ring_stop\n", f);
		else
			fprintf(f, "%d lifecycle 1 domain_spawn\n%d lifecycle 1 domain_terminate\n",
				i, i);
	}
	if (fflush(f) || ferror(f))
		return -EIO;
	return f == stdout || !fclose(f) ? 0 : -errno;
}

/* Stdin counts only if somebody can hold it open: /dev/null and files are at their end at once. */
static bool stdin_is_held(void)
{
	struct stat st;
	return !fstat(STDIN_FILENO, &st) &&
	       (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode) || isatty(STDIN_FILENO));
}

/* Until a signal, or a line on stdin if `line`, else the end of stdin. */
static void wait_for_word(bool line)
{
	struct pollfd fd[2] = {{.fd = wake_pipe[0], .events = POLLIN},
			       {.fd = stdin_is_held() ? STDIN_FILENO : -1, .events = POLLIN}};
	char buf[256];

	while (!stop_asked) {
		if (poll(fd, 2, -1) < 0)
			continue;
		if (fd[0].revents && read(wake_pipe[0], buf, sizeof(buf)) > 0 && line)
			return;
		if (!fd[1].revents)
			continue;
		ssize_t n = read(STDIN_FILENO, buf, sizeof(buf));
		if (n > 0 && line)
			return;
		if (n <= 0 && !line)
			return;
		if (n <= 0)
			fd[1].fd = -1;
	}
}

static void usage(void)
{
	fputs("usage: minigc [-t THREADS] [-n EVENTS | -s SECONDS] [-r RATE] [-c FILE] [-S SEED]\n"
	      "              [-N NURSERY_WORDS] [-M MAJOR_WORDS] [-wlvuqop]\n"
	      "  -n at least so many events in all   -r events a second a domain, 0: full speed\n"
	      "  -c counts go to FILE                -w wait for a line on stdin, or SIGUSR1\n"
	      "  -l stay until stdin ends or SIGTERM -v verify the heap after each major\n"
	      "  -u user events too                  -q no summary on stderr\n"
	      "  -o report allocated objects         -p report pages of the heap\n",
	      stderr);
	exit(2);
}

/* What the options leave out. */
static void complete(struct run *r)
{
	struct options *o = &r->opt;
	if (o->threads < 1 || o->threads > HEAP_MAX_DOMAINS ||
	    r->gc.nursery_words < 2 * HEAP_MAX_WORDS)
		usage();
	if (!o->events && o->seconds <= 0)
		o->events = 100000;
	r->gc.domains = o->threads;
}

static void parse(struct run *r, int argc, char **argv)
{
	struct options *o = &r->opt;
	*o = (struct options){.threads = 4, .seed = 1};
	r->gc.nursery_words = 512;
	r->gc.major_threshold_words = 65536;
	for (int c; (c = getopt(argc, argv, "t:n:s:r:c:S:N:M:wlvuqop")) != -1;) {
		switch (c) {
		case 't':
			o->threads = atoi(optarg);
			break;
		case 'n':
			o->events = strtoull(optarg, NULL, 0);
			break;
		case 's':
			o->seconds = strtod(optarg, NULL);
			break;
		case 'r':
			o->rate = strtoull(optarg, NULL, 0);
			break;
		case 'c':
			o->counts = optarg;
			break;
		case 'S':
			o->seed = strtoull(optarg, NULL, 0);
			break;
		case 'N':
			r->gc.nursery_words = strtoull(optarg, NULL, 0);
			break;
		case 'M':
			r->gc.major_threshold_words = strtoull(optarg, NULL, 0);
			break;
		case 'w':
			o->wait = true;
			break;
		case 'l':
			o->linger = true;
			break;
		case 'v':
			r->gc.verify = true;
			break;
		case 'u':
			o->user = true;
			break;
		case 'q':
			o->quiet = true;
			break;
		case 'o':
			r->gc.sample = true;
			break;
		case 'p':
			r->gc.pages = true;
			break;
		default:
			usage();
		}
	}
	if (optind < argc)
		usage();
	complete(r);
}

static void prepare(struct run *r)
{
	struct sigaction sa = {.sa_handler = on_signal};

	if (pipe2(wake_pipe, O_CLOEXEC | O_NONBLOCK))
		heap_fatal("no pipe");
	sigaction(SIGUSR1, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	sigaction(SIGINT, &sa, NULL);
	heap_init(&r->gc);
	if (r->opt.user) {
		r->user = (struct emit_user){
			.safepoint = ebt_register("minigc.safepoint", EBT_USER_UNIT),
			.live_keys = ebt_register("minigc.live_keys", EBT_USER_INT),
			.batch = ebt_register("minigc.batch", EBT_USER_SPAN),
			.trace = ebt_register("minigc.trace", EBT_USER_CUSTOM),
		};
	}
}

int main(int argc, char **argv)
{
	struct run *r = calloc(1, sizeof(*r));
	if (!r)
		heap_fatal("out of memory");
	parse(r, argc, argv);
	prepare(r);
	if (r->opt.wait) {
		fputs("minigc: ready\n", stderr);
		wait_for_word(true);
	}
	run_threads(r);
	int err = write_counts(r);
	if (err) {
		fprintf(stderr, "minigc: %s: %s\n", r->opt.counts ? r->opt.counts : "stdout",
			strerror(-err));
		return 1;
	}
	if (!r->opt.quiet)
		fprintf(stderr,
			"minigc: %d domains, %llu probes passed, %llu majors, "
			"%llu objects verified, %.3f s\n",
			r->gc.domains, (unsigned long long)r->passed,
			(unsigned long long)r->gc.majors, (unsigned long long)r->gc.verified,
			(double)(now_ns() - r->start_ns) / 1e9);
	if (r->opt.linger)
		wait_for_word(false);
	heap_done(&r->gc);
	free(r);
	return 0;
}
