/* SPDX-License-Identifier: BSD-2-Clause */
/* Files of OCaml without symbols: bytecode by its magic number, programs by their strings. */
#include "runtime/ocaml/version.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/file.h"
#include "tests/tap.h"

static int file_of(const void *data, size_t n)
{
	int fd = memfd_create("file", MFD_CLOEXEC);
	if (fd < 0 || file_write(fd, data, n))
		abort();
	return fd;
}

static void test_bytecode(void)
{
	static const struct {
		const char *end;
		unsigned release;
	} rows[] = {
		{"code Caml1999X031", 4}, {"code Caml1999X032", 5}, {"Caml1999X035", 5},
		{"Caml1999X03", 0},	  {"Caml1999X03x", 0},	    {"Caml1999X3 2", 0},
		{"Caml1999Y032", 0},	  {"Caml1999X032\n", 0},    {"", 0},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		char magic[OCAML_MAGIC_BYTES] = "";
		int fd = file_of(rows[i].end, strlen(rows[i].end));
		unsigned release = ocaml_version_bytecode(fd, magic);
		ok(release == rows[i].release &&
			   !strcmp(magic, release ? strstr(rows[i].end, "Caml") : ""),
		   "a file that ends in '%.12s' is bytecode of OCaml %u", rows[i].end,
		   rows[i].release);
		close(fd);
	}
}

/* A program with the two strings of a runtime of OCaml 5 behind each other, so that the second NUL
 * is byte `at`. */
static bool is_stripped(size_t at, const char *first, const char *second)
{
	static char data[1 << 20];
	size_t n = strlen(first) + 1 + strlen(second);
	memset(data, 0, sizeof(data));
	if (file_read_path("/bin/true", data, 65536) <= 0)
		abort();
	memcpy(data + at - n, first, strlen(first) + 1);
	memcpy(data + at - strlen(second), second, strlen(second) + 1);
	int fd = file_of(data, sizeof(data));
	bool stripped = ocaml_version_is_stripped(fd);
	close(fd);
	return stripped;
}

static void test_stripped(void)
{
	static const char first[] = "OCAMLRUNPARAM", second[] = "OCAML_RUNTIME_EVENTS_START";
	unsigned missed = 0;
	for (size_t at = 4 * 65536 - 8; at < 4 * 65536 + 64; at++)
		missed += !is_stripped(at, first, second);
	is(missed, 0, "the strings of a runtime are found wherever they are, across blocks, too");
	ok(!is_stripped(300000, first, "EVENTS_START"), "both must be there");
	ok(!is_stripped(300000, "XOCAMLRUNPARAM", second), "and whole");
}

int main(void)
{
	test_bytecode();
	test_stripped();
	return tap_done();
}
