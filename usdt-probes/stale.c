/* SPDX-License-Identifier: BSD-2-Clause */
#include "stale.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ebtrace/ring.h>

#include "procfs.h"

#define SWEEP_BUFFERS 16 /* of directory entries */
#define SWEEP_FILES   64

/* True if it has an extension block of this boot. */
static bool read_ext(int fd, struct ebt_ring_ext *ret)
{
	struct ebt_ring_file header;
	if (pread(fd, &header, sizeof(header), 0) != sizeof(header) ||
	    header.custom_events_offset > INT64_MAX - EBT_RING_NAMES_BYTES ||
	    pread(fd, ret, sizeof(*ret),
		  (off_t)(header.custom_events_offset + EBT_RING_NAMES_BYTES)) != sizeof(*ret))
		return false;
	char boot_id[sizeof(ret->boot_id)];
	ebt_proc_boot_id(boot_id, sizeof(boot_id));
	return ret->magic == EBT_RING_EXT_MAGIC && !memcmp(ret->boot_id, boot_id, sizeof(boot_id));
}

enum ebt_stale ebt_stale_remove(int dir, const char *name, bool preserve)
{
	struct stat st;
	struct ebt_ring_ext ext;
	bool kept = false, mapped = false;
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd >= 0) {
		bool locked = flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK;
		kept = locked || (preserve && read_ext(fd, &ext));
		/* OCaml's runtime in this process does not lock its file. */
		mapped = (locked || !kept) &&
			 (fstat(fd, &st) || ebt_proc_maps_inode(st.st_ino, name));
		close(fd);
	}
	if (mapped)
		return EBT_STALE_MAPPED;
	return !kept && !unlinkat(dir, name, 0) ? EBT_STALE_REMOVED : EBT_STALE_KEPT;
}

/* PID.events or PID-N.events */
static bool is_ring_name(const char *name)
{
	size_t digits = strspn(name, "0123456789");
	const char *rest = name + digits;
	if (*rest == '-') {
		size_t more = strspn(rest + 1, "0123456789");
		rest += more ? 1 + more : 0;
	}
	return digits && !strcmp(rest, ".events");
}

/* The lock is held until the name is removed: no new file gets it in between. */
static void remove_left_over(int dir, const char *name)
{
	struct stat st;
	struct ebt_ring_ext ext;
	int fd = openat(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
	    !flock(fd, LOCK_EX | LOCK_NB) && read_ext(fd, &ext) && ext.left_over == 1)
		unlinkat(dir, name, 0);
	close(fd);
}

void ebt_stale_sweep(int dir)
{
	struct stat st;
	int files = 0;
	if (fstat(dir, &st) || st.st_uid != geteuid() || (st.st_mode & 077))
		return;
	for (int i = 0; i < SWEEP_BUFFERS && files < SWEEP_FILES; i++) {
		char buf[2048] __attribute__((aligned(8)));
		long n = syscall(SYS_getdents64, dir, buf, sizeof(buf));
		if (n <= 0)
			return;
		const struct dirent64 *e;
		for (long at = 0; at < n && files < SWEEP_FILES; at += e->d_reclen) {
			e = (const struct dirent64 *)(const void *)(buf + at);
			if (!is_ring_name(e->d_name))
				continue;
			files++;
			remove_left_over(dir, e->d_name);
		}
	}
}
