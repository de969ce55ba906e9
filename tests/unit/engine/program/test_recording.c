/* SPDX-License-Identifier: BSD-2-Clause */
/* What a started program finds in its environment: whether its rings are switched on, how large
 * they are made, and what room they need. */
#include "engine/program/recording.h"
#include "tests/tap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define MIB (1ull << 20)

static char dir[] = "/tmp/ebt-recording-XXXXXX";

static void run(const char *command)
{
	if (system(command))
		exit(1);
}

/* The value of the variable that makes rings larger; "": none. */
static const char *larger(const char *program, uint64_t file_bytes)
{
	static char value[64];
	struct engine_options o = {.program = (char *[]){(char *)program, NULL}};
	struct messages messages = {0};
	struct recording_rings rings;
	struct rlimit was, limit;
	getrlimit(RLIMIT_FSIZE, &was);
	limit = was;
	limit.rlim_cur = file_bytes;
	if (setrlimit(RLIMIT_FSIZE, &limit))
		exit(1);
	recording_enlarge_rings(&o, &messages, dir, &rings);
	setrlimit(RLIMIT_FSIZE, &was);
	snprintf(value, sizeof(value), "%s", rings.variable ? rings.value : "");
	unsigned words = 0;
	const char *e = strstr(value, "e=");
	if (e)
		sscanf(e, "e=%u", &words);
	if (words != rings.log_words)
		snprintf(value, sizeof(value), "not %u words", rings.log_words);
	recording_rings_done(&rings);
	return value;
}

static void test_larger(const char *ocaml)
{
	setenv("OCAMLRUNPARAM", "d=2", 1);
	is_str(larger("/bin/true", RLIM_INFINITY), "",
	       "a program without rings has its own environment");
	is_str(larger("no-such-program", RLIM_INFINITY), "", "so has one that is not there");
	is_str(larger(ocaml, 6 * MIB), "d=2,e=18", "rings of 2 MiB for 2 domains need 6 MiB");
	is_str(larger(ocaml, 6 * MIB - 1), "d=2,e=17", "with a byte less they have half of it");
	is_str(larger(ocaml, 4 * MIB), "d=2,e=17", "which need 4 MiB");
	is_str(larger(ocaml, 4 * MIB - 1), "", "with a byte less none are larger");
	setenv("OCAMLRUNPARAM", "d=2,e=12", 1);
	is_str(larger(ocaml, RLIM_INFINITY), "", "nor where the user has set their size");
	unsetenv("OCAMLRUNPARAM");
	is_str(larger(ocaml, 130 * MIB), "e=17", "without a number of domains there may be 128");

	struct rlimit was, limit;
	getrlimit(RLIMIT_AS, &was);
	limit = (struct rlimit){1ull << 46, was.rlim_max};
	setrlimit(RLIMIT_AS, &limit);
	is_str(larger(ocaml, RLIM_INFINITY), "", "a limit of address space counts as no room");
	setrlimit(RLIMIT_AS, &was);
}

static void test_extend(void)
{
	struct recording_rings rings = {.variable = "EBT_TEST_RINGS", .value = (char[]){"e=17"}};
	recording_extend(&rings);
	is_str(getenv("EBT_TEST_RINGS"), "e=17", "the variable is set in the program");
	rings.variable = NULL;
	unsetenv("EBT_TEST_RINGS");
	recording_extend(&rings);
	ok(!getenv("EBT_TEST_RINGS"), "or not, if there is none");
}

static void test_room(void)
{
	struct recording_room room, more;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	unsigned long long domains = cpus > 8 ? 2 * (unsigned long long)cpus : 16;
	recording_room(&room);
	is((long long)room.want_bytes, 66 * MIB, "128 rings of half a MiB want 66 MiB");
	is((long long)room.least_bytes, (domains < 128 ? domains : 128) * MIB / 2 + 2 * MIB,
	   "those of twice the CPUs, or 16, are the least");
	setenv("EBTRACE_LOG_WSIZE", "18", 1);
	setenv("OCAMLRUNPARAM", "e=17", 1);
	recording_room(&more);
	is((long long)more.want_bytes, 258 * MIB, "the largest size that is asked for counts");
	setenv("EBTRACE_LOG_WSIZE", "99", 1);
	recording_room(&more);
	is((long long)more.want_bytes, 128 * (8ll << 30) + 2 * MIB, "up to a bound");
	setenv("EBTRACE_LOG_WSIZE", "12", 1);
	unsetenv("OCAMLRUNPARAM");
	recording_room(&more);
	is((long long)more.want_bytes, 66 * MIB, "and no smaller one");
	unsetenv("EBTRACE_LOG_WSIZE");
}

static bool by_environment(const char *program, enum engine_mode mode)
{
	struct engine_options o = {.program = (char *[]){(char *)program, NULL}, .mode = mode};
	struct messages messages = {0};
	return recording_by_environment(&o, &messages);
}

static void test_by_environment(const char *ocaml)
{
	struct engine_options none = {0};
	struct messages messages = {0};
	ok(!recording_by_environment(&none, &messages),
	   "without a program there is none to extend");
	ok(by_environment("/bin/true", MODE_RING),
	   "where rings alone are read each program gets it");
	ok(!by_environment(ocaml, MODE_PROBES) && !by_environment(ocaml, MODE_COUNTERS),
	   "where probes alone are read none does");
	ok(by_environment(ocaml, MODE_AUTO), "else one that has a ring");
	is(by_environment("/bin/true", MODE_AUTO), geteuid() != 0, "and without root any other");
	setenv("OCAML_RUNTIME_EVENTS_START", "1", 1);
	is(by_environment("/bin/true", MODE_AUTO), geteuid() != 0,
	   "rings that the user has switched on are no reason");
	setenv("OCAML_RUNTIME_EVENTS_DIR", "", 1);
	is(by_environment("/bin/true", MODE_AUTO), geteuid() != 0, "nor is an empty name");
	setenv("OCAML_RUNTIME_EVENTS_DIR", dir, 1);
	ok(by_environment("/bin/true", MODE_AUTO), "unless they have a directory as well");
	unsetenv("OCAML_RUNTIME_EVENTS_START");
	is(by_environment("/bin/true", MODE_AUTO), geteuid() != 0, "nor is a directory alone");
	unsetenv("OCAML_RUNTIME_EVENTS_DIR");
}

int main(void)
{
	char command[512], ocaml[64];
	for (const char *const *name =
		     (const char *const[]){"OCAMLRUNPARAM", "CAMLRUNPARAM", "EBTRACE_LOG_WSIZE",
					   "EBTRACE_START", "EBTRACE_DIR",
					   "OCAML_RUNTIME_EVENTS_START", "OCAML_RUNTIME_EVENTS_DIR",
					   NULL};
	     *name; name++)
		unsetenv(*name);
	if (!mkdtemp(dir))
		return 1;
	/* A program that needs a library of OCaml's runtime. */
	snprintf(command, sizeof(command),
		 "cd %s && echo 'int x;' | cc -shared -x c - -o libasmrun_shared.so && "
		 "echo 'int main(void) { return 0; }' | "
		 "cc -Wl,--no-as-needed -x c - -o prog -x none libasmrun_shared.so",
		 dir);
	run(command);
	snprintf(ocaml, sizeof(ocaml), "%s/prog", dir);
	test_larger(ocaml);
	test_extend();
	test_room();
	test_by_environment(ocaml);
	is_str(recording_run(), recording_run(), "a run has one name");
	snprintf(command, sizeof(command), "rm -r %s", dir);
	run(command);
	return tap_done();
}
