/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/recording.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "proc/elf.h"
#include "proc/executable.h"
#include "proc/notes.h"
#include "runtime/language.h"
#include "runtime/runtimes.h"

#define LOG_WORDS     16u /* of a ring of any language, by default */
#define LOG_WORDS_MAX 30u
#define DOMAINS_WANT  128u
#define DOMAINS_LEAST 16u
#define BESIDE_RINGS  (2u << 20) /* header, names, and some for others */

/* It runs as another user, who could not enter our directory either. */
static bool changes_user(const struct stat *st)
{
	return (st->st_mode & S_ISUID && st->st_uid != geteuid()) ||
	       (st->st_mode & S_ISGID && st->st_gid != getegid());
}

static bool is_set(const char *name)
{
	const char *value = getenv(name);
	return value && *value;
}

/* The rings of all languages are on without us, in a directory of the user's: what we would add is
 * that they are kept. */
static bool user_records(void)
{
	bool all_start = true, has_dir = false;
	for (unsigned i = 0; i < LANGUAGES; i++) {
		const struct language *l = &languages[i];
		all_start &= is_set(l->start) || (l->start_too && is_set(l->start_too));
		has_dir |= is_set(l->dir);
	}
	return all_start && has_dir;
}

/* Reports that the environment of a program without a ring of its own is not extended. */
static void report_left_alone(const struct report *r, const char *program)
{
	const char *hidden = NULL;
	for (unsigned i = 0; i < LANGUAGES && !hidden; i++)
		hidden = languages[i].hidden;
	report_at(r, LOG_VERBOSE,
		  "'%s' is no program with rings itself: its environment is left alone, and its "
		  "children are probed%s%s%s",
		  program, hidden ? "; " : "", hidden ? hidden : "",
		  hidden ? " need --mode ring" : "");
}

bool recording_by_environment(const struct engine_options *o, const struct report *report)
{
	if (!o->program || o->mode == MODE_PROBES)
		return false;
	if (o->mode == MODE_RING || geteuid() || user_records())
		return true;
	char path[PATH_MAX];
	struct stat st;
	int fd = executable_find(o->program[0], path, sizeof(path)) ? file_open(AT_FDCWD, path, 0)
								    : -1;
	bool has = fd >= 0 && !fstat(fd, &st) && !changes_user(&st) && runtimes_may_have_ring(fd);
	if (fd >= 0)
		close(fd);
	if (!has)
		report_left_alone(report, o->program[0]);
	return has;
}

void recording_room(struct recording_room *ret)
{
	unsigned log_words = LOG_WORDS;
	for (unsigned i = 0; i < LANGUAGES; i++) {
		unsigned asked = languages[i].ring_log_words();
		log_words = asked > log_words ? asked : log_words;
	}
	if (log_words > LOG_WORDS_MAX)
		log_words = LOG_WORDS_MAX;
	uint64_t ring = UINT64_C(8) << log_words;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	uint64_t least = cpus > DOMAINS_LEAST / 2 ? 2 * (uint64_t)cpus : DOMAINS_LEAST;
	ret->want_bytes = DOMAINS_WANT * ring + BESIDE_RINGS;
	ret->least_bytes = (least < DOMAINS_WANT ? least : DOMAINS_WANT) * ring + BESIDE_RINGS;
}

void recording_report_left_off(const struct engine *e)
{
	const struct engine_options *o = e->options;
	struct process_kind kind;
	for (size_t at = 0; processes_next_kind(&e->session->processes, &at, &kind);) {
		if (!kind.traits.hides_user_events)
			continue;
		report_at(&e->report, o->counts ? LOG_VERBOSE : LOG_NORMAL,
			  "the rings of the children of '%s' were left off: user events of %s are "
			  "not seen; --mode ring switches them on",
			  o->program[0], kind.producer);
		return;
	}
}
