/* SPDX-License-Identifier: BSD-2-Clause */
/* Pieces of the JSON Schemas of reports. */
#ifndef REPORT_SCHEMA_H
#define REPORT_SCHEMA_H

#include "base/json.h"

/* What a value is. */
#define SCHEMA_COUNT	   "{\"type\":\"integer\",\"minimum\":0}"
#define SCHEMA_KNOWN	   "{\"type\":[\"integer\",\"null\"],\"minimum\":0}"
#define SCHEMA_STRING	   "{\"type\":\"string\"}"
#define SCHEMA_NUMBER	   "{\"type\":[\"number\",\"null\"],\"minimum\":0}"
#define SCHEMA_SHARE	   "{\"type\":[\"number\",\"null\"],\"minimum\":0,\"maximum\":100}"
#define SCHEMA_TRUTH	   "{\"type\":\"boolean\"}"
#define SCHEMA_REF(name)   "{\"$ref\":\"#/$defs/" name "\"}"
#define SCHEMA_MAYBE(name) "{\"oneOf\":[{\"type\":\"null\"}," SCHEMA_REF(name) "]}"
#define SCHEMA_LIST(name)  "{\"type\":\"array\",\"items\":" SCHEMA_REF(name) "}"
#define SCHEMA_STRINGS	   "{\"type\":\"array\",\"items\":" SCHEMA_STRING "}"
#define SCHEMA_CONST(v)	   "{\"const\":" v "}"

/* A key of an object, and what its value is. */
struct schema_key {
	const char *name, *schema; /* NULL: behind the last one */
};

/*
 * Writes the schema of an object as a member of that name. It has the keys of its lists, which NULL
 * ends, in their order, and no others; those of lists that are among `optional`, which NULL ends,
 * too, may be absent. NULL: none may.
 */
void schema_object(struct json *j, const char *name, const struct schema_key *const lists[],
		   const struct schema_key *const optional[]);

/* An object of a schema: its name in $defs, and its lists. */
#define SCHEMA_LISTS 8
struct schema_part {
	const char *name;
	const struct schema_key *lists[SCHEMA_LISTS]; /* as schema_object() has them */
};

/*
 * Writes a JSON Schema with these objects, as a value: the first `roots` of them are what a
 * document may be. put_more, unless it is NULL, writes further members of $defs.
 */
void schema_put(struct json *j, const char *title, const struct schema_part *part, size_t parts,
		size_t roots, const struct schema_key *const optional[],
		void (*put_more)(struct json *j));

#endif
