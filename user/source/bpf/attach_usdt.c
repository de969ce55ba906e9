// SPDX-License-Identifier: BSD-2-Clause
/*
 * The attacher for the markers that the user asks for (runtime/marker_requests.h), in files of any
 * program: others that run the file pay nothing. The file of a program that no other process runs
 * is probed in all processes at once, so that children are watched from their first moment. A site
 * with arguments that cannot be read is reported, once a file, and not attached; nor are more sites
 * of a file than were allowed.
 */
#include "source/bpf/attach_usdt.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/hash.h"
#include "base/log.h"
#include "base/map.h"
#include "base/plural.h"
#include "elf/elf.h"
#include "elf/usdt_args.h"
#include "session/kinds.h"
#include "source/bpf/operand.h"
#include "source/bpf/plan.h"

#define REASON_BYTES 160
#define SYMBOL_BYTES 256

struct file_usdt {
	struct attach_env *env;
	uint32_t slot;
	pid_t pid;
	int fd;
	bool reports; /* what is not attached */
	bool is_program;
	char path[REASON_BYTES];
};

static bool match(const struct runtime_file *what)
{
	return what->asked_markers;
}

/* Another process may have a library mapped, which no list of programs says. */
static bool is_program(pid_t pid, int fd)
{
	char path[32];
	struct stat file, program;
	snprintf(path, sizeof(path), "/proc/%d/exe", pid);
	return !fstat(fd, &file) && !stat(path, &program) && file.st_dev == program.st_dev &&
	       file.st_ino == program.st_ino;
}

static int begin(struct attach_env *env, const struct attach_process *process,
		 const struct attach_file *file, void **ret_state)
{
	struct file_usdt *u = calloc(1, sizeof(*u));
	if (!u)
		return -ENOMEM;
	*u = (struct file_usdt){.env = env,
				.slot = process->slot,
				.pid = process->pid,
				.fd = file->fd,
				.reports = !attacher_has_reported_of(env, file->map, "usdt"),
				.is_program = is_program(process->pid, file->fd)};
	snprintf(u->path, sizeof(u->path), "%s", file->map->path);
	*ret_state = u;
	return 0;
}

static enum attach_when update(void *state, uint64_t now_ns)
{
	(void)state;
	(void)now_ns;
	return ATTACH_NOW;
}

/* ---- the arguments of a site ---- */

static bool find_symbol(void *ctx, const char *name, size_t bytes, uint64_t *ret)
{
	char text[SYMBOL_BYTES];
	struct elf_symbol symbol = {.name = text};
	if (!ctx || bytes >= sizeof(text))
		return false;
	memcpy(text, name, bytes);
	text[bytes] = 0;
	if (!elf_find(ctx, &symbol, 1) || symbol.thread_local)
		return false;
	*ret = symbol.value;
	return true;
}

/* The number of the argument with the byte at an offset. */
static unsigned number_at(const char *args, unsigned at)
{
	unsigned n = 0;
	for (unsigned i = 0; i < at; i++)
		n += args[i] == ' ' && args[i + 1] != ' ';
	return n;
}

static const char *argument(const char *args, unsigned number)
{
	for (; number && *args; args++)
		number -= *args == ' ' && args[1] != ' ';
	return args;
}

static const char is_a_float[] = "is a floating-point number";

/* True if all arguments can be read; else the end of a sentence about the site. */
static bool read_args(const struct notes_site *site, struct elf *elf,
		      const struct marker_side *side, struct usdt_args *ret, char *why)
{
	const struct usdt_site at = {.address = site->address, .find = find_symbol, .ctx = elf};
	unsigned offset = 0, n = 0;
	const char *what = NULL;
	int err = usdt_args_parse_at(site->args, &at, ret, &offset);
	if (err) {
		n = number_at(site->args, offset);
		const char *size = argument(site->args, n);
		bool is_float = !strncmp(size + strcspn(size, " f@"), "f@", 2);
		what = err == -E2BIG ? "is one too many" : is_float ? is_a_float : "cannot be read";
	}
	for (unsigned i = 0; !err && i < ret->count && !what; i++)
		if (ret->arg[i].is_float) {
			n = i;
			what = is_a_float;
		}
	if (what) {
		const char *text = argument(site->args, n);
		snprintf(why, REASON_BYTES, "its argument %u, '%.*s', %s", n,
			 (int)strcspn(text, " "), text, what);
		return false;
	}
	int last = side->key;
	for (unsigned i = 0; i < side->texts; i++)
		last = side->text[i] > last ? side->text[i] : last;
	if (last < (int)ret->count)
		return true;
	snprintf(why, REASON_BYTES, "it has %u argument%s, and no argument %d", ret->count,
		 plural(ret->count), last);
	return false;
}

static struct ebt_usdt_spec describe(unsigned request, enum marker_end end,
				     const struct marker_request *r, const struct usdt_args *args)
{
	const struct marker_side *side = &r->side[end];
	struct ebt_usdt_spec spec = {
		.request = request,
		.kind = !r->is_span	      ? EBT_MARKER_HIT
			: end == MARKER_BEGIN ? EBT_SPAN_BEGIN
					      : EBT_SPAN_END,
		.args = (uint8_t)args->count,
		.texts = (uint8_t)side->texts,
	};
	for (unsigned i = 0; i < args->count; i++) {
		spec.arg[i] = operand_of_arg(&args->arg[i]);
		spec.is_signed |= (uint16_t)(args->arg[i].is_signed << i);
	}
	for (unsigned i = 0; i < side->texts; i++)
		spec.text[i] = spec.arg[side->text[i]];
	return spec;
}

/* ---- the sites of a file ---- */

struct planning {
	uint32_t slot; /* of cookies */
	const struct file_usdt *of;
	struct site_file file;
	const struct notes *notes;
	struct elf *elf; /* NULL: its symbols are not known */
	struct uprobe_site *site;
	uint32_t sites, room;
	struct map reported; /* markers, by a hash of their names */
};

/* One site of a marker is reported: the others are most often the same. */
static void report(struct planning *p, const struct notes_site *site, const char *why)
{
	uint64_t name = hash_string(hash_string(hash_start(), site->provider), site->name);
	const uint64_t *seen = map_get(&p->reported, name);
	uint64_t *at = seen ? NULL : map_put(&p->reported, name);
	if (!p->of->reports || !at)
		return;
	*at = 1;
	messages_at(p->of->env->messages, LOG_NORMAL,
		    "process %d: marker %s:%s of %s is not probed: %s", p->of->pid, site->provider,
		    site->name, p->of->path, why);
}

/* 0 or -errno. */
static int add_site(struct planning *p, const struct notes_site *from,
		    const struct ebt_usdt_spec *spec)
{
	struct attach_env *env = p->of->env;
	bool is_new;
	int key = usdt_specs_key(&env->specs, spec, &is_new);
	int err = key < 0  ? key
		  : is_new ? env->set(env->ctx, BPF_TABLE_USDT_SPECS, (uint32_t)key, spec)
			   : 0;
	if (err)
		return err;
	p->site[p->sites++] = (struct uprobe_site){
		.offset = from->offset,
		.semaphore = from->semaphore,
		.cookie = EBT_USDT_COOKIE(p->slot, (uint32_t)key),
	};
	return 0;
}

static int plan_side(struct planning *p, const struct notes_site *site, unsigned request,
		     enum marker_end end)
{
	const struct marker_request *r = &p->of->env->plan->markers->at[request];
	struct usdt_args args;
	char why[REASON_BYTES];
	if (!marker_side_is(&r->side[end], site))
		return 0;
	p->of->env->usdt_found[2 * request + end] = true;
	if (!read_args(site, p->elf, &r->side[end], &args, why)) {
		report(p, site, why);
		return 0;
	}
	if (p->sites == p->room)
		return 0;
	struct ebt_usdt_spec spec = describe(request, end, r, &args);
	if (r->is_span)
		spec.caller = site_callers_find(&p->of->env->callers, &p->file, site->offset,
						p->of->env->messages);
	return add_site(p, site, &spec);
}

static int plan_sites(struct planning *p)
{
	const struct marker_requests *asked = p->of->env->plan->markers;
	int err = 0;
	for (uint32_t i = 0; i < p->notes->sites; i++)
		for (unsigned r = 0; r < asked->count && !err; r++)
			for (unsigned end = 0; end <= asked->at[r].is_span && !err; end++)
				err = plan_side(p, &p->notes->site[i], r, (enum marker_end)end);
	return err;
}

static bool are_too_many(const struct file_usdt *u, uint32_t sites)
{
	const struct marker_requests *asked = u->env->plan->markers;
	if (asked->many || sites <= MARKER_REQUEST_SITES)
		return false;
	if (u->reports)
		messages_at(u->env->messages, LOG_NORMAL,
			    "process %d: %s has %u sites of these markers, more than %u: they are "
			    "not probed; --many allows it",
			    u->pid, u->path, sites, MARKER_REQUEST_SITES);
	return true;
}

static uint32_t count_sites(const struct marker_requests *asked, const struct notes *notes)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < notes->sites; i++)
		n += marker_requests_have(asked, &notes->site[i]);
	return n;
}

/* A key for the hits of a shared link by processes that are not traced. */
static int count_foreign(struct attach_env *env, uint32_t *ret_key)
{
	static const uint64_t none;
	*ret_key = ++env->last_key & ~EBT_USDT_SHARED;
	return env->set(env->ctx, BPF_TABLE_FOREIGN, *ret_key, &none);
}

static void unplan(struct attach_env *env, uint32_t key)
{
	if (key)
		env->set(env->ctx, BPF_TABLE_FOREIGN, key, NULL);
}

static bool is_shareable(const void *state)
{
	const struct file_usdt *u = state;
	return u->is_program;
}

static int plan(void *state, bool shared, struct attach_plan *ret)
{
	struct file_usdt *u = state;
	const struct marker_requests *asked = u->env->plan->markers;
	const struct known_file *known;
	int err = known_notes_read(&u->env->notes, u->fd, &known);
	if (err)
		return err == -ENOEXEC || err == -EBADMSG ? 0 : err;
	if (shared)
		err = count_foreign(u->env, &ret->key);
	uint32_t sites = count_sites(asked, &known->notes);
	/* Each request may have the same marker. */
	struct planning p = {.slot = shared ? EBT_USDT_SHARED | ret->key : u->slot,
			     .of = u,
			     .file = {.fd = u->fd, .path = u->path},
			     .notes = &known->notes,
			     .room = sites * asked->count};
	p.site = calloc(p.room + 1u, sizeof(*p.site));
	if (!p.site)
		err = -ENOMEM;
	else if (!err && !are_too_many(u, sites) && elf_open(u->fd, &p.elf))
		p.elf = NULL;
	if (p.elf)
		err = plan_sites(&p);
	elf_close(p.elf);
	site_callers_close(&p.file);
	map_done(&p.reported);
	ret->site = p.site;
	ret->sites = p.sites;
	u->reports = false;
	return err;
}

const struct marker_side *attach_usdt_unfound(const struct attach_env *env, unsigned *at)
{
	const struct marker_requests *asked = env->plan->markers;
	for (; asked && *at < 2 * asked->count; ++*at) {
		const struct marker_request *r = &asked->at[*at / 2];
		if (!env->usdt_found[*at] && *at % 2 <= r->is_span)
			return &r->side[(*at)++ % 2];
	}
	return NULL;
}

/* The sites are the file's. */
static bool survives_exec(void *state)
{
	(void)state;
	return true;
}

const struct attacher attach_usdt = {
	.name = "markers that were asked for",
	.program = BPF_PROBE_USDT,
	.match = match,
	.begin = begin,
	.update = update,
	.exclusive = true,
	.is_shareable = is_shareable,
	.plan = plan,
	.unplan = unplan,
	.survives_exec = survives_exec,
	.end = free,
};
