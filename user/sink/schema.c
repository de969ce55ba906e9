/* SPDX-License-Identifier: BSD-2-Clause */
#include "sink/schema.h"

void schema_object(struct json *j, const char *name, const struct schema_key *const lists[],
		   const struct schema_key *optional)
{
	json_key_open(j, name, '{');
	json_key_str(j, "type", "object");
	json_key_bool(j, "additionalProperties", false);
	json_key_open(j, "required", '[');
	for (unsigned i = 0; lists[i]; i++)
		for (const struct schema_key *k = lists[i]; k->name && lists[i] != optional; k++)
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
