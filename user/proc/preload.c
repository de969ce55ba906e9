/* SPDX-License-Identifier: BSD-2-Clause */
#include "proc/preload.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/file.h"
#include "proc/elf.h"
#include "proc/machine.h"
#include "proc/regular.h"

#define SCRIPTS_MAX  4 /* the interpreter of a script may be a script */
#define HEADERS_MAX  256
#define SCRIPT_BYTES 256 /* of the first line that the kernel reads */

/* The path of the file's dynamic linker. 0; -ENOENT: it has none; else -errno. */
static int read_linker(int fd, char ret[PATH_MAX])
{
	Elf64_Ehdr e;
	Elf64_Phdr h;
	ssize_t n = file_read_at(fd, &e, sizeof(e), 0);
	if (n != sizeof(e) || e.e_phentsize != sizeof(h) || e.e_phnum > HEADERS_MAX)
		return n < 0 ? (int)n : -ENOEXEC;
	for (unsigned i = 0; i < e.e_phnum; i++) {
		uint64_t at = e.e_phoff + i * sizeof(h);
		if (at > INT64_MAX || file_read_at(fd, &h, sizeof(h), at) != sizeof(h))
			return -ENOEXEC;
		if (h.p_type != PT_INTERP)
			continue;
		if (h.p_filesz >= PATH_MAX || h.p_offset > INT64_MAX ||
		    file_read_at(fd, ret, h.p_filesz, h.p_offset) != (ssize_t)h.p_filesz)
			return -ENOEXEC;
		ret[h.p_filesz] = 0;
		return 0;
	}
	return -ENOENT;
}

/* Our own library is made for our own C library. */
static bool is_our_linker(const char *path)
{
	char ours[PATH_MAX];
	struct stat a, b;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int err = fd < 0 ? -errno : read_linker(fd, ours);
	if (fd >= 0)
		close(fd);
	return err ||
	       (!stat(ours, &a) && !stat(path, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino);
}

/* The dynamic linker ignores the environment of such a program. */
static const char *gains_privilege(int fd)
{
	struct stat st;
	if (fstat(fd, &st))
		return NULL;
	if (st.st_mode & S_ISUID && st.st_uid != geteuid())
		return "it is set-user-id";
	if (st.st_mode & S_ISGID && st.st_mode & S_IXGRP && st.st_gid != getegid())
		return "it is set-group-id";
	if (geteuid() && fgetxattr(fd, "security.capability", NULL, 0) > 0)
		return "its file has capabilities";
	return NULL;
}

static const char *refuse_binary(int fd, char ret[PRELOAD_REASON_BYTES])
{
	char machine[MACHINE_NAME_BYTES], linker[PATH_MAX];
	int err = machine_check(fd, machine);
	if (err == -ENOTSUP) {
		snprintf(ret, PRELOAD_REASON_BYTES, "it is a program for %s", machine);
		return ret;
	}
	if (err)
		return NULL; /* exec() fails, and knows why */
	err = read_linker(fd, linker);
	if (err == -ENOENT)
		return "it is statically linked";
	if (!err && !is_our_linker(linker)) {
		snprintf(ret, PRELOAD_REASON_BYTES, "its dynamic linker is '%.80s', not ours",
			 linker);
		return ret;
	}
	return gains_privilege(fd);
}

/* The interpreter that a script names. False: it is none. */
static bool read_script(int fd, char ret[SCRIPT_BYTES])
{
	char line[SCRIPT_BYTES];
	ssize_t n = file_read_at(fd, line, sizeof(line) - 1, 0);
	if (n < 3 || line[0] != '#' || line[1] != '!')
		return false;
	line[n] = 0;
	const char *name = line + 2 + strspn(line + 2, " \t");
	size_t bytes = strcspn(name, " \t\n");
	memcpy(ret, name, bytes);
	ret[bytes] = 0;
	return bytes > 0;
}

/* Opens the program, or for a script the program that runs it. A descriptor or -errno. */
static int open_program(const char *path)
{
	char script[SCRIPT_BYTES];
	int fd = regular_open(path, 0, 0);
	for (unsigned i = 0; i < SCRIPTS_MAX && fd >= 0 && read_script(fd, script); i++) {
		close(fd);
		fd = regular_open(script, 0, 0);
	}
	return fd;
}

const char *preload_refused(const char *path, char ret[PRELOAD_REASON_BYTES])
{
	int fd = open_program(path);
	if (fd < 0)
		return NULL;
	const char *why = refuse_binary(fd, ret);
	close(fd);
	return why;
}

bool preload_has_memtrace(const char *path)
{
	struct elf_symbol symbol[] = {
		{.name = "camlMemtrace__code_begin"}, /* before OCaml 5.2 */
		{.name = "camlMemtrace.code_begin"},
		{.name = "camlMemtrace$code_begin"},
	};
	struct elf *e;
	int fd = regular_open(path, 0, 0);
	bool found = false;
	if (fd >= 0 && !elf_open(fd, &e)) {
		found = elf_find(e, symbol, sizeof(symbol) / sizeof(*symbol)) > 0;
		elf_close(e);
	}
	if (fd >= 0)
		close(fd);
	return found;
}
