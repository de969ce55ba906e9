// SPDX-License-Identifier: BSD-2-Clause
#include "source/stacks/mapped_code.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BUFFER_PAGES 64	  /* a CPU; a power of two */
#define CPUS_MAX     1024 /* beyond this, mappings that a program makes there are not recorded */
#define KEPT	     4096 /* mappings; of more, the last ones */
#define RECORD_BYTES 65536
#define PIDS	     (1u << 22) /* what the kernel's pid_max can be */
#define GENERATIONS  64		/* of children in one mapped_code_read() */

/* PERF_RECORD_MMAP2; the path is behind it. */
struct mmap_record {
	struct perf_event_header header;
	uint32_t pid, tid;
	uint64_t address, bytes, offset;
	uint32_t major, minor;
	uint64_t inode, generation;
	uint32_t protection, flags;
};

struct fork_record {
	struct perf_event_header header;
	uint32_t pid, parent, tid, parent_tid;
	uint64_t time;
};

/*
 * The records of one CPU, of all processes: a perf event of a process costs each switch of its
 * threads a third of a microsecond.
 */
struct buffer {
	int fd;
	struct perf_event_mmap_page *page;
	uint64_t head; /* mappings are read up to here */
};

struct kept {
	pid_t pid;
	struct maps_entry mapping;
	char *path; /* that of `mapping` */
};

struct mapped_code {
	struct buffer buffer[CPUS_MAX];
	unsigned buffers;
	size_t page_bytes;
	struct kept kept[KEPT];
	unsigned count, next; /* `next` is replaced when there are KEPT */
	uint64_t total;
	/* The process and its children, a bit a pid. Bits are never cleared: mappings of a later
	 * process with the same pid are kept, too. */
	uint64_t tree[PIDS / 64];
	unsigned char record[RECORD_BYTES] __attribute__((aligned(8)));
};

static size_t buffer_bytes(const struct mapped_code *m)
{
	return (1 + BUFFER_PAGES) * m->page_bytes;
}

static bool is_in_tree(const struct mapped_code *m, uint32_t pid)
{
	return pid < PIDS && m->tree[pid / 64] >> pid % 64 & 1;
}

static void add_to_tree(struct mapped_code *m, uint32_t pid)
{
	if (pid < PIDS)
		m->tree[pid / 64] |= 1ull << pid % 64;
}

/* 0, or -errno: -ENODEV: there is no such CPU, or it is offline. */
static int open_buffer(struct mapped_code *m, int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.mmap = 1,
		.mmap2 = 1,
		.task = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return -errno;
	void *page = mmap(NULL, buffer_bytes(m), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED) {
		int err = -errno;
		close(fd);
		return err;
	}
	m->buffer[m->buffers++] = (struct buffer){.fd = fd, .page = page};
	return 0;
}

int mapped_code_new(pid_t pid, struct mapped_code **ret)
{
	struct mapped_code *m = calloc(1, sizeof(*m));
	int err = m ? 0 : -ENOMEM;
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	if (m)
		m->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	for (int cpu = 0; !err && cpu < cpus && cpu < CPUS_MAX; cpu++) {
		err = open_buffer(m, cpu);
		if (err == -ENODEV)
			err = 0;
	}
	if (err) {
		mapped_code_free(m);
		return err;
	}
	add_to_tree(m, (uint32_t)pid);
	*ret = m;
	return 0;
}

void mapped_code_free(struct mapped_code *m)
{
	if (!m)
		return;
	for (unsigned i = 0; i < m->buffers; i++) {
		munmap(m->buffer[i].page, buffer_bytes(m));
		close(m->buffer[i].fd);
	}
	for (unsigned i = 0; i < m->count; i++)
		free(m->kept[i].path);
	free(m);
}

/* A whole record, copied. The traced process chose the path in it. */
static void keep(struct mapped_code *m, size_t bytes)
{
	const struct mmap_record *r = (const void *)m->record;
	const char *path = (const char *)(r + 1);
	if (bytes <= sizeof(*r) || !is_in_tree(m, r->pid) ||
	    r->header.misc & PERF_RECORD_MISC_MMAP_BUILD_ID || !(r->protection & PROT_EXEC) ||
	    *path != '/' || r->address + r->bytes <= r->address)
		return;
	char *copy = strndup(path, bytes - sizeof(*r));
	if (!copy)
		return;
	struct kept *k = &m->kept[m->next];
	m->next = (m->next + 1) % KEPT;
	m->count += m->count < KEPT;
	m->total++;
	free(k->path);
	*k = (struct kept){
		.pid = (pid_t)r->pid,
		.path = copy,
		.mapping = {.start = r->address,
			    .end = r->address + r->bytes,
			    .offset = r->offset,
			    .inode = r->inode,
			    .dev_major = r->major,
			    .dev_minor = r->minor,
			    .exec = true,
			    .path = copy},
	};
}

/* Copies bytes of a buffer that goes round. */
static void copy(const struct mapped_code *m, const struct buffer *b, uint64_t at, void *to,
		 size_t n)
{
	size_t size = BUFFER_PAGES * m->page_bytes, begin = at & (size - 1);
	const char *data = (const char *)b->page + m->page_bytes;
	size_t first = n < size - begin ? n : size - begin;
	memcpy(to, data + begin, first);
	memcpy((char *)to + first, data, n - first);
}

/* Pairs with the kernel's write of the head behind the records. */
static uint64_t head_of(const struct buffer *b)
{
	return __atomic_load_n(&b->page->data_head, __ATOMIC_ACQUIRE);
}

/* The next record of a type, up to `head`, in m->record; its bytes. 0: none. */
static size_t next_record(struct mapped_code *m, const struct buffer *b, uint64_t *at,
			  uint64_t head, uint32_t type)
{
	while (*at < head) {
		struct perf_event_header h;
		copy(m, b, *at, &h, sizeof(h));
		if (h.size < sizeof(h) || h.size > head - *at)
			break;
		uint64_t begin = *at;
		*at += h.size;
		if (h.type != type)
			continue;
		copy(m, b, begin, m->record, h.size);
		return h.size;
	}
	*at = head;
	return 0;
}

/* Whether there is a child that was not known. */
static bool read_forks(struct mapped_code *m)
{
	bool found = false;
	for (unsigned i = 0; i < m->buffers; i++) {
		const struct buffer *b = &m->buffer[i];
		uint64_t at = b->page->data_tail, head = head_of(b);
		while (next_record(m, b, &at, head, PERF_RECORD_FORK) >=
		       sizeof(struct fork_record)) {
			const struct fork_record *r = (const void *)m->record;
			if (is_in_tree(m, r->parent) && !is_in_tree(m, r->pid)) {
				add_to_tree(m, r->pid);
				found = true;
			}
		}
	}
	return found;
}

uint64_t mapped_code_read(struct mapped_code *m)
{
	/* Heads first: a mapping before them has the fork of its process before the heads that
	 * read_forks() reads. */
	for (unsigned i = 0; i < m->buffers; i++)
		m->buffer[i].head = head_of(&m->buffer[i]);
	/* The fork of a grandchild may be in a buffer before that of its parent. */
	for (unsigned i = 0; i < GENERATIONS && read_forks(m); i++)
		;
	for (unsigned i = 0; i < m->buffers; i++) {
		struct buffer *b = &m->buffer[i];
		uint64_t at = b->page->data_tail;
		for (size_t n; (n = next_record(m, b, &at, b->head, PERF_RECORD_MMAP2));)
			keep(m, n);
		/* The kernel may overwrite what was copied. */
		__atomic_store_n(&b->page->data_tail, b->head, __ATOMIC_RELEASE);
	}
	return m->total;
}

static bool same_code(const struct maps_entry *a, const struct maps_entry *b)
{
	return a->start == b->start && a->offset == b->offset && a->inode == b->inode &&
	       a->dev_major == b->dev_major && a->dev_minor == b->dev_minor;
}

bool mapped_code_find(const struct mapped_code *m, pid_t pid, uint64_t address,
		      struct maps_entry *ret)
{
	const struct maps_entry *found = NULL;
	for (unsigned i = 0; i < m->count; i++) {
		const struct kept *k = &m->kept[i];
		if (k->pid != pid || address < k->mapping.start || address >= k->mapping.end)
			continue;
		if (found && !same_code(found, &k->mapping))
			return false;
		found = &k->mapping;
	}
	if (found)
		*ret = *found;
	return found;
}
