// SPDX-License-Identifier: BSD-2-Clause
/* Reports of sums tell what the sums lack: also a time in which nobody watched. */
#include "report/mem/format.h"
#include "report/mem/pprof.h"
#include "report/pages/format.h"
#include "stream/loss.h"
#include "tests/tap.h"
#include "tests/unit/mem_fixture.h"

#include <zlib.h>

#define UNPACKED_BYTES 4096
#define LOST	       "Not all is counted: unknown number lost (1.250 ms not watched)"

static const struct ebt_event unwatched = {.kind = EBT_LOST,
					   .ts = 1251000,
					   .pos = 1000,
					   .flags = EBT_F_HISTORY,
					   .arg = {EBT_LOST_UNCOUNTED}};

static struct buf empty(void)
{
	struct buf b;
	if (buf_init(&b, -1, 0))
		abort();
	return b;
}

static bool has(const struct buf *b, const char *text)
{
	return memmem(b->data, b->len, text, strlen(text));
}

static bool profile_has(const struct mem_view *v, const char *text)
{
	static unsigned char bytes[UNPACKED_BYTES];
	struct buf packed = empty();
	if (mem_pprof(&packed, v))
		abort();
	z_stream z = {.next_in = (Bytef *)packed.data,
		      .avail_in = (uInt)packed.len,
		      .next_out = bytes,
		      .avail_out = sizeof(bytes)};
	if (inflateInit2(&z, 15 + 16) != Z_OK || inflate(&z, Z_FINISH) != Z_STREAM_END)
		abort();
	inflateEnd(&z);
	buf_done(&packed);
	return memmem(bytes, sizeof(bytes) - z.avail_out, text, strlen(text));
}

static void check(bool lost)
{
	struct mem_fixture x;
	mem_fixture_begin(&x, 1, &(struct mem_options){.needs = MEM_FATES});
	mem_fixture_push(&x, mem_alloc(1, 1, 1, mem_fixture_stack(&x, "ab"), 1));
	mem_model_end(&x.model);
	if (lost)
		loss_count(&x.session->totals, &unwatched);
	struct mem_view v = {.session = x.session, .model = &x.model};
	struct buf text = empty(), pages = empty();
	if (display_names_new(x.session->strings, &v.names))
		abort();
	mem_put_head(&text, &v);
	ok(has(&text, LOST) == lost, "mem: %s", lost ? "what was not watched" : "nothing lost");
	ok(profile_has(&v, LOST) == lost, "the same in a profile");
	static struct pages_model none;
	pages_put_head(&pages, &(struct pages_view){.session = x.session, .model = &none});
	ok(has(&pages, LOST) == lost, "and of pages");
	buf_done(&text);
	buf_done(&pages);
	display_names_free(v.names);
	mem_fixture_done(&x);
}

int main(void)
{
	check(false);
	check(true);
	return tap_done();
}
