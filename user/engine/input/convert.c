/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/input/convert.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "engine/input/inputs.h"
#include "engine/loop.h"
#include "engine/pipeline.h"
#include "engine/signals.h"

/* After a signal the writer of a pipe, which got it too, has this long to end. */
#define SIGNAL_GRACE_NS 1000000000ull

struct convert {
	struct engine *engine;
	struct loop *loop;
	struct signals signals;
	struct loop_fd signal_watch;
	struct loop_timer grace; /* set by the first signal */
	struct inputs *inputs;
	struct pump *pump; /* while events are passed */
	bool passing;	   /* the inputs have begun */
	bool cut;	   /* ended by a signal */
	int source_err;	   /* the first error of a source */
};

/* Nothing more is read. What was read of a pipe, and waits for others that may be before it, is
 * passed on: then the run ends by itself. */
static int on_grace(void *ctx)
{
	struct convert *c = ctx;
	bool drains = !c->cut && c->pump && inputs_have_pipe(c->inputs);
	c->cut = true;
	if (drains)
		return pump_stop(c->pump);
	loop_stop(c->loop);
	return 0;
}

static int on_signal(void *ctx)
{
	struct convert *c = ctx;
	bool first = !c->signals.ends;
	signals_read(&c->signals, 0);
	if (!c->signals.ends)
		return 0;
	/* A FIFO that no writer has opened yet has nothing to end. */
	bool waits = first && c->signals.ends == 1 && c->passing && inputs_have_pipe(c->inputs);
	if (waits)
		loop_timer_set(c->loop, &c->grace, now_ns() + SIGNAL_GRACE_NS);
	return waits ? 0 : on_grace(c);
}

static int pass_through(struct convert *c)
{
	struct pump *p = NULL;
	int err = pipeline_new(c->engine, &p);
	if (!err) {
		pump_replay(p);
		err = inputs_pump(c->inputs, p);
	}
	c->pump = err ? NULL : p;
	if (!err)
		err = pipeline_run(c->engine, c->loop, p);
	c->source_err = p ? pump_source_error(p) : 0;
	c->pump = NULL;
	pipeline_free(c->engine, p);
	return err;
}

/* ENGINE_OK, or the reason has been reported: no input is a ring, which the options need. */
static enum engine_end check_rings(const struct convert *c)
{
	const struct engine_options *o = c->engine->options;
	if (!o->buffer_bytes || o->pid_count || inputs_have_ring(c->inputs))
		return ENGINE_OK;
	messages_error(
		&c->engine->session->messages,
		"--buffer is memory for rings, and needs a ring file, or processes that run");
	return ENGINE_MISUSED;
}

static enum engine_end add_inputs(struct convert *c)
{
	const struct engine_options *o = c->engine->options;
	enum engine_end end = ENGINE_OK;
	for (unsigned i = 0; !end && i < o->file_count; i++)
		end = inputs_add(c->inputs, o->files[i]);
	if (!end && inputs_wait(c->inputs))
		end = ENGINE_FAILED;
	if (!end && !c->cut)
		end = check_rings(c);
	if (!end && !c->cut)
		end = inputs_open(c->inputs);
	for (unsigned i = 0; !end && i < o->pid_count; i++)
		end = inputs_add_process(c->inputs, o->pids[i]);
	c->engine->session->origins = inputs_origins(c->inputs);
	return end;
}

static enum engine_end convert(struct convert *c)
{
	const struct messages *r = &c->engine->session->messages;
	enum engine_end end = add_inputs(c);
	int err = 0;
	c->passing = true;
	if (!end && !c->cut)
		err = pass_through(c);
	signals_release(&c->signals, 0);
	/* The stage of the output reports an error of the output itself. */
	if (err && sink_flush(c->engine->sink) != err) {
		messages_error(r, "cannot continue: %s",
			       err == -ENOTSUP ? "the times of the inputs are of different clocks, "
						 "which no input relates; convert them one by one"
					       : strerror(-err));
		end = ENGINE_FAILED;
	}
	enum engine_end damage = inputs_damage(c->inputs);
	/* Damage is the inputs'; what only a source knows is that memory ran out. */
	if (!end && !err && !damage && c->source_err == -ENOMEM) {
		messages_error(r, "cannot continue: %s", strerror(ENOMEM));
		end = ENGINE_FAILED;
	}
	if (!end && !err && c->cut && !inputs_have_pipe(c->inputs)) {
		messages_error(r, "ended by a signal before the end of the input");
		end = ENGINE_FAILED;
	}
	return end ? end : damage;
}

static int init(struct convert *c)
{
	int err = loop_new(&c->loop);
	if (!err)
		err = signals_catch(&c->signals, false);
	c->signal_watch = (struct loop_fd){.fd = c->signals.fd, .fn = on_signal, .ctx = c};
	c->grace = (struct loop_timer){.fn = on_grace, .ctx = c};
	if (!err)
		err = loop_add(c->loop, &c->signal_watch, LOOP_LEVEL);
	if (!err)
		err = inputs_new(c->engine, c->loop, &c->inputs);
	return err;
}

enum engine_end convert_run(struct engine *e)
{
	struct convert c = {.engine = e, .signals.fd = -1};
	int err = init(&c);
	if (err)
		messages_error(&e->session->messages, "cannot start: %s", strerror(-err));
	enum engine_end end = err ? ENGINE_FAILED : convert(&c);
	inputs_free(c.inputs);
	loop_free(c.loop);
	signals_finish(&c.signals, false);
	if (c.signals.fd >= 0)
		close(c.signals.fd);
	return end;
}
