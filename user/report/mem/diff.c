/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/mem/diff.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/plural.h"
#include "report/mem/format.h"
#include "report/mem/json.h"
#include "session/display_names.h"

/* Names of enum mem_per; what an amount is. */
static const char *const per_names[] = {"run", "time", "alloc"};
static const char *const units[] = {"bytes", "bytes/s", "percent"};

int mem_diff_before(struct buf *b, const struct mem_view *v)
{
	(void)b;
	return mem_diff_add(v->opt.diff, MEM_DIFF_BEFORE, v->model);
}

static struct report_text amount_text(const struct mem_diff *d, double amount)
{
	struct report_text t;
	if (d->per == MEM_PER_ALLOC)
		snprintf(t.text, sizeof(t.text), "%.2f %%", amount);
	else
		snprintf(t.text, sizeof(t.text), "%.20s%s", report_bytes_text(amount).text,
			 d->per == MEM_PER_TIME ? "/s" : "");
	return t;
}

static struct report_text change_text(const struct mem_diff *d, double change)
{
	struct report_text t;
	snprintf(t.text, sizeof(t.text), "%s%.30s", change < 0 ? "-" : "+",
		 amount_text(d, fabs(change)).text);
	return t;
}

static void put_numbers(struct buf *b, const struct mem_diff *d, const struct mem_difference *n)
{
	const struct mem_amount *before = &n->value[MEM_DIFF_BEFORE],
				*after = &n->value[MEM_DIFF_AFTER];
	char ratio[32] = "-", interval[72] = "exact";
	if (before->bytes > 0)
		snprintf(ratio, sizeof(ratio), "%.2f", after->bytes / before->bytes);
	if (!isfinite(n->change.low) || !isfinite(n->change.high))
		snprintf(interval, sizeof(interval), "not known");
	else if (n->change.low < n->change.high)
		snprintf(interval, sizeof(interval), "%.30s to %.30s",
			 change_text(d, n->change.low).text, change_text(d, n->change.high).text);
	report_print(b, "%13s  %13s  %14s  %30s  %8s  %-6s", amount_text(d, before->bytes).text,
		     amount_text(d, after->bytes).text, change_text(d, n->change.bytes).text,
		     interval, ratio, n->is_noise ? "noise" : "");
}

static const char *mark_of(const struct mem_diff_site *s)
{
	return !s->has[MEM_DIFF_BEFORE] ? "new  " : !s->has[MEM_DIFF_AFTER] ? "gone " : "     ";
}

/* Whether a site is listed without --top: its change is a part of either side's total. */
static bool matters(const struct mem_diff *d, const struct mem_diff_site *s)
{
	double whole = 0;
	for (unsigned i = 0; i < MEM_DIFF_SIDES; i++)
		if (d->total.value[i].bytes > whole)
			whole = d->total.value[i].bytes;
	return fabs(s->difference.change.bytes) > MEM_SHARE_MIN * whole;
}

static void put_sites(struct buf *b, const struct mem_diff *d, struct display_names *names,
		      uint32_t top)
{
	uint32_t i = 0;
	for (; i < d->sites && (top ? i < top : matters(d, &d->site[i])); i++) {
		const struct mem_diff_site *s = &d->site[i];
		const char *file = strings_text(d->strings, s->file);
		put_numbers(b, d, &s->difference);
		buf_puts(b, mark_of(s));
		buf_put_plain(b, strings_text(d->strings, display_name(names, s->name)));
		if (file) {
			buf_puts(b, " (");
			buf_put_plain(b, file);
			buf_puts(b, ")");
		}
		buf_puts(b, "\n");
	}
	if (i < d->sites)
		report_print(b, "%" PRIu32 " more site%s%s\n", d->sites - i, plural(d->sites - i),
			     top ? "" : " with changes of at most 0.5 % of the total");
}

static void put_side(struct buf *b, const struct mem_diff *d, unsigned side, const char *title)
{
	const struct mem_diff_side *s = &d->side[side];
	const char *program = strings_text(d->strings, s->program);
	report_print(b, "%s: ", title);
	buf_put_plain(b, program ? program : "no allocation");
	report_print(b, ", %s %s (%s) %s %s\n", report_bytes_text(s->bytes.bytes).text,
		     d->live ? "alive" : "allocated", mem_interval_text(&s->bytes).text,
		     d->live ? "at" : "in", report_ns_text((double)s->elapsed_ns).text);
}

/* Adds the second side. 0 or -ENOMEM. */
static int finish(const struct mem_view *v)
{
	int err = mem_diff_add(v->opt.diff, MEM_DIFF_AFTER, v->model);
	if (!err)
		mem_diff_finish(v->opt.diff);
	return err;
}

int mem_diff_text(struct buf *b, const struct mem_view *v)
{
	const struct mem_diff *d = v->opt.diff;
	struct display_names *names;
	int err = finish(v);
	if (!err)
		err = display_names_new(d->strings, &names);
	if (err)
		return err;
	put_side(b, d, MEM_DIFF_BEFORE, "before");
	put_side(b, d, MEM_DIFF_AFTER, "after ");
	buf_puts(b, "\n       before          after          change"
		    "                     95 % interval     ratio         allocated at\n");
	put_numbers(b, d, &d->total);
	buf_puts(b, "     (all)\n");
	put_sites(b, d, names, v->opt.top);
	display_names_free(names);
	return 0;
}

static void put_difference(struct json *j, const struct mem_difference *n)
{
	const struct mem_amount *before = &n->value[MEM_DIFF_BEFORE];
	const struct {
		const char *key;
		const struct mem_amount *amount;
	} members[] = {
		{"before", before}, {"after", &n->value[MEM_DIFF_AFTER]}, {"change", &n->change}};
	for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++) {
		json_key_open(j, members[i].key, '{');
		mem_json_value(j, members[i].amount);
		json_close(j, '}');
	}
	if (before->bytes > 0)
		json_key_double(j, "ratio", n->value[MEM_DIFF_AFTER].bytes / before->bytes);
	else
		json_key_null(j, "ratio");
	json_key_bool(j, "noise", n->is_noise);
}

static void put_side_json(struct json *j, const struct mem_diff *d, unsigned side, const char *key)
{
	const struct mem_diff_side *s = &d->side[side];
	const char *program = strings_text(d->strings, s->program);
	json_key_open(j, key, '{');
	json_key(j, "program");
	if (program)
		json_string(j, program, strlen(program));
	else
		json_raw(j, "null");
	json_key_u64(j, "elapsed_ns", s->elapsed_ns);
	mem_json_amount(j, &s->bytes);
	json_close(j, '}');
}

static void put_sites_json(struct json *j, const struct mem_diff *d, struct display_names *names,
			   uint32_t top)
{
	json_key_open(j, "sites", '[');
	for (uint32_t i = 0; i < d->sites && (!top || i < top); i++) {
		const struct mem_diff_site *s = &d->site[i];
		json_open(j, '{');
		mem_json_name(j, strings_text(d->strings, display_name(names, s->name)),
			      strings_text(d->strings, s->name), strings_text(d->strings, s->file));
		json_key_bool(j, "in_before", s->has[MEM_DIFF_BEFORE]);
		json_key_bool(j, "in_after", s->has[MEM_DIFF_AFTER]);
		put_difference(j, &s->difference);
		json_close(j, '}');
	}
	json_close(j, ']');
}

int mem_diff_json(struct buf *b, const struct mem_view *v)
{
	const struct mem_diff *d = v->opt.diff;
	struct display_names *names;
	struct json j;
	int err = finish(v);
	if (!err)
		err = display_names_new(d->strings, &names);
	if (err)
		return err;
	mem_json_begin(&j, b, "diff");
	json_key_str(&j, "of", d->live ? "live" : "allocated");
	json_key_str(&j, "per", per_names[d->per]);
	json_key_str(&j, "unit", units[d->per]);
	put_side_json(&j, d, MEM_DIFF_BEFORE, "before");
	put_side_json(&j, d, MEM_DIFF_AFTER, "after");
	json_key_open(&j, "total", '{');
	put_difference(&j, &d->total);
	json_close(&j, '}');
	put_sites_json(&j, d, names, v->opt.top);
	mem_json_end(&j);
	display_names_free(names);
	return 0;
}
