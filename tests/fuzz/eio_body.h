/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Decodes events of Eio from any bytes, and follows their fibers to the end. Shared by the fuzz
 * target and by the test that shows how far its seeds reach.
 *
 * Each event of an input is: its enum eio_event, its kind (0 to 4 from EBT_UNIT on; 5: a loss since
 * `value` ns ago; 6: an exec; 7: the process is forgotten) and the process and domain in one byte,
 * the ns since the event before, the number of bytes that follow, those bytes. They are the payload
 * of a custom event; the value of an int is the first 8 of them, or fewer. So an id of one byte is
 * one of few, which meet again.
 */
#ifndef FUZZ_EIO_BODY_H
#define FUZZ_EIO_BODY_H

#include "session/event_args.h"
#include "stream/fibers.h"
#include <stdlib.h>
#include <string.h>

enum { EIO_BODY_LOSS = 5, EIO_BODY_EXEC, EIO_BODY_FORGET };
#define EIO_BODY_PROCESSES 2
#define EIO_BODY_DOMAINS   4

struct eio_body {
	struct session *session;
	struct fibers *fibers;
	size_t events, decoded;
	size_t fibers_begun, fibers_ended, parts_begun, parts_ended, arrows, arrow_ends;
	size_t states[3];
};

/* The state of a fiber in `user`: the end of its last interval, which never goes back. */
static int eio_body_begin(void *ctx, struct fiber *f)
{
	struct eio_body *b = ctx;
	f->user_number = f->begin_ns;
	b->fibers_begun++;
	return 0;
}

static int eio_body_end(void *ctx, struct fiber *f, uint64_t end_ns, enum track_end how)
{
	struct eio_body *b = ctx;
	(void)how;
	if (end_ns < f->user_number || f->inner)
		abort();
	b->fibers_ended++;
	return 0;
}

static int eio_body_open(void *ctx, struct fiber *f, const struct fiber_part *p)
{
	struct eio_body *b = ctx;
	if (p != f->inner || p->depth >= FIBERS_DEPTH || p->fiber != f)
		abort();
	b->parts_begun++;
	return 0;
}

static int eio_body_close(void *ctx, struct fiber *f, const struct fiber_part *p, uint64_t end_ns,
			  enum track_end how)
{
	struct eio_body *b = ctx;
	(void)how;
	if (p != f->inner || end_ns < p->begin_ns)
		abort();
	b->parts_ended++;
	return 0;
}

static int eio_body_spent(void *ctx, struct fiber *f, const struct fiber_interval *i)
{
	struct eio_body *b = ctx;
	if (i->begin_ns != f->user_number || i->end_ns <= i->begin_ns)
		abort();
	if (i->operation && (i->state != FIBER_SUSPENDED || !*fibers_text(b->fibers, i->operation)))
		abort();
	f->user_number = i->end_ns;
	b->states[i->state]++;
	b->arrow_ends += i->arrow != 0;
	return 0;
}

static int eio_body_put(void *ctx, struct fiber *by, const struct ebt_event *ev, uint64_t arrow,
			unsigned count)
{
	struct eio_body *b = ctx;
	(void)by, (void)ev;
	if (!count || count > FIBERS_ARROWS || !arrow)
		abort();
	b->arrows += count;
	return 0;
}

static const struct fibers_visitor eio_body_visitor = {.begin = eio_body_begin,
						       .end = eio_body_end,
						       .open = eio_body_open,
						       .close = eio_body_close,
						       .spent = eio_body_spent,
						       .put = eio_body_put};

static void eio_body_event(struct eio_body *b, struct ebt_event ev, const uint8_t *data, size_t n)
{
	struct eio_record r;
	struct event_arg arg;
	uint64_t value = 0;
	memcpy(&value, data, n < 8 ? n : 8);
	if (ev.kind == EBT_INT)
		ev.arg[0] = value;
	if (ev.kind == EBT_LOST)
		ev.pos = ev.ts - (value < ev.ts ? value : ev.ts);
	if (ev.kind == EBT_CUSTOM && session_put_blob(b->session, &ev, data, n))
		abort();
	b->decoded += event_args_meaning(b->session, &ev, &r);
	for (unsigned at = 0; event_args_next(b->session, &ev, &at, &arg);)
		if (arg.text && strlen(arg.text) > EVENT_ARGS_LONG_BYTES)
			abort();
	if (fibers_push(b->fibers, &ev))
		abort();
	session_drop_event(b->session, &ev);
	b->events++;
}

/* One event of the input; the bytes that it takes, 0: there is none. */
static size_t eio_body_next(struct eio_body *b, const uint8_t *data, size_t size, uint64_t *ts)
{
	if (size < 4 || size - 4 < data[3])
		return 0;
	unsigned kind = data[1] & 7, where = data[1] >> 3;
	*ts += data[2];
	struct ebt_event ev = {.ts = *ts,
			       .kind = (uint16_t)(EBT_UNIT + kind),
			       .id = data[0] % EIO_EVENTS,
			       .process = 1 + where % EIO_BODY_PROCESSES,
			       .domain = (uint16_t)(where / EIO_BODY_PROCESSES % EIO_BODY_DOMAINS),
			       .flags = EBT_F_RING};
	if (kind == EIO_BODY_LOSS) {
		ev.kind = EBT_LOST;
		if (data[0] & 1)
			ev.domain = EBT_NO_DOMAIN;
	} else if (kind == EIO_BODY_EXEC) {
		ev.kind = EBT_PROCESS;
		ev.id = EBT_PROCESS_EXEC;
	}
	if (kind == EIO_BODY_FORGET && fibers_forget(b->fibers, ev.process, *ts))
		abort();
	if (kind != EIO_BODY_FORGET)
		eio_body_event(b, ev, data + 4, data[3]);
	return 4u + data[3];
}

static struct eio_body eio_body(const uint8_t *data, size_t size)
{
	struct eio_body b = {0};
	uint64_t ts = 1;
	if (session_new(&b.session) || fibers_new(b.session, &eio_body_visitor, &b, &b.fibers))
		abort();
	for (uint32_t pid = 1; pid <= EIO_BODY_PROCESSES; pid++) {
		uint32_t process;
		if (processes_of(&b.session->processes, pid, &process) || process != pid)
			abort();
		for (uint32_t e = EIO_NONE + 1; e < EIO_EVENTS; e++)
			if (processes_set_user_name(&b.session->processes, process, e,
						    eio_event_name((enum eio_event)e)))
				abort();
	}
	for (size_t at = 0, n; (n = eio_body_next(&b, data + at, size - at, &ts)); at += n)
		;
	if (fibers_end(b.fibers, ts) || fibers_count(b.fibers) ||
	    b.fibers_begun != b.fibers_ended || b.parts_begun != b.parts_ended ||
	    b.arrow_ends > b.arrows)
		abort();
	fibers_free(b.fibers);
	session_free(b.session);
	return b;
}

#endif
