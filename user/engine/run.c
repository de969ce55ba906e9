/* SPDX-License-Identifier: BSD-2-Clause */
#include "engine/run.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/plural.h"
#include "engine/input/convert.h"
#include "engine/live/live.h"
#include "session/languages.h"
#include "session/versions.h"

#define LARGER_BYTES	 (64 * LANGUAGES_MAX)
#define LARGER_LOG_WORDS 18u

void engine_prepare(const struct engine_options *o)
{
	/* So that rings are read in time while the program uses every CPU. Refused without
	 * privilege. Not for files, and not if ebtrace was started with a niceness of its own. */
	bool is_live = !o->file_count && !o->snapshot;
	if (is_live && !o->nice && setpriority(PRIO_PROCESS, 0, -20))
		log_at(LOG_DEBUG, "no higher priority: %s", strerror(errno));
	/* Each process and each of its rings needs a descriptor. */
	struct rlimit files;
	if (!getrlimit(RLIMIT_NOFILE, &files)) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
}

/* log2 of the words of a ring that is larger than those of the run. */
static unsigned larger_words(const struct engine *e, const struct language *l)
{
	unsigned asked = e->options->program && l ? l->ring->log_words() : 0;
	if (l && l->ring->enlarge && e->ring_log_words > asked)
		asked = e->ring_log_words;
	return asked + 2 > LARGER_LOG_WORDS ? asked + 2 : LARGER_LOG_WORDS;
}

/* The settings that make the rings of the run's programs larger, "A=18 and B=18"; "" if none is
 * known. *ret_markers: some program has markers. */
static void larger_rings(const struct engine *e, char ret[LARGER_BYTES], bool *ret_markers)
{
	const struct processes *ps = &e->session->processes;
	const struct traits_language *seen[LANGUAGES_MAX];
	unsigned n = 0, len = 0;
	struct process_kind kind;
	*ret = 0;
	*ret_markers = false;
	for (size_t at = 0; processes_next_kind(ps, &at, &kind);) {
		const struct traits_language *language = kind.traits.runtime.language;
		const struct language *l = versions_language(kind.traits.runtime);
		bool known = !l || !l->ring;
		for (unsigned i = 0; i < n; i++)
			known |= seen[i] == language;
		if (known)
			continue;
		seen[n++] = language;
		*ret_markers |= language->has_markers;
		len += (unsigned)snprintf(ret + len, LARGER_BYTES - len, "%s%s%u",
					  len ? " and " : "", l->ring->larger, larger_words(e, l));
	}
}

/* Only rings that were written faster than they were read lose words. */
static void report_wrapped(const struct engine *e)
{
	const struct engine_options *o = e->options;
	struct totals totals = session_run_totals(e->session);
	/* What was left out under the budget is no matter of larger rings. */
	uint64_t words = totals.lost_words - e->session->left_words;
	if (totals.lost_words <= e->session->left_words)
		return;
	char larger[LARGER_BYTES];
	bool markers;
	larger_rings(e, larger, &markers);
	messages_at(&e->session->messages, LOG_NORMAL,
		    "a ring was overwritten before it was read (%" PRIu64
		    " word%s); for larger rings, start the program with %s%s",
		    words, plural(words), larger,
		    !markers || engine_mode(o) != MODE_RING ? ""
		    : geteuid()				    ? ", or use --mode watermark as root"
							    : ", or use --mode watermark");
}

enum engine_end engine_run(struct engine *e)
{
	struct session *session = e->session;
	if (e->options->file_count)
		return convert_run(e);
	session->timebase = timebase_now();
	if (e->options->snapshot)
		return convert_run(e);
	session->tracer_tid = (uint32_t)getpid();
	enum engine_end end = live_run(e);
	if (!session->run_end.known)
		session->run_end = moment_at(now_ns());
	report_wrapped(e);
	return end;
}
