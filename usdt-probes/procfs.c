/* SPDX-License-Identifier: BSD-2-Clause */
#include "procfs.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Reads the start of a small file as a string; empty on failure. */
static void read_text(const char *path, char *text, size_t bytes)
{
	memset(text, 0, bytes);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	ssize_t got = read(fd, text, bytes - 1);
	close(fd);
	if (got < 0)
		text[0] = 0;
}

uint64_t ebt_proc_start_time(char *comm, size_t bytes)
{
	char text[1024];
	read_text("/proc/self/stat", text, sizeof(text));
	/* The name, field 2, may hold spaces and brackets: count from the last bracket. */
	char *p = strrchr(text, ')');
	const char *name = strchr(text, '(');
	memset(comm, 0, bytes);
	if (p && name && (size_t)(p - name) <= bytes)
		memcpy(comm, name + 1, (size_t)(p - name - 1));
	for (int field = 2; p && field < 22; field++) {
		p = strchr(p, ' ');
		if (p)
			p++;
	}
	return p ? strtoull(p, NULL, 10) : 0;
}

void ebt_proc_boot_id(char *id, size_t bytes)
{
	read_text("/proc/sys/kernel/random/boot_id", id, bytes);
	id[strcspn(id, "\n")] = 0;
}

/* A line of maps: "from-to perms offset dev inode   path". */
static bool line_maps(const char *line, ino_t ino, const char *name)
{
	for (int field = 0; field < 4; field++) {
		line = strchr(line, ' ');
		if (!line)
			return false;
		line++;
	}
	if (strtoull(line, NULL, 10) != ino)
		return false;
	/* Device numbers of some file systems differ between maps and stat(): the path decides. */
	size_t len = strlen(line), tail = strlen(name);
	return len > tail && line[len - tail - 1] == '/' && !strcmp(line + len - tail, name);
}

bool ebt_proc_maps_inode(ino_t ino, const char *name)
{
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return true;
	char buf[8192];
	size_t have = 0;
	bool found = false;
	ssize_t got;
	while (!found && (got = read(fd, buf + have, sizeof(buf) - 1 - have)) > 0) {
		have += (size_t)got;
		char *line = buf, *end;
		while (!found && (end = memchr(line, '\n', (size_t)(buf + have - line)))) {
			*end = 0;
			found = line_maps(line, ino, name);
			line = end + 1;
		}
		have = (size_t)(buf + have - line);
		memmove(buf, line, have);
		if (have == sizeof(buf) - 1)
			have = 0;
	}
	close(fd);
	return found;
}

pid_t ebt_proc_last_child(void)
{
	int fd = open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	/* "12 34 56 ": keeps the last whole number over any number of reads. */
	char buf[512];
	pid_t number = 0, last = 0;
	ssize_t got;
	while ((got = read(fd, buf, sizeof(buf))) > 0) {
		for (ssize_t i = 0; i < got; i++) {
			if (buf[i] >= '0' && buf[i] <= '9') {
				number = number * 10 + (buf[i] - '0');
			} else if (number) {
				last = number;
				number = 0;
			}
		}
	}
	close(fd);
	return number ? number : last;
}
