// SPDX-License-Identifier: BSD-2-Clause
#include "source/bpf/alloc_process.h"

#include <ebtrace/pagetrace.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "session/versions.h"
#include "source/stacks/ocaml_stack.h"

#define WORD_BYTES 8
#define MAX_BYTES  (UINT64_MAX / 4) /* of one sample */
/* Live objects with a kept number, in 200 MB at most: at any usual rate they represent TiB. */
#define MAX_OBJECTS (1u << 21)

void alloc_process_done(struct alloc_process *a)
{
	code_map_done(&a->code);
	c_stack_calls_done(&a->calls);
	map_done(&a->objects);
}

static uint64_t words_of(uint64_t bytes)
{
	return bytes / WORD_BYTES + (bytes % WORD_BYTES != 0);
}

/* Sets what the samples of the process are, before the first event that has some is emitted;
 * parameters as struct alloc_trace has them. */
static void set_rate(const struct alloc_context *of, double rate, const char *parameters,
		     const char *context)
{
	struct process *p = processes_at(&of->session->processes, of->process);
	struct strings *strings = of->session->strings;
	char path[32], executable[PATH_MAX] = "", host[HOST_NAME_MAX + 1] = "";
	if (p->alloc_trace.known)
		return;
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)of->pid);
	if (readlink(path, executable, sizeof(executable) - 1) < 0)
		*executable = 0;
	if (gethostname(host, sizeof(host) - 1))
		*host = 0;
	p->alloc_trace = (struct alloc_trace){
		.known = true,
		.sample_rate = rate,
		.word_bits = 8 * WORD_BYTES,
		.executable = strings_put(strings, executable, strlen(executable)),
		.host = strings_put(strings, host, strlen(host)),
		.parameters = strings_put(strings, parameters, strlen(parameters)),
		.context = *context ? strings_put(strings, context, strlen(context)) : 0,
	};
}

/* Of one allocation both markers fire, one after the other, in its thread. */
static void pair(struct alloc_process *a, const struct alloc_context *of)
{
	if (!a->alloc_tid || a->alloc_tid != a->weight_tid)
		return;
	double rate = (double)a->samples * WORD_BYTES / (double)a->weight;
	if (a->samples && a->weight)
		set_rate(of, rate < 1 ? rate : 1, "", "");
	a->alloc_tid = a->weight_tid = 0;
}

static void put_object(struct ebt_event *ev, enum ebt_kind kind, uint64_t object)
{
	ev->kind = kind;
	ev->arg[0] = object;
}

/* Our markers' number of an object, made one of the process. */
static uint64_t number_of(struct alloc_process *a, const struct ebt_alloc_record *rec)
{
	uint64_t number = a->first_object + rec->arg[0];
	if (number > a->last_object)
		a->last_object = number;
	return number;
}

static int receive_alloc(struct alloc_process *a, const struct alloc_context *of,
			 const struct ebt_alloc_record *rec, struct ebt_event *ev)
{
	uint64_t number = number_of(a, rec);
	uint64_t *kept = a->objects.count < MAX_OBJECTS ? map_put(&a->objects, rec->arg[0]) : NULL;
	if (kept)
		*kept = number;
	put_object(ev, EBT_ALLOC, number);
	ev->arg[1] = rec->arg[1];
	ev->pos = rec->arg[2];
	ev->id = (uint32_t)rec->arg[3];
	ev->domain = (uint16_t)rec->arg[4];
	ev->ts = rec->arg[5];
	a->alloc_tid = rec->head.tid;
	a->samples = rec->arg[2];
	pair(a, of);
	return 1;
}

static int receive_change(struct alloc_process *a, const struct ebt_alloc_record *rec,
			  struct ebt_event *ev)
{
	bool collect = rec->head.site == EBT_ALLOC_SITE_COLLECT;
	put_object(ev, collect ? EBT_COLLECT : EBT_PROMOTE, number_of(a, rec));
	ev->domain = (uint16_t)rec->arg[1];
	ev->ts = rec->arg[2];
	if (collect)
		map_delete(&a->objects, rec->arg[0]);
	return 1;
}

static int receive_weight(struct alloc_process *a, const struct alloc_context *of,
			  const struct ebt_alloc_record *rec)
{
	a->weight_tid = rec->head.tid;
	a->weight = rec->arg[2];
	pair(a, of);
	return 0;
}

static int receive_otel_alloc(struct alloc_process *a, const struct alloc_context *of,
			      const struct ebt_alloc_record *rec, struct ebt_event *ev)
{
	uint64_t *number = map_get(&a->objects, rec->arg[0]);
	uint64_t weight = rec->arg[2] < MAX_BYTES ? rec->arg[2] : MAX_BYTES;
	int n = 0;
	set_rate(of, 1, ALLOC_TRACE_WEIGHTS, "");
	/* Its address was free: that it was freed was not reported. */
	if (number) {
		ev[1] = ev[0];
		put_object(&ev[n++], EBT_COLLECT, *number);
	} else if (a->objects.count < MAX_OBJECTS) {
		number = map_put(&a->objects, rec->arg[0]);
		if (!number)
			return -ENOMEM;
	}
	put_object(&ev[n], EBT_ALLOC, ++a->last_object);
	if (number)
		*number = a->last_object;
	a->rest_bytes += weight;
	ev[n].arg[1] = words_of(rec->arg[1]);
	ev[n].pos = a->rest_bytes / WORD_BYTES;
	ev[n].id = EBT_ALLOC_MAJOR;
	a->rest_bytes %= WORD_BYTES;
	return n + 1;
}

static int receive_otel_free(struct alloc_process *a, const struct ebt_alloc_record *rec,
			     struct ebt_event *ev)
{
	const uint64_t *number = map_get(&a->objects, rec->arg[0]);
	if (!number)
		return 0; /* not sampled, or allocated before it was watched */
	put_object(ev, EBT_COLLECT, *number);
	map_delete(&a->objects, rec->arg[0]);
	return 1;
}

/* A record of our own markers of pages. As our library does, drops ranges that are no run. */
static int receive_pages(const struct alloc_context *of, const struct ebt_alloc_record *rec,
			 enum ebt_kind kind, struct ebt_event *ev)
{
	struct process *p = processes_at(&of->session->processes, of->process);
	if (!ebt_pagetrace_is_run(rec->arg[0], rec->arg[1]))
		return 0;
	if (!p->page_bytes)
		p->page_bytes = EBT_PAGETRACE_PAGE_BYTES;
	ev->kind = (uint16_t)kind;
	ev->arg[0] = rec->arg[0];
	ev->arg[1] = rec->arg[1];
	ev->domain = (uint16_t)rec->arg[2];
	ev->ts = rec->arg[3];
	return 1;
}

/* Samples of an OCaml runtime that was not prepared: never of a process with markers. */
static int receive_ocaml(struct alloc_process *a, const struct alloc_context *of,
			 const struct ebt_alloc_record *rec, struct ebt_event *ev)
{
	const struct process *p = processes_at(&of->session->processes, of->process);
	bool is_rest = rec->head.site == EBT_ALLOC_SITE_OCAML_REST;
	bool is_major = is_rest ? rec->arg[4] != EBT_OCAML_REST_MINOR
				: rec->head.site == EBT_ALLOC_SITE_OCAML_MAJOR;
	if (rec->arg[5])
		set_rate(of, 1 / (double)rec->arg[5],
			 ALLOC_TRACE_PERIODIC "ocaml" ALLOC_TRACE_WORDS,
			 "periodic samples of an OCaml program that was not prepared: nothing is "
			 "ever collected");
	if (!alloc_trace_periodic(&p->alloc_trace, of->session->strings))
		return 0;
	put_object(ev, EBT_ALLOC, ++a->last_object);
	ev->arg[1] = rec->arg[2];
	ev->pos = rec->arg[0];
	ev->id = is_major ? EBT_ALLOC_MAJOR : EBT_ALLOC_MINOR;
	if (!is_rest)
		ev->domain = (uint16_t)rec->arg[1];
	return 1;
}

static int receive(struct alloc_process *a, const struct alloc_context *of,
		   const struct ebt_alloc_record *rec, struct ebt_event *ev)
{
	switch (rec->head.site) {
	case EBT_ALLOC_SITE_ALLOC:
		return receive_alloc(a, of, rec, ev);
	case EBT_ALLOC_SITE_PROMOTE:
	case EBT_ALLOC_SITE_COLLECT:
		return receive_change(a, rec, ev);
	case EBT_ALLOC_SITE_OTEL_ALLOC:
		return receive_otel_alloc(a, of, rec, ev);
	case EBT_ALLOC_SITE_OTEL_FREE:
		return receive_otel_free(a, rec, ev);
	case EBT_ALLOC_SITE_OTEL_WEIGHT:
		return receive_weight(a, of, rec);
	case EBT_ALLOC_SITE_PAGE_ALLOC:
		return receive_pages(of, rec, EBT_PAGE_ALLOC, ev);
	case EBT_ALLOC_SITE_PAGE_FREE:
		return receive_pages(of, rec, EBT_PAGE_FREE, ev);
	case EBT_ALLOC_SITE_PAGE_SCAVENGE:
		return receive_pages(of, rec, EBT_PAGE_SCAVENGE, ev);
	case EBT_ALLOC_SITE_OCAML_MINOR:
	case EBT_ALLOC_SITE_OCAML_MAJOR:
	case EBT_ALLOC_SITE_OCAML_REST:
		return receive_ocaml(a, of, rec, ev);
	}
	return 0;
}

static int by_number(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

ssize_t alloc_process_exec(struct alloc_process *a, uint64_t **ret)
{
	size_t at = 0, n = 0;
	uint64_t *object = calloc(a->objects.count + 1, sizeof(*object));
	if (!object)
		return -ENOMEM;
	for (const struct map_slot *s; (s = map_next(&a->objects, &at));)
		object[n++] = s->value;
	qsort(object, n, sizeof(*object), by_number);
	map_done(&a->objects);
	a->objects = (struct map){0};
	a->first_object = a->last_object;
	a->rest_bytes = 0;
	a->alloc_tid = a->weight_tid = 0;
	code_map_exec(&a->code);
	*ret = object;
	return (ssize_t)n;
}

/* The name of an outermost frame that is only a name; NULL: none. Words without a sample have no
 * other frame, and its name is their kind; a stack that was cut has CODE_CUT_NAME. */
static const char *name_of(const struct ebt_alloc_record *rec)
{
	if (rec->head.site != EBT_ALLOC_SITE_OCAML_REST)
		return rec->arg[4] & EBT_OCAML_CUT ? CODE_CUT_NAME : NULL;
	switch (rec->arg[4]) {
	case EBT_OCAML_REST_MAJOR:
		return "[large, beyond the limit of samples]";
	case EBT_OCAML_REST_OTHER:
		return "[in the major heap, in no sample]";
	}
	return "[in minor heaps, in no sample]";
}

/* The stack of an event, and its words, where the stack has them. 0 or -ENOMEM. */
static int find_stack(struct alloc_process *a, const struct alloc_context *of,
		      const struct ebt_alloc_record *rec, size_t payload, uint64_t *ret_words,
		      uint32_t *ret)
{
	struct c_stack_of c = {of->frames, &a->code, &a->calls, of->pid};
	if (rec->head.site < EBT_ALLOC_SITE_OCAML_MINOR)
		return c_stack_push(&c, rec + 1, payload, ret);
	struct ocaml_stack stack = {
		.version = versions_by_release((uint16_t)(rec->arg[4] >> 16)),
		.outer = name_of(rec),
		.is_combined = rec->head.site == EBT_ALLOC_SITE_OCAML_MINOR &&
			       rec->arg[4] & EBT_OCAML_BY_OCAML,
		.free_words = rec->arg[3],
		.frame = (const struct ebt_ocaml_frame *)(rec + 1),
		.frames = payload / sizeof(struct ebt_ocaml_frame),
	};
	int err = ocaml_stack_push(of->frames, &a->code, of->pid, &stack, ret);
	*ret_words = stack.words;
	return err;
}

/* A record of a weight belongs to the one before it, and must not be put off. */
static bool has_stack(const struct ebt_alloc_record *rec, size_t payload)
{
	switch (rec->head.site) {
	case EBT_ALLOC_SITE_ALLOC:
	case EBT_ALLOC_SITE_OTEL_ALLOC:
	case EBT_ALLOC_SITE_OCAML_MINOR:
	case EBT_ALLOC_SITE_OCAML_MAJOR:
		return payload;
	case EBT_ALLOC_SITE_OCAML_REST:
		return true;
	}
	return false;
}

int alloc_process_receive(struct alloc_process *a, const struct alloc_context *of,
			  const struct ebt_alloc_record *rec, size_t payload,
			  struct ebt_event ev[ALLOC_EVENTS_MAX])
{
	uint32_t stack = 0;
	uint64_t words = 0;
	/* First, as it may be put off. */
	if (has_stack(rec, payload)) {
		code_map_read(of->frames, &a->code, of->pid, false);
		int err = find_stack(a, of, rec, payload, &words, &stack);
		if (code_frames_waits(of->frames))
			return -EAGAIN;
		if (err)
			return err;
	}
	int n = receive(a, of, rec, ev);
	if (n <= 0 || ev[n - 1].kind != EBT_ALLOC)
		return n;
	if (words)
		ev[n - 1].arg[1] = words;
	if (stack)
		session_put_stack(of->session, &ev[n - 1], stack);
	return n;
}
