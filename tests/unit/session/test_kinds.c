/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The table of kinds: what each row must hold for every output to show it, and what the codec of
 * captures makes of the same list.
 */
#include "codec/capture/block.h"
#include "session/names.h"
#include "tests/tap.h"

static bool uses(const struct kind *kind, enum kinds_field field)
{
	for (const struct kinds_arg *a = kind->args; a->name; a++)
		if (a->field == field)
			return true;
	return false;
}

/* The first kind below `limit` that has an argument of this name, or NULL. */
static const struct kinds_arg *earlier(uint16_t limit, const char *name)
{
	for (uint16_t k = 0; k < limit; k++)
		for (const struct kinds_arg *a = kinds_get(k)->args; a->name; a++)
			if (!strcmp(a->name, name))
				return a;
	return NULL;
}

static void check_row(uint16_t k)
{
	const struct kind *kind = kinds_get(k);
	uint64_t fields = 0;
	bool once = true, one_type = true;
	for (const struct kinds_arg *a = kind->args; a->name; a++) {
		const struct kinds_arg *other = earlier(k, a->name);
		once = once && !(fields & 1ull << a->field);
		fields |= 1ull << a->field;
		one_type = one_type && (!other || (other->type == KINDS_TYPE_hex) ==
							  (a->type == KINDS_TYPE_hex));
	}
	ok(*kind->help && kind->family != KINDS_NO_FAMILY, "%s has a help text and a family",
	   kind->name);
	ok(once, "%s: each field holds one argument", kind->name);
	ok(one_type, "%s: an argument's name means one type in all kinds", kind->name);
	ok(!uses(kind, KINDS_FIELD_id) || kind->label == KINDS_LABEL_none,
	   "%s: id is its name or an argument", kind->name);
	ok(!kind->payload || !(uses(kind, KINDS_FIELD_arg0) || uses(kind, KINDS_FIELD_arg1)),
	   "%s: a payload's number and length are in arg", kind->name);
	bool in_ring = kind->family == KINDS_runtime || kind->family == KINDS_user;
	ok(!in_ring || !(fields & (1ull << KINDS_FIELD_seq | 1ull << KINDS_FIELD_size |
				   1ull << KINDS_FIELD_pos)),
	   "%s: what is in rings keeps seq, size and pos to itself", kind->name);
	ok((kinds_pos(&(struct ebt_event){.kind = k}) == EBT_NO_POS) == uses(kind, KINDS_FIELD_pos),
	   "%s: whether pos is an argument", kind->name);
}

static void check_names(void)
{
	unsigned kinds = 0, distinct = 0;
	for (uint16_t k = 0; k < EBT_KINDS; k++) {
		bool is_new = true;
		if (!kinds_get(k)->name)
			continue;
		for (uint16_t before = 0; before < k; before++)
			is_new = is_new && strcmp(kinds_name(before), kinds_name(k));
		kinds++;
		distinct += is_new;
	}
	ok(kinds >= 19, "all kinds are in the table");
	is(distinct, kinds, "no two kinds have one name");
	is_str(kinds_name(EBT_KIND_NONE), "unknown", "0 is no kind");
	is_str(kinds_name(63), "unknown", "nor is a number without a row");
	is_str(kinds_name(UINT16_MAX), "unknown", "nor one beyond the table");
}

static void check_codec(void)
{
	unsigned known = 0, counted = 0;
	for (uint16_t k = 0; k < EBT_KINDS; k++) {
		const struct kind *kind = kinds_get(k);
		known += capture_knows(k) == (kind->name != NULL);
		counted += capture_counts(k) == (kind->family != KINDS_stream);
	}
	is(known, EBT_KINDS, "a capture knows the kinds of the table");
	is(counted, EBT_KINDS, "and counts all but those of the stream");
	ok(!capture_knows(EBT_KINDS) && !capture_knows(UINT16_MAX), "a larger number is no kind");
}

static void check_text(enum kinds_type type, uint64_t value, const char *text)
{
	struct kinds_arg a = {.type = (uint8_t)type};
	char scratch[KINDS_TEXT_BYTES];
	is_str(kinds_arg_text(&a, value, scratch), text, text);
}

static void check_args(void)
{
	struct ebt_event ev = {.kind = EBT_ALLOC,
			       .id = EBT_ALLOC_MAJOR,
			       .seq = 3,
			       .size = 5,
			       .pos = 7,
			       .arg = {11, 13}};
	static const uint64_t values[] = {11, 13, 7, EBT_ALLOC_MAJOR, 3, 5};
	const struct kinds_arg *a = kinds_get(EBT_ALLOC)->args;
	for (unsigned i = 0; i < 6 && a->name; i++, a++)
		ok(kinds_arg_value(&ev, a) == values[i], "alloc's %s", a->name);
	ok(!a->name, "alloc has six arguments");
	check_text(KINDS_TYPE_u64, UINT64_MAX, "18446744073709551615");
	check_text(KINDS_TYPE_i64, (uint64_t)INT64_MIN, "-9223372036854775808");
	check_text(KINDS_TYPE_hex, 0xc000123000, "0xc000123000");
	check_text(KINDS_TYPE_alloc_source, EBT_ALLOC_MAJOR, "major");
	check_text(KINDS_TYPE_alloc_source, 3, "unknown");
	check_text(KINDS_TYPE_page_cause, EBT_PAGE_FORK, "fork");
	check_text(KINDS_TYPE_page_cause, 10, "unknown");
	check_text(KINDS_TYPE_offcpu_reason, EBT_OFFCPU_FAULT, "page_fault");
	check_text(KINDS_TYPE_offcpu_reason, 6, "unknown");
	check_text(KINDS_TYPE_phase, 11, "minor");
	check_text(KINDS_TYPE_phase, EBT_UNKNOWN_ID, "unknown");
	check_text(KINDS_TYPE_syscall, 1, "0");
	const struct kinds_arg *child = kinds_get(EBT_PROCESS)->args;
	ev = (struct ebt_event){.kind = EBT_PROCESS, .arg = {0, 1}};
	ok(!kinds_arg_is_present(&ev, child), "an optional argument that is 0 is absent");
	ev.arg[0] = 9;
	ok(kinds_arg_is_present(&ev, child), "one that is not 0 is there");
}

static void check_ids(void)
{
	is(kinds_counter_unit(5), KINDS_UNIT_bytes, "minor_allocated is in bytes");
	is(kinds_counter_unit(26), KINDS_UNIT_words, "minor_allocated_words is in words");
	is(kinds_counter_unit(0), KINDS_UNIT_count, "forced collections are counted");
	is(kinds_counter_unit(UINT32_MAX), KINDS_UNIT_count, "a counter that no table knows");
	unsigned run = 0;
	for (uint32_t id = 0; kinds_phase_name(id); id++)
		run += !kinds_phase_stops(id);
	is(run, 1, "the mutator runs in one phase");
	ok(!kinds_phase_stops(42), "in domain_condition_wait");
	ok(kinds_phase_stops(UINT32_MAX), "a phase that no table knows stops it");
}

int main(void)
{
	for (uint16_t k = 0; k < EBT_KINDS; k++)
		if (kinds_get(k)->name)
			check_row(k);
	check_names();
	check_codec();
	check_args();
	check_ids();
	return tap_done();
}
