/* SPDX-License-Identifier: BSD-2-Clause */
/* ebtrace info of a Go page trace. */
#include <inttypes.h>

#include "base/plural.h"
#include "cmd/info_print.h"
#include "cmd/print.h"

void info_pagetrace_text(const struct input_info *i, const struct session *session)
{
	const struct totals *t = &session->totals;
	const struct ebt_pagetrace_counts *n = &i->pagetrace;
	print("%s: Go page trace, pages of %d bytes\n", i->name, EBT_PAGETRACE_PAGE_BYTES);
	print("  events     %" PRIu64 ": %" PRIu64 " page_alloc, %" PRIu64 " page_free, %" PRIu64
	      " page_scavenge\n",
	      t->events, i->kinds[EBT_PAGE_ALLOC], i->kinds[EBT_PAGE_FREE],
	      i->kinds[EBT_PAGE_SCAVENGE]);
	info_print_span(t->timed, t->first_ns, t->last_ns);
	print("  blocks     %" PRIu64 "%s\n", n->blocks,
	      n->has_boot ? "" : ", none of P -1: the program did not end by itself");
	if (t->damaged)
		print("  damage     %" PRIu64 " place%s, %" PRIu64 " byte%s, %s\n", t->damaged,
		      plural(t->damaged), n->damaged_bytes, plural(n->damaged_bytes), i->reason);
	else
		print("  damage     none\n");
}

void info_pagetrace_json(const struct input_info *i, const struct session *session)
{
	const struct ebt_pagetrace_counts *n = &i->pagetrace;
	struct json_line line;
	struct json *j = &line.json;
	print_json_begin(&line);
	json_open(j, '{');
	json_key_str(j, "name", i->name);
	json_key_str(j, "format", "pagetrace");
	json_key_u64(j, "page_bytes", EBT_PAGETRACE_PAGE_BYTES);
	totals_put_json(j, &session->totals, true);
	json_key_u64(j, "blocks", n->blocks);
	json_key_u64(j, "damaged_bytes", n->damaged_bytes);
	json_key_bool(j, "has_boot", n->has_boot);
	info_put_json_kinds(j, i);
	json_close(j, '}');
	print_json_end(&line);
}

bool info_pagetrace_lossy(const struct input_info *i, const struct session *session)
{
	(void)i;
	return session->totals.damaged;
}
