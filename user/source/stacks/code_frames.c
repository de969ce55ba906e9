// SPDX-License-Identifier: BSD-2-Clause
#include "source/stacks/code_frames.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/ptrmap.h"
#include "elf/elf.h"
#include "elf/symbols.h"
#include "proc/maps.h"
#include "proc/memory_reader.h"
#include "source/stacks/mapped_code.h"

#define READ_NS	     100000000u
#define READ_SOON_NS 1000000u /* for an address that is in no mapping */
#define READ_SHARE   16	      /* reading gets at most 1/READ_SHARE of the time */
#define EARLY_READS  16	      /* of a process that maps its libraries, without a pause */
#define MAX_MAPPINGS 65536
/* A program may claim any addresses: beyond this nothing more is resolved. */
#define MAX_FRAMES 4000000
/* Nor is code so far behind in a file: the bits above are the variants of frames. */
#define MAX_OFFSET (1ull << 47)

#define NAME_BYTES 1024 /* of a function that is renamed */

#define LIBRARY_DEPTH 4		 /* frames from the marker to the program at most */
#define OF_LIBRARY    UINT32_MAX /* in place of a frame of libebtrace-probes */

static const char library[] = "ebt_"; /* with which its names begin */

struct code_module {
	uint64_t dev, inode;
	bool is_open; /* its file could be opened */
	struct symbols *symbols;
	int file;		 /* for `elf`; -1: none */
	struct elf *elf;	 /* NULL: not needed so far */
	uint32_t path, build_id; /* strings of the session, held; 0: not known */
	/* By offset: the frame, held; or OF_LIBRARY. Of those of code_frames_return() by offset and
	 * variant; 0: it has none of its own. */
	struct map frames;
};

struct code_mapping {
	uint64_t start, end, offset;
	struct code_module *module; /* NULL: of no file */
	bool is_recorded;	    /* it is not in /proc: see mapped_code.h */
};

struct code_frames {
	struct session *session;
	struct memory_reader *memory;	    /* NULL: read without a worker */
	struct mapped_code *mapped;	    /* NULL: nothing is recorded */
	PTRMAP(struct code_module) modules; /* by hash_file() */
	struct symbols_running running;
	size_t frames;
	uint32_t unknown; /* the frame of what is in no mapping, held; 0: none yet */
};

void code_frames_read_by(struct code_frames *c, struct memory_reader *memory)
{
	c->memory = memory;
}

void code_frames_record(struct code_frames *c, pid_t pid)
{
	/* Without it there is what /proc has. */
	if (!c->mapped && mapped_code_new(pid, &c->mapped))
		c->mapped = NULL;
}

bool code_frames_has_code(const struct code_frames *c, const struct code_map *map)
{
	return map->count || c->mapped;
}

void code_frames_poll(struct code_frames *c)
{
	if (c->mapped)
		mapped_code_read(c->mapped);
}

int code_frames_new(struct session *session, struct code_frames **ret)
{
	struct code_frames *c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->session = session;
	c->running.messages = &session->messages;
	*ret = c;
	return 0;
}

static void close_module(struct code_frames *c, struct code_module *m)
{
	size_t at = 0;
	for (struct map_slot *s; (s = map_next(&m->frames, &at));)
		if (s->value != OF_LIBRARY)
			frames_drop(c->session->frames, (uint32_t)s->value);
	c->frames -= m->frames.count;
	map_done(&m->frames);
	m->frames = (struct map){0};
	symbols_close(m->symbols);
	m->symbols = NULL;
	strings_drop(c->session->strings, m->path);
	strings_drop(c->session->strings, m->build_id);
	m->path = m->build_id = 0;
	elf_close(m->elf);
	m->elf = NULL;
	if (m->file >= 0)
		close(m->file);
	m->file = -1;
}

static void free_module(struct code_frames *c, struct code_module *m)
{
	close_module(c, m);
	free(m);
}

void code_frames_free(struct code_frames *c)
{
	size_t at = 0;
	if (!c)
		return;
	for (struct code_module *m; (m = ptrmap_next(&c->modules, &at));)
		free_module(c, m);
	ptrmap_done(&c->modules);
	mapped_code_free(c->mapped);
	symbols_running_done(&c->running);
	frames_drop(c->session->frames, c->unknown);
	free(c);
}

void code_frames_put_off(struct code_frames *c, bool puts_off)
{
	c->running.puts_off = puts_off;
}

bool code_frames_waits(struct code_frames *c)
{
	bool waits = c->running.waits;
	c->running.waits = false;
	return waits;
}

void code_frames_hurry(struct code_frames *c)
{
	c->running.hurries = true;
}

/* ---- mappings ---- */

static uint32_t put_string(struct session *s, const char *text)
{
	return text ? strings_put(s->strings, text, strlen(text)) : 0;
}

static void name_module(struct code_frames *c, struct code_module *m, const char *path)
{
	char text[2 * SYMBOLS_BUILD_ID_BYTES + 1];
	const uint8_t *id;
	size_t bytes = symbols_build_id(m->symbols, &id);
	for (size_t i = 0; i < bytes; i++)
		snprintf(text + 2 * i, 3, "%02x", id[i]);
	m->path = put_string(c->session, path);
	m->build_id = put_string(c->session, bytes ? text : NULL);
}

/* Opens the file through the process, if it is not open: that may fail as a process ends, which is
 * no reason for others. 0 or -ENOMEM. */
static int open_module(struct code_frames *c, struct code_module *m, pid_t pid,
		       const struct maps_entry *e)
{
	struct symbols *symbols;
	int fd = m->is_open ? -1 : memory_reader_open(c->memory, pid, e);
	if (fd < 0 && m->symbols)
		return 0;
	int err = symbols_open(fd, e->path, &c->running, &symbols);
	if (!err) {
		close_module(c, m);
		m->symbols = symbols;
		m->is_open = fd >= 0;
		m->file = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 3) : -1;
		name_module(c, m, e->path);
	}
	if (fd >= 0)
		close(fd);
	return err;
}

/* NULL: no memory, or another file has its key. */
static struct code_module *find_module(struct code_frames *c, pid_t pid, const struct maps_entry *e)
{
	uint64_t dev = makedev(e->dev_major, e->dev_minor), key = hash_file(dev, e->inode);
	struct code_module *m = ptrmap_get(&c->modules, key);
	if (m && (m->dev != dev || m->inode != e->inode || open_module(c, m, pid, e)))
		return NULL;
	if (m)
		return m;
	m = calloc(1, sizeof(*m));
	if (!m)
		return NULL;
	*m = (struct code_module){.dev = dev, .inode = e->inode, .file = -1};
	if (open_module(c, m, pid, e) || ptrmap_set(&c->modules, key, m)) {
		free_module(c, m);
		return NULL;
	}
	return m;
}

struct reading {
	struct code_frames *frames;
	struct code_map *map;
	pid_t pid;
};

static int add_mapping(const struct maps_entry *e, void *ctx)
{
	struct reading *r = ctx;
	struct code_map *map = r->map;
	if (!e->exec || map->count == MAX_MAPPINGS)
		return 0;
	if (!array_reserve(map->mapping, map->cap, map->count))
		return -ENOMEM;
	map->mapping[map->count++] = (struct code_mapping){
		.start = e->start,
		.end = e->end,
		.offset = e->offset,
		.module = e->inode && e->offset < MAX_OFFSET ? find_module(r->frames, r->pid, e)
							     : NULL,
	};
	return 0;
}

/* A program may have many mappings, and make them be read all the time. */
static bool may_read(const struct code_map *map, uint64_t now, uint64_t pause_ns)
{
	return !map->read_ns || now - map->read_ns >= pause_ns + READ_SHARE * map->cost_ns;
}

/* What has been read replaces what was known, unless it is nothing. */
static void put_fresh(struct code_map *map, struct code_map *fresh, int err)
{
	if (err || !fresh->count) {
		code_map_done(fresh);
	} else {
		code_map_done(map);
		*map = *fresh;
	}
	map->read_ns = now_ns();
}

void code_map_read(struct code_frames *c, struct code_map *map, pid_t pid, bool soon)
{
	uint64_t now = now_ns();
	struct code_map fresh = {0};
	struct reading r = {c, &fresh, pid};
	bool early = soon && map->early < EARLY_READS;
	if (!early && !may_read(map, now, soon ? READ_SOON_NS : READ_NS))
		return;
	fresh.early = map->early += early;
	int err = memory_reader_maps(c->memory, pid, MAPS_TRACED, add_mapping, &r);
	put_fresh(map, &fresh, err);
	map->cost_ns = map->read_ns - now;
}

void code_map_set(struct code_frames *c, struct code_map *map, pid_t pid,
		  const struct maps_list *maps)
{
	struct code_map fresh = {.early = map->early, .cost_ns = map->cost_ns};
	struct reading r = {c, &fresh, pid};
	int err = maps->err;
	for (uint32_t i = 0; i < maps->count && !err; i++)
		err = add_mapping(&maps->entry[i], &r);
	put_fresh(map, &fresh, err);
}

void code_map_inherit(struct code_map *map, const struct code_map *parent)
{
	if (map->count || !parent->count)
		return;
	struct code_mapping *copy = malloc(parent->count * sizeof(*copy));
	if (!copy)
		return;
	memcpy(copy, parent->mapping, parent->count * sizeof(*copy));
	free(map->mapping);
	map->mapping = copy;
	map->count = map->cap = parent->count;
	map->is_parents = true;
}

void code_map_exec(struct code_map *map)
{
	if (map->is_parents)
		code_map_done(map);
	map->read_ns = 0;
	map->early = 0;
}

void code_map_done(struct code_map *map)
{
	free(map->mapping);
	*map = (struct code_map){0};
}

static const struct code_mapping *find_mapping(const struct code_map *map, uint64_t address)
{
	size_t low = 0, high = map->count;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (map->mapping[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	const struct code_mapping *m = low < map->count ? &map->mapping[low] : NULL;
	return m && m->start <= address ? m : NULL;
}

/* ---- frames ---- */

/* A held frame; 0: no memory. */
static uint32_t put_frame(struct code_frames *c, uint64_t address,
			  const struct frame_module *module, const struct code_position *from,
			  uint32_t count)
{
	struct frame_position position[FRAME_POSITIONS_MAX];
	struct frame f = {.address = address,
			  .has_address = address != 0,
			  .count = count,
			  .position = position};
	if (module)
		f.module = *module;
	for (uint32_t i = 0; i < count; i++)
		position[i] = (struct frame_position){
			.function = put_string(c->session, from[i].function),
			.file = put_string(c->session, from[i].file),
			.line = from[i].line,
			.start_char = from[i].start_char,
			.end_char = from[i].end_char,
			.has_line = from[i].line,
			.has_chars = from[i].has_chars,
		};
	uint32_t id = frames_put(c->session->frames, &f);
	for (uint32_t i = 0; i < count; i++) {
		strings_drop(c->session->strings, position[i].function);
		strings_drop(c->session->strings, position[i].file);
	}
	return id;
}

static uint32_t unresolved(struct code_frames *c, uint64_t address)
{
	char text[32];
	snprintf(text, sizeof(text), "0x%llx", (unsigned long long)address);
	return put_frame(c, address, NULL, &(struct code_position){.function = text}, 1);
}

static bool is_library(const struct symbols_position *p)
{
	return p->function && !strncmp(p->function, library, sizeof(library) - 1);
}

static uint32_t put_symbols(struct code_frames *c, uint64_t address,
			    const struct frame_module *module, const struct symbols_position *from,
			    uint32_t count)
{
	struct code_position position[FRAME_POSITIONS_MAX];
	for (uint32_t i = 0; i < count; i++)
		position[i] = (struct code_position){
			.function = from[i].function,
			.file = from[i].file,
			.line = from[i].line,
			.start_char = from[i].column,
			.end_char = from[i].column,
			.has_chars = from[i].column,
		};
	return put_frame(c, address, module, position, count);
}

/* Keeps a frame for the module, which holds it. 0: no memory; the frame is dropped. */
static uint32_t keep_frame(struct code_frames *c, struct code_module *m, uint64_t key,
			   uint32_t frame)
{
	uint64_t *value = frame ? map_put(&m->frames, key) : NULL;
	if (!value) {
		if (frame != OF_LIBRARY)
			frames_drop(c->session->frames, frame);
		return 0;
	}
	*value = frame;
	c->frames++;
	return frame;
}

/* The variants of frames begin at 1, at the bit behind MAX_OFFSET. */
#define RENAMED (0xffffull << 48)

/* Held, or 0: no memory. */
static uint32_t put_renamed(struct code_frames *c, uint64_t address, const struct frame_module *of,
			    const struct symbols_position *p, uint32_t count, code_rename *rename)
{
	char name[NAME_BYTES];
	struct symbols_position renamed = p[count - 1];
	bool is_other = count == 1 && rename && renamed.function &&
			rename(renamed.function, name, sizeof(name));
	if (!is_other)
		return put_symbols(c, address, of, p, count);
	renamed.function = name;
	return put_symbols(c, address, of, &renamed, 1);
}

/* The frame of a module's instruction: OF_LIBRARY, or held by the module; 0: no memory. */
static uint32_t module_frame(struct code_frames *c, struct code_module *m, uint64_t offset,
			     uint64_t address, code_rename *rename)
{
	const struct symbols_position *p;
	uint64_t key = offset | (rename ? RENAMED : 0);
	const uint64_t *known = map_get(&m->frames, key);
	if (known)
		return (uint32_t)*known;
	uint32_t count = symbols_find(m->symbols, offset, &p);
	if (!count)
		return 0;
	/* What was inlined in the library, or of it in the program, is the library's. */
	uint32_t own = 0;
	while (own < count && !is_library(&p[own]))
		own++;
	struct frame_module of = {m->path, m->build_id, offset};
	return keep_frame(c, m, key,
			  own ? put_renamed(c, address, &of, p, own, rename) : OF_LIBRARY);
}

/* Held. 0: no memory. */
static uint32_t unknown(struct code_frames *c)
{
	const struct frame none = {0};
	if (!c->unknown)
		c->unknown = frames_put(c->session->frames, &none);
	if (c->unknown)
		frames_hold(c->session->frames, c->unknown);
	return c->unknown;
}

/* Adds a mapping that /proc does not have any more. NULL: none is known. */
static const struct code_mapping *find_recorded(struct code_frames *c, struct code_map *map,
						pid_t pid, uint64_t at)
{
	struct maps_entry e;
	struct reading r = {c, map, pid};
	size_t count = map->count;
	if (!c->mapped)
		return NULL;
	map->recorded = mapped_code_read(c->mapped);
	if (!mapped_code_find(c->mapped, pid, at, &e) || add_mapping(&e, &r) || map->count == count)
		return NULL;
	/* To its place: the others are in order. */
	struct code_mapping added = map->mapping[count];
	added.is_recorded = true;
	size_t i = count;
	for (; i && map->mapping[i - 1].start > at; i--)
		map->mapping[i] = map->mapping[i - 1];
	/* What has a part of its addresses now stays. */
	if (i && map->mapping[i - 1].end > added.start) {
		added.offset += map->mapping[i - 1].end - added.start;
		added.start = map->mapping[i - 1].end;
	}
	if (i < count && map->mapping[i + 1].start < added.end)
		added.end = map->mapping[i + 1].start;
	map->mapping[i] = added;
	return &map->mapping[i];
}

/* Others may have been recorded since. */
static void drop_recorded(struct code_map *map)
{
	size_t kept = 0;
	for (size_t i = 0; i < map->count; i++)
		if (!map->mapping[i].is_recorded)
			map->mapping[kept++] = map->mapping[i];
	map->count = kept;
}

static const struct code_mapping *find_again(struct code_frames *c, struct code_map *map, pid_t pid,
					     uint64_t at)
{
	const struct code_mapping *m = find_mapping(map, at);
	if (m && m->is_recorded && mapped_code_read(c->mapped) != map->recorded) {
		drop_recorded(map);
		m = NULL;
	}
	if (!m) {
		code_map_read(c, map, pid, true);
		m = find_mapping(map, at);
	}
	return m ? m : find_recorded(c, map, pid, at);
}

/* The frame of an address, which the caller holds unless it is OF_LIBRARY. 0: no memory. */
static uint32_t frame_of(struct code_frames *c, struct code_map *map, pid_t pid, uint64_t address,
			 bool returns, code_rename *rename)
{
	if (address == CODE_CUT)
		return code_frames_named(c, CODE_CUT_NAME);
	if (address == CODE_GAP)
		return code_frames_named(c, CODE_GAP_NAME);
	/* A return address may be that of the next line, or of the next function. */
	uint64_t at = address - returns;
	const struct code_mapping *m = find_again(c, map, pid, at);
	if (!m)
		return unknown(c);
	if (!m->module || c->frames == MAX_FRAMES)
		return unresolved(c, address);
	uint32_t frame = module_frame(c, m->module, at - m->start + m->offset, address, rename);
	if (frame && frame != OF_LIBRARY)
		frames_hold(c->session->frames, frame);
	return frame;
}

const char *code_frames_function(struct code_frames *c, struct code_map *map, pid_t pid,
				 uint64_t address, bool returns)
{
	uint32_t id = frame_of(c, map, pid, address, returns, NULL);
	if (!id || id == OF_LIBRARY)
		return NULL;
	const struct frame *f = frames_get(c->session->frames, id);
	uint32_t name = f->count ? f->position[f->count - 1].function : 0;
	/* Its module, or the address of an unresolved one, holds it. */
	const char *text = f->module.offset ? strings_text(c->session->strings, name) : NULL;
	frames_drop(c->session->frames, id);
	return text;
}

static struct code_memory memory_of(const struct code_frames *c, const struct code_mapping *m,
				    pid_t pid)
{
	struct code_memory memory = {.pid = pid, .reader = c->memory};
	struct code_module *of = m->module;
	if (!of->elf && of->file >= 0 && elf_open(of->file, &of->elf))
		of->elf = NULL;
	memory.elf = of->elf;
	if (of->elf)
		memory.bias = m->start - elf_address(of->elf, m->offset);
	return memory;
}

static uint32_t symbols_frame(struct code_frames *c, struct code_map *map, pid_t pid,
			      uint64_t address)
{
	uint32_t frame = frame_of(c, map, pid, address, true, NULL);
	return frame == OF_LIBRARY ? unresolved(c, address) : frame;
}

uint32_t code_frames_return(struct code_frames *c, struct code_map *map, pid_t pid,
			    uint64_t address, const struct code_lookup *by)
{
	struct code_position position[FRAME_POSITIONS_MAX];
	const struct code_mapping *m = find_again(c, map, pid, address - 1);
	if (!m || !m->module || c->frames == MAX_FRAMES)
		return symbols_frame(c, map, pid, address);
	uint64_t key = (address - m->start + m->offset) | (uint64_t)(by->variant + 1u) << 48;
	const uint64_t *known = map_get(&m->module->frames, key);
	uint32_t frame = known ? (uint32_t)*known : 0;
	if (known && !frame)
		return symbols_frame(c, map, pid, address);
	if (!known) {
		struct code_memory memory = memory_of(c, m, pid);
		unsigned n = by->find(by->ctx, &memory, position);
		if (!n) {
			c->frames += map_put(&m->module->frames, key) != NULL;
			return symbols_frame(c, map, pid, address);
		}
		struct frame_module of = {m->module->path, m->module->build_id,
					  address - 1 - m->start + m->offset};
		frame = keep_frame(c, m->module, key, put_frame(c, address, &of, position, n));
	}
	frames_hold(c->session->frames, frame);
	return frame;
}

bool code_frames_memory(struct code_frames *c, struct code_map *map, pid_t pid, uint64_t address,
			struct code_memory *ret)
{
	const struct code_mapping *m = find_again(c, map, pid, address - 1);
	if (!m || !m->module)
		return false;
	*ret = memory_of(c, m, pid);
	return true;
}

bool code_frames_is_code(struct code_frames *c, struct code_map *map, pid_t pid, uint64_t address)
{
	return find_again(c, map, pid, address) != NULL;
}

struct unwind_rule code_frames_unwind(struct code_frames *c, struct code_map *map, pid_t pid,
				      uint64_t address, bool is_innermost)
{
	struct unwind_rule rule = {.kind = UNWIND_UNKNOWN};
	uint64_t at = address - !is_innermost;
	const struct code_mapping *m = find_again(c, map, pid, at);
	if (m && m->module)
		symbols_unwind(m->module->symbols, at - m->start + m->offset, &rule);
	return rule;
}

struct session *code_frames_session(const struct code_frames *c)
{
	return c->session;
}

uint32_t code_frames_named(struct code_frames *c, const char *name)
{
	struct code_position p = {.function = name};
	return put_frame(c, 0, NULL, &p, 1);
}

/* Pushes the frames, the innermost first, but for those inside of the library's. 0: no memory, or
 * none. */
static uint32_t push_frames(struct stacks *stacks, uint32_t outer, const uint32_t *frame,
			    size_t count)
{
	uint32_t stack = outer;
	size_t first = 0;
	for (size_t i = 0; i < count && i < LIBRARY_DEPTH; i++)
		if (frame[i] == OF_LIBRARY)
			first = i + 1;
	while (count-- > first) {
		if (frame[count] == OF_LIBRARY)
			continue;
		stack = stacks_push(stacks, stack, frame[count]);
		if (!stack)
			return 0;
	}
	return stack;
}

int code_frames_stack(struct code_frames *c, struct code_map *map, pid_t pid,
		      const struct code_stack *s, uint32_t *ret)
{
	uint32_t frame[CODE_STACK_MAX];
	size_t n = 0, library_frames = 0, count = s->count;
	if (count > CODE_STACK_MAX)
		count = CODE_STACK_MAX;
	for (; n < count &&
	       (frame[n] = frame_of(c, map, pid, s->address[n], n || s->returns, s->rename));
	     n++)
		library_frames += frame[n] == OF_LIBRARY;
	uint32_t stack = n == count ? push_frames(c->session->stacks, s->outer, frame, n) : 0;
	int err = n < count || (n && !library_frames && !stack) ? -ENOMEM : 0;
	while (n--)
		if (frame[n] != OF_LIBRARY)
			frames_drop(c->session->frames, frame[n]);
	if (!err)
		*ret = stack;
	return err;
}
