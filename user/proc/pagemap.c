/* SPDX-License-Identifier: BSD-2-Clause */
#include "proc/pagemap.h"

#include "base/file.h"
#include "proc/maps.h"
#include "proc/process.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Of linux/fs.h since Linux 6.7. */
struct scan_region {
	uint64_t start, end, categories;
};
struct scan_arg {
	uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
	uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};
#define SCAN_IOCTL    _IOWR('f', 16, struct scan_arg)
#define SCAN_FILE     (1u << 2)
#define SCAN_PRESENT  (1u << 3)
#define SCAN_SWAPPED  (1u << 4)
#define SCAN_PFN_ZERO (1u << 5)
#define SCAN_HUGE     (1u << 6)

#define REGIONS 1024

/* A page's entry in pagemap. */
#define ENTRY_PRESENT (1ull << 63)
#define ENTRY_SWAPPED (1ull << 62)
#define ENTRY_FILE    (1ull << 61)
#define ENTRY_PFN     ((1ull << 55) - 1) /* 0 without CAP_SYS_ADMIN */

#define ENTRIES 8192

int pagemap_open(pid_t pid)
{
	char path[32];
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (pidfd < 0)
		return -errno;
	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	int dir = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	int err = dir < 0 ? -errno : 0;
	/* If the process lives still, it had the pid all the time, so the directory is its own. */
	if (!err && process_pidfd_has_ended(pidfd))
		err = -ESRCH;
	close(pidfd);
	if (!err)
		return dir;
	if (dir >= 0)
		close(dir);
	return err == -ENOENT ? -ESRCH : err;
}

static int open_in(int dir, const char *name)
{
	int fd = file_open(dir, name, 0);
	return fd == -ENOENT ? -ESRCH : fd;
}

/* ---- PAGEMAP_SCAN ---- */

/* The kernel refuses an end above its own limit, which depends on the processor: the next lower
 * one. */
static uint64_t lower_end(uint64_t end)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	unsigned bits = 63 - (unsigned)__builtin_clzll(end);
	return bits > 32 ? (1ull << bits) - page : 0;
}

/* -ENOTTY: the kernel does not have it. */
static int scan(int fd, uint64_t from, uint64_t to,
		int (*fn)(void *ctx, const struct pagemap_run *run), void *ctx)
{
	struct scan_region region[REGIONS];
	struct scan_arg arg = {
		.size = sizeof(arg),
		.start = from,
		.end = to,
		.vec = (uint64_t)(uintptr_t)region,
		.vec_len = REGIONS,
		.category_inverted = SCAN_PFN_ZERO,
		.category_mask = SCAN_PFN_ZERO,
		.category_anyof_mask = SCAN_PRESENT | SCAN_SWAPPED,
		.return_mask = SCAN_FILE | SCAN_PRESENT | SCAN_SWAPPED | SCAN_HUGE,
	};
	while (arg.start < arg.end) {
		int n = ioctl(fd, SCAN_IOCTL, &arg);
		if (n < 0 && errno == EFAULT && lower_end(arg.end) > arg.start) {
			arg.end = lower_end(arg.end);
			continue;
		}
		if (n < 0 && errno != EINTR)
			return -errno;
		for (int i = 0; i < n; i++) {
			const struct scan_region *r = &region[i];
			if (r->start >= r->end || r->start < arg.start || r->end > to)
				return -EBADMSG;
			struct pagemap_run run = {.addr = r->start,
						  .bytes = r->end - r->start,
						  .file = r->categories & SCAN_FILE,
						  .huge = r->categories & SCAN_HUGE,
						  .swapped = !(r->categories & SCAN_PRESENT)};
			int err = fn(ctx, &run);
			if (err)
				return err;
		}
		/* With room left, all was read: walk_end may then be where the kernel's own buffer
		 * was full before. */
		if (n >= 0 && n < REGIONS)
			return 0;
		if (arg.walk_end <= arg.start)
			return n < 0 ? -EINTR : 0;
		arg.start = arg.walk_end;
	}
	return 0;
}

/* ---- pagemap ---- */

struct plain {
	int fd;
	uint64_t from, to, page, zero_pfn;
	struct pagemap_run run; /* the last one, which may go on */
	int (*fn)(void *ctx, const struct pagemap_run *run);
	void *ctx;
};

/* A mapping of smaps, with what it has in memory and in the swap area. */
struct mapping {
	uint64_t start, end, present, swapped; /* pages */
};

static int end_run(struct plain *p)
{
	struct pagemap_run run = p->run;
	p->run.bytes = 0;
	return run.bytes ? p->fn(p->ctx, &run) : 0;
}

static int put_entry(struct plain *p, uint64_t addr, uint64_t entry, struct mapping *m)
{
	bool present = entry & ENTRY_PRESENT, swapped = entry & ENTRY_SWAPPED;
	bool file = entry & ENTRY_FILE;
	if (present && !file && p->zero_pfn && (entry & ENTRY_PFN) == p->zero_pfn)
		return 0;
	m->present -= present && m->present;
	m->swapped -= swapped && m->swapped;
	if (!present && !swapped)
		return 0;
	struct pagemap_run *r = &p->run;
	if (r->bytes && r->addr + r->bytes == addr && r->file == file && r->swapped == swapped) {
		r->bytes += p->page;
		return 0;
	}
	int err = end_run(p);
	*r = (struct pagemap_run){.addr = addr, .bytes = p->page, .file = file, .swapped = swapped};
	return err;
}

static int read_mapping(struct plain *p, struct mapping *m)
{
	uint64_t entry[ENTRIES];
	uint64_t at = m->start > p->from ? m->start : p->from;
	uint64_t end = m->end < p->to ? m->end : p->to;
	while (at < end && (m->present || m->swapped)) {
		uint64_t want = (end - at) / p->page;
		want = want < ENTRIES ? want : ENTRIES;
		ssize_t n = pread(p->fd, entry, want * sizeof(*entry),
				  (off_t)(at / p->page * sizeof(*entry)));
		if (n < (ssize_t)sizeof(*entry))
			return n < 0 ? -errno : 0;
		int err = 0;
		for (size_t i = 0; !err && i < (size_t)n / sizeof(*entry); i++, at += p->page)
			err = put_entry(p, at, entry[i], m);
		if (err)
			return err;
	}
	return 0;
}

static int read_plain(int dir, struct plain *p)
{
	char line[4 * PATH_MAX + 128];
	struct maps_entry e;
	struct mapping m = {0};
	unsigned long long kb;
	int err = 0, fd = open_in(dir, "smaps");
	if (fd < 0)
		return fd;
	FILE *f = fdopen(fd, "r");
	if (!f) {
		close(fd);
		return -ENOMEM;
	}
	while (!err && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = 0;
		if (sscanf(line, "Rss: %llu kB", &kb) == 1)
			m.present = kb * 1024 / p->page;
		else if (sscanf(line, "Swap: %llu kB", &kb) == 1)
			m.swapped = kb * 1024 / p->page;
		else if (!strncmp(line, "VmFlags:", 8))
			err = read_mapping(p, &m);
		else if (!maps_parse(line, &e))
			m = (struct mapping){.start = e.start, .end = e.end};
	}
	if (!err)
		err = ferror(f) ? -EIO : end_run(p);
	fclose(f);
	return err;
}

/* The number of the page of zeroes; 0: not known, it needs CAP_SYS_ADMIN. */
static uint64_t zero_pfn(uint64_t page)
{
	uint64_t entry = 0;
	volatile const char *at = mmap(NULL, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = file_open(AT_FDCWD, "/proc/self/pagemap", 0);
	if (at != MAP_FAILED && fd >= 0) {
		(void)*at;
		if (pread(fd, &entry, sizeof(entry),
			  (off_t)((uintptr_t)at / page * sizeof(entry))) != sizeof(entry))
			entry = 0;
	}
	if (at != MAP_FAILED)
		munmap((void *)at, page);
	if (fd >= 0)
		close(fd);
	return entry & ENTRY_PRESENT && !(entry & ENTRY_FILE) ? entry & ENTRY_PFN : 0;
}

int pagemap_read(int dir, uint64_t from, uint64_t to, bool plain,
		 int (*fn)(void *ctx, const struct pagemap_run *run), void *ctx)
{
	int fd = open_in(dir, "pagemap");
	if (fd < 0)
		return fd;
	int err = plain ? -ENOTTY : scan(fd, from, to, fn, ctx);
	if (err == -ENOTTY) {
		uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
		struct plain p = {.fd = fd,
				  .from = from,
				  .to = to,
				  .page = page,
				  .zero_pfn = zero_pfn(page),
				  .fn = fn,
				  .ctx = ctx};
		err = read_plain(dir, &p);
	}
	close(fd);
	return err;
}
