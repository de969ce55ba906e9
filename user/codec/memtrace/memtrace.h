/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memtrace format, as its reader and its writer share it: the head of a packet, the codes of
 * events, the cache that backtraces are coded with, numbers. All numbers are little-endian.
 *
 *	trace  := packet*            the first one holds the trace_info event alone
 *	packet := head event*        at most EBT_MEMTRACE_PACKET_BYTES
 *	head   := u32 magic, u32 size in bits with the head, u64 time_begin, u64 time_end (us since
 *	          the Unix epoch), u32 0, u16 version, u64 pid, u16 domain (since version 3),
 *	          u16 index, u16 predicted, u64 code: of the verifier (index 0xffff: none),
 *	          u64 alloc_id_begin, u64 alloc_id_end
 *	event  := u32 (its code << 25 | the low 25 bits of its time), then
 *	   0 trace_info  f64 rate, u8 word bits, s executable, s host, s parameters, u64 pid,
 *	                 s context (since version 2); s: bytes, then NUL
 *	   1 location    u64 code, u8 count, then `count` positions (locations.h)
 *	   2 alloc       v words, v samples, u8 source, v common prefix, u16 count, code words
 *	   3 promote     v distance: object = next id - 1 - distance
 *	   4 collect     v distance: as of promote, may be negative
 *	   101 .. 116    alloc of code - 100 words, 1 sample, minor: v common prefix, u8 count,
 *	                 code words
 *	v      := u8 below 253, or 253 u16, 254 i32, 255 i64
 *
 * A backtrace is coded against a cache of a domain. A code word is u16 (bucket << 2 | tag); tag 3:
 * a u64 code follows and is put into the bucket; tag 0, 1, 2: the bucket's code, then 0, 1 or u8
 * more codes, each of the bucket that followed the last one before.
 */
#ifndef CODEC_MEMTRACE_MEMTRACE_H
#define CODEC_MEMTRACE_MEMTRACE_H

#include <ebtrace/memtrace.h>
#include <endian.h>
#include <string.h>

#define MEMTRACE_MAGIC	     0xc1fc1fc1u
#define MEMTRACE_VERSION     3
#define MEMTRACE_HEAD_BYTES  68 /* 66 before version 3 */
#define MEMTRACE_NO_VERIFIER 0xffff
#define MEMTRACE_BUCKETS     16384
#define MEMTRACE_TIME_BITS   25
#define MEMTRACE_DOMAINS_MAX 4096 /* that have packets; OCaml's own limit */

enum memtrace_code {
	MEMTRACE_INFO = 0,
	MEMTRACE_LOCATION = 1,
	MEMTRACE_ALLOC = 2,
	MEMTRACE_PROMOTE = 3,
	MEMTRACE_COLLECT = 4,
	MEMTRACE_SHORT_ALLOC = 100, /* + the number of words */
};
#define MEMTRACE_SHORT_WORDS 16

struct memtrace_head {
	uint32_t bytes; /* of the packet */
	uint16_t head_bytes;
	uint16_t version, domain;
	uint64_t time_begin, time_end;
	uint64_t pid;
	uint16_t verifier, predicted;
	int64_t verifier_code;
	uint64_t id_begin, id_end;
};

static inline uint16_t memtrace_u16(const uint8_t *p)
{
	uint16_t v;
	memcpy(&v, p, sizeof(v));
	return le16toh(v);
}
static inline uint32_t memtrace_u32(const uint8_t *p)
{
	uint32_t v;
	memcpy(&v, p, sizeof(v));
	return le32toh(v);
}
static inline uint64_t memtrace_u64(const uint8_t *p)
{
	uint64_t v;
	memcpy(&v, p, sizeof(v));
	return le64toh(v);
}
/* An integer of OCaml: 63 bits, the sign in bit 62. */
static inline int64_t memtrace_int(const uint8_t *p)
{
	return (int64_t)(memtrace_u64(p) << 1) >> 1;
}

#endif
