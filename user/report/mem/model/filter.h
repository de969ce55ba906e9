/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Selects sampled objects. Conditions on functions and files are decided once for a backtrace,
 * those on domain and size once for an allocation, and those on the lifetime when the object is
 * collected; one that is alive has lived as long as it is old.
 */
#ifndef REPORT_MEM_MODEL_FILTER_H
#define REPORT_MEM_MODEL_FILTER_H

#include "report/mem/model/wrappers.h"
#include "session/session.h"

#define MEM_FILTER_GLOBS 16

enum mem_filter_what {
	MEM_FILTER_FUNCTION, /* any of the backtrace */
	MEM_FILTER_FILE,     /* any of the backtrace */
	MEM_FILTER_SITE,     /* the innermost function that is no wrapper; all are: the innermost */
};

struct mem_glob {
	enum mem_filter_what what;
	bool excludes; /* nothing may match */
	const char *pattern;
};

struct mem_range {
	double min, max; /* both inclusive; 0 and INFINITY: any */
};

/* The patterns are the caller's. All conditions must hold. */
struct mem_filter {
	struct mem_glob glob[MEM_FILTER_GLOBS];
	unsigned globs;
	uint64_t domain; /* with has_domain */
	bool has_domain;
	bool by_lifetime;
	struct mem_range lifetime_ns, size_bytes;
	struct mem_wrappers wrappers; /* they are no sites */
};

/* A filter that everything passes. */
void mem_filter_init(struct mem_filter *f);
bool mem_filter_stack(const struct mem_filter *f, const struct session *s, uint32_t stack);
static inline bool mem_range_has(const struct mem_range *r, double v)
{
	return v >= r->min && v <= r->max;
}
static inline bool mem_filter_alloc(const struct mem_filter *f, const struct ebt_event *ev,
				    double word_bytes)
{
	return (!f->has_domain || ev->domain == f->domain) &&
	       mem_range_has(&f->size_bytes, (double)ev->sarg[1] * word_bytes);
}

#endif
