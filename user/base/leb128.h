/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Unsigned LEB128, the numbers of captures and, as "varints", of protobuf: 7 bits a byte, the
 * lowest first, the top bit set in all bytes but the last. Signed numbers are folded (zigzag)
 * first, so that those near 0 are short. The caller provides the memory; nothing here checks its
 * end.
 */
#ifndef BASE_LEB128_H
#define BASE_LEB128_H

#include <endian.h>
#include <stdint.h>
#include <string.h>

#define LEB128_MAX 10 /* bytes of a number of 64 bits */

/* As leb128_put() for 0 < v < 2^56, without a loop; always writes 8 bytes. */
static inline uint8_t *leb128_put_at_once(uint8_t *p, uint64_t v)
{
	unsigned bytes = (unsigned)(63 - __builtin_clzll(v)) / 7 + 1;
	v = (v & 0x00fffffff0000000) << 4 | (v & 0x000000000fffffff);
	v = (v & 0x0fffc0000fffc000) << 2 | (v & 0x00003fff00003fff);
	v = (v & 0x3f803f803f803f80) << 1 | (v & 0x007f007f007f007f);
	v = htole64(v | (0x8080808080808080 & ((1ull << 8 * (bytes - 1)) - 1)));
	memcpy(p, &v, sizeof(v));
	return p + bytes;
}

/* Returns the byte behind the number; up to LEB128_MAX bytes may be overwritten. */
static inline uint8_t *leb128_put(uint8_t *p, uint64_t v)
{
	if (v < 0x80) {
		*p = (uint8_t)v;
		return p + 1;
	}
	if (v >= 1ull << 21 && v < 1ull << 56)
		return leb128_put_at_once(p, v);
	for (; v >= 0x80; v >>= 7)
		*p++ = (uint8_t)(v | 0x80);
	*p = (uint8_t)v;
	return p + 1;
}

/* Writes exactly n bytes, padded with zero bits at the top; v must fit 7 * n bits. */
static inline void leb128_put_padded(uint8_t *p, unsigned n, uint64_t v)
{
	for (unsigned i = 0; i < n; i++, v >>= 7)
		p[i] = (uint8_t)((v & 0x7f) | (i + 1 < n ? 0x80 : 0));
}

/*
 * Reads a number and returns the byte behind it. LEB128_MAX bytes must be readable. Bits beyond the
 * 64th are dropped; a longer number is cut at LEB128_MAX bytes.
 */
static inline const uint8_t *leb128_get(const uint8_t *p, uint64_t *ret)
{
	uint64_t v = *p++;
	if (v >= 0x80) {
		v &= 0x7f;
		for (unsigned shift = 7; shift < 7 * LEB128_MAX; shift += 7) {
			uint64_t byte = *p++;
			v |= (byte & 0x7f) << shift;
			if (byte < 0x80)
				break;
		}
	}
	*ret = v;
	return p;
}

/* 0, -1, 1, -2, … to 0, 1, 2, 3, … and back; signed numbers are in two's complement. */
static inline uint64_t leb128_fold(uint64_t n)
{
	return n << 1 ^ -(n >> 63);
}
static inline uint64_t leb128_unfold(uint64_t v)
{
	return v >> 1 ^ -(v & 1);
}

#endif
