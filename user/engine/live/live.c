/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/live/live.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/ending.h"
#include "engine/damage.h"
#include "engine/guest.h"
#include "engine/live/budget_watch.h"
#include "engine/live/everyone.h"
#include "engine/live/interval.h"
#include "engine/live/probing.h"
#include "engine/live/realtime.h"
#include "engine/live/ring_files.h"
#include "engine/live/scan.h"
#include "engine/live/traced.h"
#include "engine/loop.h"
#include "engine/pipeline.h"
#include "engine/program/program.h"
#include "engine/program/recording.h"
#include "engine/refusal.h"
#include "engine/signals.h"
#include "proc/memory_reader.h"
#include "runtime/inspect.h"
#include "session/languages.h"

/* After a request to end, the trace waits this long for its program. */
#define SIGNAL_GRACE_NS 1000000000ull
/* The period in which a program that outlives its trace is cared for. */
#define AFTERCARE_NS 1000000000
/* How long and how often a ring that cannot be read yet is tried, before the run begins. */
#define NOT_YET_NS 100000000ull
#define RETRY_NS   5000000

struct live {
	struct engine *engine;
	const struct engine_options *options;
	struct loop *loop;
	struct signals signals;
	struct loop_fd signal_watch, probing_watch, births_watch;
	struct loop_timer realtime_timer, retry_timer;
	bool has_guest; /* in the loop */
	struct realtime realtime;
	struct scan scan;
	struct inspect *inspect; /* what is known of files */
	struct ring_source *rings;
	struct everyone *everyone; /* NULL: single processes are traced */
	struct traced *traced;
	struct ring_files *files;
	struct probing probing;
	struct pump *pump;
	struct program program;
	struct recording_rings larger; /* its rings */
	bool has_program;
	struct interval interval;
	struct budget_watch budget;
	uint64_t stop_ns, not_yet_until_ns;
};

/* The process that gets the signals that are sent to us. */
static pid_t program_of(const struct live *t)
{
	return t->has_program && !t->program.reaped ? t->program.pid : 0;
}

static int on_signal(void *ctx)
{
	struct live *t = ctx;
	signals_read(&t->signals, program_of(t));
	if (t->signals.ends && t->probing.source)
		bpf_source_hurry(t->probing.source);
	return 0;
}

static int watch(struct live *t, struct loop_fd *w, int fd, loop_fn *fn)
{
	*w = (struct loop_fd){.fd = fd, .fn = fn, .ctx = t};
	return loop_add(t->loop, w, LOOP_LEVEL);
}

static int watch_signals(struct live *t)
{
	int err = signals_catch(&t->signals, t->options->program != NULL);
	return err ? err : watch(t, &t->signal_watch, t->signals.fd, on_signal);
}

/* The next step takes in what it has. */
static int on_probing(void *ctx)
{
	(void)ctx;
	return 0;
}

static int on_births(void *ctx)
{
	struct live *t = ctx;
	if (ring_files_births(t->files))
		scan_soon(&t->scan);
	return 0;
}

static int on_realtime(void *ctx)
{
	realtime_check(&((struct live *)ctx)->realtime, now_ns());
	return 0;
}

/* An ebtrace that was started with a niceness keeps that. */
static void begin_realtime(struct live *t)
{
	if (!t->options->realtime)
		return;
	int err = t->options->nice ? -EALREADY : realtime_begin(&t->realtime);
	messages_at(&t->engine->session->messages, LOG_VERBOSE,
		    "real-time scheduling while rings are read: %s",
		    !err	       ? "on (--no-realtime: off)"
		    : err == -ENOTSUP  ? "off: there is one CPU"
		    : err == -EBUSY    ? "off: ebtrace has a policy of its own"
		    : err == -EALREADY ? "off: ebtrace was started with a niceness"
				       : strerror(-err));
	t->realtime_timer =
		(struct loop_timer){.fn = on_realtime, .ctx = t, .period_ns = REALTIME_CHECK_NS};
	if (!err)
		loop_timer_set(t->loop, &t->realtime_timer, now_ns() + REALTIME_CHECK_NS);
}

/* Its name is gone when it has been waited for, which may be before its end is noted. */
static void name_ended_program(struct live *t)
{
	struct process *p = processes_announced(&t->engine->session->processes, t->program.process);
	if (p && !*p->comm && !*p->mappings.program)
		snprintf(p->comm, sizeof(p->comm), "%s", t->program.comm);
}

static bool is_over(struct live *t, uint64_t now)
{
	if ((t->options->duration_ns && now >= t->stop_ns) || guest_ends(t->engine) ||
	    t->signals.ends > !!t->has_program ||
	    (t->signals.ends && now - t->signals.last_ns > SIGNAL_GRACE_NS))
		return true;
	if (t->has_program && program_ended(&t->program))
		name_ended_program(t);
	return !t->everyone && !traced_running(t->traced) && !ring_files_pending(t->files);
}

/* Moves what there is. When there is nothing to do, what has been put out is shown. */
static int64_t step(void *ctx)
{
	struct live *t = ctx;
	uint64_t now = now_ns();
	int moved = pump_step(t->pump);
	if (moved < 0 && moved != -EAGAIN)
		return moved;
	int err = scan_due(&t->scan);
	if (err)
		return err;
	probing_emit_open(&t->probing, t->engine->sink);
	if (is_over(t, now)) {
		loop_stop(t->loop);
		return 0;
	}
	/* 0: every lane has ended, but a ring may still appear. A program whose events come without
	 * a pause always has some: they can wait, too, as long as the rings do. */
	uint64_t wait = interval_ns(&t->interval, t->rings, now);
	if (moved > 0 && (!wait || !pump_drained(t->pump)))
		return 0;
	err = sink_flush(t->engine->sink);
	return err ? err : (int64_t)(wait ? wait : INTERVAL_MIN_NS);
}

static int64_t drain(void *ctx)
{
	struct live *t = ctx;
	int moved = pump_step(t->pump);
	if (!moved)
		loop_stop(t->loop);
	if (moved != -EAGAIN)
		return moved < 0 ? moved : 0;
	int err = sink_flush(t->engine->sink);
	return err ? err : (int64_t)INTERVAL_MIN_NS;
}

static void measure_rings(struct traced_process *p, void *ctx)
{
	ring_source_measure(((struct live *)ctx)->rings, p->process);
}

/* 0 or -errno; -EPIPE: the output has no reader any more. */
static int trace(struct live *t)
{
	t->has_guest = true;
	int err = guest_join(t->engine, t->loop);
	if (!err && t->probing.source)
		err = watch(t, &t->probing_watch, bpf_source_fd(t->probing.source), on_probing);
	if (err)
		return err;
	scan_begin(&t->scan, t->loop, t->everyone, t->traced, t->files, &t->probing,
		   t->has_program);
	begin_realtime(t);
	budget_watch_begin(&t->budget, t->engine, t->loop, t->probing.source, t->rings,
			   program_of(t));
	err = loop_run(t->loop, step, t);
	budget_watch_end(&t->budget, t->loop);
	realtime_end(&t->realtime);
	loop_timer_clear(t->loop, &t->realtime_timer);
	scan_end(&t->scan);
	if (err)
		return err;
	err = ring_files_end(t->files);
	traced_each(t->traced, measure_rings, t);
	traced_end_usage(t->traced);
	t->engine->session->run_end = moment_at(now_ns());
	if (!err)
		err = pump_stop(t->pump);
	if (!err)
		signals_release(&t->signals, program_of(t));
	if (!err)
		err = loop_run(t->loop, drain, t);
	/* What a source that failed gave before has been passed on; that it failed is reported. */
	return err ? err : pump_source_error(t->pump);
}

static bool is_not_yet(int err)
{
	return err == -EAGAIN || err == -EBUSY;
}

/* Processes that have ended may have had something. */
static enum engine_end check_running(const struct live *t)
{
	enum engine_end end = ENGINE_OK;
	for (unsigned i = 0; !end && i < t->options->pid_count; i++)
		end = refusal_check_ended(t->engine, t->options->pids[i]);
	return end;
}

static int on_retry(void *ctx)
{
	return ring_files_scan(((struct live *)ctx)->files, UINT64_MAX);
}

static int64_t await_ring(void *ctx)
{
	struct live *t = ctx;
	const char *reason;
	if (ring_files_opened(t->files) || !is_not_yet(ring_files_error(t->files, &reason)) ||
	    ending_asked() || now_ns() >= t->not_yet_until_ns)
		loop_stop(t->loop);
	return RETRY_NS;
}

/* A ring file whose header is still empty is about to be written, and most programs release a lease
 * as soon as the kernel asks them to. No descriptor reports either. */
static void retry(struct live *t)
{
	t->not_yet_until_ns = now_ns() + NOT_YET_NS;
	t->retry_timer = (struct loop_timer){.fn = on_retry, .ctx = t, .period_ns = RETRY_NS};
	loop_timer_set(t->loop, &t->retry_timer, now_ns() + RETRY_NS);
	loop_run(t->loop, await_ring, t);
	loop_timer_clear(t->loop, &t->retry_timer);
}

/* A process that has neither ring nor markers ends the run before it began. */
static enum engine_end check_something(struct live *t)
{
	const char *reason;
	if (!t->probing.sees && !t->everyone)
		retry(t);
	if (ending_asked())
		return ENGINE_OK;
	if (ring_files_opened(t->files) || t->probing.sees || t->everyone)
		return ENGINE_OK;
	enum engine_end end = t->options->wait ? ENGINE_OK : check_running(t);
	if (end)
		return end;
	int err = ring_files_error(t->files, &reason);
	if (err == -EAGAIN && t->options->wait)
		return ENGINE_OK;
	if (err == -EAGAIN)
		messages_error(&t->engine->session->messages, "%s", reason);
	if (err)
		return refusal_of(err);
	if (t->options->wait)
		return ENGINE_OK;
	return refusal_report_nothing(t->engine, t->inspect, t->options->pids[0],
				      t->probing.source ? NULL : t->probing.unprobed);
}

static int trace_named(struct live *t, pid_t pid)
{
	return traced_report(t->traced, &(struct process_event){
						.kind = PROCESS_BORN, .pid = pid, .named = true});
}

static enum engine_end add_process(struct live *t, pid_t pid)
{
	struct process_status p;
	enum engine_end end = refusal_check(t->engine, pid, &p);
	if (end)
		return end;
	int err = trace_named(t, p.pid);
	end = err ? refusal_check_ended(t->engine, p.pid) : ENGINE_OK;
	if (end)
		return end;
	if (err) {
		messages_error(&t->engine->session->messages, "cannot follow process %d: %s", p.pid,
			       strerror(-err));
		return ENGINE_FAILED;
	}
	struct processes *ps = &t->engine->session->processes;
	struct process *known = processes_announce(ps, processes_find(ps, (uint32_t)p.pid));
	memcpy(known->comm, p.comm, sizeof(known->comm));
	return ENGINE_OK;
}

/* One that was added, and may have ended since. */
static enum engine_end probe(struct live *t, pid_t pid)
{
	struct traced_process *p = traced_find(t->traced, pid);
	return p ? probing_attach(&t->probing, p) : refusal_check_ended(t->engine, pid);
}

static enum engine_end add_processes(struct live *t)
{
	enum engine_end end = ENGINE_OK;
	for (unsigned i = 0; !end && i < t->options->pid_count; i++)
		end = add_process(t, t->options->pids[i]);
	/* Each of these steps may take long, and signals are read behind all of them. */
	if (!end && ending_asked())
		return ENGINE_OK;
	int err = end ? 0 : everyone_scan(t->everyone);
	if (!end && !err)
		err = ring_files_scan(t->files, UINT64_MAX);
	if (err) {
		messages_error(&t->engine->session->messages, "%s", strerror(-err));
		return ENGINE_FAILED;
	}
	ring_files_attached(t->files);
	for (unsigned i = 0; !end && i < t->options->pid_count && !ending_asked(); i++)
		end = probe(t, t->options->pids[i]);
	if (end || ending_asked())
		return end;
	end = probing_check_ends(&t->probing);
	return end ? end : check_something(t);
}

static enum engine_end start_program(struct live *t)
{
	const struct messages *r = &t->engine->session->messages;
	char **argv = t->options->program;
	struct program_options po = {
		.nice = t->options->nice,
		.open_files = t->options->open_files,
		.stdout_is_stderr = t->options->takes_stdout,
		.no_terminal = t->options->takes_terminal,
		.stop = t->probing.source != NULL,
		.extend = recording_extend,
		.ctx = &t->larger,
	};
	if (t->program.record)
		recording_enlarge_rings(t->options, r, t->program.dir, &t->larger);
	t->engine->ring_log_words = t->larger.log_words;
	int err = program_spawn(&t->program, argv, &po);
	t->has_program = true;
	if (err) {
		messages_error(r, "cannot start '%s': %s", argv[0], strerror(-err));
		return ENGINE_FAILED;
	}
	if (*t->program.dir)
		ring_files_directory(t->files, t->program.dir, t->program.own.fd >= 0);
	memory_reader_own_dir(t->engine->memory, t->program.own.fd);
	err = trace_named(t, t->program.pid);
	if (err) {
		messages_error(r, "cannot follow '%s': %s", argv[0], strerror(-err));
		return ENGINE_FAILED;
	}
	if (t->probing.source)
		bpf_source_record_code(t->probing.source, t->program.pid);
	t->engine->session->run_begin = moment_at(now_ns());
	err = program_go(&t->program);
	if (err) {
		messages_error(r, "cannot run '%s': %s", argv[0], strerror(-err));
		t->program.go_fd = -1;
		t->engine->program_status = err == -ENOENT ? 127 : 126;
		return ENGINE_PROGRAM;
	}
	struct processes *ps = &t->engine->session->processes;
	t->program.process = processes_find(ps, (uint32_t)t->program.pid);
	processes_ref(ps, t->program.process); /* for program_usage(), at the end */
	ring_files_program_runs(t->files, t->program.pid, t->options->program[0]);
	enum engine_end end = t->program.traced ? probe(t, t->program.pid) : ENGINE_OK;
	/* It has not run its first instruction yet: what cannot be traced as asked does not run. */
	if (end)
		kill(t->program.pid, SIGKILL);
	program_release(&t->program);
	return end;
}

static int init(struct live *t)
{
	const struct engine *e = t->engine;
	interval_init(&t->interval);
	int err = loop_new(&t->loop);
	if (!err)
		err = watch_signals(t);
	if (!err)
		err = ring_source_new(e->session, engine_buffer_bytes(t->options), &t->rings);
	if (!err && (t->options->frugal || t->options->is_late))
		ring_source_be_frugal(t->rings);
	if (!err)
		err = traced_new(e, t->loop, &t->traced);
	if (!err && t->options->all)
		err = everyone_new(e, t->traced, t->inspect, probing_is_allowed(), &t->everyone);
	if (!err)
		err = ring_files_new(e, t->traced, t->rings, t->inspect, t->program.keep_files,
				     &t->files);
	if (!err)
		err = pipeline_new(e, &t->pump);
	if (!err)
		err = pump_add_source(t->pump, ring_source_base(t->rings));
	return err;
}

static int add_probing(struct live *t)
{
	/* That of a program that records is opened later; others are found. */
	bool has_ring = !engine_probes_alone(t->options) && t->program.record;
	t->engine->session->origins = ORIGIN_BPF | (has_ring ? ORIGIN_RING : 0);
	int err = pump_add_source(t->pump, t->probing.source);
	if (!err && engine_sees_events(t->options))
		ring_source_ringless_seen(t->rings);
	if (t->options->blame || t->options->sample_hz)
		ring_source_know_threads(t->rings);
	if (!bpf_source_refusal(t->probing.source, BPF_CHILDREN))
		traced_forks_are_reported(t->traced);
	return err;
}

static enum engine_end begin(struct live *t)
{
	const struct engine_options *o = t->options;
	const struct messages *r = &t->engine->session->messages;
	int err = 0;
	if (o->program)
		err = program_prepare(&t->program, r, recording_by_environment(o, r),
				      engine_mode(o) == MODE_RING);
	if (!err)
		err = init(t);
	if (err) {
		messages_error(r, "cannot start: %s", strerror(-err));
		return ENGINE_FAILED;
	}
	enum engine_end end = probing_begin(&t->probing, t->engine, o->program && t->program.record,
					    t->inspect, t->traced);
	if (!end && t->probing.source && add_probing(t))
		end = ENGINE_FAILED;
	int births =
		end || o->program || t->probing.source ? -1 : ring_files_watch_births(t->files);
	if (births >= 0 && watch(t, &t->births_watch, births, on_births))
		end = ENGINE_FAILED;
	return end ? end : o->program ? start_program(t) : add_processes(t);
}

/* Before the program is waited for, so that no probe stays armed. */
static void detach(struct live *t)
{
	pipeline_free(t->engine, t->pump);
	if (t->loop) {
		loop_remove(t->loop, &t->probing_watch);
		if (t->has_guest)
			guest_leave(t->engine, t->loop);
		t->has_guest = false;
	}
	probing_end(&t->probing);
	if (!t->rings)
		return;
	damage_report_rings(&t->engine->session->messages, t->rings);
	source_free(ring_source_base(t->rings));
}

/* SIGCHLD ends the wait; what else comes is passed on, and the second one ends us. */
static int64_t wait_for_program(void *ctx)
{
	struct live *t = ctx;
	if (program_ended(&t->program))
		loop_stop(t->loop);
	else
		program_sweep(&t->program, t->engine->memory);
	return AFTERCARE_NS;
}

static enum engine_end finish_program(struct live *t, enum engine_end end)
{
	const struct engine *e = t->engine;
	loop_run(t->loop, wait_for_program, t);
	program_usage(&t->program, e->session);
	bool for_allocs = t->options->allocs == ALLOCS_ONLY;
	struct totals totals = session_run_totals(e->session);
	bool nothing = !totals.events && !ring_files_opened(t->files) &&
		       !ring_files_refused(t->files) && !t->probing.sees;
	char name[REFUSAL_NAME_BYTES];
	refusal_name(t->options->program[0], t->program.comm, name);
	if (!end && for_allocs && !t->probing.found_allocs)
		refusal_report_no_allocs(&e->session->messages, name);
	else if (!end && !for_allocs && nothing && totals.unwatched)
		refusal_report_unwatched(&e->session->messages, name);
	else if (!end && !for_allocs && nothing && !t->options->markers.count)
		refusal_report_untraced(&e->session->messages, name, t->program.record);
	else if (!t->program.record && !engine_probes_alone(t->options))
		recording_report_left_off(e);
	if (end)
		return end;
	t->engine->program_status = program_exit_status(&t->program);
	return ENGINE_PROGRAM;
}

/* A program of ours goes on as it would without us. */
static void report_failure(struct live *t, int err)
{
	const struct messages *r = &t->engine->session->messages;
	/* The output's error is reported again at its end, which may be hours away, with its
	 * name. */
	bool by_output = sink_flush(t->engine->sink) == err;
	const char *what = by_output ? "cannot write the output" : "cannot go on";
	if (t->has_program && !program_ended(&t->program))
		messages_error(r, "%s: %s; '%s' goes on untraced", what, strerror(-err),
			       t->options->program[0]);
	else if (!by_output)
		messages_error(r, "%s: %s", what, strerror(-err));
}

static enum engine_end trace_to_the_end(struct live *t)
{
	struct session *session = t->engine->session;
	if (!t->has_program) {
		traced_begin_usage(t->traced);
		session->run_begin = moment_at(now_ns());
		probing_run_begins(&t->probing, session->run_begin.ns);
	}
	t->stop_ns = now_ns() + t->options->duration_ns;
	int err = trace(t);
	if (err && err != -EPIPE) { /* a reader that has left is no error */
		report_failure(t, err);
		return ENGINE_FAILED;
	}
	bool waited = (t->options->wait && !t->has_program) || t->everyone;
	if (!waited || ring_files_opened(t->files) || t->probing.sees || session->totals.events)
		return ENGINE_OK;
	messages_error(&t->engine->session->messages, "nothing to trace has come");
	return ENGINE_NOTHING;
}

static void report_given_up(const struct live *t)
{
	pid_t pid;
	unsigned n = memory_reader_given_up(t->engine->memory, &pid);
	if (n)
		messages_at(
			&t->engine->session->messages, LOG_NORMAL,
			"reads of processes' memory and mapped files that were given up, as the "
			"kernel did not "
			"answer: %u, the first of process %d",
			n, pid);
}

static void done(struct live *t)
{
	report_given_up(t);
	if (t->files)
		ring_files_remove(t->files);
	if (t->loop)
		loop_remove(t->loop, &t->births_watch);
	if (t->options->program)
		program_done(&t->program);
	recording_rings_done(&t->larger);
	ring_files_free(t->files);
	everyone_free(t->everyone);
	traced_free(t->traced);
	inspect_free(t->inspect);
	loop_free(t->loop);
	/* What is still to be written may wait for a reader: a signal must end that. */
	signals_finish(&t->signals, true);
	if (t->signals.fd >= 0)
		close(t->signals.fd);
	memory_reader_free(t->engine->memory);
	t->engine->memory = NULL;
}

enum engine_end live_run(struct engine *e)
{
	struct live t = {
		.engine = e,
		.options = e->options,
		.inspect = inspect_new(),
		.signals.fd = -1,
	};
	e->memory = memory_reader_new();
	inspect_read_by(t.inspect, e->memory);
	inspect_ask(t.inspect, &e->options->markers);
	enum engine_end end = begin(&t);
	if (!end)
		end = trace_to_the_end(&t);
	detach(&t);
	signals_release(&t.signals, program_of(&t));
	if (t.has_program && t.program.pid > 0 && t.program.go_fd < 0)
		end = finish_program(&t, end);
	done(&t);
	return end;
}
