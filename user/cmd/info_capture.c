/* SPDX-License-Identifier: BSD-2-Clause */
/* ebtrace info of a capture. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/plural.h"
#include "cmd/info_print.h"
#include "cmd/print.h"
#include "session/names.h"
#include "stream/loss.h"

/* All processes of the session, sorted by pid. */
struct process_list {
	const struct process **process;
	size_t count;
};

static int by_pid(const void *a, const void *b)
{
	const struct process *const *p = a, *const *q = b;
	return ((*p)->pid > (*q)->pid) - ((*p)->pid < (*q)->pid);
}

static void list_processes(const struct session *session, struct process_list *r)
{
	const struct processes *ps = &session->processes;
	const struct process *p = NULL;
	size_t n = 0;
	while ((p = processes_next(ps, p)))
		n++;
	*r = (struct process_list){.process = calloc(n + 1, sizeof(struct process *))};
	if (!r->process)
		print_no_memory();
	while (r->process && (p = processes_next(ps, p)))
		r->process[r->count++] = p;
	if (r->count)
		qsort(r->process, r->count, sizeof(struct process *), by_pid);
}

static void print_processes(const struct session *session)
{
	struct process_list list;
	list_processes(session, &list);
	for (size_t i = 0; i < list.count; i++) {
		const struct process *p = list.process[i];
		print("  process    %" PRIu32, p->pid);
		if (*p->comm)
			print(", %s", p->comm);
		if (*p->producer)
			print(", %s", p->producer);
		if (*p->runtime)
			print(", runtime %s", p->runtime);
		print("\n");
		if (p->alloc_trace.known)
			info_print_alloc_trace(&p->alloc_trace, session);
	}
	free(list.process);
}

/* Why a part of a run was kept. */
static void print_trigger(const struct capture_stats *s)
{
	const struct capture_trigger *t = &s->trigger;
	if (!s->triggers)
		return;
	print("  trigger    %s: %s of %.3f ms in process %" PRIu32, t->condition, t->span,
	      (double)t->ns / 1e6, t->pid);
	if (t->domain != EBT_NO_DOMAIN)
		print(", domain %u", t->domain);
	print("\n");
	if (t->kept_ns > t->from_ns)
		print("  cut        its first %.3f ms, for want of memory\n",
		      (double)(t->kept_ns - t->from_ns) / 1e6);
}

static void print_damage(const struct input_info *i, const struct session *session)
{
	const struct capture_fault *f = &i->fault;
	if (f->count)
		print("  damage     %" PRIu64 " place%s, at byte %" PRIu64 ": expected %s\n",
		      f->count, plural(f->count), f->offset, f->expected);
	else if (session->totals.damaged)
		print("  damage     %" PRIu64 " place%s of what was traced\n",
		      session->totals.damaged, plural(session->totals.damaged));
	else
		print("  damage     none\n");
}

void info_capture_text(const struct input_info *i, const struct session *session)
{
	char origins[ORIGIN_TEXT_BYTES];
	const struct totals *t = &session->totals;
	const struct capture_stats *s = &i->capture;
	print("%s: capture, version %" PRIu32 ", of %s%s\n", i->name, s->version,
	      origin_text(session->origins, origins),
	      s->whole ? "" : " (interrupted: without its end)");
	if (!s->whole)
		print("  recover    'ebtrace FILE -o WHOLE.ebt' writes what it holds, with an "
		      "end\n");
	print_processes(session);
	print("  events     %" PRIu64 "\n", t->events);
	info_print_span(t->timed, t->first_ns, t->last_ns);
	info_print_losses(t);
	if (t->unwatched)
		print("  unwatched  %.3f ms before probes were in place\n",
		      (double)t->unwatched_ns / 1e6);
	print_damage(i, session);
	print_trigger(s);
	print("  size       %" PRIu64 " bytes in %" PRIu64 " block%s, %" PRIu64 " unpacked",
	      s->file_bytes, s->blocks, plural(s->blocks), s->raw_bytes);
	if (t->events)
		print("; %.2f an event", (double)s->file_bytes / (double)t->events);
	print("\n");
	const char *sep = "  kinds      ";
	for (unsigned k = 0; k < EBT_KINDS; k++) {
		if (!i->kinds[k])
			continue;
		print("%s%s %" PRIu64, sep, kinds_name((uint16_t)k), i->kinds[k]);
		sep = ", ";
	}
	if (*sep == ',')
		print("\n");
}

static void put_json_processes(struct json *j, const struct session *session)
{
	struct process_list list;
	list_processes(session, &list);
	json_key_open(j, "processes", '[');
	for (size_t i = 0; i < list.count; i++) {
		const struct process *p = list.process[i];
		json_open(j, '{');
		json_key_u64(j, "pid", p->pid);
		json_key_str(j, "producer", p->producer);
		json_key_str(j, "runtime", p->runtime);
		json_key_str(j, "comm", p->comm);
		if (p->alloc_trace.known)
			info_put_json_alloc_trace(j, &p->alloc_trace, session);
		json_close(j, '}');
	}
	json_close(j, ']');
	free(list.process);
}

static void put_json_trigger(struct json *j, const struct capture_stats *s)
{
	const struct capture_trigger *t = &s->trigger;
	if (!s->triggers)
		return;
	json_key_open(j, "trigger", '{');
	json_key_str(j, "condition", t->condition);
	json_key_str(j, "span", t->span);
	json_key_u64(j, "pid", t->pid);
	json_key_i64(j, "domain", t->domain == EBT_NO_DOMAIN ? -1 : t->domain);
	json_key_u64(j, "begin_ns", t->begin_ns);
	json_key_u64(j, "end_ns", t->end_ns);
	json_key_u64(j, "ns", t->ns);
	json_key_u64(j, "from_ns", t->from_ns);
	json_key_u64(j, "kept_ns", t->kept_ns);
	json_close(j, '}');
}

void info_capture_json(const struct input_info *i, const struct session *session)
{
	const struct capture_stats *s = &i->capture;
	const struct process *p = processes_next(&session->processes, NULL);
	struct json_line line;
	struct json *j = &line.json;
	print_json_begin(&line);
	json_open(j, '{');
	json_key_str(j, "name", i->name);
	json_key_str(j, "format", "capture");
	json_key_u64(j, "version", s->version);
	char origins[ORIGIN_TEXT_BYTES];
	json_key_str(j, "source", origin_text(session->origins, origins));
	json_key_str(j, "producer", p ? p->producer : "");
	json_key_bool(j, "whole", s->whole);
	put_json_processes(j, session);
	put_json_trigger(j, s);
	totals_put_json(j, &session->totals, true);
	json_key_u64(j, "blocks", s->blocks);
	json_key_u64(j, "bytes", s->file_bytes);
	json_key_u64(j, "raw_bytes", s->raw_bytes);
	info_put_json_kinds(j, i);
	json_close(j, '}');
	print_json_end(&line);
}

bool info_capture_lossy(const struct input_info *i, const struct session *session)
{
	(void)i;
	return loss_is_any(&session->totals, session->run_begin.known) || session->totals.damaged;
}
