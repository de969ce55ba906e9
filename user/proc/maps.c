/* SPDX-License-Identifier: BSD-2-Clause */
#include "proc/maps.h"
#include "base/file.h"
#include "base/regular.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define LINE_BYTES (MAPS_PATH_BYTES + 128)

/* The ioctl of /proc/PID/maps (Linux 6.11, include/uapi/linux/fs.h), which Debian 12's headers
 * lack. */
struct procmap_query {
	uint64_t size, query_flags, query_addr;
	uint64_t vma_start, vma_end, vma_flags, vma_page_size, vma_offset, inode;
	uint32_t dev_major, dev_minor;
	uint32_t vma_name_size, build_id_size;
	uint64_t vma_name_addr, build_id_addr;
};
#define PROCMAP_QUERY _IOWR('f', 17, struct procmap_query)
enum {
	VMA_READABLE = 0x01,
	VMA_WRITABLE = 0x02,
	VMA_EXECUTABLE = 0x04,
	VMA_SHARED = 0x08,
	QUERY_COVERING_OR_NEXT = 0x10,
	QUERY_FILE_BACKED = 0x20,
};

/* A number that ends at `end`, a character; *at moves behind that. False: there is none. */
static bool number(char **at, int base, char end, uint64_t *ret)
{
	uint64_t n = 0;
	char *p = *at;
	for (;; p++) {
		unsigned digit = *p >= '0' && *p <= '9'	  ? (unsigned)(*p - '0')
				 : *p >= 'a' && *p <= 'f' ? (unsigned)(*p - 'a') + 10
							  : 16;
		if (digit >= (unsigned)base)
			break;
		n = n * (unsigned)base + digit;
	}
	if (p == *at || (*p != end && (*p || end != ' ')))
		return false;
	*ret = n;
	*at = p + (*p != 0);
	return true;
}

static bool cut_deleted(char *path)
{
	static const char deleted[] = " (deleted)";
	size_t n = strlen(path), suffix = sizeof(deleted) - 1;
	bool gone = n > suffix && !strcmp(path + n - suffix, deleted);
	if (gone)
		path[n - suffix] = 0;
	return gone;
}

int maps_parse(char *line, struct maps_entry *ret)
{
	struct maps_entry e;
	uint64_t major, minor;
	char *at = line;
	if (!number(&at, 16, '-', &e.start) || !number(&at, 16, ' ', &e.end))
		return -EBADMSG;
	const char *perms = at;
	if (strcspn(perms, " ") != 4 || !perms[4])
		return -EBADMSG;
	at += 5;
	if (!number(&at, 16, ' ', &e.offset) || !number(&at, 16, ':', &major) ||
	    !number(&at, 16, ' ', &minor) || !number(&at, 10, ' ', &e.inode) || e.start >= e.end)
		return -EBADMSG;
	at += strspn(at, " ");
	e.dev_major = (uint32_t)major;
	e.dev_minor = (uint32_t)minor;
	e.read = perms[0] == 'r';
	e.write = perms[1] == 'w';
	e.exec = perms[2] == 'x';
	e.shared = perms[3] == 's';
	e.deleted = cut_deleted(at);
	e.path = at;
	*ret = e;
	return 0;
}

static bool is_of(enum maps_set set, const struct maps_entry *e)
{
	return set == MAPS_ALL || e->exec || (e->write && e->shared && e->inode);
}

static int each_line(int fd, enum maps_set set, int (*fn)(const struct maps_entry *e, void *ctx),
		     void *ctx)
{
	char line[LINE_BYTES];
	struct maps_entry e;
	int ret = 0;
	FILE *f = fdopen(dup(fd), "r");
	if (!f)
		return -ENOMEM;
	errno = 0;
	while (!ret && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = 0;
		if (!maps_parse(line, &e) && is_of(set, &e))
			ret = fn(&e, ctx);
	}
	if (!ret && ferror(f))
		ret = errno ? -errno : -EIO;
	fclose(f);
	return ret;
}

/* As the kernel's text has it. */
static void escape_newlines(const char *name, char *ret)
{
	for (; *name; name++) {
		if (*name == '\n')
			ret = stpcpy(ret, "\\012");
		else
			*ret++ = *name;
	}
	*ret = 0;
}

/* Others do not know it: an older kernel (ENOTTY), QEMU's user mode (ENOSYS). */
static bool can_query(int fd)
{
	uint64_t too_small = 0;
	return ioctl(fd, PROCMAP_QUERY, &too_small) && errno == EINVAL;
}

/* Fills *q from an address on, with the name if it is no longer than PATH_MAX. 1; 0: no more. */
static int query(int fd, uint64_t flags, uint64_t from, char *name, struct procmap_query *ret)
{
	*ret = (struct procmap_query){.size = sizeof(*ret),
				      .query_flags = flags | QUERY_COVERING_OR_NEXT,
				      .query_addr = from,
				      .vma_name_addr = (uintptr_t)name,
				      .vma_name_size = name ? PATH_MAX : 0};
	if (!ioctl(fd, PROCMAP_QUERY, ret))
		return ret->vma_end > from ? 1 : -EBADMSG;
	if (errno == ENAMETOOLONG && name)
		return query(fd, flags, from, NULL, ret);
	/* Of a process that has ended the text is empty. */
	return errno == ENOENT || errno == ESRCH ? 0 : -errno;
}

/* Mappings that have all of `flags`, and not `without`. */
static int each_query(int fd, uint64_t flags, uint64_t without,
		      int (*fn)(const struct maps_entry *e, void *ctx), void *ctx)
{
	char name[PATH_MAX], path[MAPS_PATH_BYTES];
	struct procmap_query q;
	int err;
	for (uint64_t from = 0; (err = query(fd, flags, from, name, &q)) > 0; from = q.vma_end) {
		if (q.vma_flags & without)
			continue;
		escape_newlines(q.vma_name_size ? name : "", path);
		struct maps_entry e = {.start = q.vma_start,
				       .end = q.vma_end,
				       .offset = q.vma_offset,
				       .inode = q.inode,
				       .dev_major = q.dev_major,
				       .dev_minor = q.dev_minor,
				       .read = q.vma_flags & VMA_READABLE,
				       .write = q.vma_flags & VMA_WRITABLE,
				       .exec = q.vma_flags & VMA_EXECUTABLE,
				       .shared = q.vma_flags & VMA_SHARED,
				       .path = path};
		e.deleted = cut_deleted(path);
		err = fn(&e, ctx);
		if (err)
			break;
	}
	return err;
}

static int each_of_fd(int fd, enum maps_set set, int (*fn)(const struct maps_entry *e, void *ctx),
		      void *ctx)
{
	if (set == MAPS_ALL || !can_query(fd))
		return each_line(fd, set, fn, ctx);
	int err = each_query(fd, VMA_EXECUTABLE, 0, fn, ctx);
	return err ? err
		   : each_query(fd, VMA_WRITABLE | VMA_SHARED | QUERY_FILE_BACKED, VMA_EXECUTABLE,
				fn, ctx);
}

int maps_each(pid_t pid, enum maps_set set, int (*fn)(const struct maps_entry *e, void *ctx),
	      void *ctx)
{
	char name[32];
	snprintf(name, sizeof(name), "/proc/%d/maps", (int)pid);
	int fd = file_open(AT_FDCWD, name, 0);
	if (fd < 0)
		return fd == -ENOENT ? -ESRCH : fd;
	int ret = each_of_fd(fd, set, fn, ctx);
	close(fd);
	return ret;
}

void maps_list_done(struct maps_list *l)
{
	free(l->entry);
	free(l->data);
	*l = (struct maps_list){0};
}

/* What a mapping of ours is compared with. */
struct wanted {
	uint64_t at;
	const struct maps_entry *e;
	bool is_same;
};

static int compare(const struct maps_entry *own, void *ctx)
{
	struct wanted *w = ctx;
	w->is_same = own->start == w->at && own->inode == w->e->inode &&
		     own->dev_major == w->e->dev_major && own->dev_minor == w->e->dev_minor;
	return own->start == w->at;
}

/* Whether a mapping of ours has the numbers of the process's. An overlay with layers on several
 * file systems can report one inode to stat() and another for mappings, where it has copied the
 * file. */
static bool is_mapped_as(int fd, const struct maps_entry *e)
{
	struct statfs fs;
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	if (fstatfs(fd, &fs) || fs.f_type != OVERLAYFS_SUPER_MAGIC)
		return false;
	void *at = mmap(NULL, page, PROT_READ, MAP_PRIVATE, fd, 0);
	if (at == MAP_FAILED)
		return false;
	struct wanted w = {.at = (uintptr_t)at, .e = e};
	maps_each(getpid(), MAPS_ALL, compare, &w);
	munmap(at, page);
	return w.is_same;
}

/* The kernel's own link to the file of a mapping, which may have become another's. */
static int open_link(const char *path, const struct maps_entry *e)
{
	int fd = regular_open(path, e->inode, 0);
	if (fd != -ESTALE)
		return fd;
	fd = regular_open(path, 0, 0);
	if (fd < 0 || is_mapped_as(fd, e))
		return fd;
	close(fd);
	return -ESTALE;
}

/* map_files does not depend on the path, but needs more than CAP_BPF and CAP_PERFMON; exe works for
 * a deleted program; the inode shows whether a path still names the file. */
int maps_open(pid_t pid, const struct maps_entry *e)
{
	char path[PATH_MAX + 64];
	snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", pid,
		 (unsigned long long)e->start, (unsigned long long)e->end);
	int fd = open_link(path, e);
	if (fd >= 0 || fd == -EINVAL || fd == -EBUSY)
		return fd;
	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	fd = regular_open(path, e->inode, 0);
	if (fd >= 0 || e->path[0] != '/')
		return fd;
	snprintf(path, sizeof(path), "/proc/%d/root%s", pid, e->path);
	fd = regular_open(path, e->inode, O_NOFOLLOW);
	if (fd >= 0)
		return fd;
	/* For a process in a chroot of our own mount namespace the kernel shows the path that we
	 * see. */
	int seen = regular_open(e->path, e->inode, O_NOFOLLOW);
	return seen < 0 ? fd : seen;
}
