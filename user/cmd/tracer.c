/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/tracer.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "cmd/commands.h"
#include "cmd/follow.h"
#include "cmd/open.h"
#include "cmd/probing.h"
#include "cmd/recording.h"
#include "cmd/signals.h"
#include "cmd/target.h"
#include "core/loss.h"
#include "runtime/inspect.h"
#include "source/bpf.h"
#include "source/ring.h"

/* Rings are looked at so often at most, so that looking takes a bounded share of a CPU, and at least.
 * A ring that is slower than LAP_MAX_NS does not need us more often. */
#define POLL_MIN_NS 100000ull
#define POLL_MAX_NS 2000000ull
#define LAP_MAX_NS  (16 * POLL_MAX_NS)
#define AWAKE_NS    250000000ull
/* The first ring of a program of ours is looked for so often. */
#define FIRST_SCAN_NS 250000ull
/* A program that was told to end gets this long before the trace ends without it. */
#define SIGNAL_GRACE_NS 1000000000ull
/* A look for rings that takes so long (of 60,000 mappings) has one part in so many of our time. */
#define SCAN_DEAR_NS (FOLLOW_SCAN_NS / 4)
#define SCAN_SHARE   5

struct tracer {
	const struct opts *opts;
	struct session *session;
	struct pump *pump;
	struct sink *sink;
	struct ring_source *rings;
	struct source *bpf; /* NULL: the rings alone */
	struct follow *follow;
	struct inspect *inspect; /* what is known of files */
	struct target target;
	bool has_target;
	int epoll_fd;
	struct signals signals;
	uint64_t lap_ns, awake_until_ns, scan_ns, stop_ns, progress_ns;
	bool progress;
	uint32_t bpf_markers;
	char no_bpf[EBT_REASON_BYTES]; /* why not, until it has been said */
};

static int watch_fd(struct tracer *t, int fd)
{
	struct epoll_event e = {.events = EPOLLIN, .data.ptr = t};
	return epoll_ctl(t->epoll_fd, EPOLL_CTL_ADD, fd, &e) ? -errno : 0;
}

static int watch_signals(struct tracer *t)
{
	int err = signals_catch(&t->signals, t->opts->program != NULL);
	return err ? err : watch_fd(t, t->signals.fd);
}

/* Who gets the signals that are sent to us. */
static pid_t program_of(const struct tracer *t)
{
	return t->has_target && !t->target.reaped ? t->target.pid : 0;
}

static void take_signals(struct tracer *t)
{
	signals_take(&t->signals, program_of(t));
}

/* True when the run is over. */
static bool is_over(struct tracer *t, uint64_t now)
{
	if (t->opts->duration_ns && now >= t->stop_ns)
		return true;
	if (t->signals.ends > !!t->has_target)
		return true;
	if (t->signals.ends && now - t->signals.last_ns > SIGNAL_GRACE_NS)
		return true;
	if (t->has_target)
		target_ended(&t->target);
	return !follow_running(t->follow);
}

static void add_child(pid_t pid, void *ctx)
{
	struct tracer *t = ctx;
	char reason[EBT_REASON_BYTES] = "";
	int n = t->bpf ? bpf_source_attach(t->bpf, pid, reason) : 0;
	if (n < 0)
		log_at(LOG_VERBOSE, "process %d: %s", pid, reason);
	if (n <= 0)
		return;
	t->bpf_markers += (uint32_t)n;
	log_at(LOG_VERBOSE, "attached to %d markers of process %d", n, pid);
}

static int scan(struct tracer *t, uint64_t now)
{
	if (now < t->scan_ns)
		return 0;
	/* The first ring of a program of ours is waited for: it may wrap within milliseconds. */
	bool waiting = t->has_target && !follow_rings(t->follow);
	t->scan_ns = now + (waiting ? FIRST_SCAN_NS : FOLLOW_SCAN_NS);
	uint64_t cpu = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	int err = follow_scan(t->follow);
	if (follow_rings(t->follow))
		probing_tell_missing(t->opts, t->session, t->no_bpf);
	follow_children(t->follow, add_child, t);
	uint64_t cost = clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
	if (cost > SCAN_DEAR_NS)
		t->scan_ns = now_ns() + (SCAN_SHARE - 1) * cost;
	return err;
}

/*
 * How long may be waited: until the ring that fills fastest has filled by a sixteenth. A burst is
 * believed at once, its end only in steps, so that a program which works by fits is looked at often.
 * Where others want the CPU, who waits gets it back late: if a ring was found filled by a quarter, we
 * do not wait while events come (0), for some time.
 */
static uint64_t wait_ns(struct tracer *t, uint64_t now)
{
	struct ring_pace pace;
	ring_source_pace(t->rings, &pace);
	if (pace.lap_ns > 2 * t->lap_ns)
		pace.lap_ns = 2 * t->lap_ns;
	t->lap_ns = pace.lap_ns < LAP_MAX_NS ? pace.lap_ns : LAP_MAX_NS;
	if (pace.fill > 0.25)
		t->awake_until_ns = now + AWAKE_NS;
	if (now < t->awake_until_ns)
		return 0;
	return t->lap_ns / 16 > POLL_MIN_NS ? t->lap_ns / 16 : POLL_MIN_NS;
}

static void show_progress(struct tracer *t, uint64_t now)
{
	if (!t->progress || now < t->progress_ns)
		return;
	t->progress_ns = now + 500000000u;
	char lost[LOSS_TEXT_BYTES];
	struct totals totals = session_run_totals(t->session);
	fprintf(stderr, "\rebtrace: %llu events, %s ", (unsigned long long)totals.events,
		loss_text(&totals, lost));
}

/* Nothing to do: what has been put out is shown, then something may happen or time goes by. */
static int wait_more(struct tracer *t, uint64_t ns)
{
	int err = sink_flush(t->sink);
	struct epoll_event events[8];
	struct timespec ts = {0, (long)ns};
	int n = epoll_pwait2(t->epoll_fd, events, 8, &ts, NULL);
	for (int i = 0; i < n; i++)
		if (events[i].data.ptr == t->follow)
			t->scan_ns = 0;
	take_signals(t);
	return err;
}

/* 0 or -errno; -EPIPE: nobody reads the output any more. */
static int run(struct tracer *t)
{
	for (;;) {
		uint64_t now = now_ns();
		int err = scan(t, now);
		if (err)
			return err;
		int moved = pump_step(t->pump);
		if (moved < 0 && moved != -EAGAIN)
			return moved;
		if (is_over(t, now))
			break;
		show_progress(t, now);
		/* 0: every lane has ended, but a ring may still appear. A program whose events come
		 * without a pause always has some: they can wait, too, as long as the rings do. */
		uint64_t wait = wait_ns(t, now);
		if (moved <= 0 || (wait && pump_drained(t->pump)))
			err = wait_more(t, wait ? wait : POLL_MIN_NS);
		else
			take_signals(t);
		if (err)
			return err;
	}
	int err = follow_end(t->follow);
	follow_usage(t->follow, false);
	t->session->run_end = moment_at(now_ns());
	if (!err)
		err = pump_stop(t->pump);
	if (!err)
		signals_release(&t->signals, program_of(t));
	while (!err) {
		int moved = pump_step(t->pump);
		if (moved == 0)
			break;
		err = moved == -EAGAIN ? wait_more(t, POLL_MIN_NS) : moved < 0 ? moved : 0;
	}
	/* What a source that failed gave before has been passed on; that it failed is told. */
	return err ? err : pump_source_error(t->pump);
}

/* A ring may have come or gone: look for it at once, not at the next scan. */
static void on_change(void *ctx, pid_t pid, enum bpf_change change)
{
	struct tracer *t = ctx;
	if (change == BPF_EXECED)
		follow_renamed(t->follow, pid);
	if (change != BPF_RING_FILLS && change != BPF_RING_STOPPED)
		t->scan_ns = 0;
}

static int attach(struct tracer *t, pid_t pid)
{
	if (!t->bpf)
		return 0;
	char reason[EBT_REASON_BYTES] = "";
	int n = bpf_source_attach(t->bpf, pid, reason);
	if (n > 0) {
		t->bpf_markers += (uint32_t)n;
		log_at(LOG_VERBOSE, "attached to %d markers of process %d", n, pid);
	} else if (n < 0) {
		complain("process %d: %s", pid, reason);
	} else {
		log_at(LOG_VERBOSE, "process %d has no markers", pid);
	}
	return n < 0 && t->opts->mode != MODE_AUTO ? EXIT_ERROR : 0;
}

/* A process that has neither ring nor markers ends the run before it began. */
static int check_something(struct tracer *t)
{
	/* A ring file whose header is still empty is about to be written. */
	for (int i = 0; i < 20 && follow_error(t->follow) == -EAGAIN && !t->bpf_markers; i++) {
		usleep(5000);
		if (follow_rings(t->follow) || follow_scan(t->follow))
			break;
	}
	if (follow_rings(t->follow) || t->bpf_markers)
		return 0;
	if (follow_error(t->follow) == -EAGAIN)
		complain("%s", follow_reason(t->follow));
	if (follow_error(t->follow))
		return open_status(follow_error(t->follow));
	if (t->opts->wait)
		return 0;
	open_nothing(t->inspect, t->opts->pids[0], t->bpf != NULL);
	return EXIT_NOTHING;
}

static int add_pids(struct tracer *t)
{
	for (unsigned i = 0; i < t->opts->pid_count; i++) {
		struct process_status p;
		int status = open_process(t->opts->pids[i], &p);
		if (status)
			return status;
		int err = follow_add(t->follow, p.pid);
		if (err) {
			complain("cannot follow process %d: %s", p.pid, strerror(-err));
			return EXIT_ERROR;
		}
		struct processes *ps = &t->session->processes;
		struct process *known = processes_announce(ps, processes_find(ps, (uint32_t)p.pid));
		memcpy(known->comm, p.comm, sizeof(known->comm));
	}
	int err = follow_scan(t->follow);
	if (err) {
		complain("%s", strerror(-err));
		return EXIT_ERROR;
	}
	for (unsigned i = 0; i < t->opts->pid_count; i++) {
		int status = attach(t, t->opts->pids[i]);
		if (status)
			return status;
	}
	follow_children(t->follow, add_child, t);
	return check_something(t);
}

static int start_program(struct tracer *t)
{
	char **argv = t->opts->program;
	struct target_options to = {
		.nice = t->opts->nice,
		.open_files = t->opts->open_files,
		.stop = t->bpf != NULL,
	};
	int err = target_spawn(&t->target, argv, &to);
	t->has_target = true;
	if (err) {
		complain("cannot start '%s': %s", argv[0], strerror(-err));
		return EXIT_ERROR;
	}
	if (*t->target.dir)
		follow_dir(t->follow, t->target.dir, t->target.own.fd >= 0);
	err = follow_add(t->follow, t->target.pid);
	if (err) {
		complain("cannot follow '%s': %s", argv[0], strerror(-err));
		return EXIT_ERROR;
	}
	err = target_go(&t->target);
	if (err) {
		complain("cannot run '%s': %s", argv[0], strerror(-err));
		t->target.go_fd = -1;
		return err == -ENOENT ? 127 : 126;
	}
	t->target.process = processes_find(&t->session->processes, (uint32_t)t->target.pid);
	follow_begun(t->follow, t->target.pid);
	int status = t->target.traced ? attach(t, t->target.pid) : 0;
	/* It has not run its first instruction yet: what cannot be traced as asked does not run. */
	if (status)
		kill(t->target.pid, SIGKILL);
	target_release(&t->target);
	return status;
}

int tracer_pump(const struct opts *o, struct session *session, struct sink *sink, struct pump **ret)
{
	struct pump *p;
	int err = pump_new(session, &p);
	if (err)
		return err;
	struct filter *f = pump_filter(p);
	for (unsigned i = 0; !err && i < o->glob_count; i++)
		err = filter_add_glob(f, o->globs[i]);
	for (unsigned i = 0; !err && i < o->domain_count; i++)
		err = filter_add_domain(f, o->domains[i]);
	for (unsigned i = 0; !err && i < o->thread_count; i++)
		err = filter_add_thread(f, o->threads[i]);
	if (!err)
		err = filter_set_min_duration(f, o->min_duration_ns);
	if (!err)
		err = pump_add_sink(p, sink);
	if (err)
		pump_free(p);
	else
		*ret = p;
	return err;
}

static int init(struct tracer *t)
{
	t->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (t->epoll_fd < 0)
		return -errno;
	int err = watch_signals(t);
	if (!err)
		err = ring_source_new(t->session, opts_buffer(t->opts), &t->rings);
	if (!err)
		err = follow_new(t->session, t->rings, t->opts, t->inspect, t->epoll_fd,
				 &t->follow);
	if (!err)
		err = tracer_pump(t->opts, t->session, t->sink, &t->pump);
	if (!err)
		err = pump_add_source(t->pump, ring_source_base(t->rings));
	return err;
}

static int begin(struct tracer *t)
{
	int err = t->opts->program ? target_prepare(&t->target, recording_by_environment(t->opts),
						    t->opts->mode == MODE_RING)
				   : 0;
	if (!err)
		err = init(t);
	if (err) {
		complain("cannot start: %s", strerror(-err));
		return EXIT_ERROR;
	}
	int status = probing_new(t->opts, t->opts->program && t->target.record, t->session,
				 t->inspect, on_change, t, &t->bpf, t->no_bpf);
	if (!status && t->bpf) {
		t->session->origins = ORIGIN_BPF | (t->opts->mode == MODE_PROBES ? 0 : ORIGIN_RING);
		err = pump_add_source(t->pump, t->bpf);
		if (!err)
			err = watch_fd(t, bpf_source_fd(t->bpf));
		status = err ? EXIT_ERROR : 0;
	}
	if (status)
		return status;
	if (t->bpf && !opts_watermarks(t->opts))
		ring_source_ringless_seen(t->rings);
	return t->opts->program ? start_program(t) : add_pids(t);
}

static void done(struct tracer *t)
{
	if (t->pump)
		tracer_tell_threadless(t->pump);
	/* Before the program is waited for, so that no probe stays armed. */
	pump_free(t->pump);
	if (t->bpf)
		source_free(t->bpf);
	if (t->rings) {
		tracer_tell_damage(t->rings);
		source_free(ring_source_base(t->rings));
	}
	if (t->epoll_fd >= 0)
		close(t->epoll_fd);
}

static int program_status(struct tracer *t, int status)
{
	while (!target_ended(&t->target)) {
		/* SIGCHLD wakes us; what else comes is passed on, and the second one ends us. */
		struct pollfd fd = {.fd = t->signals.fd, .events = POLLIN};
		poll(&fd, 1, 1000);
		take_signals(t);
		target_sweep(&t->target);
	}
	target_usage(&t->target, t->session);
	if (!status && !session_run_totals(t->session).events && !follow_rings(t->follow) &&
	    !t->bpf_markers)
		complain("nothing was traced: '%s' has neither a ring file nor markers; it must be "
			 "an OCaml 5 program or link libebtrace-probes%s",
			 t->opts->program[0],
			 t->target.record
				 ? " (in a chroot: set OCAML_RUNTIME_EVENTS_DIR to a directory "
				   "in there)"
				 : "; --mode ring switches the rings of all that it starts on");
	else if (!t->target.record && t->opts->mode != MODE_PROBES)
		recording_tell_left_off(t->opts, t->session);
	return status ? status : target_exit_status(&t->target);
}

/* Whatever ails us, a program of ours goes on as it would without us. */
static void tell_failure(struct tracer *t, int err)
{
	/* The output's error is told again at its end, which may be hours away, with its name. */
	bool by_output = sink_flush(t->sink) == err;
	const char *what = by_output ? "cannot write the output" : "cannot go on";
	if (t->has_target && !target_ended(&t->target))
		complain("%s: %s; '%s' goes on untraced", what, strerror(-err),
			 t->opts->program[0]);
	else if (!by_output)
		complain("%s: %s", what, strerror(-err));
}

int tracer_live(const struct opts *o, struct session *session, struct sink *sink)
{
	struct tracer t = {
		.opts = o,
		.session = session,
		.inspect = inspect_new(),
		.sink = sink,
		.epoll_fd = -1,
		.signals.fd = -1,
		.lap_ns = 16 * POLL_MIN_NS,
		.progress = o->output && isatty(STDERR_FILENO) && log_level >= LOG_NORMAL,
	};
	int status = begin(&t);
	if (!status) {
		if (!t.has_target) {
			follow_usage(t.follow, true);
			session->run_begin = moment_at(now_ns());
		}
		t.stop_ns = now_ns() + o->duration_ns;
		int err = run(&t);
		if (t.progress)
			fputs("\r\033[K", stderr);
		/* A reader that has left is no error. */
		if (err && err != -EPIPE) {
			tell_failure(&t, err);
			status = EXIT_ERROR;
		}
	}
	bool waited = !status && o->wait && !t.has_target;
	if (waited && !follow_rings(t.follow) && !t.bpf_markers && !session->totals.events) {
		complain("nothing to trace has come");
		status = EXIT_NOTHING;
	}
	done(&t);
	signals_release(&t.signals, program_of(&t));
	if (t.has_target && t.target.pid > 0 && t.target.go_fd < 0)
		status = program_status(&t, status);
	if (t.follow && !(t.has_target && t.target.keep_files))
		follow_remove_files(t.follow);
	if (o->program)
		target_done(&t.target);
	follow_free(t.follow);
	inspect_free(t.inspect);
	/* What is still to be written may wait for a reader: a second signal must end that. */
	signals_finish(&t.signals);
	if (t.signals.fd >= 0)
		close(t.signals.fd);
	return status;
}
