/* SPDX-License-Identifier: BSD-2-Clause */
/* Rows of viewers: one of each lane, of its losses and of its time off CPU, and their names. */
#include "format/rows.h"

#include "tests/tap.h"
#include "tests/unit/processes_fixture.h"

#define PROCESS 2

static struct session *session;

static bool is_new(struct rows *r, enum ebt_kind kind, uint16_t domain, uint32_t tid)
{
	struct ebt_event ev = {.kind = kind, .process = PROCESS, .domain = domain, .tid = tid};
	bool found;
	if (!rows_of(r, &ev, &found))
		abort();
	return found;
}

/* How many rows are new for events of all sorts. */
static unsigned rows_made(struct rows *r)
{
	return is_new(r, EBT_BEGIN, 3, 0) + is_new(r, EBT_BEGIN, EBT_NO_DOMAIN, 77) +
	       is_new(r, EBT_LOST, 3, 0) + is_new(r, EBT_LOST, EBT_NO_DOMAIN, 0) +
	       is_new(r, EBT_OFFCPU, EBT_NO_DOMAIN, 77) + is_new(r, EBT_OFFCPU, 3, 78);
}

static void test_rows(void)
{
	struct rows r;
	rows_init(&r, session);
	is(rows_made(&r), 6,
	   "domains, threads, their losses and their time off CPU have a row each");
	is(rows_made(&r), 0, "which they keep");
	rows_forget(&r, PROCESS);
	is(rows_made(&r), 6, "until their process has ended");
	is(r.count, 12, "rows are numbered as they appear");
	rows_done(&r);
}

static void test_names(void)
{
	struct rows r;
	rows_init(&r, session);
	struct process *p = processes_announce(&session->processes, PROCESS);
	snprintf(p->comm, sizeof(p->comm), "name");
	is(rows_process_renamed(&r, PROCESS), 1, "a viewer does not know a process at first");
	is(rows_process_renamed(&r, PROCESS), 0, "then it does");
	snprintf(p->comm, sizeof(p->comm), "other");
	is(rows_process_renamed(&r, PROCESS), 1, "it has another name after exec");
	snprintf(p->producer, sizeof(p->producer), "producer");
	is(rows_process_renamed(&r, PROCESS), 1, "or another producer");
	snprintf(p->runtime, sizeof(p->runtime), "runtime");
	is(rows_process_renamed(&r, PROCESS), 1, "or another runtime");
	is(rows_process_renamed(&r, PROCESS), 0, "each is told once");
	rows_forget(&r, PROCESS);
	is(rows_process_renamed(&r, PROCESS), 1,
	   "a process that was released is not known any more");
	rows_done(&r);

	static const struct {
		uint32_t tid;
		const char *name;
	} rows[] = {
		{0, "domain 0"},
		{ROWS_LOST + 3, "lost events (domain 3)"},
		{ROWS_LOST + EBT_NO_DOMAIN, "lost events"},
		{ROWS_THREADS, "process"},
		{ROWS_THREADS + 1, "thread 1"},
		{ROWS_OFFCPU + 4711, "off CPU (thread 4711)"},
		{ROWS_FIBERS + 3 * FIBER_TRACKS + 2, "fibers 2 (domain 3)"},
		{ROWS_FIBERS + EBT_NO_DOMAIN * FIBER_TRACKS + 5, "fibers 5"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char name[ROWS_NAME_BYTES];
		rows_name(rows[i].tid, name);
		is_str(name, rows[i].name, "a row has the name of what it shows");
	}
}

/* Where a loss begins in a viewer: not before the run, and not behind its own end. */
static void test_lost_since(void)
{
	static const uint64_t rows[][2] = {{0, 50},  {49, 50},	 {50, 50},   {70, 70},
					   {99, 99}, {100, 100}, {101, 100}, {UINT64_MAX, 100}};
	unsigned wrong = 0;
	session->totals.first_ns = 50;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct ebt_event ev = {.kind = EBT_LOST, .ts = 100};
		EBT_LOST_SINCE(&ev) = rows[i][0];
		wrong += rows_lost_since(session, &ev) != rows[i][1];
	}
	is(wrong, 0, "a loss is shown from when it began, within the run, to its end");
}

int main(void)
{
	if (session_new(&session) || enter_processes(session, PROCESS))
		abort();
	test_rows();
	test_names();
	test_lost_since();
	session_free(session);
	return tap_done();
}
