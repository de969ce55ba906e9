// SPDX-License-Identifier: BSD-2-Clause
/* The program of the user's markers, bpf/usdt.bpf.c, as a user program with helpers of our own:
 * what is in its records. Where it finds arguments is shown by test_bpf_alloc.c. */
#include "tests/tap.h"
#include "tests/unit/bpf_site.h"

struct task_struct {
	int pid, tgid;
	struct task_struct *group_leader, *real_parent;
	uint64_t start_boottime;
};

/* Of processes that are not traced yet: shown by test_bpf_process.c. */
#define __BPF_CORE_READ_H__
#define READ_1(from, a)		 ((from)->a)
#define READ_2(from, a, b)	 ((from)->a->b)
#define READ_OF(a, b, name, ...) name

#define BPF_CORE_READ(from, ...) READ_OF(__VA_ARGS__, READ_2, READ_1)(from, __VA_ARGS__)

#define clock_ahead_of(task)		      ((void)(task), 0)
#define bpf_get_current_comm(to, bytes)	      ((void)(to), (void)(bytes))
#define bpf_get_current_task_btf()	      ((struct task_struct *)NULL)
#define bpf_map_pop_elem(map, ret)	      (*(ret) = 0, -2)
#define bpf_map_push_elem(map, slot, flags)   ((void)(map), (void)(slot), (void)(flags))
#define bpf_map_update_elem(map, k, v, flags) ((void)(k), (void)(v), (void)(flags), -7)

static long bpf_probe_read_user_str(void *dst, uint32_t size, const void *from)
{
	if ((uintptr_t)from < 4096)
		return -14;
	size_t n = strnlen(from, size - 1);
	memcpy(dst, from, n);
	((char *)dst)[n] = 0;
	return (long)n + 1;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#include "bpf/usdt.bpf.c"
#pragma GCC diagnostic pop

static struct ebt_usdt_spec spec;
static struct pt_regs regs;

static struct ebt_operand constant(uint64_t n)
{
	return (struct ebt_operand){.size = 8, .where = EBT_OPERAND_CONSTANT, .number = (int64_t)n};
}

/* Passes the marker; the record, or NULL. */
static const struct ebt_usdt_record *hit(uint32_t key)
{
	int before = kernel.records;
	kernel.cookie = EBT_COOKIE(SLOT, key);
	found = &spec;
	ebt_usdt(&regs);
	bool is_one = kernel.records == before + 1 && kernel.flags == BPF_RB_NO_WAKEUP;
	return is_one ? (const struct ebt_usdt_record *)kernel.rec : NULL;
}

static void test_records(void)
{
	spec = (struct ebt_usdt_spec){
		.request = 3, .kind = EBT_SPAN_BEGIN, .args = 2, .is_signed = 2};
	spec.arg[0] = constant(77);
	spec.arg[1] = (struct ebt_operand){.size = 4,
					   .is_signed = 1,
					   .where = EBT_OPERAND_MEMORY,
					   .reg = EBT_OPERAND_NONE,
					   .index = EBT_OPERAND_NONE,
					   .number = 8};
	spec.arg[2] = constant(1); /* beyond its arguments */
	spec.caller = spec.arg[1]; /* which cannot be read */
	regs.ip = 11;
	regs.sp = 22;
	struct ebt_usdt_record want = {.head = {.type = EBT_RECORD_USDT,
						.slot = SLOT,
						.site = EBT_SPAN_BEGIN,
						.cpu = CPU,
						.tid = THREAD},
				       .ts = NOW,
				       .request = 3,
				       .spec = KEY,
				       .args = 2,
				       .is_signed = 2,
				       .missing = 2,
				       .ip = 11,
				       .frame = 22,
				       .arg = {77}};
	const struct ebt_usdt_record *rec = hit(KEY);
	ok(rec && !memcmp(rec, &want, sizeof(want)),
	   "every field, and nothing of old memory; what cannot be read is marked");
	ok(rec && kernel.reserved == sizeof(*rec), "there is no room for texts");
	static const uint64_t caller = 4712;
	spec.caller.size = sizeof(caller);
	spec.caller.number = (int64_t)(uintptr_t)&caller;
	rec = hit(KEY);
	ok(rec && rec->caller == caller && rec->frame == (uintptr_t)&caller,
	   "the frame is known by where its return address is");
	spec.args = EBT_USDT_ARGS;
	for (unsigned i = 0; i < EBT_USDT_ARGS; i++)
		spec.arg[i] = constant(i);
	rec = hit(KEY);
	bool all = rec && !rec->missing;
	for (unsigned i = 0; all && i < EBT_USDT_ARGS; i++)
		all &= rec->arg[i] == i;
	ok(all, "twelve arguments");
	ok(!hit(KEY + 1), "a site that is not described makes no record");
	kernel.full = true;
	ebt_dropped = (struct ebt_dropped){0};
	ok(!hit(KEY) && ebt_dropped.nowhere == 1, "one for which there is no room is counted");
	spec.texts = 1;
	ok(!hit(KEY) && ebt_dropped.nowhere == 2, "with a text, too");
	kernel.full = false;
}

static void test_texts(void)
{
	static char longer[EBT_USDT_TEXT_BYTES * 2];
	const struct {
		uint64_t address;
		unsigned bytes;
	} rows[EBT_USDT_TEXTS] = {{(uintptr_t) "a text", 7},
				  {0, 0},
				  {8, 0},
				  {(uintptr_t)longer, EBT_USDT_TEXT_BYTES}};
	memset(longer, 'x', sizeof(longer) - 1);
	spec = (struct ebt_usdt_spec){.kind = EBT_MARKER_HIT, .args = 4, .texts = 1};
	for (unsigned i = 0; i < EBT_USDT_TEXTS; i++)
		spec.arg[i] = spec.text[i] = constant(rows[i].address);
	const struct ebt_usdt_record *rec = hit(KEY);
	ok(rec && rec->text[0] == 7 && !rec->text[1] && rec->head.size == EBT_USDT_TEXT_BYTES &&
		   !strcmp((const char *)(rec + 1), "a text"),
	   "one text, with room for one");
	spec.texts = EBT_USDT_TEXTS;
	rec = hit(KEY);
	bool right = rec && rec->head.size == EBT_USDT_TEXTS * EBT_USDT_TEXT_BYTES;
	for (unsigned i = 0; right && i < EBT_USDT_TEXTS; i++)
		right &= rec->text[i] == rows[i].bytes;
	ok(right, "four: none of no address or a wrong one, and a long one fills its room");
	spec.texts = 0;
	rec = hit(KEY);
	ok(rec && !rec->head.size && !rec->text[0] && rec->arg[0] == rows[0].address,
	   "without being asked for no text is copied");
}

int main(void)
{
	test_records();
	test_texts();
	return tap_done();
}
