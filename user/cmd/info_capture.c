/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ebtrace info of a capture: it is read to its end as any command reads it, into a sink that counts.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/commands.h"
#include "cmd/info.h"
#include "cmd/message.h"
#include "cmd/print.h"
#include "core/loss.h"
#include "core/names.h"
#include "engine/convert.h"
#include "source/capture.h"

struct census {
	struct sink base;
	uint64_t count[EBT_KINDS];
};

struct contents {
	const char *name;
	const struct session *session;
	const struct census *census;
	const struct capture_source *capture;
	const struct process **processes; /* by pid */
	size_t process_count;
};

static int census_events(struct sink *k, const struct ebt_event *ev, size_t n)
{
	struct census *c = (struct census *)k;
	for (size_t i = 0; i < n; i++)
		c->count[ev[i].kind % EBT_KINDS]++;
	return 0;
}

static int census_end(struct sink *k)
{
	(void)k;
	return 0;
}

static void census_free(struct sink *k)
{
	(void)k;
}

static const struct sink_ops census_ops = {
	.events = census_events,
	.end = census_end,
	.free = census_free,
};

static int by_pid(const void *a, const void *b)
{
	const struct process *const *p = a, *const *q = b;
	return ((*p)->pid > (*q)->pid) - ((*p)->pid < (*q)->pid);
}

static int list_processes(struct contents *r)
{
	const struct processes *ps = &r->session->processes;
	const struct process *p = NULL;
	size_t n = 0;
	while ((p = processes_next(ps, p)))
		n++;
	r->processes = calloc(n + 1, sizeof(struct process *));
	if (!r->processes)
		return -ENOMEM;
	while ((p = processes_next(ps, p)))
		r->processes[r->process_count++] = p;
	qsort(r->processes, n, sizeof(struct process *), by_pid);
	return 0;
}

static void print_processes(const struct contents *r)
{
	for (size_t i = 0; i < r->process_count; i++) {
		const struct process *p = r->processes[i];
		print("  process    %" PRIu32, p->pid);
		if (*p->comm)
			print(", %s", p->comm);
		if (*p->producer)
			print(", %s", p->producer);
		if (*p->runtime)
			print(", runtime %s", p->runtime);
		print("\n");
	}
}

static void print_damage(const struct contents *r)
{
	const struct capture_fault *f = capture_source_fault(r->capture);
	if (f)
		print("  damage     %" PRIu64 " places, at byte %" PRIu64 ": expected %s\n",
		      f->count, f->offset, f->expected);
	else if (r->session->totals.damaged)
		print("  damage     %" PRIu64 " places of what was traced\n",
		      r->session->totals.damaged);
	else
		print("  damage     none\n");
}

static void print_text(const struct contents *r)
{
	char origins[ORIGIN_TEXT_BYTES];
	const struct totals *t = &r->session->totals;
	const struct capture_stats *s = capture_source_stats(r->capture);
	print("%s: capture, version %" PRIu32 ", of %s%s\n", r->name, s->version,
	      origin_text(r->session->origins, origins),
	      s->whole ? "" : " (interrupted: without its end)");
	if (!s->whole)
		print("  recover    'ebtrace FILE -o WHOLE.ebt' writes what it holds, with an "
		      "end\n");
	print_processes(r);
	print("  events     %" PRIu64 "\n", t->events);
	if (t->timed)
		print("  time span  %.6f s, from %" PRIu64 " ns\n",
		      (double)(t->last_ns - t->first_ns) / 1e9, t->first_ns);
	print("  lost       ");
	if (t->lost_uncounted)
		print("events unknown, ");
	else if (t->lost_events)
		print("%" PRIu64 " events, ", t->lost_events);
	print("%" PRIu64 " words\n", t->lost_words);
	if (t->unwatched)
		print("  unwatched  %.3f ms before probes were in place\n",
		      (double)t->unwatched_ns / 1e6);
	print_damage(r);
	print("  size       %" PRIu64 " bytes in %" PRIu64 " blocks, %" PRIu64 " unpacked",
	      s->file_bytes, s->blocks, s->raw_bytes);
	if (t->events)
		print("; %.2f an event", (double)s->file_bytes / (double)t->events);
	print("\n");
	const char *sep = "  kinds      ";
	for (unsigned k = 0; k < EBT_KINDS; k++) {
		if (!r->census->count[k])
			continue;
		print("%s%s %" PRIu64, sep, kinds_name((uint16_t)k), r->census->count[k]);
		sep = ", ";
	}
	if (*sep == ',')
		print("\n");
}

static void put_json_processes(struct json *j, const struct contents *r)
{
	json_key_open(j, "processes", '[');
	for (size_t i = 0; i < r->process_count; i++) {
		const struct process *p = r->processes[i];
		json_open(j, '{');
		json_key_u64(j, "pid", p->pid);
		json_key_str(j, "producer", p->producer);
		json_key_str(j, "runtime", p->runtime);
		json_key_str(j, "comm", p->comm);
		json_close(j, '}');
	}
	json_close(j, ']');
}

static void print_json(const struct contents *r)
{
	const struct capture_stats *s = capture_source_stats(r->capture);
	const struct process *p = processes_next(&r->session->processes, NULL);
	struct json_line line;
	struct json *j = &line.json;
	print_json_begin(&line);
	json_open(j, '{');
	json_key_str(j, "name", r->name);
	json_key_str(j, "format", "capture");
	json_key_u64(j, "version", s->version);
	char origins[ORIGIN_TEXT_BYTES];
	json_key_str(j, "source", origin_text(r->session->origins, origins));
	json_key_str(j, "producer", p ? p->producer : "");
	json_key_bool(j, "whole", s->whole);
	put_json_processes(j, r);
	totals_put_json(j, &r->session->totals, true);
	json_key_u64(j, "blocks", s->blocks);
	json_key_u64(j, "bytes", s->file_bytes);
	json_key_u64(j, "raw_bytes", s->raw_bytes);
	json_key_open(j, "kinds", '{');
	for (unsigned k = 0; k < EBT_KINDS; k++)
		if (r->census->count[k])
			json_key_u64(j, kinds_name((uint16_t)k), r->census->count[k]);
	json_close(j, '}');
	json_close(j, '}');
	print_json_end(&line);
}

int info_capture(struct engine *e, struct loop *l, struct inputs *ins, const struct opts *o)
{
	struct census census = {.base.ops = &census_ops};
	e->sink = &census.base;
	int status = message_status(e, inputs_open(ins));
	if (status)
		return status;
	const struct input *in = inputs_at(ins, 0);
	struct contents r = {
		.name = in->name,
		.session = e->session,
		.census = &census,
		.capture = capture_source_of(in->source),
	};
	int err = convert_pass(e, l, ins);
	if (!err)
		err = list_processes(&r);
	if (err) {
		complain("'%s': %s", in->name, strerror(-err));
		return EXIT_ERROR;
	}
	/* Damage is part of what is printed. */
	if (capture_source_error(r.capture))
		status = message_status(e, inputs_faults(ins));
	else
		(o->json ? print_json : print_text)(&r);
	free(r.processes);
	const struct totals *t = &e->session->totals;
	bool lossy = loss_is_any(t, false) || t->damaged;
	return !status && o->fail_on_loss && lossy ? EXIT_LOSS : status;
}
