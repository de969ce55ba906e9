/* SPDX-License-Identifier: BSD-2-Clause */
#include "cmd/stale.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "proc/ringfile.h"

/* True if the process that a ring file is named after does not map it any more. */
static bool is_stale(pid_t pid, int fd)
{
	struct ringfile found[RINGFILE_MAX];
	char reason[RINGFILE_REASON_BYTES];
	struct stat st, other;
	int n = ringfile_find(pid, NULL, found, RINGFILE_MAX, reason);
	if (n == -EACCES || n == -EPERM || fstat(fd, &st))
		return false;
	bool stale = true;
	for (int i = 0; i < n; i++) {
		if (!fstat(found[i].fd, &other) && other.st_ino == st.st_ino &&
		    other.st_dev == st.st_dev)
			stale = false;
		ringfile_close(&found[i]);
	}
	return stale;
}

static void list_files(const char *dir, const struct opts *o)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	while (d && (e = readdir(d))) {
		char *end;
		long pid = strtol(e->d_name, &end, 10);
		if (pid <= 0 || pid > INT32_MAX || !strstr(end, ".events"))
			continue;
		int fd =
			openat(dirfd(d), e->d_name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
		struct stat st;
		if (fd < 0)
			continue;
		bool stale = !fstat(fd, &st) && S_ISREG(st.st_mode) && is_stale((pid_t)pid, fd);
		close(fd);
		if (!stale)
			continue;
		bool removed = o->prune && !unlinkat(dirfd(d), e->d_name, 0);
		if (o->json)
			printf("{\"stale\":\"%s/%s\",\"removed\":%s}\n", dir, e->d_name,
			       removed ? "true" : "false");
		else
			printf("stale: %s/%s%s\n", dir, e->d_name, removed ? " (removed)" : "");
	}
	if (d)
		closedir(d);
}

static void tell_dir(const char *path, bool removed, const struct opts *o)
{
	if (o->json)
		printf("{\"stale\":\"%s\",\"removed\":%s}\n", path, removed ? "true" : "false");
	else
		printf("stale: %s%s\n", path, removed ? " (removed)" : "");
}

/* Directories that runs of this user made and did not live to remove. */
static void list_run_dirs(const char *base, const struct opts *o)
{
	DIR *d = opendir(base);
	struct dirent *e;
	while (d && (e = readdir(d))) {
		char path[512];
		struct stat st;
		if (strncmp(e->d_name, STALE_RUN_PREFIX, strlen(STALE_RUN_PREFIX)) ||
		    snprintf(path, sizeof(path), "%s/%s", base, e->d_name) >= (int)sizeof(path))
			continue;
		int fd = openat(dirfd(d), e->d_name,
				O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (fd < 0)
			continue;
		if (!fstat(fd, &st) && st.st_uid == geteuid() && !flock(fd, LOCK_EX | LOCK_NB)) {
			list_files(path, o);
			tell_dir(path, o->prune && !unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR), o);
		}
		close(fd);
	}
	if (d)
		closedir(d);
}

/* Where the probe library puts its files, for this user, and where they were sent. */
void stale_list(const struct opts *o)
{
	char dir[256];
	const char *base = getenv("XDG_RUNTIME_DIR");
	if (base && *base) {
		snprintf(dir, sizeof(dir), "%s/ebtrace", base);
		list_files(dir, o);
		list_run_dirs(base, o);
	}
	list_run_dirs("/dev/shm", o);
	list_run_dirs("/tmp", o);
	snprintf(dir, sizeof(dir), "/dev/shm/ebtrace-%u", getuid());
	list_files(dir, o);
	const char *const given[] = {o->ring_dir, getenv("EBTRACE_DIR"),
				     getenv("OCAML_RUNTIME_EVENTS_DIR")};
	for (unsigned i = 0; i < 3; i++)
		if (given[i] && *given[i])
			list_files(given[i], o);
}
