/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The reports of the commands on standard output. They show names of files, programs and events,
 * which are anybody's: whatever the arguments hold, no control character but the newline that ends
 * a line reaches the output, and all of it is UTF-8. Nothing else in cmd/ writes such reports.
 */
#ifndef CMD_PRINT_H
#define CMD_PRINT_H

#include "base/json.h"

/* As printf(), but control characters become question marks, other than a newline at the end of
 * the format. */
void print(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* A line of JSON: json_begin() makes the buffer that print_json() prints and gives back. */
struct json_line {
	struct json json;
	struct buf buf;
};
void print_json_begin(struct json_line *l);
void print_json_end(struct json_line *l);

/* Writes what stdio still holds. 0, or EXIT_ERROR after a line on stderr: some of it is missing. */
int print_end(void);

#endif
