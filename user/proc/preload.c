/* SPDX-License-Identifier: BSD-2-Clause */
#include "proc/preload.h"

#include <ebtrace/loadable.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/regular.h"
#include "elf/elf.h"
#include "elf/machine.h"

static const char *refuse_binary(int fd, char ret[PRELOAD_REASON_BYTES])
{
	char machine[MACHINE_NAME_BYTES], linker[EBT_LOADABLE_LINKER_BYTES];
	switch (ebt_loadable_check(fd, linker)) {
	case EBT_LOADABLE:
	case EBT_LOADABLE_NO_PROGRAM:
		break;
	case EBT_LOADABLE_STATIC:
		return "it is statically linked";
	case EBT_LOADABLE_OTHER_LINKER:
		snprintf(ret, PRELOAD_REASON_BYTES, "its dynamic linker is '%.80s', not ours",
			 linker);
		return ret;
	case EBT_LOADABLE_OTHER_MACHINE:
		if (machine_check(fd, machine) != -ENOTSUP)
			return "it is a program for another machine";
		snprintf(ret, PRELOAD_REASON_BYTES, "it is a program for %s", machine);
		return ret;
	case EBT_LOADABLE_SET_USER_ID:
		return "it is set-user-id";
	case EBT_LOADABLE_SET_GROUP_ID:
		return "it is set-group-id";
	case EBT_LOADABLE_CAPABLE:
		return "its file has capabilities";
	case EBT_LOADABLE_SANITIZED:
		return "it is linked with a sanitizer, which has an allocator of its own";
	}
	return NULL;
}

const char *preload_refused(const char *path, char ret[PRELOAD_REASON_BYTES])
{
	int fd = ebt_loadable_open(AT_FDCWD, path);
	if (fd < 0)
		return NULL;
	const char *why = refuse_binary(fd, ret);
	close(fd);
	return why;
}

bool preload_has_memtrace(const char *path)
{
	struct elf_symbol symbol[] = {
		{.name = "camlMemtrace__code_begin"}, /* of older compilers */
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
