/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the tests of the ring reader share: unpacks a fixture of tests/data into a temporary file,
 * keeping its holes, and prints events as OCaml's reader does (see tests/data/MANIFEST).
 */
#ifndef TESTS_RING_FIXTURE_H
#define TESTS_RING_FIXTURE_H

#include <ebtrace/cursor.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* An unlinked file with what `xz -dc tests/data/NAME` gives; -1: no xz, no file. */
__attribute__((unused)) static int fixture_fd(const char *name)
{
	static const char zero[4096];
	char path[] = "/tmp/ebtrace-ring-XXXXXX", cmd[512], block[4096];
	snprintf(cmd, sizeof(cmd), "xz -dc 'tests/data/%s'", name);
	int fd = mkstemp(path);
	FILE *f = popen(cmd, "r");
	off_t at = 0;
	size_t n;
	if (fd < 0 || !f)
		return -1;
	unlink(path);
	while ((n = fread(block, 1, sizeof(block), f)) > 0) {
		if (memcmp(block, zero, n) && pwrite(fd, block, n, at) != (ssize_t)n)
			abort();
		at += (off_t)n;
	}
	if (ftruncate(fd, at) || pclose(f)) {
		close(fd);
		return -1;
	}
	return fd;
}

static void fixture_value(FILE *out, const struct ebt_event *ev, const void *payload, size_t bytes)
{
	const unsigned char *p = payload;
	switch (ev->kind) {
	case EBT_COUNTER:
	case EBT_INT:
		fprintf(out, "%" PRId64, ev->sarg[0]);
		break;
	case EBT_LIFECYCLE: /* OCaml knows of no value for the others */
		if (ev->id == 0 || (ev->id >= 4 && ev->id != 5))
			fprintf(out, "%" PRId64, ev->sarg[0]);
		else
			fputs("none", out);
		break;
	case EBT_LOST:
		fprintf(out, "%" PRIu64, ev->arg[1]);
		break;
	case EBT_ALLOC_SIZES:
		for (int i = 0; i < EBT_ALLOC_BUCKETS; i++)
			fprintf(out, "%s%" PRIu64, i ? "," : "", ((const uint64_t *)payload)[i]);
		break;
	case EBT_CUSTOM:
		for (size_t i = 0; i < bytes; i++)
			fprintf(out, "%02x", p[i]);
		break;
	case EBT_SPAN_BEGIN:
		fputs("begin", out);
		break;
	case EBT_SPAN_END:
		fputs("end", out);
		break;
	}
}

/* One line of a dump: ring, time, kind, id, name, value. The id is left out: it is the
 * release's. */
__attribute__((unused)) static void fixture_print(FILE *out, struct ebt_cursor *c,
						  const struct ebt_event *ev, const void *payload,
						  size_t bytes)
{
	static const char *const kinds[] = {
		[EBT_BEGIN] = "begin",	     [EBT_END] = "end",
		[EBT_COUNTER] = "counter",   [EBT_LIFECYCLE] = "lifecycle",
		[EBT_ALLOC_SIZES] = "alloc", [EBT_UNIT] = "unit",
		[EBT_INT] = "int",	     [EBT_SPAN_BEGIN] = "span",
		[EBT_SPAN_END] = "span",     [EBT_CUSTOM] = "custom",
		[EBT_LOST] = "lost",	     [EBT_DAMAGE] = "damage",
	};
	const char *name = "?";
	if (ev->kind == EBT_BEGIN || ev->kind == EBT_END)
		name = ebt_phase_name(ev->id);
	else if (ev->kind == EBT_COUNTER)
		name = ebt_counter_name(ev->id);
	else if (ev->kind == EBT_LIFECYCLE)
		name = ebt_lifecycle_name(ev->id);
	else if (ev->kind == EBT_ALLOC_SIZES)
		name = "alloc";
	else if (ev->kind == EBT_LOST)
		name = "lost_words";
	else if (ev->kind >= EBT_UNIT && ev->kind <= EBT_CUSTOM)
		name = ebt_cursor_user_name(c, ev->id);
	if (ev->kind == EBT_LOST)
		fprintf(out, "%u\t-", ev->domain);
	else
		fprintf(out, "%u\t%" PRIu64, ev->domain, ev->ts);
	fprintf(out, "\t%s\t%s\t", kinds[ev->kind], name ? name : "");
	fixture_value(out, ev, payload, bytes);
	fputc('\n', out);
}

#endif
