/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/print.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "cmd/commands.h"
#include "cmd/message.h"

#define JSON_BYTES 4096

static bool out_of_memory;

void print_no_memory(void)
{
	out_of_memory = true;
}

void print(const char *fmt, ...)
{
	char *text;
	va_list ap;
	va_start(ap, fmt);
	int n = vasprintf(&text, fmt, ap);
	va_end(ap);
	if (n < 0) {
		out_of_memory = true;
		return;
	}
	size_t formatted = strlen(fmt);
	bool is_line = formatted && fmt[formatted - 1] == '\n';
	if (is_line)
		text[n - 1] = 0;
	utf8_disarm(text);
	fputs(text, stdout);
	if (is_line)
		putchar('\n');
	free(text);
}

void print_json_begin(struct json_line *l)
{
	*l = (struct json_line){0};
	if (buf_init(&l->buf, -1, JSON_BYTES)) {
		complain("%s", strerror(ENOMEM));
		exit(EXIT_ERROR);
	}
	l->json.out = &l->buf;
}

void print_json_end(struct json_line *l)
{
	out_of_memory |= l->buf.err != 0;
	fwrite(l->buf.data, 1, l->buf.len, stdout);
	putchar('\n');
	buf_done(&l->buf);
}

int print_end(void)
{
	if (!fflush(stdout) && !ferror(stdout) && !out_of_memory)
		return 0;
	complain("cannot write: %s", strerror(out_of_memory ? ENOMEM : errno));
	return EXIT_ERROR;
}

int print_schema(void (*put)(struct json *j))
{
	struct json_line line;
	print_json_begin(&line);
	put(&line.json);
	print_json_end(&line);
	return print_end();
}
