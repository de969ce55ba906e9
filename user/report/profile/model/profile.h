/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The numbers of a profile: samples (EBT_SAMPLE) by their stack and where they were, of each
 * process; or blocks (EBT_OFFCPU), by what they waited for, too; or both, by their time. Memory
 * depends on the different stacks, not on the length of the run.
 */
#ifndef REPORT_PROFILE_MODEL_PROFILE_H
#define REPORT_PROFILE_MODEL_PROFILE_H

#include "report/profile/model/places.h"
#include "report/profile/model/spans.h"
#include "report/profile/model/waits.h"
#include "session/kinds.h"
#include "session/session.h"

/* What a report has a section for. */
enum profile_by {
	PROFILE_BY_DEFAULT, /* the mutator, and the collector */
	PROFILE_BY_PHASE,
	PROFILE_BY_THREAD,
	PROFILE_BY_DOMAIN,
	PROFILE_BY_PROGRAM,
	PROFILE_BY_SPAN,
};

/* The time of a profile. What has a stack weighs 1 in one of samples, else its nanoseconds. */
enum profile_time {
	PROFILE_ON_CPU,	 /* samples */
	PROFILE_OFF_CPU, /* blocks */
	PROFILE_WALL,	 /* both */
};

struct profile_process {
	uint32_t index; /* of the session; PROCESS_UNKNOWN: it is gone */
	uint32_t pid;
	bool has_events;  /* its runtime emits some */
	bool has_domains; /* one has been seen, by an event or a sample */
	char comm[32];
	bool has_cpu;
	uint64_t cpu_ns; /* by the kernel's account */
};

/* What samples have in common beside their stack. */
struct profile_context {
	uint32_t process; /* among those of the model */
	uint32_t key;	  /* thread, domain or span, if the sections are of these; else 0 */
	uint8_t place;	  /* of enum place, or a row of phases */
	uint8_t part;	  /* enum blame_part; BLAME_CPU: a sample */
};

struct profile_row {
	uint32_t stack; /* held; 0: none */
	uint32_t context;
	uint64_t samples; /* or other weight */
};

/* Readers use the numbers, the processes, contexts and rows. */
struct profile_model {
	const struct session *session;
	enum profile_by by;
	enum profile_time time; /* the caller's, before the first event, as min_ns is */
	uint64_t min_ns;	/* shorter blocks do not count */
	uint64_t weight;	/* of all rows */
	uint64_t unasked;	/* blocks in a profile of samples */
	struct waits waits;
	uint64_t samples, kernel; /* of all; in the kernel */
	uint64_t time_ns;	  /* that they represent */
	uint64_t period_ns;	  /* of the last one */
	uint64_t ends[KINDS_SAMPLE_ENDS + 1];
	uint64_t first_ns, last_ns;
	struct profile_process *process;
	struct profile_context *context;
	struct profile_row *row;
	uint32_t processes, contexts, rows;
	struct profile_spans *spans; /* NULL: the sections are not of spans */
	/* Private. */
	uint32_t process_room, context_room, row_room;
	struct places places;
	struct map process_of; /* index of the session → process + 1 */
	struct map context_of; /* → context + 1 */
	struct map row_of;     /* stack and context → row + 1 */
};

/* Keeps the session. Done works on zeroed memory, too, and follows either. 0 or -ENOMEM. */
int profile_model_init(struct profile_model *m, const struct session *s, enum profile_by by);
void profile_model_done(struct profile_model *m);
/* 0 or -ENOMEM. */
int profile_model_events(struct profile_model *m, const struct ebt_event *ev, size_t n);
/* What is known of the process is kept, as its index will mean another one. 0 or -ENOMEM. */
int profile_model_forget(struct profile_model *m, uint32_t process);
/* After the last event. */
void profile_model_end(struct profile_model *m);
/* The stacks of blocks get what these waited for as an innermost frame. 0 or -ENOMEM. */
int profile_model_mark(struct profile_model *m);

/* Where the samples of a context were: PLACE_MUTATOR in place of PLACE_SILENT, if events of the
 * process were seen later; PLACE_THREADS in place of PLACE_OUTSIDE, if no domain of it was. */
unsigned profile_place(const struct profile_model *m, const struct profile_context *c);
/* CPU time of all processes by the kernel's account. False: not known of all. */
bool profile_cpu_ns(const struct profile_model *m, uint64_t *ret);

#endif
