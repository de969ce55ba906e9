/* SPDX-License-Identifier: BSD-2-Clause */
/* What the table of runtimes says of files. */
#include "runtime/alloc_markers.h"
#include "runtime/runtimes.h"
#include <ebtrace/cursor.h>

#include "session/versions.h"
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

static struct traits of_release(enum ebt_release release)
{
	return versions_traits(versions_by_release(release));
}

static void test_parse(void)
{
	static const struct {
		const char *text;
		unsigned want; /* 0: none */
	} rows[] = {
		{"5.1.1", 51},	     {"5.3.0+trunk", 53},
		{"5.2.0~beta1", 52}, {"5.9", 55},
		{"5.1x", 0},	     {"4.14.1", 0},
		{"6.0", 0},	     {"5", 0},
		{" 5.1", 0},	     {"", 0},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		ok(versions_release(versions_parse(&language_ocaml, rows[i].text)) == rows[i].want,
		   "'%s' is a version of OCaml, or none", rows[i].text);
	ok(versions_parse_producer("ocaml 5.4.0").minor == 4 &&
		   versions_parse_producer("ebtrace-probes 1.0").language ==
			   &language_ebtrace_probes.traits &&
		   !versions_parse_producer("ocamlx 5.4").language &&
		   !versions_parse_producer("c++ 11").language,
	   "a producer's text has the name of a language, and a version of it");
}

static void test_releases(void)
{
	struct runtime_version none = versions_by_release(EBT_RELEASE_AUTO);
	ok(!none.language && !versions_language(none) && !versions_traits(none).runtime.language,
	   "of no release nothing is known");
	struct traits t = of_release(EBT_RELEASE_EBTRACE);
	ok(t.runtime.language->has_markers && !t.runtime.major && !t.raw_phase,
	   "a program of our library has markers, and the canonical ids");
	for (unsigned minor = 0; minor <= 5; minor++) {
		enum ebt_release release = EBT_RELEASE_OCAML_5_0 + minor;
		t = of_release(release);
		ok(t.runtime.major == 5 && t.runtime.minor == minor &&
			   versions_release(t.runtime) == release,
		   "OCaml 5.%u: its version", minor);
	}
	ok(!of_release(EBT_RELEASE_OCAML_5_1).hides_user_events &&
		   of_release(EBT_RELEASE_OCAML_5_2).hides_user_events,
	   "from OCaml 5.2 on user events cannot be probed");
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
	ok(!file.runtime.language, "and is none of OCaml");
	ok(!runtimes_version(fd).language, "and of no release at all");
	ok(runtimes_may_have_ring(fd), "it may have a ring");
	ok(runtimes_is_of(fd, &language_ebtrace_probes) && !runtimes_is_of(fd, &language_ocaml),
	   "of that library alone");
	ok(!runtimes_hidden(fd) && !runtimes_explain(fd, reason), "nothing is to be explained");
	close(fd);
}

static void test_others(void)
{
	char reason[RUNTIME_TEXT_BYTES] = "";
	int fd = open("/bin/true", O_RDONLY | O_CLOEXEC);
	ok(!runtimes_may_have_ring(fd), "a program without a runtime has no ring");
	ok(!runtimes_is_of(fd, &language_ebtrace_probes) && !runtimes_is_of(fd, &language_ocaml),
	   "and is of no language that has one");
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
	ok(runtimes_hidden(fd) == &language_ocaml,
	   "a program without symbols is known by the strings of its runtime");
	ok(runtimes_may_have_ring(fd) && runtimes_is_of(fd, &language_ocaml),
	   "so it may have a ring of OCaml");
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
		ok(language_ocaml.ring->log_words() == rows[i].want,
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
	const struct language_ring *l = language_ocaml.ring;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char *value = NULL;
		unsetenv("OCAMLRUNPARAM");
		unsetenv("CAMLRUNPARAM");
		if (rows[i].first)
			setenv("OCAMLRUNPARAM", rows[i].first, 1);
		if (rows[i].second)
			setenv("CAMLRUNPARAM", rows[i].second, 1);
		const char *name = l->enlarge(18, &value);
		ok(!strcmp(name, rows[i].want_name) && !strcmp(value, rows[i].want_value) &&
			   l->domains() == rows[i].domains,
		   "%s=%s: the variable that the runtime reads, with all that it has", name, value);
		free(value);
	}
	unsetenv("OCAMLRUNPARAM");
	setenv("CAMLRUNPARAM", "e=20", 1);
	ok(l->log_words() == 20, "the second variable asks for rings where the first is not set");
	setenv("OCAMLRUNPARAM", "", 1);
	ok(!l->log_words(), "and does not where the first is empty");
	unsetenv("OCAMLRUNPARAM");
	unsetenv("CAMLRUNPARAM");
}

int main(void)
{
	test_ring_words();
	test_larger_rings();
	test_table();
	test_parse();
	test_releases();
	test_ours();
	test_others();
	test_hidden();
	test_markers();
	return tap_done();
}
