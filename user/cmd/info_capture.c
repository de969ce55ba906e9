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

#include "base/utf8.h"
#include "cmd/commands.h"
#include "cmd/info.h"
#include "cmd/tracer.h"
#include "core/names.h"
#include "core/pump.h"

#define KINDS 64

struct census {
	struct sink base;
	uint64_t count[KINDS];
};

struct report {
	const char *name;
	const struct session *session;
	const struct census *census;
	const struct capture_source *capture;
	const struct session_process **processes; /* by pid */
	size_t process_count;
};

static int census_event(struct sink *k, const struct ebt_event *ev)
{
	((struct census *)k)->count[ev->kind % KINDS]++;
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
	.event = census_event,
	.end = census_end,
	.free = census_free,
};

static int by_pid(const void *a, const void *b)
{
	const struct session_process *const *p = a, *const *q = b;
	return ((*p)->pid > (*q)->pid) - ((*p)->pid < (*q)->pid);
}

static int list_processes(struct report *r)
{
	size_t at = 0, n = 0;
	while (session_next_process(r->session, &at))
		n++;
	r->processes = calloc(n + 1, sizeof(struct session_process *));
	if (!r->processes)
		return -ENOMEM;
	at = 0;
	for (const struct session_process *p; (p = session_next_process(r->session, &at));)
		r->processes[r->process_count++] = p;
	qsort(r->processes, n, sizeof(struct session_process *), by_pid);
	return 0;
}

/* Registered names and names of programs may hold control characters. */
static void print_plain(const char *s)
{
	for (size_t left = strlen(s); left;) {
		size_t n = utf8_plain(s, left);
		fwrite(s, 1, n, stdout);
		if (n < left)
			putchar('?');
		n += n < left;
		s += n;
		left -= n;
	}
}

static void print_processes(const struct report *r)
{
	for (size_t i = 0; i < r->process_count; i++) {
		const struct session_process *p = r->processes[i];
		printf("  process    %" PRIu32, p->pid);
		const char *const texts[] = {p->comm, p->producer, p->runtime};
		for (unsigned t = 0; t < 3; t++) {
			if (!*texts[t])
				continue;
			fputs(t == 2 ? ", runtime " : ", ", stdout);
			print_plain(texts[t]);
		}
		putchar('\n');
	}
}

static void print_text(const struct report *r)
{
	const struct session_totals *t = &r->session->totals;
	const struct capture_stats *s = capture_source_stats(r->capture);
	const struct capture_fault *f = capture_source_fault(r->capture);
	printf("%s: capture, version %" PRIu32 ", of %s%s\n", r->name, s->version,
	       r->session->source, s->whole ? "" : " (interrupted: without its end)");
	print_processes(r);
	printf("  events     %" PRIu64 "\n", t->events);
	if (t->first_ns)
		printf("  time span  %.6f s, from %" PRIu64 " ns\n",
		       (double)(t->last_ns - t->first_ns) / 1e9, t->first_ns);
	printf("  lost       ");
	if (t->lost_events)
		printf("%" PRIu64 " events, ", t->lost_events);
	printf("%" PRIu64 " words\n  damage     ", t->lost_words);
	if (f)
		printf("%" PRIu64 " places, at byte %" PRIu64 ": expected %s\n", f->count,
		       f->offset, f->expected);
	else if (t->damaged)
		printf("%" PRIu64 " places of what was traced\n", t->damaged);
	else
		puts("none");
	printf("  size       %" PRIu64 " bytes in %" PRIu64 " blocks, %" PRIu64 " unpacked",
	       s->file_bytes, s->blocks, s->raw_bytes);
	if (t->events)
		printf("; %.2f an event", (double)s->file_bytes / (double)t->events);
	putchar('\n');
	const char *sep = "  kinds      ";
	for (unsigned k = 0; k < KINDS; k++) {
		if (!r->census->count[k])
			continue;
		printf("%s%s %" PRIu64, sep, names_kind((uint16_t)k), r->census->count[k]);
		sep = ", ";
	}
	if (*sep == ',')
		putchar('\n');
}

static void print_json_processes(const struct report *r)
{
	for (size_t i = 0; i < r->process_count; i++) {
		const struct session_process *p = r->processes[i];
		printf("%s{\"pid\":%" PRIu32 ",\"producer\":", i ? "," : "", p->pid);
		info_print_quoted(p->producer);
		printf(",\"runtime\":");
		info_print_quoted(p->runtime);
		printf(",\"comm\":");
		info_print_quoted(p->comm);
		putchar('}');
	}
}

static void print_json(const struct report *r)
{
	const struct session_totals *t = &r->session->totals;
	const struct capture_stats *s = capture_source_stats(r->capture);
	const struct session_process *p = session_first_process(r->session);
	printf("{\"name\":");
	info_print_quoted(r->name);
	printf(",\"format\":\"capture\",\"version\":%" PRIu32 ",\"source\":", s->version);
	info_print_quoted(r->session->source);
	printf(",\"producer\":");
	info_print_quoted(p ? p->producer : "");
	printf(",\"whole\":%s,\"processes\":[", s->whole ? "true" : "false");
	print_json_processes(r);
	printf("],\"events\":%" PRIu64 ",\"first_ns\":%" PRIu64 ",\"last_ns\":%" PRIu64
	       ",\"lost_events\":%" PRIu64 ",\"lost_words\":%" PRIu64 ",\"history_events\":%" PRIu64
	       ",\"history_words\":%" PRIu64 ",\"late\":%" PRIu64 ",\"damaged\":%" PRIu64,
	       t->events, t->first_ns, t->last_ns, t->lost_events, t->lost_words, t->history_events,
	       t->history_words, t->late, t->damaged);
	printf(",\"blocks\":%" PRIu64 ",\"bytes\":%" PRIu64 ",\"raw_bytes\":%" PRIu64
	       ",\"kinds\":{",
	       s->blocks, s->file_bytes, s->raw_bytes);
	const char *sep = "";
	for (unsigned k = 0; k < KINDS; k++) {
		if (!r->census->count[k])
			continue;
		printf("%s\"%s\":%" PRIu64, sep, names_kind((uint16_t)k), r->census->count[k]);
		sep = ",";
	}
	puts("}}");
}

static int pass(struct session *session, struct capture_source *c, struct sink *k)
{
	struct pump *pump;
	int err = pump_new(session, &pump);
	if (err)
		return err;
	err = pump_add_sink(pump, k);
	if (!err)
		err = pump_add_source(pump, capture_source_base(c));
	while (!err) {
		int moved = pump_step(pump);
		if (!moved)
			break;
		if (moved == -EAGAIN)
			usleep(1000);
		err = moved < 0 && moved != -EAGAIN ? moved : 0;
	}
	pump_free(pump);
	return err;
}

static int tell(const struct input *in, const struct opts *o, struct session *session,
		struct capture_source *c)
{
	struct census census = {.base.ops = &census_ops};
	struct report r = {
		.name = in->name,
		.session = session,
		.census = &census,
		.capture = c,
	};
	int err = pass(session, c, &census.base);
	if (!err)
		err = list_processes(&r);
	if (err) {
		complain("'%s': %s", in->name, strerror(-err));
		return EXIT_ERROR;
	}
	int status = capture_source_error(c) ? tracer_tell_capture(c) : 0;
	if (!status)
		(o->json ? print_json : print_text)(&r);
	free(r.processes);
	const struct session_totals *t = &session->totals;
	bool lossy = t->lost_events || t->lost_words || t->damaged;
	return !status && o->fail_on_loss && lossy ? EXIT_LOSS : status;
}

int info_capture(const struct input *in, const struct opts *o)
{
	struct session *session;
	if (session_new(&session)) {
		close(in->fd);
		return EXIT_ERROR;
	}
	struct capture_options co = {
		.name = in->name,
		.head = in->head,
		.head_bytes = in->head_bytes,
		.alone = true,
	};
	struct capture_source *c;
	int err = capture_source_new(session, in->fd, &co, &c);
	int status = EXIT_ERROR;
	if (err)
		complain("'%s': %s", in->name, strerror(-err));
	else
		status = tell(in, o, session, c);
	if (!err)
		source_free(capture_source_base(c));
	session_free(session);
	return status;
}
