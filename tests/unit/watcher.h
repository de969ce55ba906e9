/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A sink between a session and a capture: it notes each event as the test wants, then hands it to
 * the sink that writes, if there is one; and captures are read back into it through the pump.
 */
#ifndef TESTS_WATCHER_H
#define TESTS_WATCHER_H

#include "source/file/capture.h"
#include "stream/pump.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* Begins the struct of a test. */
struct watcher {
	struct sink base;
	struct session *session;
	struct sink *next; /* may be NULL */
	void (*note)(struct watcher *w, const struct ebt_event *ev);
};

static int watcher_events(struct sink *k, const struct ebt_event *ev, size_t n)
{
	struct watcher *w = (struct watcher *)k;
	for (size_t i = 0; i < n; i++)
		w->note(w, &ev[i]);
	return w->next ? sink_events(w->next, ev, n) : 0;
}

static int watcher_end(struct sink *k)
{
	struct watcher *w = (struct watcher *)k;
	return w->next ? sink_end(w->next) : 0;
}

static int watcher_forget(struct sink *k, uint32_t process)
{
	struct watcher *w = (struct watcher *)k;
	return w->next ? sink_forget(w->next, process) : 0;
}

static void watcher_free(struct sink *k)
{
	(void)k;
}

static const struct sink_ops watcher_ops = {.events = watcher_events,
					    .forget = watcher_forget,
					    .end = watcher_end,
					    .free = watcher_free};

static void watcher_init(struct watcher *w,
			 void (*note)(struct watcher *, const struct ebt_event *))
{
	*w = (struct watcher){.base.ops = &watcher_ops, .note = note};
	if (session_new(&w->session))
		abort();
}

/* Reads a capture into the watcher: 0 or -errno; -ENODATA: it has no totals; -ERANGE: they are not
 * those that were counted; -EBADMSG: damaged or interrupted. */
static int watcher_read(struct watcher *w, int fd)
{
	struct capture_source *c;
	struct capture_options o = {.name = "test", .alone = true};
	struct pump *pump;
	int moved;
	lseek(fd, 0, SEEK_SET);
	if (capture_source_new(w->session, dup(fd), &o, &c) || pump_new(w->session, &pump) ||
	    pump_add_source(pump, capture_source_base(c)) || pump_add_sink(pump, &w->base))
		abort();
	pump_replay(pump);
	while ((moved = pump_step(pump)) > 0 || moved == -EAGAIN)
		;
	int err = moved ? moved : capture_source_error(c);
	const struct totals *totals = capture_source_totals(c);
	if (!err && !totals)
		err = -ENODATA;
	if (!err && totals->events != w->session->totals.events)
		err = -ERANGE;
	pump_free(pump);
	source_free(capture_source_base(c));
	return err;
}

#endif
