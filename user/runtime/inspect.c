/* SPDX-License-Identifier: BSD-2-Clause */
#include "runtime/inspect.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/regular.h"
#include "elf/elf.h"
#include "proc/executable.h"
#include "proc/memory_reader.h"
#include "runtime/marker_names.h"
#include "runtime/runtimes.h"

/* Of one process. A browser maps 200 files, and has some 100 MB of symbols. */
#define PROCESS_BYTES  (512ull << 20)
#define PROCESS_CPU_NS 1000000000ull
#define PROCESS_FILES  4096

/* Of all files together: a burst, then a share of the elapsed time (1 / SHARE). When that is used
 * up, at most SMALL_BYTES of a file are read, which is enough for most programs. */
#define BURST_CPU_NS 3000000000ull
#define SHARE	     8
#define SMALL_BYTES  (4ull << 20)

/* Cached results of files: a run may meet any number of files. Further results replace the oldest,
 * and files without a result are inspected again. */
#define MAX_KNOWN 16384

/* Files that are kept open: a program, and its libraries. */
#define KEPT	16
#define KEPT_NS 10000000000ull /* without use */

struct known {
	uint64_t dev, inode, ctime_s, ctime_ns, size;
	struct runtime_file file;
};

/* While it is open no other file has its number. */
struct kept {
	uint64_t dev, inode, used_ns;
	int fd; /* valid if used_ns is not 0 */
};

struct inspect {
	struct known *file; /* in the order of inspection, modulo MAX_KNOWN */
	uint32_t room;
	uint64_t inspected; /* files, in all */
	struct map index;   /* by a hash of the identity of a file */
	struct map newest;  /* of each device and inode, by a hash of these */
	struct kept kept[KEPT];
	struct memory_reader *memory;
	const struct marker_requests *asked; /* NULL: none */
	struct marker_names_seen names;	     /* of files, where some are asked for */
	uint64_t cpu_ns, since_ns; /* CPU time spent, minus the share of the time until since_ns */
};

struct inspect *inspect_new(void)
{
	return calloc(1, sizeof(struct inspect));
}

void inspect_read_by(struct inspect *in, struct memory_reader *memory)
{
	if (in)
		in->memory = memory;
}

void inspect_ask(struct inspect *in, const struct marker_requests *asked)
{
	if (in)
		in->asked = asked;
}

unsigned inspect_marker_names(const struct inspect *in, char *ret, size_t bytes)
{
	*ret = 0;
	return in && in->asked ? marker_names_text(&in->names, in->asked, ret, bytes) : 0;
}

static void let_go(struct kept *k)
{
	if (k->used_ns)
		close(k->fd);
	*k = (struct kept){0};
}

/* Closes what was not used for a while. NULL: the file is not kept. */
static struct kept *find_kept(struct inspect *in, uint64_t dev, uint64_t inode, uint64_t now)
{
	struct kept *found = NULL;
	for (struct kept *k = in->kept; k < in->kept + KEPT; k++)
		if (k->used_ns && k->dev == dev && k->inode == inode)
			found = k;
		else if (k->used_ns + KEPT_NS < now)
			let_go(k);
	return found;
}

/* In place of the one that was used longest ago; but on some file systems the numbers of a mapping
 * are not those of its file. */
static void keep_open(struct inspect *in, const struct kept *file)
{
	struct kept *oldest = in->kept;
	struct stat st;
	bool has = !fstat(file->fd, &st) && st.st_dev == file->dev && st.st_ino == file->inode;
	int fd = has ? fcntl(file->fd, F_DUPFD_CLOEXEC, 0) : -1;
	if (fd >= 0 && file_is_last(fd)) {
		close(fd);
		fd = -1;
	}
	if (fd < 0)
		return;
	for (struct kept *k = in->kept + 1; k < in->kept + KEPT; k++)
		if (k->used_ns < oldest->used_ns)
			oldest = k;
	let_go(oldest);
	*oldest = *file;
	oldest->fd = fd;
}

int inspect_open(struct inspect *in, pid_t pid, const struct maps_entry *e)
{
	if (!in)
		return memory_reader_open(NULL, pid, e);
	struct kept file = {
		.dev = makedev(e->dev_major, e->dev_minor), .inode = e->inode, .used_ns = now_ns()};
	struct kept *kept = find_kept(in, file.dev, file.inode, file.used_ns);
	if (kept) {
		kept->used_ns = file.used_ns;
		file.fd = fcntl(kept->fd, F_DUPFD_CLOEXEC, 0);
		return file.fd < 0 ? -errno : file.fd;
	}
	file.fd = memory_reader_open(in->memory, pid, e);
	if (file.fd >= 0)
		keep_open(in, &file);
	return file.fd;
}

void inspect_free(struct inspect *in)
{
	if (!in)
		return;
	for (unsigned i = 0; i < KEPT; i++)
		let_go(&in->kept[i]);
	free(in->file);
	map_done(&in->index);
	map_done(&in->newest);
	marker_names_seen_done(&in->names);
	free(in);
}

void inspect_budget_init(struct inspect_budget *b)
{
	*b = (struct inspect_budget){
		.bytes = PROCESS_BYTES, .cpu_ns = PROCESS_CPU_NS, .files = PROCESS_FILES};
}

static uint64_t hash_of(const struct known *k)
{
	uint64_t h = hash_file(k->dev, k->inode);
	return hash_u64(hash_u64(hash_u64(h, k->ctime_s), k->ctime_ns), k->size);
}

static bool same(const struct known *a, const struct known *b)
{
	return a->dev == b->dev && a->inode == b->inode && a->ctime_s == b->ctime_s &&
	       a->ctime_ns == b->ctime_ns && a->size == b->size;
}

/* NULL: not known. */
static const struct known *find(const struct inspect *in, const struct known *wanted)
{
	const uint64_t *at = map_get(&in->index, hash_of(wanted));
	return at && same(&in->file[*at], wanted) ? &in->file[*at] : NULL;
}

static void forget_at(struct map *m, uint64_t key, uint32_t at)
{
	const uint64_t *value = map_get(m, key);
	if (value && *value == at)
		map_delete(m, key);
}

/* Without memory it is inspected again the next time. */
static void keep(struct inspect *in, const struct known *k)
{
	uint32_t at = (uint32_t)(in->inspected % MAX_KNOWN);
	if (!array_reserve(in->file, in->room, at))
		return;
	if (in->inspected >= MAX_KNOWN) {
		const struct known *old = &in->file[at];
		forget_at(&in->index, hash_of(old), at);
		forget_at(&in->newest, hash_file(old->dev, old->inode), at);
	}
	in->file[at] = *k;
	in->inspected++;
	uint64_t *value = map_put(&in->index, hash_of(k));
	if (value)
		*value = at;
	value = map_put(&in->newest, hash_file(k->dev, k->inode));
	if (value)
		*value = at;
}

/* Bytes that may be read of a file now: fewer if much was spent on the files before it. */
static uint64_t bytes_allowed(struct inspect *in, const struct inspect_budget *b)
{
	uint64_t now = now_ns();
	if (!in->since_ns)
		in->since_ns = now;
	uint64_t back = (now - in->since_ns) / SHARE;
	in->since_ns = now;
	in->cpu_ns -= back < in->cpu_ns ? back : in->cpu_ns;
	return in->cpu_ns > BURST_CPU_NS && b->bytes > SMALL_BYTES ? SMALL_BYTES : b->bytes;
}

/* -EDQUOT: it needs more than `bytes` bytes. */
static int recognise(int fd, uint64_t bytes, struct inspect_budget *b, struct runtime_file *f)
{
	struct elf *elf;
	int err = elf_open(fd, &elf);
	if (err == -ENOMEM)
		return err;
	if (err) {
		runtimes_recognise(fd, NULL, f);
		f->probes_error = err;
		return 0;
	}
	elf_limit(elf, bytes);
	runtimes_recognise(fd, elf, f);
	uint64_t used = elf_used(elf);
	b->bytes -= used < b->bytes ? used : b->bytes;
	bool cut = elf_was_limited(elf);
	elf_close(elf);
	return cut && f->probes_error ? -EDQUOT : 0;
}

static void find_asked(struct inspect *in, int fd, struct runtime_file *f)
{
	struct notes notes;
	if (!in || !in->asked || !in->asked->count || notes_read(fd, NULL, &notes))
		return;
	marker_names_count(in->asked, &notes, &f->asked);
	marker_names_see(&in->names, &notes);
	notes_done(&notes);
}

/* -ENOENT: not inspected so far, *ret_key is its identity. */
static int find_open(const struct inspect *in, int fd, struct known *ret_key,
		     struct runtime_file *ret)
{
	struct stat st;
	if (fstat(fd, &st))
		return -errno;
	*ret_key = (struct known){.dev = st.st_dev,
				  .inode = st.st_ino,
				  .ctime_s = (uint64_t)st.st_ctim.tv_sec,
				  .ctime_ns = (uint64_t)st.st_ctim.tv_nsec,
				  .size = (uint64_t)st.st_size};
	const struct known *old = in ? find(in, ret_key) : NULL;
	if (old)
		*ret = old->file;
	return old ? 0 : -ENOENT;
}

int inspect_peek(const struct inspect *in, int fd, struct runtime_file *ret)
{
	struct known k;
	return find_open(in, fd, &k, ret);
}

int inspect_file(struct inspect *in, int fd, struct inspect_budget *b, struct runtime_file *ret)
{
	struct known k;
	int err = find_open(in, fd, &k, ret);
	if (err != -ENOENT)
		return err;
	uint64_t bytes = in ? bytes_allowed(in, b) : b->bytes;
	if (!b->bytes || !b->cpu_ns || !b->files) {
		b->spent = true;
		return -EDQUOT;
	}
	b->files--;
	uint64_t begin = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	err = recognise(fd, bytes, b, &k.file);
	find_asked(in, fd, &k.file);
	uint64_t cost = clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
	b->cpu_ns -= cost < b->cpu_ns ? cost : b->cpu_ns;
	if (in)
		in->cpu_ns += cost;
	if (err == -EDQUOT)
		b->spent = true;
	else if (err)
		return err;
	/* Also one that was too large: it would be the next time, too. */
	if (in)
		keep(in, &k);
	*ret = k.file;
	return 0;
}

/* NULL: not known. */
static const struct known *find_newest(const struct inspect *in, uint64_t dev, uint64_t inode)
{
	const uint64_t *at = in ? map_get(&in->newest, hash_file(dev, inode)) : NULL;
	const struct known *k = at ? &in->file[*at] : NULL;
	return k && k->inode == inode && k->dev == dev ? k : NULL;
}

struct runtime_version inspect_found(const struct inspect *in, uint64_t dev, uint64_t inode)
{
	const struct known *k = find_newest(in, dev, inode);
	return k ? k->file.runtime : (struct runtime_version){0};
}

int inspect_has_probes(const struct inspect *in, uint64_t dev, uint64_t inode, bool allocs)
{
	const struct known *k = find_newest(in, dev, inode);
	if (!k)
		return -ENOENT;
	return k->file.markers || (allocs && k->file.alloc_markers) || k->file.asked.sites ||
	       k->file.runtime.language;
}

static int inspect_unbudgeted(struct inspect *in, int fd, struct runtime_file *ret)
{
	struct inspect_budget budget;
	inspect_budget_init(&budget);
	return inspect_file(in, fd, &budget, ret);
}

int inspect_path(struct inspect *in, const char *path, uint64_t dev, uint64_t inode)
{
	struct runtime_file file;
	struct stat st;
	int fd = regular_open(path, inode, 0);
	if (fd < 0)
		return fd;
	int err = fstat(fd, &st) ? -errno : st.st_dev != dev ? -ESTALE : 0;
	if (!err)
		err = inspect_unbudgeted(in, fd, &file);
	close(fd);
	return err;
}

struct runtime_version inspect_program(struct inspect *in, const char *name)
{
	struct runtime_file file;
	char path[PATH_MAX];
	int fd = executable_find(name, path, sizeof(path)) ? regular_open(path, 0, 0) : -1;
	if (fd < 0)
		return (struct runtime_version){0};
	int err = inspect_unbudgeted(in, fd, &file);
	close(fd);
	return err ? (struct runtime_version){0} : file.runtime;
}

uint32_t inspect_files(const struct inspect *in)
{
	return in ? (uint32_t)in->inspected : 0;
}

struct search {
	struct inspect *in;
	pid_t pid;
	struct map seen; /* files of the process, by device and inode */
	struct inspect_budget budget;
	unsigned mappings;
	struct inspect_process *ret;
};

static int inspect_mapping(const struct maps_entry *e, void *ctx)
{
	struct search *s = ctx;
	s->ret->incomplete |= ++s->mappings == INSPECT_MAPPINGS;
	if (!e->exec || !e->inode || s->ret->incomplete)
		return s->ret->incomplete;
	uint64_t key = hash_file(makedev(e->dev_major, e->dev_minor), e->inode);
	size_t before = s->seen.count;
	uint64_t *seen = map_put(&s->seen, key);
	if (!seen)
		return -ENOMEM;
	if (s->seen.count == before)
		return 0;
	int fd = inspect_open(s->in, s->pid, e);
	if (fd == -EBUSY && !s->ret->leased++)
		snprintf(s->ret->leased_path, INSPECT_PATH_BYTES, "%s", e->path);
	if (fd < 0)
		return 0;
	struct runtime_file f;
	int err = inspect_file(s->in, fd, &s->budget, &f);
	close(fd);
	s->ret->incomplete |= s->budget.spent;
	if (err)
		return 0;
	s->ret->markers += f.markers;
	uint32_t asked = s->ret->asked.sites + f.asked.sites;
	if (!s->ret->asked.frequent)
		s->ret->asked = f.asked;
	s->ret->asked.sites = asked;
	if (!s->ret->runtime.language)
		s->ret->runtime = f.runtime;
	return 0;
}

static int inspect_mapped(struct inspect *in, pid_t pid, const struct maps_list *maps,
			  struct inspect_process *ret)
{
	struct search s = {.in = in, .pid = pid, .ret = ret};
	int err = maps->err;
	*ret = (struct inspect_process){0};
	inspect_budget_init(&s.budget);
	for (uint32_t i = 0; !err && i < maps->count; i++)
		err = inspect_mapping(&maps->entry[i], &s);
	map_done(&s.seen);
	return err < 0 ? err : 0;
}

int inspect_process(struct inspect *in, pid_t pid, struct inspect_process *ret)
{
	struct maps_list maps;
	memory_reader_list(in ? in->memory : NULL, pid, MAPS_TRACED, &maps);
	int err = inspect_mapped(in, pid, &maps, ret);
	maps_list_done(&maps);
	return err;
}

struct runtime_version inspect_runtime(struct inspect *in, pid_t pid, const struct maps_list *maps)
{
	struct inspect_process p;
	if (maps)
		inspect_mapped(in, pid, maps, &p);
	else
		inspect_process(in, pid, &p);
	return p.runtime;
}
