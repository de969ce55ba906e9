/* SPDX-License-Identifier: BSD-2-Clause */
#include "ring_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "clock.h"
#include "procfs.h"
#include "stale.h"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE 1
#endif

#define NAME_TRIES 9999 /* a process that keeps its files leaves one at each exec() */

struct name {
	char text[EBT_RING_EXT_NAME_BYTES];
};
static const struct name phase_names[] = {
#define EBT_PHASE(id, name, stops) [id] = {#name},
#include <ebtrace/events.def>
};
static const struct name counter_names[] = {
#define EBT_COUNTER_ID(id, name, unit, help) [id] = {#name},
#include <ebtrace/events.def>
};
static const struct name lifecycle_names[] = {
#define EBT_LIFECYCLE_ID(id, name, help) [id] = {#name},
#include <ebtrace/events.def>
};
#define COUNT(table) (sizeof(table) / sizeof(*(table)))
#define EXT_BYTES                                                                    \
	(sizeof(struct ebt_ring_ext) + sizeof(phase_names) + sizeof(counter_names) + \
	 sizeof(lifecycle_names))

/*
 * Opens a directory that must be the caller's alone; creates it if it does not exist. In a world-
 * writable parent another user may have created it first, to read or to replace our files.
 */
static int open_private_dir(const char *path)
{
	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return -errno;
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	struct stat st;
	if (fstat(fd, &st) < 0 || st.st_uid != geteuid() || (st.st_mode & 077)) {
		close(fd);
		return -EPERM;
	}
	return fd;
}

static int open_dir(const struct ebt_config *config)
{
	char path[PATH_MAX];
	if (*config->dir) {
		int fd = open(config->dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		return fd < 0 ? -errno : fd;
	}
	const char *runtime_dir = secure_getenv("XDG_RUNTIME_DIR");
	if (runtime_dir && *runtime_dir == '/' &&
	    snprintf(path, sizeof(path), "%s/ebtrace", runtime_dir) < PATH_MAX) {
		int fd = open_private_dir(path);
		if (fd >= 0)
			return fd;
	}
	snprintf(path, sizeof(path), "/dev/shm/ebtrace-%u", (unsigned int)geteuid());
	return open_private_dir(path);
}

/* The file's absolute path, since the program may chdir(). */
static void set_path(struct ebt_file *file, int dir, const char *given, const char *name)
{
	char link[32], base[PATH_MAX];
	snprintf(link, sizeof(link), "/proc/self/fd/%d", dir);
	ssize_t len = readlink(link, base, sizeof(base) - 1);
	if (len > 0)
		base[len] = 0;
	else
		snprintf(base, sizeof(base), "%s", given);
	if (snprintf(file->path, sizeof(file->path), "%s/%s", base, name) >= PATH_MAX)
		file->path[0] = 0;
}

static int rename_new(int dir, const char *from, const char *to)
{
	if (!syscall(SYS_renameat2, dir, from, dir, to, RENAME_NOREPLACE))
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	/* A file system without RENAME_NOREPLACE; the name contains our pid, so there is no
	 * race. */
	if (!faccessat(dir, to, F_OK, AT_SYMLINK_NOFOLLOW))
		return -EEXIST;
	return renameat(dir, from, dir, to) ? -errno : 0;
}

/* The runtime of OCaml 5, if the program has one. */
extern void caml_ev_begin(int phase) __attribute__((weak));

/* The domains of a copy that this process has loaded have the numbers before ours. */
static void number_behind(struct ebt_file *file)
{
	uint64_t first = file->ext->first_domain + file->max_domains;
	file->ext->first_domain = first < EBT_RING_MAX_DOMAINS ? first : 0;
}

/*
 * Renames the finished file to its name, or to the next free one. OCaml's runtime opens and clears
 * any PID.events: if the program has that runtime, the name is left to it.
 */
static int publish(struct ebt_file *file, int dir, const struct ebt_config *config, const char *tmp)
{
	int pid = getpid();
	int err = -EEXIST;
	for (int copy = caml_ev_begin ? 2 : 1; err == -EEXIST && copy <= NAME_TRIES; copy++) {
		char name[48];
		enum ebt_stale stale = EBT_STALE_KEPT;
		if (copy == 1)
			snprintf(name, sizeof(name), "%d.events", pid);
		else
			snprintf(name, sizeof(name), "%d-%d.events", pid, copy);
		err = rename_new(dir, tmp, name);
		if (err == -EEXIST)
			stale = ebt_stale_remove(dir, name, config->preserve);
		if (stale == EBT_STALE_REMOVED)
			err = rename_new(dir, tmp, name);
		else if (stale == EBT_STALE_MAPPED)
			number_behind(file);
		if (!err)
			set_path(file, dir, config->dir, name);
	}
	return err;
}

static void fill_ext(struct ebt_ring_ext *ext, const struct ebt_config *config)
{
	ext->size = EXT_BYTES;
	ext->byte_order = 0x0102030405060708;
	ext->word_bytes = sizeof(uint64_t);
	ext->clock = EBT_RING_CLOCK_MONOTONIC;
	ext->pid = (uint64_t)getpid();
	ext->start_time = ebt_proc_start_time(ext->comm, sizeof(ext->comm));
	ext->start_ns = ebt_clock_monotonic();
	ebt_proc_boot_id(ext->boot_id, sizeof(ext->boot_id));
	snprintf(ext->producer, sizeof(ext->producer), "ebtrace-probes %s", EBT_VERSION);
	memcpy(ext->runtime, config->runtime, sizeof(ext->runtime));
	ext->phases = COUNT(phase_names);
	ext->counters = COUNT(counter_names);
	ext->lifecycles = COUNT(lifecycle_names);
	char *tables = (char *)(ext + 1);
	memcpy(tables, phase_names, sizeof(phase_names));
	tables += sizeof(phase_names);
	memcpy(tables, counter_names, sizeof(counter_names));
	tables += sizeof(counter_names);
	memcpy(tables, lifecycle_names, sizeof(lifecycle_names));
	ext->magic = EBT_RING_EXT_MAGIC;
}

static void fill(struct ebt_file *file, const struct ebt_config *config)
{
	struct ebt_ring_file *header = (struct ebt_ring_file *)file->base;
	header->version = EBT_RING_VERSION;
	header->max_domains = config->max_domains;
	header->ring_header_size = sizeof(struct ebt_ring_header);
	header->ring_size_elements = file->elements;
	header->ring_size_bytes = file->elements * sizeof(uint64_t);
	header->headers_offset = EBT_RING_HEADERS_OFFSET;
	header->data_offset = (uint64_t)((char *)file->data - file->base);
	header->custom_events_offset = (uint64_t)(file->names - file->base);
	fill_ext(file->ext, config);
}

/* Writes zeros, for a file system that cannot allocate without writing. */
static int write_zeros(int fd, uint64_t offset, uint64_t bytes)
{
	static const char zeros[4096];
	while (bytes) {
		size_t n = bytes < sizeof(zeros) ? (size_t)bytes : sizeof(zeros);
		ssize_t wrote = pwrite(fd, zeros, n, (off_t)offset);
		if (wrote <= 0)
			return wrote < 0 ? -errno : -ENOSPC;
		offset += (uint64_t)wrote;
		bytes -= (uint64_t)wrote;
	}
	return 0;
}

static int allocate(int fd, uint64_t offset, uint64_t bytes)
{
	if (!fallocate(fd, FALLOC_FL_KEEP_SIZE, (off_t)offset, (off_t)bytes))
		return 0;
	if (errno != EOPNOTSUPP && errno != ENOSYS)
		return -errno;
	return write_zeros(fd, offset, bytes);
}

static int allocate_by_path(const struct ebt_file *file, uint64_t offset, uint64_t bytes)
{
	int fd = ebt_file_id_open(&file->id, file->path);
	if (fd < 0)
		return fd;
	int err = allocate(fd, offset, bytes);
	close(fd);
	return err;
}

/*
 * Allocates an unwritten part of the file, in the mapping itself, or in the file if the kernel
 * (before 5.14) or a filter refuses MADV_POPULATE_WRITE. If the disk is full, what was allocated is
 * freed, except pages shared with a neighbour.
 */
static int reserve(const struct ebt_file *file, int fd, uint64_t offset, uint64_t bytes)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	uint64_t from = offset & ~(page - 1), to = offset + bytes;
	if (!madvise(file->base + from, to - from, MADV_POPULATE_WRITE))
		return 0;
	int err = -ENOSPC;
	if (errno == EINVAL || errno == ENOSYS || errno == EPERM)
		err = fd >= 0 ? allocate(fd, offset, bytes) : allocate_by_path(file, offset, bytes);
	from = (offset + page - 1) & ~(page - 1);
	to &= ~(page - 1);
	if (err && from < to)
		madvise(file->base + from, to - from, MADV_REMOVE);
	return err;
}

/* Maps the file, and reserves the parts written at the start. */
static int map(struct ebt_file *file, int fd, const struct ebt_config *config, uint64_t names_bytes)
{
	uint64_t data = EBT_RING_HEADERS_OFFSET +
			(uint64_t)sizeof(struct ebt_ring_header) * config->max_domains;
	uint64_t elements = UINT64_C(1) << config->log_words;
	uint64_t names = data + elements * sizeof(uint64_t) * config->max_domains;
	uint64_t ext = names + EBT_RING_NAMES_BYTES;
	uint64_t bytes = ext + EXT_BYTES;
	int err = ebt_file_check_size(bytes);
	if (err)
		return err;
	struct stat st;
	if (ftruncate(fd, (off_t)bytes) < 0 || fstat(fd, &st) < 0)
		return -errno;
	char *base = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (base == MAP_FAILED)
		return -errno;
	file->base = base;
	file->bytes = bytes;
	file->headers = (struct ebt_ring_header *)(base + EBT_RING_HEADERS_OFFSET);
	file->data = (uint64_t *)(base + data);
	file->names = base + names;
	file->ext = (struct ebt_ring_ext *)(base + ext);
	file->max_domains = config->max_domains;
	file->elements = elements;
	file->id = ebt_file_id_of(&st);
	err = reserve(file, fd, 0, data);
	if (!err)
		err = reserve(file, fd, ext, EXT_BYTES);
	if (!err && names_bytes)
		err = reserve(file, fd, names, names_bytes);
	if (err)
		ebt_file_unmap(file);
	return err;
}

/* For the tracer that asked for the ring. */
static void leave_note(int dir, int err)
{
	char name[EBT_RING_RUN_BYTES + 64], comm[16];
	const char *run = secure_getenv(EBT_RING_RUN);
	if (!run || !*run || strlen(run) >= EBT_RING_RUN_BYTES ||
	    strspn(run, "0123456789abcdefghijklmnopqrstuvwxyz-") != strlen(run))
		return;
	snprintf(name, sizeof(name), ".%s.%d.%d" EBT_RING_NOTE_END, run, getpid(), -err);
	int fd = openat(dir, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	ebt_proc_start_time(comm, sizeof(comm));
	(void)!write(fd, comm, strnlen(comm, sizeof(comm)));
	close(fd);
}

int ebt_file_create(struct ebt_file *file, const struct ebt_config *config, uint64_t names_bytes,
		    void (*fill_names)(char *names))
{
	int dir = open_dir(config);
	if (dir < 0)
		return dir;
	ebt_stale_sweep(dir);
	char tmp[64];
	snprintf(tmp, sizeof(tmp), ".%d-%llx.tmp", getpid(),
		 (unsigned long long)ebt_clock_monotonic());
	int err = 0;
	int fd = openat(dir, tmp, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0) {
		err = -errno;
		goto out_dir;
	}
	/* The umask may have removed our own rights. */
	if (fchmod(fd, 0600) < 0)
		err = -errno;
	flock(fd, LOCK_EX | LOCK_NB); /* without locks every file looks stale */
	if (!err)
		err = map(file, fd, config, names_bytes);
	close(fd);
	if (!err) {
		fill(file, config);
		fill_names(file->names);
		err = publish(file, dir, config, tmp);
		if (err)
			ebt_file_unmap(file);
	}
	if (err)
		unlinkat(dir, tmp, 0);
out_dir:
	if (err)
		leave_note(dir, err);
	close(dir);
	return err;
}

int ebt_file_reserve(const struct ebt_file *file, const void *from, uint64_t bytes)
{
	int saved_errno = errno;
	int err = reserve(file, -1, (uint64_t)((const char *)from - file->base), bytes);
	errno = saved_errno;
	return err;
}

void ebt_file_remove(const struct ebt_file *file)
{
	struct stat st;
	if (*file->path && !lstat(file->path, &st) && ebt_file_id_is(&file->id, &st))
		unlink(file->path);
}

void ebt_file_unmap(struct ebt_file *file)
{
	if (file->base)
		munmap(file->base, file->bytes);
	file->base = NULL;
}

void ebt_file_detach(struct ebt_file *file)
{
	if (file->base)
		mmap(file->base, file->bytes, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
	file->base = NULL;
}
