// SPDX-License-Identifier: BSD-2-Clause
/* What the table of runtimes says of files. */
#include "runtime/runtimes.h"
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
		ok(runtimes[i] && runtimes[i]->name && runtimes[i]->recognise,
		   "runtime %u has a name and is recognised", i);
		for (unsigned k = 0; k < i; k++)
			ok(strcmp(runtimes[i]->name, runtimes[k]->name), "the names differ");
	}
}

static void test_ours(void)
{
	struct runtime_file file;
	const char *o = getenv("O");
	char path[256], reason[RUNTIME_REASON_BYTES];
	snprintf(path, sizeof(path), "%s/tests/prog/minigc", o ? o : "build");
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	runtimes_recognise(fd, NULL, &file);
	ok(file.markers > 10, "a program with libebtrace-probes is known by its markers");
	is(file.release, EBT_RELEASE_AUTO, "and is none of OCaml");
	is(runtimes_release(fd), EBT_RELEASE_AUTO, "as nobody says of it");
	ok(runtimes_may_have_ring(fd), "it may have a ring");
	ok(!runtimes_is_hidden(fd) && !runtimes_explain(fd, reason), "nothing is to be explained");
	close(fd);
}

static void test_others(void)
{
	char reason[RUNTIME_REASON_BYTES] = "";
	int fd = open("/bin/true", O_RDONLY | O_CLOEXEC);
	ok(!runtimes_may_have_ring(fd), "a program without a runtime has no ring");
	ok(!runtimes_is_hidden(fd) && !runtimes_explain(fd, reason), "and no reason why");
	close(fd);
	fd = file_of("some bytes Caml1999X031");
	ok(!runtimes_may_have_ring(fd), "bytecode has no ring of its own");
	ok(runtimes_explain(fd, reason), "of OCaml 4 it is explained why");
	is_str(reason,
	       "is bytecode of OCaml 4 (Caml1999X031), which has no runtime events; OCaml 5 has "
	       "them",
	       "in words that follow its name");
	close(fd);
	fd = file_of("some bytes Caml1999X035");
	ok(!runtimes_explain(fd, reason), "of OCaml 5 there is nothing to explain");
	close(fd);
}

int main(void)
{
	test_table();
	test_ours();
	test_others();
	return tap_done();
}
