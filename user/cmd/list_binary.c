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
#include "codec/ring/ids.h"
#include "elf/machine.h"
#include "elf/notes.h"
#include "engine/foreign_file.h"
#include "runtime/runtimes.h"

static void print_json(const char *path, const char *runtime, const struct notes *notes)
{
	struct json_line line;
	struct json *j = &line.json;
	print_json_begin(&line);
	json_open(j, '{');
	json_key_str(j, "file", path);
	if (runtime)
		json_key_str(j, "runtime", runtime);
	else
		json_key_null(j, "runtime");
	json_key_open(j, "markers", '[');
	for (uint32_t i = 0; notes && i < notes->sites; i++) {
		json_open(j, '{');
		json_key_str(j, "provider", notes->site[i].provider);
		json_key_str(j, "name", notes->site[i].name);
		json_key_u64(j, "offset", notes->site[i].offset);
		json_key_bool(j, "semaphore", notes->site[i].semaphore);
		json_key_str(j, "args", notes->site[i].args);
		json_close(j, '}');
	}
	json_close(j, ']');
	json_close(j, '}');
	print_json_end(&line);
}

static void print_text(const char *path, const char *runtime, const struct notes *notes)
{
	if (runtime)
		print("%s: runtime of %s\n", path, runtime);
	for (uint32_t i = 0; i < notes->sites; i++)
		print("%s:%s  at 0x%llx%s  %s\n", notes->site[i].provider, notes->site[i].name,
		      (unsigned long long)notes->site[i].offset,
		      notes->site[i].semaphore ? ", semaphore" : "", notes->site[i].args);
}

static int no_elf_file(int fd, const char *path, bool json)
{
	char text[RUNTIME_TEXT_BYTES];
	bool described = runtimes_describe(fd, text);
	if (described && json) {
		print_json(path, text, NULL);
		return 0;
	}
	if (described) {
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

static int print_markers(int fd, const char *path, bool json)
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
	const char *runtime = release ? ring_release_name(release) : NULL;
	bool nothing = !notes.sites && !release;
	if (json && !nothing)
		print_json(path, runtime, &notes);
	else
		print_text(path, runtime, &notes);
	notes_done(&notes);
	if (nothing && runtimes_explain(fd, reason))
		complain("'%s' %s", path, reason);
	else if (nothing)
		complain("'%s' has no markers and no runtime that can be traced", path);
	return nothing ? EXIT_NOTHING : 0;
}

int list_binary(const char *path, bool json)
{
	char machine[MACHINE_NAME_BYTES];
	int fd = file_open(AT_FDCWD, path, 0);
	int err = fd < 0 ? fd : machine_check(fd, machine);
	int status = EXIT_ERROR;
	if (!err)
		status = print_markers(fd, path, json);
	else if (err == -ENOEXEC)
		status = no_elf_file(fd, path, json);
	else
		complain("'%s': %s%s", path,
			 err == -ENOTSUP ? "an ELF file of another machine: " : "",
			 err == -ENOTSUP ? machine : file_strerror(err));
	if (fd >= 0)
		close(fd);
	return status;
}
