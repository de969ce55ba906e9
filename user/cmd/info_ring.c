/* SPDX-License-Identifier: BSD-2-Clause */
/* ebtrace info of a ring file, or of the ring of a process. */
#include <inttypes.h>

#include "base/plural.h"
#include "cmd/info_print.h"
#include "cmd/print.h"
#include "session/names.h"
#include "stream/loss.h"

static void print_domain(const struct input_info *s, uint32_t domain)
{
	const char *sep = "";
	for (unsigned k = 0; k < EBT_KINDS; k++) {
		if (!s->by_domain[domain][k])
			continue;
		if (!*sep)
			print("  domain %-3" PRIu32 " ", s->ring.first_domain + domain);
		print("%s%s %" PRIu64, sep, kinds_name((uint16_t)k), s->by_domain[domain][k]);
		sep = ", ";
	}
	if (*sep)
		print("\n");
}

void info_ring_text(const struct input_info *s, const struct session *session)
{
	const struct ebt_cursor_info *i = &s->ring;
	(void)session;
	print("%s: ring file of %s%s", s->name, i->producer,
	      i->release_assumed ? " (assumed)" : "");
	if (*i->runtime)
		print(", runtime %s", i->runtime);
	if (i->pid)
		print(", process %" PRIu64, i->pid);
	print("\n");
	print("  rings      %" PRIu32 " of %" PRIu32 " words\n", i->max_domains, i->ring_words);
	print("  events     %" PRIu64 "\n", i->events);
	info_print_span(s->has_time, s->first_ns, s->last_ns);
	info_print_losses(&s->losses);
	if (s->damages)
		print("  damage     %" PRIu32 " place%s, at byte", s->damages, plural(s->damages));
	else
		print("  damage     none");
	for (uint32_t d = 0; d < s->damages && d < INPUT_INFO_DAMAGES; d++)
		print(" %" PRIu64, s->damage_offset[d]);
	print(s->damages > INPUT_INFO_DAMAGES ? " ...\n" : "\n");
	for (uint32_t d = 0; d < s->ring.max_domains; d++)
		print_domain(s, d);
}

static void put_json_domains(struct json *j, const struct input_info *s)
{
	json_key_open(j, "domains", '[');
	for (uint32_t d = 0; d < s->ring.max_domains; d++) {
		bool any = false;
		for (unsigned k = 0; k < EBT_KINDS; k++) {
			if (!s->by_domain[d][k])
				continue;
			if (!any) {
				json_open(j, '{');
				json_key_u64(j, "domain", s->ring.first_domain + d);
			}
			any = true;
			json_key_u64(j, kinds_name((uint16_t)k), s->by_domain[d][k]);
		}
		if (any)
			json_close(j, '}');
	}
	json_close(j, ']');
}

void info_ring_json(const struct input_info *s, const struct session *session)
{
	const struct ebt_cursor_info *i = &s->ring;
	const struct totals *l = &s->losses;
	(void)session;
	struct json_line line;
	struct json *j = &line.json;
	print_json_begin(&line);
	json_open(j, '{');
	json_key_str(j, "name", s->name);
	json_key_str(j, "format", "ring");
	json_key_str(j, "producer", i->producer);
	json_key_bool(j, "producer_assumed", i->release_assumed);
	json_key_str(j, "runtime", i->runtime);
	json_key_u64(j, "pid", i->pid);
	json_key_u64(j, "rings", i->max_domains);
	json_key_u64(j, "ring_words", i->ring_words);
	json_key_u64(j, "events", i->events);
	json_key_known(j, "first_ns", s->has_time, s->first_ns);
	json_key_known(j, "last_ns", s->has_time, s->last_ns);
	json_key_known(j, "lost_events", !l->lost_uncounted, l->lost_events);
	json_key_u64(j, "lost_words", l->lost_words);
	json_key_known(j, "history_events", !l->history_uncounted, l->history_events);
	json_key_u64(j, "history_words", l->history_words);
	json_key_u64(j, "damaged", s->damages);
	put_json_domains(j, s);
	json_close(j, '}');
	print_json_end(&line);
}

bool info_ring_lossy(const struct input_info *s, const struct session *session)
{
	(void)session;
	return loss_is_any(&s->losses, false);
}
