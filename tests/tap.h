/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * TAP for C tests: one program is one test file for prove. `ok(cond, "a sentence")` counts and
 * prints; tap_done() prints the plan and gives main()'s status. A crash before it is a failure.
 */
#ifndef TESTS_TAP_H
#define TESTS_TAP_H

#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

static int tap_run, tap_failed;

/* So many rounds of the same; a tenth with ASan, which finds in these what it would in all. */
#ifdef __SANITIZE_ADDRESS__
#define TAP_ROUNDS(n) ((n) / 10)
#define TAP_STEP      5 /* of the places in an input that are changed one by one */
#else
#define TAP_ROUNDS(n) (n)
#define TAP_STEP      1
#endif

/* kill() of a child that could not be started would end all processes of the machine. */
__attribute__((unused)) static int kill_child(pid_t pid, int signo)
{
	return pid > 0 ? kill(pid, signo) : -1;
}

__attribute__((format(printf, 1, 2), unused)) static void diag(const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	fputs("# ", stdout);
	vprintf(fmt, ap);
	fputc('\n', stdout);
	va_end(ap);
}

__attribute__((format(printf, 4, 5), unused)) static int tap_ok(int good, const char *file,
								int line, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	printf("%sok %d - ", good ? "" : "not ", ++tap_run);
	vprintf(fmt, ap);
	fputc('\n', stdout);
	va_end(ap);
	if (!good) {
		tap_failed++;
		diag("failed at %s:%d", file, line);
	}
	fflush(stdout);
	return good;
}
#define ok(cond, ...) tap_ok(!!(cond), __FILE__, __LINE__, __VA_ARGS__)

__attribute__((unused)) static int tap_is(long long got, long long want, const char *file, int line,
					  const char *name)
{
	int good = tap_ok(got == want, file, line, "%s", name);
	if (!good)
		diag("got %lld, expected %lld", got, want);
	return good;
}
#define is(got, want, name) tap_is((long long)(got), (long long)(want), __FILE__, __LINE__, name)

__attribute__((unused)) static int tap_is_str(const char *got, const char *want, const char *file,
					      int line, const char *name)
{
	int good = tap_ok(got && want && !strcmp(got, want), file, line, "%s", name);
	if (!good)
		diag("got '%s', expected '%s'", got ? got : "(null)", want ? want : "(null)");
	return good;
}
#define is_str(got, want, name) tap_is_str(got, want, __FILE__, __LINE__, name)

/* Nothing here can run. In CI (EBT_NO_SKIP set) that is a failure. */
__attribute__((unused)) static int skip_all(const char *why)
{
	if (getenv("EBT_NO_SKIP")) {
		printf("1..1\nnot ok 1 - must not skip here: %s\n", why);
		return 1;
	}
	printf("1..0 # SKIP %s\n", why);
	return 0;
}

/* A test of what opens and closes: as many descriptors are open behind it as there were before. */
static int tap_descriptors(void)
{
	int n = 0;
	for (int fd = 0; fd < 1024; fd++)
		n += fcntl(fd, F_GETFD) >= 0;
	return n;
}

/* And as many shared mappings are there: of ring files, of maps of the kernel, of memory that is
 * shared with a child. */
static int tap_mappings(bool shown)
{
	char line[4352], perms[8];
	int n = 0;
	FILE *f = fopen("/proc/self/maps", "re");
	while (f && fgets(line, sizeof(line), f)) {
		bool shared = sscanf(line, "%*s %7s", perms) == 1 && perms[3] == 's';
		n += shared;
		if (shared && shown)
			printf("# %s", line);
	}
	if (f)
		fclose(f);
	return n;
}

static int tap_open_first, tap_mapped_first;

/* Descriptors and shared mappings that the test itself keeps until it ends, or what is linked into
 * it does. */
__attribute__((unused)) static void tap_keeps(int descriptors)
{
	tap_open_first += descriptors;
}

__attribute__((unused)) static void tap_keeps_mapped(int mappings)
{
	tap_mapped_first += mappings;
}

__attribute__((constructor)) static void tap_begin(void)
{
	tap_open_first = tap_descriptors();
	tap_mapped_first = tap_mappings(false);
}

__attribute__((unused)) static int tap_done(void)
{
	int left = tap_descriptors() - tap_open_first;
	int mapped = tap_mappings(false) - tap_mapped_first;
	printf("1..%d\n", tap_run);
	if (left > 0)
		diag("%d descriptors were left open", left);
	if (mapped > 0) {
		diag("%d shared mappings were left, of these:", mapped);
		tap_mappings(true);
	}
	return tap_failed || left > 0 || mapped > 0 ? 1 : 0;
}

#endif
