/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The reports of the commands on standard output. They contain names of files, programs and events,
 * which are untrusted: no control character of an argument reaches the output, only the newline
 * that ends a line, and the output is valid UTF-8. Nothing else in cmd/ writes such reports.
 */
#ifndef CMD_PRINT_H
#define CMD_PRINT_H

#include "base/json.h"

/* As printf(), but replaces control characters by question marks, except a newline at the end of
 * the format. */
void print(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* A line of JSON: print_json_begin() makes the buffer that print_json_end() prints and frees. */
struct json_line {
	struct json json;
	struct buf buf;
};
void print_json_begin(struct json_line *l);
void print_json_end(struct json_line *l);
/* Prints the schema that put() writes, and nothing else. Returns as print_end(). */
int print_schema(void (*put)(struct json *j));

/* A part of the report is missing for lack of memory: print_end() reports it. */
void print_no_memory(void);
/* Flushes stdout. 0, or EXIT_ERROR after a line on stderr: output is missing. */
int print_end(void);

#endif
