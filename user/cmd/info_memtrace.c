/* SPDX-License-Identifier: BSD-2-Clause */
/* ebtrace info of a memtrace trace. */
#include <inttypes.h>

#include "base/plural.h"
#include "cmd/info_print.h"
#include "cmd/print.h"

static const struct process *process_of(const struct session *session)
{
	return processes_next(&session->processes, NULL);
}

void info_memtrace_text(const struct input_info *i, const struct session *session)
{
	const struct process *p = process_of(session);
	const struct totals *t = &session->totals;
	const struct ebt_memtrace_counts *n = &i->memtrace;
	print("%s: memtrace trace, %s\n", i->name, p->producer);
	print("  process    %" PRIu32 "\n", p->pid);
	info_print_alloc_trace(&p->alloc_trace, session);
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
	if (n->raised)
		print("  clock      stepped back: the time%s of %" PRIu64 " event%s raised\n",
		      plural(n->raised), n->raised, plural_of(n->raised, " is", "s are"));
	if (!t->damaged) {
		print("  damage     none\n");
		return;
	}
	print("  damage     %" PRIu64 " place%s, ", t->damaged, plural(t->damaged));
	if (n->lost_allocs)
		print("with %" PRIu64 " allocation%s or more, ", n->lost_allocs,
		      plural(n->lost_allocs));
	print("%s\n", i->reason);
}

void info_memtrace_json(const struct input_info *i, const struct session *session)
{
	const struct process *p = process_of(session);
	struct json_line line;
	struct json *j = &line.json;
	print_json_begin(&line);
	json_open(j, '{');
	json_key_str(j, "name", i->name);
	json_key_str(j, "format", "memtrace");
	json_key_str(j, "producer", p->producer);
	json_key_u64(j, "pid", p->pid);
	info_put_json_alloc_trace(j, &p->alloc_trace, session);
	totals_put_json(j, &session->totals, true);
	json_key_u64(j, "packets", i->memtrace.packets);
	json_key_u64(j, "other_pid_packets", i->memtrace.other_pid);
	json_key_u64(j, "lost_allocs", i->memtrace.lost_allocs);
	json_key_u64(j, "raised_times", i->memtrace.raised);
	info_put_json_kinds(j, i);
	json_close(j, '}');
	print_json_end(&line);
}

bool info_memtrace_lossy(const struct input_info *i, const struct session *session)
{
	(void)i;
	return session->totals.damaged;
}
