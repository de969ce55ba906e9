/* SPDX-License-Identifier: BSD-2-Clause */
#include "runtime/marker_args.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "elf/usdt_args.h"
#include "runtime/marker_operands.h"

/* Words of events.def. */
static const struct {
	const char *word;
	enum marker_operand operand;
} words[] = {
	{"id", MARKER_ID},	   {"phase", MARKER_ID},      {"event", MARKER_ID},
	{"name", MARKER_NAME},	   {"value", MARKER_VALUE},   {"data", MARKER_VALUE},
	{"payload", MARKER_VALUE}, {"buckets", MARKER_VALUE}, {"bytes", MARKER_LENGTH},
	{"count", MARKER_LENGTH},  {"ring", MARKER_RING},     {"ts", MARKER_TS},
	{"pos", MARKER_POS},	   {"object", MARKER_VALUE},  {"words", MARKER_LENGTH},
	{"samples", MARKER_NAME},  {"source", MARKER_ID},     {"address", MARKER_VALUE},
	{"pages", MARKER_LENGTH},
};

static const struct {
	const char *name, *args;
} markers[] = {
#define EBT_MARKER(name, KIND, args) {#name, args " ring ts pos"},
#include <ebtrace/events.def>
	{"ring_request", ""},
	{"ring_start", "name ts"},
	{"ring_stop", "name ts"},
	{"watermark", "ring ts pos"},
};

static const char *operand_of(const char *word, size_t bytes)
{
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strlen(words[i].word) == bytes && !memcmp(words[i].word, word, bytes))
			return marker_operands[words[i].operand];
	return "?"; /* no site matches that */
}

bool marker_args_expected(const char *name, char *ret_text)
{
	size_t i = 0, room = MARKER_ARGS_BYTES, count = sizeof(markers) / sizeof(*markers);
	while (i < count && strcmp(markers[i].name, name))
		i++;
	*ret_text = 0;
	if (i == count)
		return false;
	for (const char *word = markers[i].args; *word;) {
		size_t bytes = strcspn(word, " ");
		int n = snprintf(ret_text, room, "%s%s", word == markers[i].args ? "" : " ",
				 operand_of(word, bytes));
		ret_text += n;
		room -= (size_t)n;
		word += bytes + (word[bytes] == ' ');
	}
	return true;
}

bool marker_args_match(const struct notes_site *site)
{
	char text[MARKER_ARGS_BYTES];
	struct usdt_args want, has;
	if (!marker_args_expected(site->name, text) || usdt_args_parse(text, &want, NULL) ||
	    usdt_args_parse(site->args, &has, NULL) || want.count != has.count)
		return false;
	for (unsigned i = 0; i < want.count; i++) {
		const struct usdt_arg *a = &want.arg[i], *b = &has.arg[i];
		if (b->where != USDT_REGISTER || a->reg != b->reg || a->size != b->size ||
		    b->is_float)
			return false;
	}
	return true;
}
