/* SPDX-License-Identifier: BSD-2-Clause */
/* Phases and code of languages, in a table with one that has phases of its own and no ring. */
#include "session/phases.h"

#include <stdlib.h>
#include <string.h>

#include "report/mem/model/wrappers.h"
#include "report/parts/ids.h"
#include "session/code_language.h"
#include "session/kinds.h"
#include "session/versions.h"
#include "source/bpf/numberings.h"
#include "tests/languages/languages.c"
#include "tests/tap.h"

enum { COLLECT = 100, STOP, MARK, MEET, UNKNOWN };

static void test_ids(void)
{
	unsigned canonical = 0, own = 0;
	for (uint32_t id = UINT32_MAX; phases_next(&id); own += id >= PHASES_OWN)
		canonical += id < PHASES;
	ok(canonical == PHASES && own == 4, "all phases of all languages are listed, once");
	ok(phases_find(MEET) == &phases[3] && !phases_find(UNKNOWN) && !phases_find(PHASES) &&
		   !phases_find(COLLECT - 1) && !phases_find(UINT32_MAX),
	   "by their ids");
	is_str(kinds_phase_name(MARK), "moth_mark", "which have names");
	ok(!kinds_phase_stops(MARK) && kinds_phase_stops(STOP) && kinds_phase_stops(UNKNOWN),
	   "and say whether the mutator runs, which it does in none that is unknown");
}

static void test_rows(void)
{
	for (uint32_t id = COLLECT; id <= MEET; id++)
		if (phases_at(phases_row(id)) != phases_find(id) || phases_row(id) < PHASES)
			abort();
	ok(phases_row(COLLECT) != phases_row(MEET), "each has a row of its own");
	ok(phases_row(UNKNOWN) == PHASES_UNKNOWN && phases_row(UINT32_MAX) == PHASES_UNKNOWN,
	   "unknown ones have the last one");
	is_str(phases_name(PHASES_UNKNOWN), "unknown", "which says so");
	is_str(phases_name(phases_row(MEET) + 1), "unknown", "as a row that no phase has");
	ok(phases_stop(PHASES_UNKNOWN) && !phases_stop(phases_row(MARK)),
	   "a row says whether the mutator runs");
}

static void test_kernel(void)
{
	struct ebt_phase_set runs[EBT_NUMBERINGS];
	uint32_t id = 0;
	numberings_set_runs(runs);
	ok(runs[0].bits[MARK / 64] == 1ull << MARK % 64 && runs[0].bits[0] == 1ull << 42,
	   "the programs know in which phases the mutator may run");
	ok(!runs[1].bits[MARK / 64] && runs[1].bits[0] == 1ull << 38,
	   "in each numbering, of which others have no phases of languages");
	ok(numberings_phase(0, MARK, &id) && id == MARK && !numberings_phase(0, UNKNOWN, &id) &&
		   !numberings_phase(1, MARK, &id),
	   "so are numbers translated");
	static uint16_t rows[EBT_NUMBERINGS][EBT_PHASE_IDS];
	numberings_set_rows(rows);
	ok(rows[0][MARK] == phases_row(MARK) &&
		   rows[0][STOP] == (phases_row(STOP) | EBT_COUNT_STOPS) &&
		   rows[0][UNKNOWN] == (PHASES_UNKNOWN | EBT_COUNT_STOPS),
	   "and have rows to count in");
	ok(rows[1][22] == (PHASE_major_gc_stw | EBT_COUNT_STOPS | EBT_COUNT_CYCLE) &&
		   rows[1][38] == PHASE_domain_condition_wait &&
		   rows[1][40] == (PHASES_UNKNOWN | EBT_COUNT_STOPS) &&
		   rows[2][40] == (PHASE_compaction | EBT_COUNT_STOPS | EBT_COUNT_COMPACTION),
	   "which are the same in each numbering");
	struct runtime_version moth = versions_parse(&language_moth, "1.3");
	ok(!numberings_of(moth) && numberings_of(versions_parse(&language_ocaml, "5.1")),
	   "a language without a ring has canonical ids");
}

static void test_versions(void)
{
	struct runtime_version v = versions_parse_producer("moth 1.9");
	struct traits t = versions_traits(v);
	is_str(versions_text(v).text, "moth 1.3", "a version is read from the producer's text");
	ok(!versions_release(v) && !t.raw_phase && versions_language(v) == &language_moth,
	   "it has no number, and no numbers of its own");
	unsigned rings = 0;
	for (unsigned at = 0; languages_next_ring(&at);)
		rings++;
	is(rings, 2, "nothing asks it for a ring");
}

static void test_code(void)
{
	const struct traits_frames *f = code_language("src/lamp.moth");
	struct mem_wrappers w = {0};
	ok(f == &frames && !code_language(".moth") && !code_language("moth") &&
		   !code_language(NULL),
	   "its sources are known by their extension");
	ok(code_language_is_near("x.mothy") && !code_language_is_near("x.mot"),
	   "and what they are made from");
	ok(!strcmp(code_language_call(f, 11), "moth.minor") && !code_language_call(f, 12) &&
		   !code_language_call(f, 10) && !code_language_call(NULL, 11),
	   "what a program calls for a phase is the language's");
	ok(mem_wrappers_has(&w, "wing_alloc") && !mem_wrappers_has(&w, "moth_alloc") &&
		   mem_wrappers_has(&w, "Stdlib.List.map"),
	   "so are functions that allocate for others");
}

int main(void)
{
	test_ids();
	test_rows();
	test_kernel();
	test_versions();
	test_code();
	return tap_done();
}
