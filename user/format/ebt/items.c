/* SPDX-License-Identifier: BSD-2-Clause */
#include "format/ebt/items.h"

#include <string.h>

#include "session/versions.h"

static void copy_text(char *dst, size_t cap, const char *src)
{
	size_t len = strnlen(src, cap - 1);
	memcpy(dst, src, len);
	dst[len] = 0;
}

int ebt_items_put_session(struct capture_writer *w, const struct session *s, struct moment begin,
			  struct moment end)
{
	struct capture_item item = {.what = CAPTURE_SESSION};
	const struct moment *at = s->timebase.at;
	const struct moment kept[] = {s->start,
				      begin,
				      end,
				      at[TIMEBASE_MONOTONIC],
				      at[TIMEBASE_REALTIME],
				      at[TIMEBASE_BOOTTIME]};
	char origins[ORIGIN_TEXT_BYTES];
	copy_text(item.session.source, sizeof(item.session.source),
		  origin_text(s->origins, origins));
	copy_text(item.session.clock, sizeof(item.session.clock), timebase_name(s->timebase.clock));
	for (unsigned i = 0; i < sizeof(kept) / sizeof(*kept); i++)
		item.session.known |= kept[i].known ? 1u << i : 0;
	item.session.start_ns = kept[0].ns;
	item.session.run_begin_ns = kept[1].ns;
	item.session.run_end_ns = kept[2].ns;
	item.session.monotonic_ns = kept[3].ns;
	item.session.realtime_ns = kept[4].ns;
	item.session.boottime_ns = kept[5].ns;
	return capture_put_item(w, &item);
}

static struct capture_text text_of(const struct session *s, uint32_t string)
{
	const char *text = strings_text(s->strings, string);
	return (struct capture_text){text ? text : "", text ? strlen(text) : 0};
}

static int put_alloc_trace(struct capture_writer *w, const struct session *s,
			   const struct process *p)
{
	const struct alloc_trace *t = &p->alloc_trace;
	if (!t->known)
		return 0;
	struct capture_item item = {.what = CAPTURE_ALLOC_TRACE};
	item.alloc_trace = (struct capture_alloc_trace){
		.pid = p->pid,
		.domain = t->domain,
		.word_bits = t->word_bits,
		.sample_rate = t->sample_rate,
		.text = {[CAPTURE_EXECUTABLE] = text_of(s, t->executable),
			 [CAPTURE_HOST] = text_of(s, t->host),
			 [CAPTURE_PARAMETERS] = text_of(s, t->parameters),
			 [CAPTURE_CONTEXT] = text_of(s, t->context)},
	};
	return capture_put_item(w, &item);
}

int ebt_items_put_process(struct capture_writer *w, const struct session *s,
			  const struct process *p)
{
	struct capture_item item = {.what = CAPTURE_PROCESS};
	struct capture_process *c = &item.process;
	c->pid = p->pid;
	copy_text(c->producer, sizeof(c->producer), p->producer);
	copy_text(c->runtime, sizeof(c->runtime), p->runtime);
	copy_text(c->comm, sizeof(c->comm), p->comm);
	c->own_release = versions_release(p->traits.runtime);
	c->release = p->traits.raw_phase ? c->own_release : 0;
	c->page_bytes = p->page_bytes;
	c->usage_known = p->usage.known;
	c->user_ns = p->usage.user_ns;
	c->system_ns = p->usage.system_ns;
	c->peak_rss_bytes = p->usage.peak_rss_bytes;
	c->end_ns = p->end.ns;
	c->end_known = p->end.known;
	c->peak_rss_known = p->usage.has_peak_rss;
	int err = capture_put_item(w, &item);
	return err ? err : put_alloc_trace(w, s, p);
}

int ebt_items_put_mapping(struct capture_writer *w, uint32_t pid, const struct mapping *m)
{
	struct capture_item item = {.what = CAPTURE_MAPPING};
	item.mapping.pid = pid;
	item.mapping.addr = m->start;
	item.mapping.bytes = m->end - m->start;
	copy_text(item.mapping.name, sizeof(item.mapping.name), m->name);
	return capture_put_item(w, &item);
}

int ebt_items_put_name(struct capture_writer *w, uint32_t pid, uint32_t id, const char *text)
{
	struct capture_item item = {.what = CAPTURE_NAME};
	item.name.pid = pid;
	item.name.id = id;
	copy_text(item.name.text, sizeof(item.name.text), text);
	return capture_put_item(w, &item);
}
