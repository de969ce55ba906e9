/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/stat/model/process.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "report/parts/ids.h"

static void free_process(struct stat_process *p)
{
	stat_numbers_done(&p->numbers);
	free(p);
}

void stat_processes_done(struct stat_processes *ps)
{
	for (struct stat_process *p = ps->first, *next; p; p = next) {
		next = p->next;
		free_process(p);
	}
	ptrarray_done(&ps->by_index);
	map_done(&ps->births);
}

void stat_process_know(struct stat_process *p, const struct session *s)
{
	const struct process *about = processes_announced(&s->processes, p->process);
	if (!about)
		return;
	memcpy(p->comm, about->comm, sizeof(p->comm));
	memcpy(p->producer, about->producer, sizeof(p->producer));
	p->numbers.usage = about->usage;
	const struct traits_language *language = about->traits.runtime.language;
	p->heap_is_by_domain = language && language->heap_is_by_domain;
	p->numbers.minor_is_shared = language && language->minor_is_shared;
}

uint64_t stat_process_end(const struct stat_process *p, const struct session *s, struct moment now)
{
	const struct process *about = processes_announced(&s->processes, p->process);
	struct moment end = p->end;
	if (!end.known && about)
		end = about->end;
	/* The registry may know of an end that the stream has not reached. */
	if (!end.known || (now.known && end.ns > now.ns))
		end = now;
	return end.ns > p->last_ns ? end.ns : p->last_ns;
}

struct stat_process *stat_processes_make(struct stat_processes *ps, const struct ebt_event *ev)
{
	bool is_new;
	struct stat_process *p = ptrarray_make(&ps->by_index, ev->process, &is_new);
	if (!p || !is_new)
		return p;
	const struct session *s = ps->stream->session;
	p->process = ev->process;
	p->pid = processes_pid(&s->processes, ev->process);
	const uint64_t *birth = map_get(&ps->births, p->pid);
	bool starts = ev->kind == EBT_LIFECYCLE && ev->id == LIFECYCLE_ring_start;
	p->begin_ns = birth			      ? *birth
		      : s->run_begin.known && !starts ? s->run_begin.ns
						      : stat_stream_clip(ps->stream, ev->ts);
	p->begun = birth;
	p->recorded_from_ns = p->begin_ns;
	p->numbers.pauses.whole.coarse = ps->coarse;
	p->recording = true;
	stat_process_know(p, s);
	p->prev = ps->last;
	*(ps->last ? &ps->last->next : &ps->first) = p;
	ps->last = p;
	ps->listed++;
	p->number = ps->count++;
	return p;
}

int stat_processes_birth(struct stat_processes *ps, uint32_t pid, uint64_t now_ns)
{
	uint32_t newest = processes_find(&ps->stream->session->processes, pid);
	struct stat_process *p = newest ? stat_processes_find(ps, newest) : NULL;
	uint64_t *birth = map_put(&ps->births, pid);
	if (!birth)
		return -ENOMEM;
	*birth = now_ns;
	if (!p || !p->end.known)
		return 0;
	p->end.known = false;
	p->recording = true;
	p->recorded_from_ns = now_ns;
	return 0;
}

void stat_processes_dead(struct stat_processes *ps, uint32_t pid)
{
	map_delete(&ps->births, pid);
}

void stat_processes_release(struct stat_processes *ps, struct stat_process *p)
{
	ptrarray_remove(&ps->by_index, p->process);
	p->process = PROCESS_UNKNOWN;
}

void stat_processes_remove(struct stat_processes *ps, struct stat_process *p)
{
	*(p->prev ? &p->prev->next : &ps->first) = p->next;
	*(p->next ? &p->next->prev : &ps->last) = p->prev;
	ps->listed--;
	free_process(p);
}

void stat_processes_change(struct stat_processes *ps, struct stat_process *p, uint64_t now_ns,
			   enum ebt_process_change change)
{
	map_delete(&ps->births, p->pid);
	/* Recording of a new program begins with its ring, or here. */
	p->recording = change == EBT_PROCESS_EXEC;
	p->recorded_from_ns = now_ns;
	if (now_ns > p->last_ns)
		p->last_ns = now_ns;
	if (change == EBT_PROCESS_EXIT)
		p->end = moment_at(now_ns);
}

struct stat_process *stat_processes_unwatched(struct stat_processes *ps, const struct ebt_event *ev,
					      uint64_t since_ns)
{
	struct stat_process *p = stat_processes_find(ps, ev->process);
	uint64_t since = stat_stream_clip(ps->stream, since_ns);
	uint64_t now = stat_stream_clip(ps->stream, ev->ts);
	if (!p && (p = stat_processes_make(ps, ev)) && (!p->begun || since < p->begin_ns)) {
		p->begun = true;
		p->begin_ns = p->recorded_from_ns = since;
	}
	if (!p)
		return NULL;
	p->unwatched_since_ns = since;
	p->unwatched_ns = now;
	p->numbers.lost.unwatched++;
	p->numbers.lost.unwatched_ns += now - since;
	if (now > p->last_ns)
		p->last_ns = now;
	return p;
}
