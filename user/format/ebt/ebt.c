/* SPDX-License-Identifier: BSD-2-Clause */
#include "format/ebt/ebt.h"

#include "base/buf.h"
#include "base/clock.h"
#include "codec/capture/capture.h"
#include "format/ebt/blocks.h"
#include <errno.h>
#include <stdlib.h>

#define EBT_BLOCK_NS 1000000000ull
/* Blocks are written as they are closed; the buffer needs to hold only a small one. */
#define EBT_BUFFER_BYTES (64 * 1024)

struct ebt {
	struct sink base;
	const struct session *session;
	struct buf buf;
	struct ebt_blocks *blocks;
};

static int write_block(void *ctx, const void *block, size_t bytes)
{
	struct ebt *e = ctx;
	buf_put(&e->buf, block, bytes);
	return buf_flush(&e->buf);
}

static int ebt_events(struct sink *k, const struct ebt_event *ev, size_t n)
{
	return ebt_blocks_events(((struct ebt *)k)->blocks, ev, n);
}

/* Called at every idle moment: a block each time would be many small ones. */
static int ebt_flush(struct sink *k)
{
	const struct ebt *e = (struct ebt *)k;
	uint64_t opened_ns = ebt_blocks_opened_ns(e->blocks);
	int err =
		opened_ns && now_ns() - opened_ns > EBT_BLOCK_NS ? ebt_blocks_close(e->blocks) : 0;
	return err ? err : ebt_blocks_finish(e->blocks);
}

/* Bytes of all closed blocks: waits for the block that is being packed. An error is kept: later
 * calls return it. */
static uint64_t ebt_bytes(struct sink *k)
{
	const struct ebt *e = (struct ebt *)k;
	ebt_blocks_finish(e->blocks);
	return e->buf.passed + e->buf.len;
}

static bool ebt_ready(struct sink *k)
{
	return buf_ready(&((struct ebt *)k)->buf);
}

static int ebt_forget(struct sink *k, uint32_t process)
{
	return ebt_blocks_forget(((struct ebt *)k)->blocks, process);
}

static int ebt_end(struct sink *k)
{
	struct ebt *e = (struct ebt *)k;
	int err = ebt_blocks_end(e->blocks, &e->session->totals);
	int written = buf_finish(&e->buf);
	return err ? err : written;
}

static void ebt_free(struct sink *k)
{
	struct ebt *e = (struct ebt *)k;
	buf_done(&e->buf);
	ebt_blocks_free(e->blocks);
	free(e);
}

static const struct sink_ops ebt_ops = {
	.forget = ebt_forget,
	.events = ebt_events,
	.flush = ebt_flush,
	.ready = ebt_ready,
	.bytes = ebt_bytes,
	.end = ebt_end,
	.free = ebt_free,
};

int ebt_new(const struct session *s, int fd, struct sink **ret)
{
	struct ebt *e = calloc(1, sizeof(*e));
	if (!e)
		return -ENOMEM;
	e->session = s;
	e->base.ops = &ebt_ops;
	e->base.out = &e->buf;
	struct ebt_blocks_options o = {.take = write_block, .ctx = e};
	int err = ebt_blocks_new(s, &o, &e->blocks);
	if (!err)
		err = buf_init_behind(&e->buf, fd, EBT_BUFFER_BYTES, SINK_BEHIND_BYTES);
	if (err) {
		ebt_blocks_free(e->blocks);
		free(e);
		return err;
	}
	uint8_t head[CAPTURE_HEAD_BYTES];
	capture_put_head(head);
	buf_put(&e->buf, head, sizeof(head));
	*ret = &e->base;
	return 0;
}
