/* SPDX-License-Identifier: BSD-2-Clause */
/* Events of one name have one slot, whatever process they are of; no slot outlives its name. */
#include "stream/name_slots.h"

#include <stdlib.h>

#include "tests/tap.h"
#include "tests/unit/processes_fixture.h"

static struct session *session;
static struct name_slots slots;

/* Whether the slot was another's, and which it is. */
static bool is_new(uint16_t kind, uint32_t id, uint32_t process, uint32_t *ret_slot)
{
	struct ebt_event ev = {.kind = kind, .id = id, .process = process};
	bool result;
	*ret_slot = name_slots_find(&slots, &ev, &result);
	return result;
}

static void test_fixed(void)
{
	uint32_t a, b;
	ok(is_new(EBT_BEGIN, 5, 1, &a), "the first event of a name has a slot that is new");
	ok(!is_new(EBT_BEGIN, 5, 1, &b) && a == b, "the next has the same one");
	ok(!is_new(EBT_BEGIN, 5, 2, &b) && a == b, "and so has one of another process");
	ok(is_new(EBT_END, 5, 1, &b) && a != b, "an end has a slot of its own");
	static const uint16_t raw_phase[] = {9, 8, 7, 6, 5, 4};
	processes_at(&session->processes, 2)->traits.raw_phase = raw_phase;
	ok(is_new(EBT_BEGIN, 5, 2, &b),
	   "where a runtime has numbers of its own it is another name");
	processes_at(&session->processes, 2)->traits.raw_phase = NULL;
	ok(is_new(EBT_BEGIN, 5 + NAME_SLOTS, 1, &a) && is_new(EBT_BEGIN, 5, 1, &b) && a == b,
	   "two names of one slot replace each other");
}

static void test_user(void)
{
	uint32_t a, b, c;
	struct processes *ps = &session->processes;
	if (processes_set_user_name(ps, 1, 3, "one") || processes_set_user_name(ps, 2, 3, "one") ||
	    processes_set_user_name(ps, 3, 3, "two"))
		abort();
	ok(is_new(EBT_INT, 3, 1, &a) && !is_new(EBT_INT, 3, 2, &b) && a == b,
	   "a user event has the slot of its registered name");
	ok(is_new(EBT_INT, 3, 3, &c), "where it has another name it has another slot");
	bool first = is_new(EBT_INT, 40, 1, &b), again = is_new(EBT_INT, 40, 1, &b);
	processes_set_user_name(ps, 1, 40, "late");
	ok(first && !again && is_new(EBT_INT, 40, 1, &b), "a name that comes late is new");
	processes_set_user_name(ps, 1, 3, "renamed");
	processes_set_user_name(ps, 2, 3, "renamed");
	ok(is_new(EBT_INT, 3, 1, &b), "a new name is a new slot, or the old one anew");
	/* Text that nobody held would be freed, and its number be the next text's. */
	processes_set_user_name(ps, 1, 3, "later");
	ok(is_new(EBT_INT, 3, 1, &b), "a string is not taken for one that had its number before");
	uint32_t before = strings_count(session->strings);
	for (unsigned i = 0; i < 4 * NAME_SLOTS; i++) {
		char name[32];
		snprintf(name, sizeof(name), "name %u", i);
		processes_set_user_name(ps, 1, 3, name);
		is_new(EBT_INT, 3, 1, &b);
	}
	ok(strings_count(session->strings) <= before + NAME_SLOTS,
	   "a name that loses its slot to another is given back");
	before = strings_count(session->strings);
	name_slots_done(&slots);
	ok(strings_count(session->strings) < before,
	   "the slots hold their names until they are done");
}

int main(void)
{
	if (session_new(&session) || enter_processes(session, 3))
		abort();
	name_slots_init(&slots, session);
	test_fixed();
	test_user();
	session_free(session);
	return tap_done();
}
