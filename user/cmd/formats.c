/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/formats.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "format/chrome/chrome.h"
#include "format/ebt/ebt.h"
#include "format/fxt/fxt.h"
#include "format/memtrace.h"
#include "format/ndjson/ndjson.h"
#include "format/pagetrace.h"
#include "format/perfetto/perfetto.h"
#include "format/text/text.h"

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

static const char *suffix_of(const char *path)
{
	const char *dot = path ? strrchr(path, '.') : NULL;
	return dot && !strchr(dot, '/') ? dot : NULL;
}

/* NULL: no format has it. */
static const struct format *format_of_suffix(const char *suffix)
{
	for (unsigned i = 0; i < FORMATS; i++)
		if (has_suffix(&formats[i], suffix, strlen(suffix)))
			return &formats[i];
	return NULL;
}

const struct format *format_of_path(const char *path)
{
	const char *suffix = suffix_of(path);
	const struct format *f = suffix ? format_of_suffix(suffix) : NULL;
	return f ? f : &formats[0];
}

const char *format_suffix(const char *path)
{
	const char *suffix = suffix_of(path);
	bool hidden =
		suffix && (suffix == path || suffix[-1] == '/'); /* a name that begins with a dot */
	struct stat st;
	if (!suffix || !suffix[1] || hidden || (!stat(path, &st) && !S_ISREG(st.st_mode)))
		return NULL;
	return suffix;
}

bool format_has_suffix(const char *suffix)
{
	return format_of_suffix(suffix);
}

const char *format_suffixes(void)
{
	static char suffixes[256];
	size_t at = 0;
	for (unsigned i = 0; i < FORMATS && at < sizeof(suffixes); i++)
		at += (size_t)snprintf(suffixes + at, sizeof(suffixes) - at, "%s%s", i ? " " : "",
				       formats[i].suffixes);
	return suffixes;
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
