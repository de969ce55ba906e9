/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/info_print.h"

#include <inttypes.h>

#include "base/plural.h"
#include "cmd/print.h"
#include "session/kinds.h"

void info_print_span(bool known, uint64_t first_ns, uint64_t last_ns)
{
	if (known)
		print("  time span  %.6f s, from %" PRIu64 " ns\n",
		      (double)(last_ns - first_ns) / 1e9, first_ns);
	else
		print("  time span  not known\n");
}

static void print_loss(const char *name, bool known, uint64_t events, uint64_t words)
{
	print("  %-11s", name);
	if (!known)
		print("events unknown, ");
	else if (events)
		print("%" PRIu64 " event%s, ", events, plural(events));
	print("%" PRIu64 " word%s\n", words, plural(words));
}

void info_print_losses(const struct totals *t)
{
	print_loss("lost", !t->lost_uncounted, t->lost_events, t->lost_words);
	if (t->history_events || t->history_words || t->history_uncounted)
		print_loss("before", !t->history_uncounted, t->history_events, t->history_words);
}

void info_put_json_kinds(struct json *j, const struct input_info *i)
{
	json_key_open(j, "kinds", '{');
	for (unsigned k = 0; k < EBT_KINDS; k++)
		if (i->kinds[k])
			json_key_u64(j, kinds_name((uint16_t)k), i->kinds[k]);
	json_close(j, '}');
}

static const char *text(const struct session *session, uint32_t string)
{
	const char *s = strings_text(session->strings, string);
	return s ? s : "";
}

void info_print_alloc_trace(const struct alloc_trace *t, const struct session *session)
{
	print("  program    %s\n", text(session, t->executable));
	print("  host       %s\n", text(session, t->host));
	if (*text(session, t->context))
		print("  context    %s\n", text(session, t->context));
	print("  parameters %s\n", text(session, t->parameters));
	if (alloc_trace_has_weights(t, session->strings))
		print("  sampled    at a rate that is not known, with weights\n");
	else
		print("  sampled    %g of each %s, of %u bits\n", t->sample_rate,
		      t->word_bits == 8 ? "byte" : "word", t->word_bits);
}

void info_put_json_alloc_trace(struct json *j, const struct alloc_trace *t,
			       const struct session *session)
{
	json_key_str(j, "executable", text(session, t->executable));
	json_key_str(j, "host", text(session, t->host));
	json_key_str(j, "runtime_params", text(session, t->parameters));
	json_key_str(j, "context", text(session, t->context));
	json_key_exact(j, "sample_rate", t->sample_rate);
	json_key_u64(j, "word_bits", t->word_bits);
}
