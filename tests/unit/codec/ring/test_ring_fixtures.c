/* SPDX-License-Identifier: BSD-2-Clause */
/* Every ring of a real OCaml program reads as OCaml's own reader of that release reads it. */
#include "tests/tap.h"
#include "tests/unit/ring_fixture.h"

#include <glob.h>
#include <stdbool.h>

#define RINGS 128

struct dump {
	struct ebt_cursor *c;
	FILE *out[RINGS]; /* the truth is ring by ring; rings take turns here */
	char *text[RINGS];
	size_t bytes[RINGS];
	size_t events;
};

static int print(const struct ebt_event *ev, const void *payload, size_t bytes, void *ctx)
{
	struct dump *d = ctx;
	const char *name = ev->kind == EBT_CUSTOM ? ebt_cursor_user_name(d->c, ev->id) : NULL;
	d->events++;
	/* OCaml drops what it has no decoder for. */
	if (ev->kind == EBT_CUSTOM &&
	    (!name || (strcmp(name, "app.point") && strcmp(name, "app.str"))))
		return 0;
	FILE **out = &d->out[ev->domain];
	if (!*out)
		*out = open_memstream(&d->text[ev->domain], &d->bytes[ev->domain]);
	fixture_print(*out, d->c, ev, payload, bytes);
	return 0;
}

/* The truth without its id column, and without the garbage that 5.1 prints for ring_stop. */
static char *truth(const char *name, bool old)
{
	char cmd[512], *text = NULL;
	size_t n = 0;
	snprintf(cmd, sizeof(cmd),
		 "xz -dc 'tests/data/%s' | awk -F'\\t' -v OFS='\\t' -v old=%d "
		 "'{ if ($5 == \"ring_stop\" && old) $6 = \"none\"; print $1, $2, $3, $5, $6 }'",
		 name, old);
	FILE *f = popen(cmd, "r");
	FILE *out = open_memstream(&text, &n);
	for (int ch; (ch = fgetc(f)) != EOF;)
		fputc(ch, out);
	fclose(out);
	return pclose(f) ? NULL : text;
}

static void first_difference(const char *got, const char *want)
{
	while (*got && *want) {
		size_t g = strcspn(got, "\n"), w = strcspn(want, "\n");
		if (g != w || memcmp(got, want, g)) {
			diag("got      %.*s", (int)g, got);
			diag("expected %.*s", (int)w, want);
			return;
		}
		got += g + (got[g] != 0);
		want += w + (want[w] != 0);
	}
	diag("one ends early: got '%.40s', expected '%.40s'", got, want);
}

static void check(const char *release_dir, const char *name, enum ebt_release release)
{
	char path[256], reason[EBT_REASON_BYTES] = "", *text = NULL;
	size_t n = 0;
	struct dump d = {0};
	snprintf(path, sizeof(path), "%s/%s.events.xz", release_dir, name);
	int err = ebt_cursor_open_fd(fixture_fd(path), path, release, &d.c, reason);
	if (!ok(!err, "%s opens", path)) {
		diag("%s", reason);
		return;
	}
	FILE *all = open_memstream(&text, &n);
	ssize_t got = ebt_cursor_poll(d.c, print, &d, 0);
	for (int i = 0; i < RINGS; i++) {
		if (!d.out[i])
			continue;
		fclose(d.out[i]);
		fputs(d.text[i], all);
		free(d.text[i]);
	}
	fclose(all);
	snprintf(path, sizeof(path), "%s/%s.dump.xz", release_dir, name);
	char *want = truth(path, release <= EBT_RELEASE_OCAML_5_2);
	if (!ok(want && *want && !strcmp(text, want),
		"%s reads as its own release's reader reads it", path))
		first_difference(text, want ? want : "");
	ok(got == (ssize_t)d.events && ebt_cursor_poll(d.c, print, &d, 0) == 0, "%s is read once",
	   path);
	struct ebt_cursor_info info;
	ebt_cursor_info(d.c, &info);
	ok(!info.start_known && !info.start_ns, "%s: when its file was made is not known", name);
	free(text);
	free(want);
	ebt_cursor_close(d.c);
}

/* The events of one ring each, as they came: their time, kind and what they carry. */
struct parts {
	uint64_t sum[RINGS];
	size_t events, until; /* of this poll, and at which the callback ends it; 0: at none */
};

static int add_part(const struct ebt_event *ev, const void *payload, size_t bytes, void *ctx)
{
	struct parts *p = ctx;
	uint64_t *sum = &p->sum[ev->domain % RINGS];
	*sum = (*sum ^ ev->ts ^ (uint64_t)ev->kind << 48 ^ ev->id) * 0x9e3779b97f4a7c15u;
	for (size_t i = 0; i < bytes; i++)
		*sum = (*sum ^ ((const uint8_t *)payload)[i]) * 0x100000001b3u;
	return ++p->events == p->until;
}

/* Polls of few events, which the callback may end early, deliver what one poll does. */
static void check_parts(const char *release_dir, const char *name, enum ebt_release release)
{
	char path[256];
	struct parts whole = {0}, parts = {0};
	struct ebt_cursor *c;
	ssize_t got = 0, all = 0;
	bool right = true;
	char reason[EBT_REASON_BYTES];
	snprintf(path, sizeof(path), "%s/%s.events.xz", release_dir, name);
	if (ebt_cursor_open_fd(fixture_fd(path), path, release, &c, reason))
		abort();
	ebt_cursor_poll(c, add_part, &whole, 0);
	ebt_cursor_close(c);
	if (ebt_cursor_open_fd(fixture_fd(path), path, release, &c, reason))
		abort();
	for (size_t turn = 0; turn == 0 || got > 0; turn++) {
		size_t max = turn % 3 ? 1 + turn % 11 : 0;
		parts.events = 0;
		parts.until = max != 5 ? 1 + turn % 7 : 0;
		got = ebt_cursor_poll(c, add_part, &parts, max);
		right &= got == (ssize_t)parts.events && (!max || parts.events <= max) &&
			 (!parts.until || parts.events <= parts.until);
		all += got;
	}
	ebt_cursor_close(c);
	ok(right && !got, "%s: a poll delivers no more than was asked for, and says how many",
	   path);
	ok(all == (ssize_t)whole.events && !memcmp(parts.sum, whole.sum, sizeof(whole.sum)),
	   "%s: polls of few events deliver what one poll does", path);
}

int main(void)
{
	static const struct {
		const char *dir;
		enum ebt_release release;
	} releases[] = {
		{"ocaml-5.1.1", EBT_RELEASE_OCAML_5_1},
		{"ocaml-5.3.0", EBT_RELEASE_OCAML_5_3},
		{"ocaml-5.5.2", EBT_RELEASE_OCAML_5_5},
	};
	for (size_t i = 0; i < 3; i++) {
		char pattern[256];
		glob_t files;
		snprintf(pattern, sizeof(pattern), "tests/data/%s/*.events.xz", releases[i].dir);
		if (glob(pattern, 0, NULL, &files))
			return ok(0, "%s has fixtures", releases[i].dir), tap_done();
		for (size_t j = 0; j < files.gl_pathc; j++) {
			char *name = strrchr(files.gl_pathv[j], '/') + 1;
			name[strcspn(name, ".")] = 0;
			check(releases[i].dir, name, releases[i].release);
			if (!j)
				check_parts(releases[i].dir, name, releases[i].release);
		}
		globfree(&files);
	}
	return tap_done();
}
