/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/program/recording.h"

#include <ebtrace/ring.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/file.h"
#include "elf/elf.h"
#include "elf/notes.h"
#include "engine/program/rundir.h"
#include "proc/executable.h"
#include "runtime/runtimes.h"
#include "session/languages.h"

#define LOG_WORDS     16u /* of a ring of any language, by default */
#define LOG_WORDS_MAX 30u
/* With 18 no run of a service of two domains lost words that lost some in 4 of 6 runs with 16. */
#define LOG_WORDS_LARGER 18u
#define DOMAINS_WANT	 128u
#define DOMAINS_LEAST	 16u
#define BESIDE_RINGS	 (2u << 20) /* header, names, and some for others */

const char *recording_run(void)
{
	static char run[EBT_RING_RUN_BYTES];
	if (!*run)
		snprintf(run, sizeof(run), "%d-%llx", (int)getpid(), (unsigned long long)now_ns());
	return run;
}

/* It runs as another user, and could not enter our directory either. */
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
	const struct language *l;
	for (unsigned at = 0; (l = languages_next_ring(&at));) {
		const struct language_ring *r = l->ring;
		all_start &= is_set(r->start) || (r->start_too && is_set(r->start_too));
		has_dir |= is_set(r->dir);
	}
	return all_start && has_dir;
}

/* Reports that the environment of a program without a ring of its own is not extended. */
static void report_left_alone(const struct messages *r, const char *program)
{
	const char *hidden = NULL;
	for (const struct language *const *l = languages; *l && !hidden; l++)
		hidden = (*l)->hidden;
	messages_at(r, LOG_VERBOSE,
		    "'%s' is no program with rings itself: its environment is left alone, and its "
		    "children are probed%s%s%s",
		    program, hidden ? "; " : "", hidden ? hidden : "",
		    hidden ? " need --mode ring" : "");
}

bool recording_by_environment(const struct engine_options *o, const struct messages *messages)
{
	if (!o->program || engine_probes_alone(o))
		return false;
	if (engine_mode(o) == MODE_RING || geteuid() || user_records())
		return true;
	char path[PATH_MAX];
	struct stat st;
	int fd = executable_find(o->program[0], path, sizeof(path)) ? file_open(AT_FDCWD, path, 0)
								    : -1;
	bool has = fd >= 0 && !fstat(fd, &st) && !changes_user(&st) && runtimes_may_have_ring(fd);
	if (fd >= 0)
		close(fd);
	if (!has)
		report_left_alone(messages, o->program[0]);
	return has;
}

void recording_room(struct recording_room *ret)
{
	unsigned log_words = LOG_WORDS;
	const struct language *l;
	for (unsigned at = 0; (l = languages_next_ring(&at));) {
		unsigned asked = l->ring->log_words();
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

/* A ring file of this size can be made, and written in full. Its size counts as a file's, and as
 * address space. */
static bool has_room(const char *dir, uint64_t bytes)
{
	struct rlimit file, space;
	if (getrlimit(RLIMIT_FSIZE, &file) || getrlimit(RLIMIT_AS, &space) ||
	    file.rlim_cur < bytes || space.rlim_cur != RLIM_INFINITY)
		return false;
	int fd = open(dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	bool has = fd >= 0 && rundir_room(fd) >= bytes;
	if (fd >= 0)
		close(fd);
	return has;
}

static void enlarge(const struct language_ring *l, const char *dir, struct recording_rings *ret)
{
	unsigned asked = l->domains(), n = LOG_WORDS_LARGER;
	uint64_t domains = asked ? asked : DOMAINS_WANT;
	while (n > LOG_WORDS && !has_room(dir, domains * (UINT64_C(8) << n) + BESIDE_RINGS))
		n--;
	if (n == LOG_WORDS)
		return;
	ret->variable = l->enlarge(n, &ret->value);
	ret->log_words = n;
}

/* The language of the program, of those whose rings can be enlarged; NULL: none, or not known. */
static const struct language *language_of_program(const char *name)
{
	char path[PATH_MAX];
	struct stat st;
	const struct language *found = NULL;
	int fd = executable_find(name, path, sizeof(path)) ? file_open(AT_FDCWD, path, 0) : -1;
	/* The runtime of one that changes its user does not read the variable. */
	bool reads = fd >= 0 && !fstat(fd, &st) && !changes_user(&st);
	const struct language *l;
	for (unsigned at = 0; reads && !found && (l = languages_next_ring(&at));)
		if (l->ring->enlarge && runtimes_is_of(fd, l))
			found = l;
	if (fd >= 0)
		close(fd);
	return found;
}

void recording_enlarge_rings(const struct engine_options *o, const struct messages *messages,
			     const char *dir, struct recording_rings *ret)
{
	*ret = (struct recording_rings){0};
	const struct language *l = language_of_program(o->program[0]);
	if (!l || l->ring->log_words())
		return;
	enlarge(l->ring, dir, ret);
	if (ret->variable)
		messages_at(messages, LOG_VERBOSE,
			    "larger rings: '%s', and what it starts, runs with %s=%s",
			    o->program[0], ret->variable, ret->value);
	else
		messages_at(messages, LOG_VERBOSE,
			    "no larger rings for '%s': no room for them in '%s', or in its limits "
			    "(ulimit -f, -v)",
			    o->program[0], dir);
}

void recording_extend(void *ctx)
{
	const struct recording_rings *r = ctx;
	if (r->variable)
		setenv(r->variable, r->value, 1);
}

void recording_rings_done(struct recording_rings *r)
{
	free(r->value);
	*r = (struct recording_rings){0};
}

void recording_report_left_off(const struct engine *e)
{
	const struct engine_options *o = e->options;
	struct process_kind kind;
	for (size_t at = 0; processes_next_kind(&e->session->processes, &at, &kind);) {
		if (!kind.traits.hides_user_events)
			continue;
		messages_at(
			&e->session->messages, o->counts ? LOG_VERBOSE : LOG_NORMAL,
			"the rings of the children of '%s' were left off: user events of %s are "
			"not seen; --mode ring switches them on",
			o->program[0], kind.producer);
		return;
	}
}
