/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The model of mem: of a stream of sampled allocations, by process and backtrace, how many objects
 * and samples were allocated, and on request what became of them. It counts in whole numbers; what
 * they mean in bytes is estimated when a report is made (process.h). It keeps nothing of a single
 * event but the objects that are alive, on request: memory grows with the numbers of different
 * backtraces and of live sampled objects, not with the length of the run or the number of processes
 * that ended.
 *
 * Object ids are those of a process. A promotion or a collection of an object with an unseen
 * allocation is counted apart, and changes nothing else. Losses and damage are counted by the
 * session.
 */
#ifndef REPORT_MEM_MODEL_MEM_H
#define REPORT_MEM_MODEL_MEM_H

#include "base/ptrarray.h"
#include "report/mem/model/choice.h"
#include "report/mem/model/filter.h"
#include "report/mem/model/sites.h"
#include "report/mem/model/timeline.h"
#include "session/session.h"

/* Processes that ended are kept apart up to this number, and the first one; further ones that were
 * sampled alike are added up. */
#define MEM_ENDED_APART 64

struct mem_bands;

/* What is counted beside allocations. */
enum mem_needs {
	MEM_FATES = 1, /* fate of each row: live, promoted, collected, lifetimes */
	/* Live bytes over time. With the filter's lifetimes it needs the choice of another run. */
	MEM_TIMELINE = 2,
	MEM_BANDS = 4,	/* live bytes over time by site; only with MEM_TIMELINE */
	MEM_ENDS = 16,	/* reports of when objects end, which some processes' samples do not have */
	MEM_CHOICE = 8, /* nothing: which objects the filter's lifetimes select */
};

struct mem_options {
	unsigned needs;			 /* of enum mem_needs */
	struct moment until;		 /* since the begin: later events do not count */
	const struct mem_filter *filter; /* the caller's; NULL: none */
	/* The caller's, or NULL. With MEM_CHOICE the run makes it, without it is that of the
	 * filter's lifetimes, made by a run over the same stream with the same `until`. */
	struct mem_choice *choice;
	double rate;		      /* of samples with an unknown rate; 0: none is given */
	struct mem_wrappers wrappers; /* of allocators, which are no sites */
};

/* Readers use all but opt, by_index, last, limit_ns, allocations, ended and has_objects. */
struct mem_model {
	const struct session *session;
	struct mem_options opt;
	struct mem_process *first; /* those with allocations, in the order of their first events */
	struct mem_process *last;
	PTRARRAY(struct mem_process) by_index;
	struct mem_count alloc;	       /* of all processes; its samples may be of different rates */
	struct moment begin, end;      /* of the stream: its first and last event, or the limit */
	struct moment at;	       /* of mem_model_settle() */
	uint64_t unknown;	       /* promotions and collections of unknown objects */
	struct mem_timeline *timeline; /* NULL: it is not made */
	struct mem_bands *bands;       /* NULL: they are not made */
	uint64_t limit_ns;
	uint64_t allocations; /* events so far */
	uint32_t ended;	      /* processes so far, but for the first one */
	bool has_objects;     /* there is a table of live ones */
	bool has_ns;	/* some lifetime is no number of whole us: that is not the clock's step */
	bool has_words; /* after the end: each sample is a word that an object represents */
	bool has_generations; /* after the end: some process has a minor and a major heap */
	bool is_periodic;     /* all processes are sampled so: nothing is known to be alive */
	bool is_partial;      /* events of no process that is known were not recorded */
};

/* `s` is kept, and the filter of the options. 0 or -ENOMEM; done() works after either. */
int mem_model_init(struct mem_model *m, const struct session *s, const struct mem_options *o);
void mem_model_done(struct mem_model *m);
/* In order of time. 0 or -ENOMEM. */
int mem_model_events(struct mem_model *m, const struct ebt_event *ev, size_t n);
/* As forget() of struct sink_ops: what is alive stays so, as of an object that is never collected.
 * 0 or -ENOMEM. */
int mem_model_forget(struct mem_model *m, uint32_t process);
/*
 * The numbers as if no more events came: whole until the next event. now: that moment, from which
 * ages and the time that has passed count; not known: the end. 0 or -ENOMEM.
 */
int mem_model_settle(struct mem_model *m, struct moment now);
/*
 * Whether more events may follow mem_model_settle(). Not with bands, which are sorted then: they
 * are of a whole run. Not with a filter of lifetimes: those of live objects are known only at the
 * end.
 */
bool mem_model_goes_on(const struct mem_model *m);
static inline int mem_model_end(struct mem_model *m)
{
	return mem_model_settle(m, (struct moment){0});
}
/* The begin of the recording, from which times are counted. */
uint64_t mem_model_begin_ns(const struct mem_model *m);
/* The time from there to the end, or the moment until which it counts. */
uint64_t mem_model_elapsed_ns(const struct mem_model *m);

/* The numbers by function (sites.h), which are of the model's session. 0 or -ENOMEM;
 * mem_sites_done() works after either. */
int mem_model_sites(struct mem_sites *t, const struct mem_model *m, mem_pick *pick);

#endif
