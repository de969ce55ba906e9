// SPDX-License-Identifier: BSD-2-Clause
/* The program behind the markers of sampled allocations, bpf/alloc.bpf.c, as a user program with
 * helpers of our own: where it finds arguments, and what is in its records. */
#include "tests/tap.h"
#include "tests/unit/bpf_site.h"

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#pragma GCC diagnostic ignored "-Wunknown-pragmas"
#include "bpf/alloc.bpf.c"
#pragma GCC diagnostic pop

#define NONE EBT_OPERAND_NONE
#define OPERAND(bytes, sign, place, base, other, bits, n)                                    \
	{                                                                                    \
		.size = bytes, .is_signed = sign, .where = EBT_OPERAND_##place, .reg = base, \
		.index = other, .shift = bits, .number = n                                   \
	}

static struct ebt_alloc_file file = {.slot = SLOT, .sites = 2};
static struct pt_regs regs;

/* Passes the marker of a site; the record, or NULL. */
static const struct ebt_alloc_record *hit(uint32_t key, uint32_t site)
{
	int before = kernel.records;
	kernel.cookie = EBT_ALLOC_COOKIE(key, site);
	found = &file;
	ebt_alloc(&regs);
	bool is_one = kernel.records == before + 1 && kernel.flags == BPF_RB_NO_WAKEUP;
	return is_one ? (const struct ebt_alloc_record *)kernel.rec : NULL;
}

static void test_operands(void)
{
	static uint64_t memory[8] = {0, 0x1122334455667788, 0xfffffffffffffffe, 7, 42};
	const struct {
		const char *name;
		struct ebt_operand o;
		uint64_t expected;
	} rows[] = {
		{"8@%r12", OPERAND(8, 0, REGISTER, 3, NONE, 0, 0), 0xdead00000011},
		{"4@%r12d", OPERAND(4, 0, REGISTER, 3, NONE, 0, 0), 0x11},
		{"-1@%al", OPERAND(1, 1, REGISTER, 10, NONE, 0, 0), UINT64_MAX},
		{"1@%al", OPERAND(1, 0, REGISTER, 10, NONE, 0, 0), 0xff},
		{"8@$-5", OPERAND(8, 0, CONSTANT, NONE, NONE, 0, -5), -5ull},
		{"-4@$-5", OPERAND(4, 1, CONSTANT, NONE, NONE, 0, -5), -5ull},
		{"8@16(%rbp)", OPERAND(8, 0, MEMORY, 4, NONE, 0, 16), 7},
		{"8@-8(%rbp)", OPERAND(8, 0, MEMORY, 4, NONE, 0, -8), memory[0]},
		{"4@(%rbp)", OPERAND(4, 0, MEMORY, 4, NONE, 0, 0), 0x55667788},
		{"-2@8(%rbp)", OPERAND(2, 1, MEMORY, 4, NONE, 0, 8), -2ull},
		{"8@8(%rbp,%rbx,8)", OPERAND(8, 0, MEMORY, 4, 5, 3, 8), 42},
		{"1@%ah", {.size = 1, .where = EBT_OPERAND_REGISTER, .reg = 10, .drop = 8}, 0x12},
		{"8@(%rip) of a symbol", OPERAND(8, 0, MEMORY, 16, NONE, 0, 24), 42},
		{"8@(,%rbx,8), not there", OPERAND(8, 0, MEMORY, NONE, 5, 3, 0), 0},
		{"8@%rsp", OPERAND(8, 0, REGISTER, 19, NONE, 0, 0), 4712},
		{"8@-8(%rbp,%rsp)", OPERAND(8, 0, MEMORY, 4, 19, 0, 8 - 4712), memory[2]},
		{"the last word", OPERAND(8, 0, REGISTER, 31, NONE, 0, 0), 4713},
	};
	regs.word[3] = 0xdead00000011;
	regs.word[10] = 0x12ff;
	regs.word[4] = (uintptr_t)&memory[1];
	regs.word[5] = 2;
	regs.word[16] = (uintptr_t)&memory[1];
	regs.word[19] = 4712;
	regs.word[31] = 4713;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		file.site[1] = (struct ebt_alloc_site){
			.kind = EBT_ALLOC_SITE_COLLECT, .args = 1, .arg = {rows[i].o}};
		const struct ebt_alloc_record *rec = hit(KEY, 1);
		ok(rec && rec->arg[0] == rows[i].expected, "%s is read", rows[i].name);
	}
}

/* The last argument of our own sites; those of others have no time. */
static void test_clock(void)
{
	static const struct {
		uint32_t kind, args;
		bool has_time;
	} rows[] = {{EBT_ALLOC_SITE_ALLOC, 6, true},	   {EBT_ALLOC_SITE_PROMOTE, 3, true},
		    {EBT_ALLOC_SITE_COLLECT, 3, true},	   {EBT_ALLOC_SITE_PAGE_ALLOC, 4, true},
		    {EBT_ALLOC_SITE_PAGE_FREE, 4, true},   {EBT_ALLOC_SITE_PAGE_SCAVENGE, 4, true},
		    {EBT_ALLOC_SITE_OTEL_ALLOC, 3, false}, {EBT_ALLOC_SITE_OTEL_FREE, 1, false}};
	clock_ahead_ns = 900;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		bool right = true;
		file.site[1] = (struct ebt_alloc_site){.kind = rows[i].kind, .args = rows[i].args};
		for (uint32_t k = 0; k < rows[i].args; k++)
			file.site[1].arg[k] = (struct ebt_operand)OPERAND(8, 0, CONSTANT, NONE,
									  NONE, 0, 1000 + (int)k);
		const struct ebt_alloc_record *rec = hit(KEY, 1);
		for (uint32_t k = 0; rec && k < rows[i].args; k++) {
			bool is_time = rows[i].has_time && k + 1 == rows[i].args;
			right &= rec->arg[k] == (is_time ? 100 : 1000) + k;
		}
		ok(rec && right, "kind %u: its time alone is converted to the tracer's clock",
		   rows[i].kind);
	}
	clock_ahead_ns = 0;
}

static void test_records(void)
{
	file.site[0] = (struct ebt_alloc_site){.kind = EBT_ALLOC_SITE_ALLOC,
					       .args = 1,
					       .arg = {OPERAND(8, 0, CONSTANT, NONE, NONE, 0, 77)}};
	static uint64_t stack[EBT_STACK_WORDS + EBT_TAIL_WORDS] = {[7] = 1234};
	regs.sp = (uint64_t)stack;
	regs.ip = 4711;
	struct ebt_alloc_record want = {.head = {.type = EBT_RECORD_ALLOC,
						 .slot = SLOT,
						 .site = EBT_ALLOC_SITE_ALLOC,
						 .size = sizeof(struct c_stack_walk),
						 .cpu = CPU,
						 .tid = THREAD},
					.ts = NOW,
					.arg = {77}};
	const struct ebt_alloc_record *rec = hit(KEY, 0);
	ok(rec && !memcmp(rec, &want, sizeof(want)),
	   "an allocation: every field, and nothing of old memory");
	const struct c_stack_walk *w = (const void *)(rec + 1);
	ok(w->memory.ip == 4711 && w->memory.sp == regs.sp && w->memory.words == EBT_STACK_WORDS &&
		   w->memory.word[7] == 1234 && w->links.tail_words == EBT_TAIL_WORDS,
	   "with its stack");
	kernel.unreadable = true;
	rec = hit(KEY, 0);
	kernel.unreadable = false;
	ok(rec && !w->memory.words && !w->links.tail_words && !w->links.links,
	   "or its first function alone, if it cannot be read");
	rec = hit(KEY, 1);
	ok(rec && kernel.reserved == sizeof(*rec), "a free has no room for one");
	ok(!hit(KEY + 1, 0), "a site that is not described any more makes no record");
	kernel.full = true;
	ebt_dropped = (struct ebt_dropped){0};
	ok(!hit(KEY, 0) && !hit(KEY, 1) && ebt_dropped.nowhere == 2,
	   "records for which there is no room are counted");
	kernel.full = false;
}

int main(void)
{
	test_operands();
	test_clock();
	test_records();
	return tap_done();
}
