// SPDX-License-Identifier: BSD-2-Clause
/* Processes that have ended before they were looked at, of files whose functions are probed in
 * all. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "runtime/inspect.h"
#include "source/bpf/plan.h"
#include "source/bpf/traced.h"
#include "tests/tap.h"

static const struct probe_plan usual;

static struct processes registry;
static struct bpf_traced t = {.opt = {.processes = &registry}};
static struct stat st;
static uint64_t told_since;

static void unwatched(void *ctx, uint32_t process, uint64_t since_ns, uint64_t until_ns)
{
	(void)ctx;
	(void)process;
	/* A time that is empty is not to be reported. */
	told_since = since_ns < until_ns ? since_ns : UINT64_MAX;
}

/* Since when a process was not watched that called exec at this time and has ended; 0: it was. */
static uint64_t life_from(uint64_t exec_ns, const char *path)
{
	struct bpf_program program = {.dev = st.st_dev, .inode = st.st_ino, .path = path};
	int slot = bpf_traced_reserve_slot(&t);
	struct bpf_process *proc = bpf_traced_add(&t, (uint32_t)slot, getpid(), 1);
	if (slot < 0 || !proc)
		abort();
	told_since = 0;
	bpf_traced_exec(&t, proc, exec_ns, &program);
	bpf_traced_end(&t, proc);
	return told_since;
}

/* Links of which nothing is seen but that they are there. */
static int attached, unplanned;

static int attach(void *ctx, const struct link_spec *spec)
{
	(void)ctx;
	attached++;
	return spec->pid <= 0 ? open("/dev/null", O_RDONLY) : -EINVAL;
}

static int plan(void *state, bool is_shared, struct attach_plan *ret)
{
	(void)state;
	ret->site = calloc(3, sizeof(*ret->site));
	ret->sites = is_shared ? 3 : 0;
	ret->key = 7;
	return 0;
}

static void unplan(struct attach_env *env, uint32_t key)
{
	(void)env;
	unplanned += key == 7;
}

static uint64_t hits;

static uint64_t foreign(void *ctx, uint32_t key)
{
	(void)ctx;
	return key == 7 ? hits : 0;
}

static const struct attacher by = {.name = "test", .plan = plan, .unplan = unplan};

static const struct link_of all = {.file = -1};

static int plan_two(void *state, bool is_shared, struct attach_plan *ret)
{
	(void)state, (void)is_shared;
	ret->site = calloc(2, sizeof(*ret->site));
	ret->sites = 2;
	ret->site[1].cookie = 5;
	ret->key = 7;
	return 0;
}

#define USED 400 /* links that stay in use */

/* Shared links are kept for those to come, as long as there are not too many. */
static void test_room(void)
{
	struct bpf_links l = {.attach = attach, .foreign = foreign};
	struct attach_env env = {.plan = &usual};
	struct bpf_shared *used = bpf_links_share(&l, &env, &by, 1, 1), *last = NULL;
	is(bpf_links_open(&l, &env, &by, NULL, &all, &used->link), 3, "a shared link is made");
	unplanned = 0;
	for (uint64_t inode = 2; inode < 1000; inode++) {
		last = bpf_links_share(&l, &env, &by, 1, inode);
		if (!last || bpf_links_open(&l, &env, &by, NULL, &all, &last->link) != 3)
			break;
		if (inode > USED)
			bpf_links_leave(&l, &env, last);
	}
	ok(last && last->inode == 999, "so are a thousand");
	is(l.shared.words.count, USED + 256, "all in use are kept, and some that nobody uses");
	is(unplanned, 999 - USED - 256, "the others are closed");
	is(l.sites, 3 * l.shared.words.count, "with their sites");
	ok(bpf_links_cover(&l, &by, 1, 1, UINT64_MAX), "the one in use is kept");
	ok(!bpf_links_cover(&l, &by, 1, USED + 1, UINT64_MAX),
	   "the one that was used longest ago is not");
	uint64_t kept = 999 - 255;
	struct bpf_shared *again = bpf_links_share(&l, &env, &by, 1, kept);
	ok(again && again->link.fd >= 0 && l.idles == 255, "one that is used again is found");
	bpf_links_leave(&l, &env, again);
	for (struct bpf_shared *sh = bpf_links_share(&l, &env, &by, 1, 2); sh->users;)
		bpf_links_leave(&l, &env, sh);
	ok(bpf_links_cover(&l, &by, 1, kept, UINT64_MAX) &&
		   !bpf_links_cover(&l, &by, 1, kept + 1, UINT64_MAX),
	   "and was not used longest ago then");
	log_level = LOG_QUIET; /* it is said once a file */
	hits = 1000;
	bpf_links_check_foreign(&l, &env, 5000000000ull);
	hits += 20000;
	bpf_links_check_foreign(&l, &env, 5500000000ull);
	ok(used->link.fd >= 0, "others hit it, and nobody has counted a second of that");
	bpf_links_check_foreign(&l, &env, 6000000000ull);
	ok(used->link.fd < 0 && used->gone_ns, "others hit it too often: it is closed");
	ok(!bpf_links_share(&l, &env, &by, 1, 1), "and not made again");
	bpf_links_close_shared(&l, &env);
	is(l.sites, 0, "no site is left");
}

static bool are_ours;

static bool is_ours(void *ctx, uint64_t dev, uint64_t inode)
{
	(void)ctx, (void)dev, (void)inode;
	return are_ours;
}

/* Of an attacher for which no other process may pay. */
static void test_exclusive(void)
{
	static const struct attacher alone = {
		.name = "exclusive", .plan = plan, .unplan = unplan, .exclusive = true};
	struct bpf_links l = {.attach = attach, .foreign = foreign};
	struct attach_env env = {.plan = &usual, .is_ours = is_ours, .shares_unasked = true};
	are_ours = false;
	ok(!bpf_links_share(&l, &env, &alone, 1, 1), "a file that others run is not shared");
	ok(bpf_links_share(&l, &env, &by, 1, 1), "by another attacher it is");
	are_ours = true;
	struct bpf_shared *sh = bpf_links_share(&l, &env, &alone, 1, 2);
	is(sh ? bpf_links_open(&l, &env, &alone, NULL, &all, &sh->link) : 0, 3,
	   "one that no other runs is");
	ok(bpf_links_cover(&l, &alone, 1, 2, UINT64_MAX) &&
		   !bpf_links_cover(&l, &by, 1, 2, UINT64_MAX),
	   "for that attacher alone");
	hits = 10;
	bpf_links_check_foreign(&l, &env, 5000000000ull);
	ok(sh && sh->link.fd >= 0, "hits before a child is known are not those of others");
	are_ours = false;
	bpf_links_check_foreign(&l, &env, 6000000000ull);
	ok(sh && sh->link.fd >= 0, "without a hit nobody pays");
	hits++;
	bpf_links_check_foreign(&l, &env, 6099999999ull);
	ok(sh && sh->link.fd >= 0, "hits are counted ten times a second");
	bpf_links_check_foreign(&l, &env, 6100000000ull);
	ok(sh && sh->link.fd < 0, "the first hit of another process ends it");
	ok(bpf_links_knows(&l, &alone, 1, 2) && bpf_links_knows(&l, &alone, 1, 1) &&
		   !bpf_links_knows(&l, &alone, 1, 3) && !bpf_links_knows(&l, &by, 1, 2),
	   "what was shared, or was not to be, stays known");
	bpf_links_close_shared(&l, &env);
}

/* As many hits as are allowed, and one more, in a second, or a tenth for an exclusive attacher. */
static void test_hits(void)
{
	static const struct attacher alone = {
		.name = "exclusive", .plan = plan, .unplan = unplan, .exclusive = true};
	static const struct {
		const struct attacher *by;
		uint64_t passed_ns, hits;
		bool stays;
	} row[] = {{&by, 1000000000, 10000, true},  {&by, 1000000000, 10001, false},
		   {&by, 999999999, 90000, true},   {&by, 2000000000, 20000, true},
		   {&by, 2000000000, 20001, false}, {&alone, 100000000, 10, true},
		   {&alone, 100000000, 11, false},  {&alone, 99999999, 900, true}};
	struct attach_env env = {.plan = &usual, .is_ours = is_ours, .shares_unasked = true};
	are_ours = true;
	for (size_t i = 0; i < sizeof(row) / sizeof(*row); i++) {
		struct bpf_links l = {.attach = attach, .foreign = foreign};
		struct bpf_shared *sh = bpf_links_share(&l, &env, row[i].by, 1, 1);
		if (bpf_links_open(&l, &env, row[i].by, NULL, &all, &sh->link) != 3)
			abort();
		hits = 50;
		bpf_links_check_foreign(&l, &env, 5000000000ull);
		hits += row[i].hits;
		bpf_links_check_foreign(&l, &env, 5000000000ull + row[i].passed_ns);
		ok((sh->link.fd >= 0) == row[i].stays && (l.closes == 0) == row[i].stays &&
			   !sh->gone_ns == row[i].stays,
		   "%u hits by others in %u us: the link %s", (unsigned)row[i].hits,
		   (unsigned)(row[i].passed_ns / 1000), row[i].stays ? "stays" : "is closed");
		bpf_links_close_shared(&l, &env);
	}
}

static bool are_held;

static bool holds(int fd)
{
	return fd >= 0 && are_held;
}

static uint64_t handover;
static bool no_table;

static int set_table(void *ctx, enum bpf_table table, uint64_t key, const void *value)
{
	(void)ctx;
	if (no_table || table != BPF_TABLE_HANDOVER || key != 7 % EBT_HANDOVERS)
		return -ENOMEM;
	memcpy(&handover, value, sizeof(handover));
	return 0;
}

/* The upper bits of a planned cookie. */
static uint64_t bits(struct attach_env *env, const struct link_of *of)
{
	struct attach_plan plan;
	static const struct attacher two = {.name = "two", .plan = plan_two};
	if (bpf_links_plan(env, &two, NULL, of, &plan))
		abort();
	uint64_t ret = plan.site[1].cookie ^ 5;
	bpf_links_drop(env, &two, &plan);
	return ret;
}

#define MS 1000000ull

/* A shared link hands its processes over to links of their own. */
static void test_going(void)
{
	struct bpf_links l = {.attach = attach, .foreign = foreign};
	struct attach_env env = {.plan = &usual, .set = set_table};
	const struct link_of own = {.pid = 3}, heir = {.pid = 3, .heir = 7};
	is(bits(&env, &all), EBT_SHARED_COOKIE | 7ull << EBT_KEY_SHIFT,
	   "the cookies of a shared link have its key");
	ok(!bits(&env, &own) && bits(&env, &heir) == 7ull << EBT_KEY_SHIFT,
	   "those of an own one that of the one it comes after");
	struct bpf_shared *sh = bpf_links_share(&l, &env, &by, 1, 1),
			  *other = bpf_links_share(&l, &env, &by, 1, 2);
	if (bpf_links_open(&l, &env, &by, NULL, &all, &sh->link) != 3 ||
	    bpf_links_open(&l, &env, &by, NULL, &all, &other->link) != 3)
		abort();
	uint64_t begun = 5000 * MS;
	ok(!bpf_links_heir(&l, &by, 1, 1), "a link that stays has no heir");
	ok(bpf_links_unshare(&l, &env, sh, 1, begun) && sh->link.fd >= 0 && handover == 7,
	   "one that goes is there until its processes have their own");
	ok(bpf_links_share(&l, &env, &by, 1, 1) == sh && bpf_links_heir(&l, &by, 1, 1) == 7 &&
		   !bpf_links_heir(&l, &by, 1, 2) && !bpf_links_cover(&l, &by, 1, 1, UINT64_MAX),
	   "a process that comes then is probed by it, and gets its own, too");
	ok(!bpf_links_unshare(&l, &env, other, 1, begun) && other->link.fd >= 0,
	   "another one that has its place has to wait");
	bpf_links_hand_over(&l, &env, begun + 100 * MS);
	is(handover, 7, "some may not have been updated in the first round");
	no_table = true;
	bpf_links_hand_over(&l, &env, begun + 200 * MS);
	ok(!sh->until_ns, "where the kernel refuses it nothing changes");
	no_table = false;
	bpf_links_hand_over(&l, &env, begun + 300 * MS);
	uint64_t from = EBT_HANDOVER_FROM_NS(handover);
	ok(EBT_HANDOVER_KEY(handover) == 7 && from > begun + 300 * MS && from <= sh->until_ns &&
		   sh->until_ns < begun + 400 * MS,
	   "after another round it is set from when the others count");
	ok(!bpf_links_share(&l, &env, &by, 1, 1), "from then on it gets no process");
	bpf_links_hand_over(&l, &env, sh->until_ns + 49 * MS);
	ok(sh->link.fd >= 0 && handover == EBT_HANDOVER(7, from),
	   "hits on their way with earlier times are still of the shared one");
	bpf_links_hand_over(&l, &env, sh->until_ns + 50 * MS);
	ok(sh->link.fd < 0 && sh->gone_ns == sh->until_ns + 50 * MS &&
		   handover == EBT_HANDOVER(7, EBT_HANDOVER_ALL_NS),
	   "then it is closed, and all hits are of the others");
	bpf_links_hand_over(&l, &env, sh->gone_ns + 1999 * MS);
	ok(bpf_links_heir(&l, &by, 1, 1) == 7, "its probes may be there for a while");
	bpf_links_hand_over(&l, &env, sh->gone_ns + 2000 * MS);
	ok(!bpf_links_heir(&l, &by, 1, 1), "and then are not");
	handover = 0;
	ok(bpf_links_unshare(&l, &env, other, 0, begun) && other->link.fd < 0 && !handover,
	   "one that no process needs is closed at once");
	bpf_links_close_shared(&l, &env);
}

/* The process that holds a shared link is killed while that goes. */
static void test_cut_while_going(void)
{
	struct bpf_links l = {.attach = attach, .holds = holds};
	struct attach_env env = {.plan = &usual, .set = set_table};
	struct bpf_shared *sh = bpf_links_share(&l, &env, &by, 1, 1);
	if (bpf_links_open(&l, &env, &by, NULL, &all, &sh->link) != 3)
		abort();
	are_held = true;
	ok(bpf_links_unshare(&l, &env, sh, 1, MS) && handover == 7, "a link goes");
	are_held = false;
	bpf_links_hand_over(&l, &env, 100 * MS);
	ok(sh->gone_ns == 100 * MS && handover == EBT_HANDOVER(7, EBT_HANDOVER_ALL_NS),
	   "where its probes are cut all hits are of the others at once");
	bpf_links_close_shared(&l, &env);
}

/* Probes that are gone: the link of a file that no process runs is closed, and counted. */
static void test_gone(void)
{
	struct bpf_links l = {.attach = attach, .holds = holds};
	struct attach_env env = {.plan = &usual};
	struct bpf_shared *used = bpf_links_share(&l, &env, &by, 1, 1),
			  *idle = bpf_links_share(&l, &env, &by, 1, 2);
	if (bpf_links_open(&l, &env, &by, NULL, &all, &used->link) != 3 ||
	    bpf_links_open(&l, &env, &by, NULL, &all, &idle->link) != 3)
		abort();
	bpf_links_leave(&l, &env, idle);
	are_held = true;
	bpf_links_check_foreign(&l, &env, 5000000000ull);
	ok(idle->link.fd >= 0 && !idle->cuts && l.sites == 6, "links whose probes are held stay");
	are_held = false;
	bpf_links_check_foreign(&l, &env, 6000000000ull);
	ok(idle->link.fd < 0 && idle->cuts == 1 && l.sites == 3 && !idle->gone_ns,
	   "one that is gone and has no user is closed, and may be made again");
	ok(used->link.fd >= 0 && !used->cuts, "that of one with users is for them to check");
	bpf_links_check_foreign(&l, &env, 7000000000ull);
	is(idle->cuts, 1, "it is counted once");
	ok(bpf_links_share(&l, &env, &by, 1, 2) == idle && idle->users == 1, "it has a user again");
	ok(!bpf_links_check(&l, &env, &used->link) && used->link.fd < 0 && !l.sites,
	   "the other is closed when it is checked");
	bpf_links_close_shared(&l, &env);
}

/* Of a program that came and went its path is left. */
static void test_path(const char *path)
{
	struct inspect *before = t.by.inspect;
	t.by.inspect = inspect_new();
	t.by.env.plan = &usual;
	is(life_from(30, path), 30, "a file that nobody has looked into is, by its path");
	/* The program that it calls exec for is another, or the same anew. */
	struct bpf_program program = {.dev = st.st_dev, .inode = st.st_ino, .path = path};
	struct bpf_process *proc =
		bpf_traced_add(&t, (uint32_t)bpf_traced_reserve_slot(&t), getpid(), 1);
	if (!proc)
		abort();
	bpf_traced_exec(&t, proc, 31, &program);
	told_since = 0;
	bpf_traced_exec(&t, proc, 32, &program);
	is(told_since, 31, "so is a program that executed another one at once");
	told_since = 0;
	proc->missed_ns = 35;
	bpf_traced_exec(&t, proc, 34, &program);
	is(told_since, 0,
	   "what a scan has reported before its exec was known is not reported again");
	bpf_traced_exec(&t, proc, 35, &program);
	is(told_since, 0, "nor if the exec was when the scan ended");
	bpf_traced_exec(&t, proc, 40, &program);
	is(told_since, 35, "but what comes behind it");
	bpf_traced_exec(&t, proc, 42, &program);
	bpf_traced_end(&t, proc);
	is(told_since, 42, "and that one");
	inspect_free(t.by.inspect);
	t.by.inspect = before;
}

int main(void)
{
	uint32_t we;
	if (processes_init(&registry, NULL) || processes_of(&registry, (uint32_t)getpid(), &we))
		return 1;
	struct inspect_budget budget;
	struct runtime_file file;
	const char *o = getenv("O");
	char path[256];
	snprintf(path, sizeof(path), "%s/tests/prog/minigc", o ? o : "build");
	int fd = open(path, O_RDONLY);
	t.by.inspect = inspect_new();
	inspect_budget_init(&budget);
	/* One that ends before anybody has looked into its file. */
	t.opt.unwatched = unwatched;
	is(fstat(fd, &st), 0, "there is a file with something to probe");
	test_path(path);
	is(life_from(40, "/dev/null"), 0,
	   "of a process of a file that cannot be found nothing is told");
	bpf_traced_hold_young(&t);
	is(told_since, 0, "as long as it is unknown");
	is(bpf_unseen_unknown(&t.unseen), 1, "but that it is unknown is counted");
	ok(t.by.inspect && !inspect_file(t.by.inspect, fd, &budget, &file) && file.markers,
	   "a file with something to probe is known");
	bpf_traced_hold_young(&t);
	is(told_since, 40, "then that the process was not watched is told");
	told_since = 0;
	bpf_traced_hold_young(&t);
	is(told_since, 0, "once");
	is(bpf_unseen_unknown(&t.unseen), 0, "and is not unknown any more");
	struct inspect *inspect = t.by.inspect;
	t.by.links.attach = attach;
	struct bpf_shared *shared =
		bpf_links_share(&t.by.links, &t.by.env, attachers[0], st.st_dev, st.st_ino);
	is(life_from(50, NULL), 50, "a process of a file that is not probed was not watched");
	is(bpf_links_open(&t.by.links, &t.by.env, &by, NULL, &all, &shared->link), 3,
	   "the file is probed in all processes");
	shared->since_ns = 100;
	is(life_from(100, NULL), 0, "one that began when the file was probed was");
	is(life_from(99, NULL), 99,
	   "one that began before, while probes were put in place, was not");
	close(fd);
	bpf_traced_done(&t);
	inspect_free(inspect);
	test_room();
	test_exclusive();
	test_hits();
	test_going();
	test_gone();
	test_cut_while_going();
	return tap_done();
}
