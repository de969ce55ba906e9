/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * ebtrace list BINARY: prints the runtime and the markers of a file, or why it has none.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "cmd/commands.h"
#include "cmd/list_binary.h"
#include "cmd/message.h"
#include "cmd/print.h"
#include "codec/ring_ids.h"
#include "engine/foreign_file.h"
#include "proc/machine.h"
#include "proc/notes.h"
#include "runtime/runtimes.h"

static int no_elf_file(int fd, const char *path)
{
	char text[RUNTIME_TEXT_BYTES];
	if (runtimes_describe(fd, text)) {
		print("%s: %s; to trace it: ebtrace -- %s%s\n", path, text,
		      strchr(path, '/') ? "" : "./", path);
		return 0;
	}
	if (runtimes_explain(fd, text)) {
		complain("'%s' %s", path, text);
		return EXIT_NOTHING;
	}
	uint8_t head[64];
	ssize_t n = file_read_at(fd, head, sizeof(head), 0);
	const char *foreign = n > 0 ? foreign_file(head, (size_t)n) : NULL;
	complain("'%s' %s", path, foreign ? foreign : "is not an ELF file");
	return EXIT_ERROR;
}

static int print_markers(int fd, const char *path)
{
	char reason[RUNTIME_TEXT_BYTES];
	struct notes notes;
	int err = notes_read(fd, NULL, &notes);
	if (err) {
		complain("'%s': %s", path,
			 err == -EBADMSG ? "its tables are damaged" : file_strerror(err));
		return EXIT_ERROR;
	}
	enum ebt_release release = runtimes_release(fd);
	if (release)
		print("%s: runtime of %s\n", path, ring_release_name(release));
	for (uint32_t i = 0; i < notes.sites; i++)
		print("%s:%s  at 0x%llx%s  %s\n", notes.site[i].provider, notes.site[i].name,
		      (unsigned long long)notes.site[i].offset,
		      notes.site[i].semaphore ? ", semaphore" : "", notes.site[i].args);
	bool nothing = !notes.sites && !release;
	notes_done(&notes);
	if (nothing && runtimes_explain(fd, reason))
		complain("'%s' %s", path, reason);
	else if (nothing)
		complain("'%s' has no markers and no runtime that can be traced", path);
	return nothing ? EXIT_NOTHING : 0;
}

int list_binary(const char *path)
{
	char machine[MACHINE_NAME_BYTES];
	int fd = file_open(AT_FDCWD, path, 0);
	int err = fd < 0 ? fd : machine_check(fd, machine);
	int status = EXIT_ERROR;
	if (!err)
		status = print_markers(fd, path);
	else if (err == -ENOEXEC)
		status = no_elf_file(fd, path);
	else
		complain("'%s': %s%s", path,
			 err == -ENOTSUP ? "an ELF file of another machine: " : "",
			 err == -ENOTSUP ? machine : file_strerror(err));
	if (fd >= 0)
		close(fd);
	return status;
}
