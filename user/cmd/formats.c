/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/formats.h"

#include <stdio.h>
#include <string.h>

#include "sink/chrome.h"
#include "sink/ebt.h"
#include "sink/fxt.h"
#include "sink/memtrace.h"
#include "sink/ndjson.h"
#include "sink/pagetrace.h"
#include "sink/perfetto.h"
#include "sink/text.h"

static int make_text(struct session *s, int fd, struct sink **ret)
{
	return text_new(s, fd, ret);
}

static int make_ndjson(struct session *s, int fd, struct sink **ret)
{
	return ndjson_new(s, fd, ret);
}

static int make_perfetto(struct session *s, int fd, struct sink **ret)
{
	return perfetto_new(s, fd, ret);
}

static int make_chrome(struct session *s, int fd, struct sink **ret)
{
	return chrome_new(s, fd, ret);
}

static int make_fxt(struct session *s, int fd, struct sink **ret)
{
	return fxt_new(s, fd, ret);
}

static int make_ebt(struct session *s, int fd, struct sink **ret)
{
	return ebt_new(s, fd, ret);
}

static int make_memtrace(struct session *s, int fd, struct sink **ret)
{
	return memtrace_new(s, fd, ret);
}

static int make_pagetrace(struct session *s, int fd, struct sink **ret)
{
	return pagetrace_new(s, fd, ret);
}

static const struct format formats[] = {
	{"text", ".txt .log", FORMAT_LINES, make_text},
	{"ndjson", ".ndjson .jsonl", 0, make_ndjson},
	{"perfetto", ".pftrace .perfetto-trace .perfetto", FORMAT_BINARY, make_perfetto},
	{"chrome", ".json .chrome", 0, make_chrome},
	{"fxt", ".fxt", FORMAT_BINARY, make_fxt},
	{"ebt", ".ebt", FORMAT_BINARY | FORMAT_CAPTURE, make_ebt},
	{"memtrace", ".ctf", FORMAT_BINARY, make_memtrace},
	{"pagetrace", ".pt", FORMAT_BINARY, make_pagetrace},
};

#define FORMATS (sizeof(formats) / sizeof(*formats))

const struct format *format_at(size_t i)
{
	return i < FORMATS ? &formats[i] : NULL;
}

const struct format *format_named(const char *name)
{
	for (unsigned i = 0; i < FORMATS; i++)
		if (!strcmp(formats[i].name, name))
			return &formats[i];
	return NULL;
}

static bool has_suffix(const struct format *f, const char *suffix, size_t len)
{
	for (const char *p = f->suffixes; (p = strstr(p, suffix)); p += len)
		if (p[len] == ' ' || !p[len])
			return true;
	return false;
}

const struct format *format_of_path(const char *path)
{
	const char *dot = path ? strrchr(path, '.') : NULL;
	for (unsigned i = 0; dot && !strchr(dot, '/') && i < FORMATS; i++)
		if (has_suffix(&formats[i], dot, strlen(dot)))
			return &formats[i];
	return &formats[0];
}

const char *format_names(void)
{
	static char names[128];
	size_t at = 0;
	for (unsigned i = 0; i < FORMATS && at < sizeof(names); i++)
		at += (size_t)snprintf(names + at, sizeof(names) - at, "%s%s", i ? ", " : "",
				       formats[i].name);
	return names;
}
