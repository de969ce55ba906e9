/* SPDX-License-Identifier: BSD-2-Clause */
/* session: names by process, payloads whose memory is used again. */
#include "core/session.h"
#include "tests/tap.h"

#include <malloc.h>

static void test_names(struct session *s)
{
	session_set_user_name(s, 1, 7, "one");
	session_set_user_name(s, 2, 7, "two");
	is_str(session_user_name(s, 1, 7), "one", "a user event's name belongs to its process");
	is_str(session_user_name(s, 2, 7), "two", "another process has its own");
	ok(!session_user_name(s, 1, 8) && !session_user_name(s, 3, 7), "unknown ones have none");
	session_set_user_name(s, 1, 7, "new");
	is_str(session_user_name(s, 1, 7), "new", "a new name replaces the old one");
}

static void test_processes(struct session *s)
{
	struct session_process *p = session_process(s, 100);
	for (uint32_t pid = 101; pid < 1000; pid++)
		session_process(s, pid);
	ok(p == session_process(s, 100), "a process stays where it is when others are added");
	static const uint16_t raw[] = {5, 6, 7};
	p->raw_phase = raw;
	p->raw_phases = 3;
	is(session_raw_phase(s, 100, 2), 7, "a phase has its producer's number");
	is(session_raw_phase(s, 101, 2), 2,
	   "which is the canonical one where nothing else is said");
	is(session_raw_phase(s, 100, EBT_UNKNOWN_ID | 60), 60, "and an unknown one is as it came");
}

static void test_blobs(struct session *s)
{
	struct ebt_event a = {0}, b = {0};
	size_t n;
	session_put_blob(s, &a, "hello", 5);
	session_put_blob(s, &b, "", 0);
	ok(a.flags & EBT_F_PAYLOAD && !memcmp(session_blob(s, &a, &n), "hello", 5) && n == 5,
	   "a payload is found by its event");
	session_blob(s, &b, &n);
	is(n, 0, "an empty one has no bytes");
	session_drop_event(s, &a);
	ok(!(a.flags & EBT_F_PAYLOAD) && !session_blob(s, &a, &n), "when given back it is gone");
	session_drop_event(s, &a);
	session_drop_event(s, &b);
	char bytes[160] = {0};
	struct mallinfo2 before = mallinfo2();
	for (int i = 0; i < 1000000; i++) {
		struct ebt_event ev = {0};
		session_put_blob(s, &ev, bytes, (size_t)(i % 160));
		session_drop_event(s, &ev);
	}
	ok(mallinfo2().uordblks <= before.uordblks + 65536,
	   "a million payloads need no more memory than a few");
}

int main(void)
{
	struct session *s;
	if (session_new(&s))
		return 1;
	test_names(s);
	test_processes(s);
	test_blobs(s);
	session_free(s);
	session_free(NULL);
	return tap_done();
}
