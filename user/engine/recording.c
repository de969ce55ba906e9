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

#include "proc/elf.h"
#include "proc/executable.h"
#include "proc/notes.h"
#include "runtime/runtimes.h"

#define LOG_WORDS     16u /* of a ring, both OCaml's and ours, by default */
#define LOG_WORDS_MAX 30u
#define DOMAINS_WANT  128u
#define DOMAINS_LEAST 16u
#define BESIDE_RINGS  (2u << 20) /* header, names, and some for others */

/* Run as somebody else than we are, it could not enter our directory either. */
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

/* Rings are on without us, and go where the user says: we add that they are to be kept. */
static bool user_records(void)
{
	return is_set("OCAML_RUNTIME_EVENTS_START") &&
	       (is_set("OCAML_RUNTIME_EVENTS_DIR") || is_set("EBTRACE_DIR"));
}

bool recording_by_environment(const struct engine_options *o, const struct report *report)
{
	if (!o->program || o->mode == MODE_PROBES)
		return false;
	if (o->mode == MODE_RING || geteuid() || user_records())
		return true;
	char path[PATH_MAX];
	struct stat st;
	int fd = executable_find(o->program[0], path, sizeof(path))
			 ? open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
			 : -1;
	bool has = fd >= 0 && !fstat(fd, &st) && !changes_user(&st) && runtimes_may_have_ring(fd);
	if (fd >= 0)
		close(fd);
	if (!has)
		report_at(
			report, LOG_VERBOSE,
			"'%s' is no program with rings itself: its environment is left alone, and "
			"what "
			"it starts is probed; user events of OCaml 5.2 and later need --mode ring",
			o->program[0]);
	return has;
}

/* OCAMLRUNPARAM is a list of letters with values: "e=18,s=4k". */
static unsigned ocaml_log_words(void)
{
	const char *p = getenv("OCAMLRUNPARAM");
	unsigned n = 0;
	while (p && *p) {
		if (!strncmp(p, "e=", 2))
			n = (unsigned)strtoul(p + 2, NULL, 10);
		p = strchrnul(p, ',');
		p += *p != 0;
	}
	return n;
}

void recording_room(struct recording_room *ret)
{
	const char *ours = getenv("EBTRACE_LOG_WSIZE");
	unsigned log_words = LOG_WORDS, other = ours ? (unsigned)strtoul(ours, NULL, 10) : 0;
	if (ocaml_log_words() > log_words)
		log_words = ocaml_log_words();
	if (other > log_words)
		log_words = other;
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
		if (!traits_is(&kind.traits, TRAITS_OCAML, 5, 2))
			continue;
		report_at(&e->report, o->counts ? LOG_VERBOSE : LOG_NORMAL,
			  "the rings of what '%s' started were left off: user events of %s are not "
			  "seen; "
			  "--mode ring switches them on",
			  o->program[0], kind.producer);
		return;
	}
}
