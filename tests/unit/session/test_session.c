/* SPDX-License-Identifier: BSD-2-Clause */
/* session: payloads whose memory is used again. */
#include "session/session.h"
#include "tests/tap.h"

#include <malloc.h>

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

/* Around each size of the memory that is recycled, and beyond the largest. */
static void test_sizes(struct session *s)
{
	static char bytes[40000], other[40000];
	bool whole = true, enough = true;
	memset(bytes, 'a', sizeof(bytes));
	memset(other, 'b', sizeof(other));
	for (size_t size = 16; size <= 32768; size *= 2) {
		for (size_t len = size - 1; len <= size + 1; len++) {
			struct ebt_event a = {0}, b = {0};
			size_t n;
			session_put_blob(s, &a, bytes, len);
			session_put_blob(s, &b, other, len);
			enough &= session_blob_bytes(s) >= 2 * len;
			whole &= !memcmp(session_blob(s, &a, &n), bytes, len) && n == len;
			whole &= !memcmp(session_blob(s, &b, &n), other, len) && n == len;
			session_drop_event(s, &a);
			session_drop_event(s, &b);
		}
	}
	ok(whole && enough, "payloads of every size are whole, in memory of their own");
	is(session_blob_bytes(s), 0, "what is given back is not counted");
}

int main(void)
{
	struct session *s;
	if (session_new(&s))
		return 1;
	test_blobs(s);
	test_sizes(s);
	session_free(s);
	session_free(NULL);
	return tap_done();
}
