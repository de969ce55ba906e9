/* SPDX-License-Identifier: BSD-2-Clause */
/* Notes of processes that could not make their rings: one line for all, and each is removed; files
 * that are no notes of this run, or not of its users, stay. */
#include "engine/live/ring_notes.h"

#include <ebtrace/ring.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/live/inbox.h"
#include "engine/program/recording.h"
#include "tests/tap.h"

static struct inbox in;
static char said[512];

static void line(void *ctx, enum log_level level, const char *fmt, va_list ap)
{
	size_t at = strlen(said);
	(void)ctx;
	(void)level;
	vsnprintf(said + at, sizeof(said) - at, fmt, ap);
}

static const struct messages messages = {.line = line};

static unsigned report(void)
{
	*said = 0;
	return ring_notes_report(&in, &messages);
}

static void put(const char *name, const char *comm)
{
	char path[sizeof(in.path) + 300];
	snprintf(path, sizeof(path), "%s/%s", in.path, name);
	FILE *f = fopen(path, "w");
	if (!f || fputs(comm, f) < 0 || fclose(f))
		abort();
}

/* As usdt-probes/ring_file.c names them. */
static void put_note(const char *pid_and_err, const char *comm)
{
	char name[300];
	snprintf(name, sizeof(name), ".%s.%s" EBT_RING_NOTE_END, recording_run(), pid_and_err);
	put(name, comm);
}

static unsigned files(void)
{
	char command[sizeof(in.path) + 40];
	unsigned n = 0;
	snprintf(command, sizeof(command), "ls -A '%s' | wc -l", in.path);
	FILE *f = popen(command, "r");
	if (!f || fscanf(f, "%u", &n) != 1 || pclose(f))
		abort();
	return n;
}

static void test_one(void)
{
	static const struct {
		const char *number, *comm, *want;
	} rows[] = {
		{"7.12", "worker",
		 "process 7 (worker) could not make its ring: Cannot allocate memory; "
		 "'ulimit -v' or a cgroup limits its memory; EBTRACE_LOG_WSIZE=12 makes its "
		 "rings smaller"},
		{"8.28", "w",
		 "process 8 (w) could not make its ring: No space left on device; "
		 "EBTRACE_DIR names another directory"},
		{"9.122", "",
		 "process 9 () could not make its ring: Disk quota exceeded; "
		 "EBTRACE_DIR names another directory"},
		{"2147483647.27", "\033[2Jname",
		 "process 2147483647 (?[2Jname) could not make its ring: File too large; "
		 "'ulimit -f' limits its files; EBTRACE_LOG_WSIZE=12 makes its rings smaller"},
		{"7.5", "fifteen letters and more",
		 "process 7 (fifteen letters) could not make its ring: Input/output error"},
		{"7.4095", "x", "process 7 (x) could not make its ring: Unknown error 4095"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		put_note(rows[i].number, rows[i].comm);
		if (!ok(report() == 1 && !strcmp(said, rows[i].want) && !files(), "%s",
			rows[i].want))
			diag("%s", said);
	}
}

static void test_several(void)
{
	put_note("7.12", "one");
	put_note("8.12", "one");
	put_note("9.12", "one");
	ok(report() == 3 &&
		   !strncmp(said, "3 processes could not make their rings, one of them ", 52) &&
		   strstr(said, " (one): Cannot allocate memory; ") && !files(),
	   "several are one line");
	ok(report() == 0 && !*said, "and none is none");
}

static void test_others(void)
{
	static const char *const no_notes[] = {"0.12",		"-7.12", "7.0", "7.4096",
					       "2147483648.12", "7.12.", "7",	"x.12",
					       "7.12.more",	"7 .12"};
	for (size_t i = 0; i < sizeof(no_notes) / sizeof(*no_notes); i++)
		put_note(no_notes[i], "none");
	put(".another-run.7.12" EBT_RING_NOTE_END, "none");
	put("7.events", "none");
	unsigned n = report(), left = files();
	ok(!n && !*said && left == sizeof(no_notes) / sizeof(*no_notes) + 2,
	   "names that no process of the run would write are none: %u of %u left", left,
	   (unsigned)(sizeof(no_notes) / sizeof(*no_notes)) + 2);
}

static void test_links(void)
{
	char path[sizeof(in.path) + 300];
	unsigned before = files();
	snprintf(path, sizeof(path), "%s/.%s.7.12" EBT_RING_NOTE_END, in.path, recording_run());
	if (symlink("/etc/hostname", path))
		abort();
	ok(!report() && !*said && files() == before + 1, "a link is not followed");
	if (unlink(path) || mkdir(path, 0700))
		abort();
	ok(!report() && !*said && files() == before + 1, "a directory is no note");
	rmdir(path);
	put_note("7.12", "theirs");
	struct inbox theirs = in;
	theirs.users = (struct map){0};
	theirs.own = false;
	ok(!ring_notes_report(&theirs, &messages) && !*said && files() == before + 1,
	   "one of a user that no process of the run is of is none");
	theirs.path[0] = 0;
	ok(!ring_notes_report(&theirs, &messages) && !*said, "without a directory there are none");
}

int main(void)
{
	char dir[] = "/tmp/ebtrace-notes.XXXXXX", command[64];
	if (!mkdtemp(dir))
		abort();
	inbox_open(&in, dir, true);
	inbox_add_user(&in, getuid());
	test_one();
	test_several();
	test_others();
	test_links();
	inbox_done(&in);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	if (system(command))
		abort();
	return tap_done();
}
