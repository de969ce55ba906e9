/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ebtrace info: what a ring file, a capture, or the ring of a process, is and holds.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd/commands.h"
#include "cmd/info.h"
#include "cmd/message.h"
#include "cmd/print.h"
#include "core/names.h"
#include "engine/input_capture.h"
#include "engine/input_ring.h"
#include "engine/refusal.h"
#include "runtime/inspect.h"

static const struct opts_command command = {
	OPTS_INFO, "-p PID | FILE...",
	"Tells what a ring file, a capture, or the ring of a process, is: "
	"format, producer, events, loss, damage."
	"\vExamples:\n"
	"  ebtrace info 1234.events\n"
	"  ebtrace info run.ebt\n"
	"  ebtrace info -p 1234 --json"};

#define DAMAGES 8 /* shown one by one */

struct summary {
	uint64_t count[EBT_KINDS];
	uint64_t (*by_domain)[EBT_KINDS];
	uint32_t domains;
	uint64_t first_ns, last_ns;
	bool has_time; /* the two are known */
	uint64_t damage_offset[DAMAGES];
	uint32_t damages;
};

static int count_event(const struct ebt_event *ev, const void *payload, size_t bytes, void *ctx)
{
	struct summary *s = ctx;
	(void)payload;
	(void)bytes;
	if (ev->kind == EBT_DAMAGE) {
		if (s->damages < DAMAGES)
			s->damage_offset[s->damages] = ev->arg[0];
		s->damages++;
		return 0;
	}
	if (ev->kind >= EBT_KINDS || ev->kind == EBT_LOST || ev->domain >= s->domains)
		return 0;
	s->count[ev->kind]++;
	s->by_domain[ev->domain][ev->kind]++;
	if (!s->has_time || ev->ts < s->first_ns)
		s->first_ns = ev->ts;
	s->has_time = true;
	if (ev->ts > s->last_ns)
		s->last_ns = ev->ts;
	return 0;
}

static int summarize(struct ebt_cursor *c, const struct ebt_cursor_info *info, struct summary *s)
{
	*s = (struct summary){.domains = info->max_domains};
	s->by_domain = calloc(info->max_domains, sizeof(*s->by_domain));
	if (!s->by_domain)
		return -ENOMEM;
	/* What is there now: a producer at full speed must not keep us here. */
	ssize_t n = ebt_cursor_poll(c, count_event, s, 0);
	return n < 0 ? (int)n : 0;
}

static void print_domain(const struct summary *s, uint32_t domain)
{
	const char *sep = "";
	for (unsigned k = 0; k < EBT_KINDS; k++) {
		if (!s->by_domain[domain][k])
			continue;
		if (!*sep)
			print("  domain %-3" PRIu32 " ", domain);
		print("%s%s %" PRIu64, sep, kinds_name((uint16_t)k), s->by_domain[domain][k]);
		sep = ", ";
	}
	if (*sep)
		print("\n");
}

/* OCaml's rings do not count the events that were overwritten; where none was, that is known. */
static bool knows_lost(const struct ebt_cursor_info *i)
{
	return i->lost_events || !i->lost_words;
}

static void print_text(const char *name, const struct ebt_cursor_info *i, const struct summary *s)
{
	print("%s: ring file of %s%s", name, i->producer, i->release_assumed ? " (assumed)" : "");
	if (*i->runtime)
		print(", runtime %s", i->runtime);
	if (i->pid)
		print(", process %" PRIu64, i->pid);
	print("\n");
	print("  rings      %" PRIu32 " of %" PRIu32 " words\n", i->max_domains, i->ring_words);
	print("  events     %" PRIu64 "\n", i->events);
	if (s->has_time)
		print("  time span  %.6f s, from %" PRIu64 " ns\n",
		      (double)(s->last_ns - s->first_ns) / 1e9, s->first_ns);
	print("  lost       ");
	if (!knows_lost(i))
		print("events unknown, ");
	else if (i->lost_events)
		print("%" PRIu64 " events, ", i->lost_events);
	print("%" PRIu64 " words\n", i->lost_words);
	if (s->damages)
		print("  damage     %" PRIu32 " places, at byte", s->damages);
	else
		print("  damage     none");
	for (uint32_t d = 0; d < s->damages && d < DAMAGES; d++)
		print(" %" PRIu64, s->damage_offset[d]);
	print(s->damages > DAMAGES ? " ...\n" : "\n");
	for (uint32_t d = 0; d < s->domains; d++)
		print_domain(s, d);
}

static void put_json_domains(struct json *j, const struct summary *s)
{
	json_key_open(j, "domains", '[');
	for (uint32_t d = 0; d < s->domains; d++) {
		bool any = false;
		for (unsigned k = 0; k < EBT_KINDS; k++) {
			if (!s->by_domain[d][k])
				continue;
			if (!any) {
				json_open(j, '{');
				json_key_u64(j, "domain", d);
			}
			any = true;
			json_key_u64(j, kinds_name((uint16_t)k), s->by_domain[d][k]);
		}
		if (any)
			json_close(j, '}');
	}
	json_close(j, ']');
}

static void print_json(const char *name, const struct ebt_cursor_info *i, const struct summary *s)
{
	struct json_line line;
	struct json *j = &line.json;
	print_json_begin(&line);
	json_open(j, '{');
	json_key_str(j, "name", name);
	json_key_str(j, "format", "ring");
	json_key_str(j, "producer", i->producer);
	json_key_bool(j, "producer_assumed", i->release_assumed);
	json_key_str(j, "runtime", i->runtime);
	json_key_u64(j, "pid", i->pid);
	json_key_u64(j, "rings", i->max_domains);
	json_key_u64(j, "ring_words", i->ring_words);
	json_key_u64(j, "events", i->events);
	json_key_u64(j, "first_ns", s->first_ns);
	json_key_u64(j, "last_ns", s->last_ns);
	json_key_known(j, "lost_events", knows_lost(i), i->lost_events);
	json_key_u64(j, "lost_words", i->lost_words);
	json_key_u64(j, "damaged", s->damages);
	put_json_domains(j, s);
	json_close(j, '}');
	print_json_end(&line);
}

static int tell(struct ebt_cursor *c, const char *name, bool guessed, const struct opts *o)
{
	struct ebt_cursor_info info;
	struct summary s;
	ebt_cursor_info(c, &info);
	int err = summarize(c, &info, &s);
	if (err) {
		complain("'%s': %s", name, strerror(-err));
	} else {
		ebt_cursor_info(c, &info);
		info.release_assumed |= guessed;
		(o->json ? print_json : print_text)(name, &info, &s);
	}
	free(s.by_domain);
	ebt_cursor_close(c);
	if (err)
		return EXIT_ERROR;
	return o->fail_on_loss && (info.lost_events || info.lost_words) ? EXIT_LOSS : 0;
}

static int tell_input(struct engine *e, struct loop *l, struct inputs *ins, const char *path,
		      const struct opts *o)
{
	struct ebt_cursor *c;
	int status = message_status(e, inputs_add(ins, path));
	if (!status && inputs_wait(ins))
		status = EXIT_ERROR;
	struct input *in = inputs_at(ins, 0);
	if (status || !in->ready)
		return status ? status : EXIT_ERROR;
	if (in->kind == &input_capture)
		return info_capture(e, l, ins, o);
	status = message_status(e, input_ring_cursor(e, in, &c));
	return status ? status : tell(c, path, in->guessed, o);
}

static int tell_file(const char *path, const struct opts *o)
{
	struct engine e = {.options = &o->engine, .report = message_report};
	struct loop *l = NULL;
	struct inputs *ins = NULL;
	int status = EXIT_ERROR;
	if (!session_new(&e.session) && !loop_new(&l) && !inputs_new(&e, l, &ins))
		status = tell_input(&e, l, ins, path, o);
	inputs_free(ins);
	loop_free(l);
	session_free(e.session);
	return status;
}

static int tell_process(pid_t pid, const struct opts *o)
{
	struct process_status p;
	struct engine e = {.options = &o->engine, .report = message_report};
	int status = message_status(&e, refusal_check(&e.report, pid, &p));
	if (status)
		return status;
	char name[64], reason[EBT_REASON_BYTES] = "";
	struct ebt_cursor *c;
	enum ebt_release release =
		o->engine.release ? o->engine.release : inspect_release(NULL, pid);
	int err = ebt_cursor_open_pid(pid, o->engine.ring_dir, release, &c, reason);
	if (err) {
		complain("%s", *reason ? reason : strerror(-err));
		return message_status(&e, refusal_of(err));
	}
	snprintf(name, sizeof(name), "process %d (%s)", pid, p.comm);
	return tell(c, name, false, o);
}

int cmd_info(int argc, char **argv)
{
	struct opts o;
	opts_parse(&o, &command, argc, argv);
	if (!o.engine.file_count && !o.engine.pid_count) {
		complain("info needs a FILE or -p PID; 'ebtrace info --help' shows examples");
		return EXIT_USAGE;
	}
	int worst = 0;
	for (unsigned i = 0; i < o.engine.file_count; i++) {
		int status = tell_file(o.engine.files[i], &o);
		if (status)
			worst = status;
	}
	for (unsigned i = 0; i < o.engine.pid_count; i++) {
		int status = tell_process(o.engine.pids[i], &o);
		if (status)
			worst = status;
	}
	int missing = print_end();
	return missing ? missing : worst;
}
