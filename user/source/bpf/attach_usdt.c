// SPDX-License-Identifier: BSD-2-Clause
/*
 * The attacher for the markers that the user asks for (runtime/marker_requests.h), in files of any
 * program: others that run the file pay nothing. The file of a program that no other process runs
 * is probed in all processes at once, so that children are watched from their first moment; so is
 * each file where all processes are traced. A site
 * with arguments that cannot be read is reported, once a file, and not attached; nor are more sites
 * of a file than were allowed.
 */
#include "source/bpf/attach_usdt.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/map.h"
#include "base/plural.h"
#include "elf/elf.h"
#include "elf/usdt_args.h"
#include "runtime/marker_names.h"
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
	return what->asked.sites;
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
				.is_program = file->is_program};
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

/* number: in usdt_names. */
static struct ebt_usdt_spec describe(unsigned number, enum marker_end end,
				     const struct marker_request *r, const struct usdt_args *args)
{
	const struct marker_side *side = &r->side[end];
	struct ebt_usdt_spec spec = {
		.request = number,
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
	const struct notes_site *last; /* and which of usdt_names it is an end of, a bit each */
	uint64_t is_end[MARKER_ENDS][MARKER_REQUESTS / 64];
	uint32_t unnamed;    /* sites that were left out, as there are too many names */
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
	if (!array_reserve(p->site, p->room, p->sites))
		return -ENOMEM;
	p->site[p->sites++] = (struct uprobe_site){
		.offset = from->offset,
		.semaphore = from->semaphore,
		.cookie = EBT_COOKIE(p->slot, (uint32_t)key),
	};
	return 0;
}

/* The number in usdt_names of what was found. -E2BIG: there are too many, -ENOMEM. */
static int number_of(const struct attach_env *env, const struct marker_found *found)
{
	const struct marker_requests *asked = env->plan->markers;
	int n = 0;
	if (asked->at[found->request].is_pattern)
		return marker_requests_number(env->usdt_names, found->is);
	for (unsigned i = 0; i < found->request; i++)
		n += !asked->at[i].is_pattern;
	return n;
}

/* False: the site is this end of it already, by another pattern. */
static bool mark_end(struct planning *p, const struct marker_found *found, unsigned number)
{
	if (p->last != found->site)
		memset(p->is_end, 0, sizeof(p->is_end));
	p->last = found->site;
	uint64_t *word = &p->is_end[found->end][number / 64], bit = 1ull << number % 64;
	bool is_new = !(*word & bit);
	*word |= bit;
	return is_new;
}

/* A name that a pattern matches was not asked for with its price. */
static bool is_too_frequent(const struct attach_env *env, const struct marker_found *found)
{
	const struct marker_requests *asked = env->plan->markers;
	return !asked->many && asked->at[found->request].is_pattern &&
	       marker_name_frequent(found->site->name);
}

static int plan_found(void *ctx, const struct marker_found *found)
{
	struct planning *p = ctx;
	struct attach_env *env = p->of->env;
	const struct notes_site *site = found->site;
	struct usdt_args args;
	char why[REASON_BYTES];
	env->usdt_found[2 * found->request + found->end] = true;
	if (is_too_frequent(env, found)) {
		report(p, site,
		       "it fires on every call, line or instruction of an interpreter; --many "
		       "allows it");
		return 0;
	}
	int number = number_of(env, found);
	p->unnamed += number == -E2BIG;
	if (number < 0 || !mark_end(p, found, (unsigned)number))
		return number == -ENOMEM ? number : 0;
	const struct marker_request *r = &env->usdt_names->at[number];
	if (!read_args(site, p->elf, &r->side[found->end], &args, why)) {
		report(p, site, why);
		return 0;
	}
	struct ebt_usdt_spec spec = describe((unsigned)number, found->end, r, &args);
	if (r->is_span)
		spec.caller =
			site_callers_find(&env->callers, &p->file, site->offset, env->messages);
	return add_site(p, site, &spec);
}

static int plan_sites(struct planning *p)
{
	struct attach_env *env = p->of->env;
	int err = marker_names_each(env->plan->markers, p->notes, plan_found, p);
	if (p->unnamed && p->of->reports)
		messages_at(env->messages, LOG_NORMAL,
			    "process %d: %u sites of %s are not probed: there may be %d names of "
			    "markers in a run",
			    p->of->pid, p->unnamed, p->of->path, MARKER_REQUESTS);
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

static void unplan(struct attach_env *env, uint32_t key)
{
	if (key)
		env->set(env->ctx, BPF_TABLE_FOREIGN, key, NULL);
}

/* Where all processes are traced no other one has a library mapped, either. */
static bool is_shareable(const void *state)
{
	const struct file_usdt *u = state;
	return u->env->plan->everyone || (u->is_program && u->env->last_key < EBT_SHARED_KEYS - 1);
}

static int plan(void *state, bool shared, struct attach_plan *ret)
{
	struct file_usdt *u = state;
	const struct marker_requests *asked = u->env->plan->markers;
	const struct known_file *known;
	int err = known_notes_read(&u->env->notes, u->fd, &known);
	if (err)
		return err == -ENOEXEC || err == -EBADMSG ? 0 : err;
	if (shared) {
		ret->key = ++u->env->last_key;
		err = attacher_count_foreign(u->env, ret->key);
	}
	struct marker_counts counts;
	marker_names_count(asked, &known->notes, &counts);
	struct planning p = {.slot = shared ? EBT_NO_SLOT : u->slot,
			     .of = u,
			     .file = {.fd = u->fd, .path = u->path},
			     .notes = &known->notes};
	if (!err && !are_too_many(u, counts.sites) && elf_open(u->fd, &p.elf))
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

const struct marker_request *attach_usdt_unfound(const struct attach_env *env, unsigned *at,
						 enum marker_end *ret_end)
{
	const struct marker_requests *asked = env->plan->markers;
	for (; asked && *at < 2 * asked->count; ++*at) {
		const struct marker_request *r = &asked->at[*at / 2];
		*ret_end = *at % 2 ? MARKER_END : MARKER_BEGIN;
		bool is_end = *ret_end == MARKER_BEGIN || (r->is_span && !r->is_pattern);
		if (is_end && !env->usdt_found[*at]) {
			++*at;
			return r;
		}
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
	.adopts = true,
	.is_shareable = is_shareable,
	.plan = plan,
	.unplan = unplan,
	.survives_exec = survives_exec,
	.end = free,
};
