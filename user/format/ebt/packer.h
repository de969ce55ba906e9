/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Closes the blocks of a capture on a thread of its own, so that one block is compressed while the
 * next one is filled: compression is a third of the time of a conversion. Two writers take turns;
 * the thread has the writer of the block that is being closed. The bytes of a block are returned in
 * the order of the blocks, and at the same point of the stream whatever the speed of the thread.
 */
#ifndef FORMAT_EBT_PACKER_H
#define FORMAT_EBT_PACKER_H

#include "codec/capture/capture.h"

struct ebt_packer;

/* `level`: zstd's. 0 or -errno. */
int ebt_packer_new(int level, struct ebt_packer **ret);
/* Waits for the thread. NULL is allowed. */
void ebt_packer_free(struct ebt_packer *p);
/* The writer of the open block. */
struct capture_writer *ebt_packer_open(struct ebt_packer *p);
/* Closes the open block; the next one is open in another writer. Only after ebt_packer_finish(). */
void ebt_packer_close(struct ebt_packer *p, enum capture_block_type type);
/*
 * Waits for the block that was closed last. Its length, with its bytes in *ret_bytes, which are
 * valid until the next ebt_packer_close(); 0: they were returned before; -errno.
 */
ssize_t ebt_packer_finish(struct ebt_packer *p, const void **ret_bytes);

#endif
