/* SPDX-License-Identifier: BSD-2-Clause */
/* Executables that are assembled by a test, with the functions of an OCaml runtime in them. */
#ifndef TESTS_ASSEMBLED_H
#define TESTS_ASSEMBLED_H

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "elf/elf.h"
#include "runtime/ocaml/probes.h"
#include "tests/tap.h"

static char dir[] = "/tmp/ebt-ocaml-XXXXXX";
static int fd = -1;
static struct ocaml_runtime r;

/* Parts of a program. FUNCTION(name, body): the body is what is looked at; where its site is to be
 * found is marked `here_NAME`. */
#define FUNCTION(name, body) ".globl " name "\n.type " name ",@function\n" name ":\n" body "ret\n"
#define TEXT		     ".text\n.globl _start\n_start:\n"
#define FLAG                                                \
	".data\n.balign 8\n.globl runtime_events_enabled\n" \
	"runtime_events_enabled:\n.quad 0\n"
#define STATE                                                                            \
	".section .tdata,\"awT\",@progbits\n.balign 16\n.quad 1, 2\n.globl caml_state\n" \
	".type caml_state,@object\n.size caml_state,8\ncaml_state:\n.quad 0\n.text\n"
#define TESTS_FLAG "mov runtime_events_enabled(%rip), %rax\ntest %rax, %rax\n"
/* Begin and end of a plain runtime, and the mark of a release. */
#define PLAIN                                               \
	FUNCTION("caml_ev_begin", TESTS_FLAG "je 1f\n1:\n") \
	FUNCTION("caml_ev_end", "nop\n")
#define MARK(name) ".globl " name "\n" name ":\nret\n"

static int read_program(const char *text, const char *flags)
{
	char source[64], path[64], cmd[256];
	snprintf(source, sizeof(source), "%s/a.s", dir);
	snprintf(path, sizeof(path), "%s/a", dir);
	FILE *f = fopen(source, "w");
	if (!f)
		return -errno;
	fputs(text, f);
	fputs(".section .note.GNU-stack,\"\",@progbits\n", f);
	fclose(f);
	snprintf(cmd, sizeof(cmd), "cc -nostdlib %s %s -o %s", flags, source, path);
	if (system(cmd))
		return -EINVAL;
	if (fd >= 0)
		close(fd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	memset(&r, 0, sizeof(r));
	return ocaml_probes_read(fd, &r);
}
#define STATIC "-static -no-pie"

static uint64_t address_of(const char *name)
{
	struct elf_symbol symbol = {.name = name};
	struct elf *elf;
	if (elf_open(fd, &elf))
		return 0;
	elf_find(elf, &symbol, 1);
	elf_close(elf);
	return symbol.value;
}

static inline uint64_t offset_of(const char *name)
{
	struct elf *elf;
	uint64_t address = address_of(name);
	if (elf_open(fd, &elf))
		return 0;
	uint64_t offset = elf_offset(elf, address);
	elf_close(elf);
	return offset;
}

#endif
