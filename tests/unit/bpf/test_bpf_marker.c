// SPDX-License-Identifier: BSD-2-Clause
/* The program behind the markers, bpf/marker.bpf.c, as a user program with helpers of our own. */
#include "tests/tap.h"
#include "tests/unit/bpf_helpers.h"
#include "tests/unit/bpf_maps.h"
#include "tests/unit/counted_task.h"

struct pt_regs {
	uint64_t di, si, dx, r10, cx, r8, r9, ip, sp, bp;
};

static long bpf_loop(uint32_t count, long (*fn)(uint32_t, void *), void *ctx, uint64_t flags)
{
	(void)count;
	(void)fn;
	(void)ctx;
	(void)flags;
	return -22;
}

/* `has_run_delay` false: this kernel does not count the wait for a CPU. */
#define bpf_core_field_exists(field) (&(field) != &thread.sched_info.run_delay || has_run_delay)
static bool has_run_delay = true;

/* Of one thread; memory is zeroed, as the kernel's is. */
static bool has_storage, no_storage;
static void *bpf_task_storage_get(void *map, struct task_struct *of, void *value, uint64_t flags)
{
	static uint64_t storage[32];
	(void)map;
	(void)value;
	if (of != &thread || no_storage || (!has_storage && !flags))
		return NULL;
	has_storage = true;
	return storage;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#define const /* the test sets them, where the tracer does it before it loads the programs */
#include "bpf/budget.bpf.h"
#include "bpf/phases.bpf.h"
#undef const
#include "bpf/marker.bpf.c"
#pragma GCC diagnostic pop

#define SLOT 5u

static const struct pt_regs in_ring = {
	.di = 0xdead00000011ull, /* the note says 4 bytes */
	.si = 1,
	.dx = 0x1122334455667788ull,
	.r10 = 99,
	.cx = 7ull << 32 | 0xabcd0002ull, /* seq 7, ring 2: above 16 bits it is not ours */
	.r8 = 1000000007,
	.r9 = 4096,
};

/* Passes a marker; the record, or NULL. */
static const struct ebt_marker_record *hit(uint16_t site, const struct pt_regs *regs)
{
	struct pt_regs copy = *regs;
	int before = kernel.records;
	kernel.cookie = EBT_COOKIE(SLOT, site);
	ebt_marker(&copy);
	return kernel.records == before + 1 ? (const struct ebt_marker_record *)kernel.rec : NULL;
}

static struct ebt_marker_record expected(uint16_t site)
{
	return (struct ebt_marker_record){
		.head = {.type = EBT_RECORD_MARKER,
			 .slot = SLOT,
			 .site = site,
			 .cpu = CPU,
			 .tid = THREAD},
		.ts = in_ring.r8,
		.pos = in_ring.r9,
		.ring = in_ring.cx,
		.id = (uint32_t)in_ring.di,
		.value = in_ring.dx,
	};
}

static void check_plain(const char *name, uint16_t kind)
{
	const struct ebt_marker_record *rec = hit(kind, &in_ring);
	ok(rec && kernel.reserved == 56 && kernel.flags == BPF_RB_NO_WAKEUP,
	   "%s: one record of 56 bytes that wakes nobody", name);
	struct ebt_marker_record want = expected(kind);
	ok(rec && !memcmp(rec, &want, sizeof(want)), "%s: every field, and nothing of old memory",
	   name);
}

static void check_clock(void)
{
	clock_ahead_ns = 1000000000;
	const struct ebt_marker_record *rec = hit(EBT_UNIT, &in_ring);
	ok(rec && rec->ts == 7 && rec->pos == in_ring.r9,
	   "the time of a program whose clock is ahead is by the tracer's");
	clock_ahead_ns = 0;
}

static void check_payload(uint64_t bytes, size_t room)
{
	static unsigned char data[10000];
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (unsigned char)(i * 7 + 1);
	struct pt_regs regs = in_ring;
	regs.dx = (uintptr_t)data;
	regs.r10 = bytes;
	const struct ebt_marker_record *rec = hit(EBT_CUSTOM, &regs);
	uint64_t kept = bytes < room ? bytes : room;
	ok(rec && kernel.reserved == sizeof(*rec) + room && rec->head.size == kept &&
		   !memcmp(rec + 1, data, kept),
	   "a payload of %llu bytes comes in a room of %zu", (unsigned long long)bytes, room);
	ok(rec && rec->value == bytes, "and with the length that it had");
}

static void check_unreadable(void)
{
	struct pt_regs regs = in_ring;
	kernel.unreadable = true;
	const struct ebt_marker_record *rec = hit(EBT_CUSTOM, &regs);
	ok(rec && !rec->head.size && rec->value == in_ring.r10,
	   "a payload that cannot be read: the record comes without it, and with its length");
	kernel.unreadable = false;
}

static void check_buckets(uint64_t count, uint64_t bytes)
{
	uint64_t buckets[EBT_ALLOC_BUCKETS];
	for (int i = 0; i < EBT_ALLOC_BUCKETS; i++)
		buckets[i] = 100u + (unsigned)i;
	struct pt_regs regs = in_ring;
	regs.dx = (uintptr_t)buckets;
	regs.r10 = count;
	const struct ebt_marker_record *rec = hit(EBT_ALLOC_SIZES, &regs);
	ok(rec && kernel.reserved == sizeof(*rec) + EBT_ROOM_BUCKETS && rec->head.size == bytes &&
		   rec->value == bytes && !memcmp(rec + 1, buckets, bytes),
	   "alloc_sizes that says %llu buckets: %llu bytes", (unsigned long long)count,
	   (unsigned long long)bytes);
}

static void check_control(uint16_t site, bool recorded)
{
	const struct ebt_marker_record *rec = hit(site, &in_ring), want = expected(site);
	ok(!!rec == recorded, "control marker %x %s", site,
	   recorded ? "makes a record" : "makes none");
	if (recorded)
		ok(rec && !memcmp(rec, &want, sizeof(want)) && kernel.flags == BPF_RB_FORCE_WAKEUP,
		   "with ring and position, and wakes the tracer");
}

static void check_drops(void)
{
	struct pt_regs nowhere = in_ring;
	nowhere.r9 = EBT_NO_POS;
	kernel.full = true;
	ebt_dropped = (struct ebt_dropped){0};
	bool none = !hit(EBT_BEGIN, &in_ring) && !hit(EBT_CUSTOM, &in_ring) &&
		    !hit(EBT_END, &nowhere) && !hit(EBT_ALLOC_SIZES, &nowhere) &&
		    !hit(EBT_CUSTOM, &nowhere) && !hit(EBT_SITE_WATERMARK, &in_ring);
	kernel.full = false;
	ok(none, "no room: no record");
	ok(ebt_dropped.in_ring == 2, "dropped, but in a ring: 2 are counted so");
	ok(ebt_dropped.nowhere == 3, "dropped and in no ring: 3 are counted so");
	ok(ebt_dropped.control == 1, "a control record dropped: 1 is counted so");
}

/* Passes a phase's marker while the kernel's counts grow by 1, 2, 3, ... Its counts, or NULL. */
static const struct ebt_pause_counts *pass(uint16_t site, uint32_t phase)
{
	struct pt_regs regs = in_ring;
	regs.di = phase;
	const struct ebt_marker_record *rec = hit(site, &regs);
	bool has_counts = rec && rec->head.size == sizeof(struct ebt_pause_counts);
	if (!rec || (rec->head.size && !has_counts) ||
	    kernel.reserved != sizeof(*rec) + rec->head.size)
		return NULL;
	thread.sched_info.run_delay += 1;
	thread.nvcsw += 2;
	thread.nivcsw += 3;
	thread.min_flt += 4;
	thread.maj_flt += 5;
	thread.se.nr_migrations += 6;
	return has_counts ? (const struct ebt_pause_counts *)(rec + 1) : NULL;
}

static bool has_counts(const struct ebt_pause_counts *u, uint64_t times)
{
	return u && u->run_delay == times && u->voluntary == 2 * times &&
	       u->involuntary == 3 * times && u->minor_faults == 4 * times &&
	       u->major_faults == 5 * times && u->migrations == 6 * times &&
	       u->fault_ns == EBT_PAUSE_UNKNOWN;
}

enum { MINOR = 11, ROOTS = 12, CONDITION_WAIT = 42, MARKING = 130, NO_PHASE = 1000 };

static void check_counts(void)
{
	thread.nvcsw = 1000;
	ebt_phases_run[0].bits[CONDITION_WAIT / 64] |= 1ull << CONDITION_WAIT % 64;
	ebt_phases_run[0].bits[MARKING / 64] |= 1ull << MARKING % 64;
	ok(!pass(EBT_END, MINOR), "an end without a begin: nothing was counted");
	ok(!pass(EBT_BEGIN, MINOR) && !pass(EBT_BEGIN, ROOTS) && !pass(EBT_END, ROOTS),
	   "what is inside of a pause has no counts");
	ok(has_counts(pass(EBT_END, MINOR), 3),
	   "the end of the outermost phase has all of the pause");
	pass(EBT_BEGIN, MINOR);
	pass(EBT_BEGIN, MINOR);
	ok(!pass(EBT_END, MINOR) && has_counts(pass(EBT_END, MINOR), 3),
	   "also where a phase is inside one of its kind");
	pass(EBT_BEGIN, MINOR);
	pass(EBT_BEGIN, ROOTS);
	ok(has_counts(pass(EBT_END, MINOR), 2), "also where an inner one has no end");
	pass(EBT_BEGIN, CONDITION_WAIT);
	pass(EBT_BEGIN, MINOR);
	ok(has_counts(pass(EBT_END, MINOR), 1) && !pass(EBT_END, CONDITION_WAIT),
	   "a phase in which the mutator may run is no pause");
	pass(EBT_BEGIN, MARKING);
	ok(!pass(EBT_END, MARKING), "nor is one of a language with phases of its own");
	pass(EBT_BEGIN, NO_PHASE);
	ok(has_counts(pass(EBT_END, NO_PHASE), 1), "an unknown phase is");
	has_run_delay = false;
	pass(EBT_BEGIN, MINOR);
	const struct ebt_pause_counts *u = pass(EBT_END, MINOR);
	ok(u && u->run_delay == EBT_PAUSE_UNKNOWN && u->voluntary == 2,
	   "what the kernel does not count is not known, and the rest is");
	has_run_delay = true;
	no_storage = true;
	ok(!pass(EBT_BEGIN, MINOR) && !pass(EBT_END, MINOR),
	   "no memory: no counts, and all events");
	no_storage = false;
}

/* A hit, and what it leaves: 1 a record, 2 one dropped in a ring, 4 in no ring. */
static int outcome(uint16_t site, const struct pt_regs *regs)
{
	struct ebt_dropped before = ebt_dropped;
	const struct ebt_marker_record *rec = hit(site, regs);
	return (rec != NULL) + 2 * (ebt_dropped.in_ring == before.in_ring + 1) +
	       4 * (ebt_dropped.nowhere == before.nowhere + 1);
}

static void check_budget(void)
{
	struct pt_regs alone = in_ring;
	alone.r9 = EBT_NO_POS;
	ebt_level = EBT_LEVEL_COUNTS;
	ok(outcome(EBT_UNIT, &in_ring) == 1, "without a budget the level is of no meaning");
	ok(!ebt_hits[CPU].hits[EBT_HITS_MARKER], "and hits are not counted");
	ebt_budgeted = 1;
	ebt_level = EBT_LEVEL_EVENTS;
	ok(outcome(EBT_UNIT, &in_ring) == 1 && outcome(EBT_UNIT, &alone) == 1,
	   "the first level records all");
	ebt_level = EBT_LEVEL_RINGS;
	ok(outcome(EBT_UNIT, &in_ring) == 2 && outcome(EBT_UNIT, &alone) == 1,
	   "the second one leaves to the ring what it has");
	ebt_level = EBT_LEVEL_COUNTS;
	ok(outcome(EBT_UNIT, &in_ring) == 2 && outcome(EBT_UNIT, &alone) == 4 &&
		   outcome(EBT_END, &alone) == 4,
	   "the last one counts each event as dropped");
	ok(outcome(EBT_SITE_RING_START, &in_ring) == 1, "what is no event is recorded at each");
	ok(ebt_hits[CPU].hits[EBT_HITS_MARKER] == 8 && ebt_hits[CPU].in_ring == 3,
	   "hits are counted, and those of which a ring has the event");
	ebt_budgeted = 0;
	ebt_level = EBT_LEVEL_EVENTS;
}

#define KEY 7u

/* Whether a hit at that time makes a record, while the map says `handover`. */
static bool counts(bool shared, uint64_t handover, uint64_t ts)
{
	struct pt_regs at = in_ring, copy;
	uint32_t place = KEY % EBT_HANDOVERS;
	int before = kernel.records;
	at.r8 = ts;
	copy = at;
	*(uint64_t *)bpf_map_lookup_elem(&ebt_handover, &place) = handover;
	kernel.cookie = (uint64_t)KEY << EBT_KEY_SHIFT | (shared ? EBT_SHARED_COOKIE : 0) |
			EBT_COOKIE(shared ? EBT_NO_SLOT : SLOT, EBT_UNIT);
	ebt_marker(&copy);
	const struct ebt_marker_record *rec = (const struct ebt_marker_record *)kernel.rec;
	return kernel.records == before + 1 && rec->head.slot == SLOT;
}

/* A shared link and one of the process are hit by the same passing of a marker. */
static void check_handover(void)
{
	uint32_t place = KEY % EBT_HANDOVERS, slot = SLOT, process = pidns_current_process();
	uint64_t none = 0, from = 5ull << 20;
	bpf_map_update_elem(&ebt_traced, &process, &slot, BPF_ANY);
	bpf_map_update_elem(&ebt_handover, &place, &none, BPF_ANY);
	ok(counts(true, 0, from) && counts(false, 0, from), "where none goes each link counts");
	uint64_t other = EBT_HANDOVER(KEY + EBT_HANDOVERS, from);
	ok(counts(true, other, from + 1) && counts(false, other, from - 1),
	   "where another one goes, too");
	ok(counts(true, EBT_HANDOVER(KEY, 0), from) && !counts(false, EBT_HANDOVER(KEY, 0), from),
	   "where it goes and no time is set, the shared one");
	uint64_t set = EBT_HANDOVER(KEY, from);
	ok(counts(true, set, from - 1) && !counts(false, set, from - 1),
	   "before the time that is set, the shared one");
	ok(!counts(true, set, from) && counts(false, set, from), "from then on the other");
	uint64_t over = EBT_HANDOVER(KEY, EBT_HANDOVER_ALL_NS);
	ok(!counts(true, over, from / 2) && counts(false, over, from / 2),
	   "and once that is over of all times");
	uint64_t hits = 0;
	uint32_t key = KEY, stranger = 1;
	bpf_map_update_elem(&ebt_foreign, &key, &hits, BPF_ANY);
	map_remove(&ebt_traced, &process, sizeof(process));
	bpf_map_update_elem(&ebt_traced, &stranger, &slot, BPF_ANY);
	ok(!counts(true, set, from - 1) && !counts(true, 0, 1) &&
		   *(uint64_t *)bpf_map_lookup_elem(&ebt_foreign, &key) == 2,
	   "of a process that is not traced none does, but its hits are counted");
}

int main(void)
{
	check_handover();
	check_counts();
	check_plain("end", EBT_END);
	check_plain("begin", EBT_BEGIN);
	check_plain("counter", EBT_COUNTER);
	check_plain("lifecycle", EBT_LIFECYCLE);
	check_plain("user_unit", EBT_UNIT);
	check_plain("user_int", EBT_INT);
	check_plain("user_span_begin", EBT_SPAN_BEGIN);
	check_plain("user_span_end", EBT_SPAN_END);
	static const uint64_t fits[][2] = {{0, 64},	 {64, 64},     {65, 1024},  {160, 1024},
					   {1024, 1024}, {1025, 8192}, {8192, 8192}};
	for (size_t i = 0; i < sizeof(fits) / sizeof(*fits); i++)
		check_payload(fits[i][0], fits[i][1]);
	check_payload(8193, 8192);
	check_payload(UINT64_MAX, 8192);
	check_unreadable();
	check_clock();
	check_buckets(0, 0);
	check_buckets(19, 152);
	check_buckets(20, 160);
	check_buckets(21, 160);
	check_buckets(1ull << 61, 160);
	check_buckets(UINT64_MAX, 160);
	check_control(EBT_SITE_RING_START, true);
	check_control(EBT_SITE_RING_STOP, true);
	check_control(EBT_SITE_WATERMARK, true);
	check_control(EBT_SITE_RING_REQUEST, false);
	check_drops();
	check_budget();
	return tap_done();
}
