/* SPDX-License-Identifier: BSD-2-Clause */
#include "report/schema.h"

#include <stdio.h>

static bool is_among(const struct schema_key *list, const struct schema_key *const lists[])
{
	while (lists && *lists && *lists != list)
		lists++;
	return lists && *lists;
}

void schema_object(struct json *j, const char *name, const struct schema_key *const lists[],
		   const struct schema_key *const optional[])
{
	json_key_open(j, name, '{');
	json_key_str(j, "type", "object");
	json_key_bool(j, "additionalProperties", false);
	json_key_open(j, "required", '[');
	for (unsigned i = 0; lists[i]; i++)
		for (const struct schema_key *k = lists[i];
		     k->name && !is_among(lists[i], optional); k++)
			json_string(j, k->name, strlen(k->name));
	json_close(j, ']');
	json_key_open(j, "properties", '{');
	for (unsigned i = 0; lists[i]; i++) {
		for (const struct schema_key *k = lists[i]; k->name; k++) {
			json_key(j, k->name);
			json_raw(j, k->schema);
		}
	}
	json_close(j, '}');
	json_close(j, '}');
}

static void put_root(struct json *j, const char *name)
{
	char ref[80];
	snprintf(ref, sizeof(ref), SCHEMA_REF("%s"), name);
	json_raw(j, ref);
}

void schema_put(struct json *j, const char *title, const struct schema_part *part, size_t parts,
		size_t roots, const struct schema_key *const optional[],
		void (*put_more)(struct json *j))
{
	json_open(j, '{');
	json_key_str(j, "$schema", "https://json-schema.org/draft/2020-12/schema");
	json_key_str(j, "title", title);
	json_key_open(j, "oneOf", '[');
	for (size_t i = 0; i < roots; i++)
		put_root(j, part[i].name);
	json_close(j, ']');
	json_key_open(j, "$defs", '{');
	for (size_t i = 0; i < parts; i++)
		schema_object(j, part[i].name, part[i].lists, optional);
	if (put_more)
		put_more(j);
	json_close(j, '}');
	json_close(j, '}');
}
