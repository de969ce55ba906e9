/* SPDX-License-Identifier: BSD-2-Clause */
/* ebtrace info of a memtrace trace. */
#include <inttypes.h>

#include "cmd/info_print.h"
#include "cmd/print.h"

static const struct process *process_of(const struct session *session)
{
	return processes_next(&session->processes, NULL);
}

static const char *text(const struct session *session, uint32_t string)
{
	const char *s = strings_text(session->strings, string);
	return s ? s : "";
}

void info_memtrace_text(const struct input_info *i, const struct session *session)
{
	const struct process *p = process_of(session);
	const struct totals *t = &session->totals;
	const struct ebt_memtrace_counts *n = &i->memtrace;
	print("%s: memtrace trace, %s\n", i->name, p->producer);
	print("  process    %" PRIu32 ", %s\n", p->pid, text(session, p->alloc_trace.executable));
	print("  host       %s\n", text(session, p->alloc_trace.host));
	if (*text(session, p->alloc_trace.context))
		print("  context    %s\n", text(session, p->alloc_trace.context));
	print("  runtime    %s\n", text(session, p->alloc_trace.parameters));
	print("  sampled    %g of each word, of %u bits\n", p->alloc_trace.sample_rate,
	      p->alloc_trace.word_bits);
	print("  events     %" PRIu64 ": %" PRIu64 " alloc, %" PRIu64 " promote, %" PRIu64
	      " collect\n",
	      t->events, i->kinds[EBT_ALLOC], i->kinds[EBT_PROMOTE], i->kinds[EBT_COLLECT]);
	info_print_span(t->timed, t->first_ns, t->last_ns);
	print("  packets    %" PRIu64, n->packets);
	if (n->other_pid)
		print(", %" PRIu64 " more of another process", n->other_pid);
	if (n->truncated)
		print(", the last one cut");
	print("\n");
	if (t->damaged)
		print("  damage     %" PRIu64 " places, %s\n", t->damaged, i->reason);
	else
		print("  damage     none\n");
}

void info_memtrace_json(const struct input_info *i, const struct session *session)
{
	const struct process *p = process_of(session);
	const struct alloc_trace *a = &p->alloc_trace;
	struct json_line line;
	struct json *j = &line.json;
	print_json_begin(&line);
	json_open(j, '{');
	json_key_str(j, "name", i->name);
	json_key_str(j, "format", "memtrace");
	json_key_str(j, "producer", p->producer);
	json_key_u64(j, "pid", p->pid);
	json_key_str(j, "executable", text(session, a->executable));
	json_key_str(j, "host", text(session, a->host));
	json_key_str(j, "runtime_params", text(session, a->parameters));
	json_key_str(j, "context", text(session, a->context));
	json_key_double(j, "sample_rate", a->sample_rate);
	json_key_u64(j, "word_bits", a->word_bits);
	totals_put_json(j, &session->totals, true);
	json_key_u64(j, "packets", i->memtrace.packets);
	json_key_u64(j, "other_pid_packets", i->memtrace.other_pid);
	info_put_json_kinds(j, i);
	json_close(j, '}');
	print_json_end(&line);
}

bool info_memtrace_lossy(const struct input_info *i, const struct session *session)
{
	(void)i;
	return session->totals.damaged;
}
