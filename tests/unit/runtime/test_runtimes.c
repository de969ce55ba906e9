/* SPDX-License-Identifier: BSD-2-Clause */
/* What the table of runtimes says of files. */
#include "runtime/alloc_markers.h"
#include "runtime/runtimes.h"

#include "codec/ring/ids.h"
#include "session/kinds.h"
#include "session/release.h"
#include "tests/tap.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

static int file_of(const char *bytes)
{
	int fd = memfd_create("file", MFD_CLOEXEC);
	if (write(fd, bytes, strlen(bytes)) < 0)
		abort();
	return fd;
}

static void test_table(void)
{
	for (unsigned i = 0; i < RUNTIMES; i++) {
		const char *name = runtimes[i]->language->traits.name;
		ok(name && runtimes[i]->recognise, "runtime %u has a name and is recognised", i);
		for (unsigned k = 0; k < i; k++)
			ok(strcmp(name, runtimes[k]->language->traits.name), "the names differ");
	}
}

static void test_releases(void)
{
	is(language_of(EBT_RELEASE_AUTO) == NULL && !language_traits(EBT_RELEASE_AUTO).language, 1,
	   "of no release nothing is known");
	struct traits t = release_traits(EBT_RELEASE_EBTRACE);
	ok(t.language->has_markers && !t.has_version && !t.raw_phase,
	   "a program of our library has markers, and the canonical ids");
	ok(kinds_phase_name(t.phases.end - 1) && !kinds_phase_name(t.phases.end) &&
		   kinds_counter_name(t.counters.end - 1) && !kinds_counter_name(t.counters.end),
	   "it may emit every phase and counter of the list, and no other");
	static const uint32_t counters[] = {11, 17, 17, 26, 26, 28};
	for (unsigned minor = 0; minor <= 5; minor++) {
		enum ebt_release release = EBT_RELEASE_OCAML_5_0 + minor;
		t = release_traits(release);
		uint32_t n, end = 0;
		const uint16_t *canonical = ring_canonical_phases(release, &n);
		/* The codec reads 5.3 to 5.5 by one table: ids are only appended. */
		for (uint32_t i = 0; i < n && (t.raw_phase || i < t.phases.end); i++)
			end = canonical[i] >= end ? canonical[i] + 1u : end;
		ok(t.has_version && t.major == 5 && t.minor == minor && t.phases.end == end &&
			   t.counters.end == counters[minor],
		   "OCaml 5.%u: its version, phases and counters", minor);
	}
	ok(!release_traits(EBT_RELEASE_OCAML_5_1).hides_user_events &&
		   release_traits(EBT_RELEASE_OCAML_5_2).hides_user_events,
	   "from OCaml 5.2 on user events cannot be probed");
	ok(traits_ids_have(t.counters, 27) && !traits_ids_have(t.counters, 28),
	   "a range ends before its end");
}

static void test_ours(void)
{
	struct runtime_file file;
	const char *o = getenv("O");
	char path[256], reason[RUNTIME_TEXT_BYTES];
	snprintf(path, sizeof(path), "%s/tests/prog/minigc", o ? o : "build");
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	runtimes_recognise(fd, NULL, &file);
	ok(file.markers > 10, "a program with libebtrace-probes is known by its markers");
	is(file.release, EBT_RELEASE_AUTO, "and is none of OCaml");
	is(runtimes_release(fd), EBT_RELEASE_AUTO, "and of no release at all");
	ok(runtimes_may_have_ring(fd), "it may have a ring");
	ok(!runtimes_hidden(fd) && !runtimes_explain(fd, reason), "nothing is to be explained");
	close(fd);
}

static void test_others(void)
{
	char reason[RUNTIME_TEXT_BYTES] = "";
	int fd = open("/bin/true", O_RDONLY | O_CLOEXEC);
	ok(!runtimes_may_have_ring(fd), "a program without a runtime has no ring");
	ok(!runtimes_hidden(fd) && !runtimes_explain(fd, reason), "and no reason why");
	close(fd);
	fd = file_of("some bytes Caml1999X031");
	ok(!runtimes_may_have_ring(fd), "bytecode has no ring of its own");
	ok(runtimes_explain(fd, reason), "of OCaml 4 it is explained why");
	is_str(reason,
	       "is bytecode of OCaml 4 (Caml1999X031), which has no runtime events; OCaml 5 has "
	       "them",
	       "in words that complete a sentence");
	close(fd);
	fd = file_of("some bytes Caml1999X035");
	ok(!runtimes_explain(fd, reason), "of OCaml 5 there is nothing to explain");
	close(fd);
}

/* A copy of a program with the strings of a runtime of OCaml 5 behind it. */
static int with_runtime(const char *path)
{
	static const char strings[] = "\0OCAMLRUNPARAM\0OCAML_RUNTIME_EVENTS_START";
	char bytes[65536];
	int from = open(path, O_RDONLY | O_CLOEXEC), to = memfd_create("copy", MFD_CLOEXEC);
	for (ssize_t n; (n = read(from, bytes, sizeof(bytes))) > 0;)
		if (write(to, bytes, (size_t)n) != n)
			abort();
	if (write(to, strings, sizeof(strings)) != sizeof(strings))
		abort();
	close(from);
	return to;
}

static void test_hidden(void)
{
	const char *o = getenv("O");
	char path[256];
	snprintf(path, sizeof(path), "%s/tests/prog/minigc", o ? o : "build");
	int fd = with_runtime("/bin/true");
	ok(runtimes_hidden(fd) == &languages[LANGUAGE_OCAML],
	   "a program without symbols is known by the strings of its runtime");
	ok(runtimes_may_have_ring(fd), "so it may have a ring");
	ok(!runtimes_rings_have_threads(fd), "whose threads are not known");
	close(fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	ok(runtimes_rings_have_threads(fd), "rings of libebtrace-probes name their threads");
	close(fd);
	fd = with_runtime(path);
	ok(!runtimes_rings_have_threads(fd), "but not if another runtime is hidden beside it");
	close(fd);
}

#if defined(__x86_64__)
static void test_markers(void)
{
	static const struct {
		const char *provider, *name, *args;
		enum alloc_marker want;
	} rows[] = {
		{"otel_memory", "alloc", "8@%rdi 8@%rsi 8@%rdx", ALLOC_MARKER_OTEL_ALLOC},
		{"otel_memory", "alloc", "8@%rdi 8@%rsi", ALLOC_MARKERS},
		{"otel_memory", "free", "8@%rdi 8@%rsi", ALLOC_MARKER_OTEL_FREE},
		{"otel_memory", "free", "", ALLOC_MARKERS},
		{"ebtrace", "promote", "8@%rdi 8@%rsi 8@%rdx 8@%rcx", ALLOC_MARKER_PROMOTE},
		{"ebtrace", "promote", "8@%rdi 8@%rsi 8@%rdx", ALLOC_MARKERS},
		{"other", "alloc", "8@%rdi 8@%rsi 8@%rdx", ALLOC_MARKERS},
	};
	struct usdt_args args;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct notes_site site = {
			.provider = rows[i].provider, .name = rows[i].name, .args = rows[i].args};
		ok(alloc_marker_of(&site, &args) == rows[i].want, "%s:%s with arguments '%s' is %s",
		   rows[i].provider, rows[i].name, rows[i].args,
		   rows[i].want == ALLOC_MARKERS ? "no marker of allocations" : "one");
	}
}
#else
static void test_markers(void) {}
#endif

static void test_ring_words(void)
{
	static const struct {
		const char *value;
		unsigned want;
	} rows[] = {{"e=17", 17},
		    {"s=4k,e=18", 18},
		    {"e=17,s=4k,e=19", 19},
		    {"s=4k,v=e=3", 0},
		    {"", 0}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		setenv("OCAMLRUNPARAM", rows[i].value, 1);
		ok(languages[LANGUAGE_OCAML].ring_log_words() == rows[i].want,
		   "OCAMLRUNPARAM '%s' asks for rings of 2^%u words, the last setting counts",
		   rows[i].value, rows[i].want);
	}
	unsetenv("OCAMLRUNPARAM");
}

static void test_larger_rings(void)
{
	static const struct {
		const char *first, *second, *want_name, *want_value;
		unsigned domains;
	} rows[] = {
		{NULL, NULL, "OCAMLRUNPARAM", "e=18", 0},
		{"", "s=4k", "OCAMLRUNPARAM", "e=18", 0},
		{"s=4k,d=2", NULL, "OCAMLRUNPARAM", "s=4k,d=2,e=18", 2},
		{NULL, "v=0x400", "CAMLRUNPARAM", "v=0x400,e=18", 0},
		{"b", "v=0x400", "OCAMLRUNPARAM", "b,e=18", 0},
	};
	const struct language *l = &languages[LANGUAGE_OCAML];
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char *value = NULL;
		unsetenv("OCAMLRUNPARAM");
		unsetenv("CAMLRUNPARAM");
		if (rows[i].first)
			setenv("OCAMLRUNPARAM", rows[i].first, 1);
		if (rows[i].second)
			setenv("CAMLRUNPARAM", rows[i].second, 1);
		const char *name = l->enlarge_rings(18, &value);
		ok(!strcmp(name, rows[i].want_name) && !strcmp(value, rows[i].want_value) &&
			   l->domains() == rows[i].domains,
		   "%s=%s: the variable that the runtime reads, with all that it has", name, value);
		free(value);
	}
	unsetenv("OCAMLRUNPARAM");
	setenv("CAMLRUNPARAM", "e=20", 1);
	ok(l->ring_log_words() == 20,
	   "the second variable asks for rings where the first is not set");
	setenv("OCAMLRUNPARAM", "", 1);
	ok(!l->ring_log_words(), "and does not where the first is empty");
	unsetenv("OCAMLRUNPARAM");
	unsetenv("CAMLRUNPARAM");
}

int main(void)
{
	test_ring_words();
	test_larger_rings();
	test_table();
	test_releases();
	test_ours();
	test_others();
	test_hidden();
	test_markers();
	return tap_done();
}
