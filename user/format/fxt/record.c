/* SPDX-License-Identifier: BSD-2-Clause */
#include "format/fxt/record.h"

#include "base/hash.h"
#include "base/utf8.h"
#include <errno.h>
#include <stdlib.h>

#define MAGIC	      0x0016547846040010ull
#define INLINE	      0x8000u /* of a reference: the rest is the length of the text */
#define ELLIPSIS      "\xe2\x80\xa6"
#define SLOTS	      (2 * FXT_STRINGS)
#define TICKS_PER_S   1000000000ull
#define PROVIDER_ID   1
#define ARGS_EVENT    20
#define ARGS_OBJECT   40
#define METADATA_INFO 1

enum argument { ARG_I32 = 1, ARG_U32 = 2, ARG_I64 = 3, ARG_U64 = 4, ARG_STRING = 6, ARG_KOID = 8 };

struct fxt_kept {
	uint32_t hash, offset;
	uint32_t len;
};

int fxt_record_init(struct fxt_record *r, struct buf *out)
{
	r->out = out;
	r->kept = malloc(FXT_STRINGS * sizeof(*r->kept));
	r->slots = calloc(SLOTS, sizeof(*r->slots));
	r->pool = malloc(FXT_STRING_BYTES);
	return r->kept && r->slots && r->pool ? 0 : -ENOMEM;
}

void fxt_record_done(struct fxt_record *r)
{
	free(r->kept);
	free(r->slots);
	free(r->pool);
}

static unsigned words_of(size_t bytes)
{
	return (unsigned)((bytes + 7) / 8);
}

/* Adds `words` words to the open record and clears the last of them. NULL: the record is full. */
static void *take(struct fxt_record *r, unsigned words)
{
	if (!words || words > FXT_RECORD_WORDS - r->count)
		return NULL;
	uint64_t *at = r->words + r->count;
	r->count += words;
	at[words - 1] = 0;
	return at;
}

void fxt_record_word(struct fxt_record *r, uint64_t v)
{
	uint64_t *at = take(r, 1);
	if (at)
		*at = v;
}

static void put_stream(struct fxt_record *r, const char *s, size_t len)
{
	void *at = take(r, words_of(len));
	if (at)
		memcpy(at, s, len);
}

static void open_record(struct fxt_record *r, enum fxt_type type, uint64_t fields)
{
	r->count = 0;
	fxt_record_word(r, (uint64_t)type | fields);
}

void fxt_record_close(struct fxt_record *r)
{
	r->words[0] |= (uint64_t)r->count << 4;
	buf_put(r->out, r->words, r->count * sizeof(*r->words));
}

/* Writes the complete record of a string, which has to precede the open record. */
static void put_string_record(struct fxt_record *r, uint16_t index, const char *s, size_t len)
{
	uint64_t record[1 + FXT_NAME_BYTES / 8] = {FXT_STRING | (1 + words_of(len)) << 4 |
						   (uint64_t)index << 16 | (uint64_t)len << 32};
	memcpy(record + 1, s, len);
	buf_put(r->out, record, (1 + words_of(len)) * sizeof(*record));
}

/* The index of a string, assigned if there is room; 0: there is none. */
static uint16_t keep(struct fxt_record *r, const char *s, size_t len)
{
	uint32_t h = (uint32_t)hash_bytes(hash_start(), s, len);
	uint32_t slot = h % SLOTS;
	for (; r->slots[slot]; slot = (slot + 1) % SLOTS) {
		const struct fxt_kept *k = &r->kept[r->slots[slot] - 1];
		if (k->hash == h && k->len == len && !memcmp(r->pool + k->offset, s, len))
			return r->slots[slot];
	}
	if (r->kept_count == FXT_STRINGS || len > FXT_STRING_BYTES - r->pool_used)
		return 0;
	r->kept[r->kept_count] = (struct fxt_kept){h, (uint32_t)r->pool_used, (uint32_t)len};
	memcpy(r->pool + r->pool_used, s, len);
	r->pool_used += len;
	r->slots[slot] = (uint16_t)++r->kept_count;
	put_string_record(r, r->slots[slot], s, len);
	return r->slots[slot];
}

void fxt_record_string(struct fxt_record *r, const char *s, struct fxt_string *ret)
{
	size_t n = strlen(s);
	bool cut;
	size_t len = utf8_copy(ret->text, FXT_NAME_BYTES, s, n, &cut);
	if (cut) {
		len = utf8_copy(ret->text, FXT_NAME_BYTES - strlen(ELLIPSIS), s, n, &cut);
		memcpy(ret->text + len, ELLIPSIS, strlen(ELLIPSIS));
		len += strlen(ELLIPSIS);
	}
	ret->ref = len ? keep(r, ret->text, len) : 0;
	if (len && !ret->ref)
		ret->ref = (uint16_t)(INLINE | len);
}

void fxt_record_literal(struct fxt_record *r, const char *s, struct fxt_string *ret)
{
	uintptr_t at = (uintptr_t)s;
	struct fxt_literal *l = &r->literals[(at ^ at >> 6) % FXT_LITERALS];
	if (l->s != s) {
		fxt_record_string(r, s, ret);
		if (ret->ref & INLINE)
			return;
		*l = (struct fxt_literal){s, ret->ref};
	}
	ret->ref = l->ref;
}

static void put_inline(struct fxt_record *r, const struct fxt_string *s)
{
	if (s->ref & INLINE)
		put_stream(r, s->text, s->ref & ~INLINE);
}

void fxt_record_preamble(struct fxt_record *r, const char *provider)
{
	uint64_t magic = MAGIC;
	size_t len = strlen(provider);
	buf_put(r->out, &magic, sizeof(magic));
	open_record(r, FXT_METADATA, METADATA_INFO << 16 | PROVIDER_ID << 20 | (uint64_t)len << 52);
	put_stream(r, provider, len);
	fxt_record_close(r);
	open_record(r, FXT_INITIALIZATION, 0);
	fxt_record_word(r, TICKS_PER_S);
	fxt_record_close(r);
}

void fxt_record_thread(struct fxt_record *r, const struct fxt_thread *t)
{
	if (t->index > FXT_THREADS)
		return;
	open_record(r, FXT_THREAD, (uint64_t)t->index << 16);
	fxt_record_word(r, t->process);
	fxt_record_word(r, t->thread);
	fxt_record_close(r);
}

void fxt_record_event(struct fxt_record *r, enum fxt_event_type type, uint64_t ts,
		      const struct fxt_thread *t, const struct fxt_string *category,
		      const struct fxt_string *name)
{
	bool indexed = t->index <= FXT_THREADS;
	r->args_shift = ARGS_EVENT;
	open_record(r, FXT_EVENT,
		    (uint64_t)type << 16 | (indexed ? (uint64_t)t->index << 24 : 0) |
			    (uint64_t)category->ref << 32 | (uint64_t)name->ref << 48);
	fxt_record_word(r, ts);
	if (!indexed) {
		fxt_record_word(r, t->process);
		fxt_record_word(r, t->thread);
	}
	put_inline(r, category);
	put_inline(r, name);
}

void fxt_record_object(struct fxt_record *r, enum fxt_object_type type, uint64_t koid,
		       const struct fxt_string *name)
{
	r->args_shift = ARGS_OBJECT;
	open_record(r, FXT_OBJECT, (uint64_t)type << 16 | (uint64_t)name->ref << 24);
	fxt_record_word(r, koid);
	put_inline(r, name);
}

/* The header of an argument with `words` words behind its name. */
static void open_arg(struct fxt_record *r, enum argument type, const struct fxt_string *key,
		     unsigned words, uint64_t field)
{
	unsigned name = key->ref & INLINE ? words_of(key->ref & ~INLINE) : 0;
	r->words[0] += 1ull << r->args_shift;
	fxt_record_word(r, type | (uint64_t)(1 + name + words) << 4 | (uint64_t)key->ref << 16 |
				   field << 32);
	put_inline(r, key);
}

void fxt_record_u64_of(struct fxt_record *r, const struct fxt_string *key, uint64_t v)
{
	if (v <= UINT32_MAX) {
		open_arg(r, ARG_U32, key, 0, v);
	} else {
		open_arg(r, ARG_U64, key, 1, 0);
		fxt_record_word(r, v);
	}
}

void fxt_record_u64(struct fxt_record *r, const char *key, uint64_t v)
{
	struct fxt_string k;
	fxt_record_literal(r, key, &k);
	fxt_record_u64_of(r, &k, v);
}

void fxt_record_i64(struct fxt_record *r, const char *key, int64_t v)
{
	struct fxt_string k;
	fxt_record_literal(r, key, &k);
	if (v >= INT32_MIN && v <= INT32_MAX) {
		open_arg(r, ARG_I32, &k, 0, (uint32_t)v);
	} else {
		open_arg(r, ARG_I64, &k, 1, 0);
		fxt_record_word(r, (uint64_t)v);
	}
}

void fxt_record_koid(struct fxt_record *r, const char *key, uint64_t v)
{
	struct fxt_string k;
	fxt_record_literal(r, key, &k);
	open_arg(r, ARG_KOID, &k, 1, 0);
	fxt_record_word(r, v);
}

void fxt_record_name(struct fxt_record *r, const char *key, const char *s)
{
	struct fxt_string k, v;
	fxt_record_literal(r, key, &k);
	fxt_record_string(r, s, &v);
	unsigned words = v.ref & INLINE ? words_of(v.ref & ~INLINE) : 0;
	open_arg(r, ARG_STRING, &k, words, v.ref);
	put_inline(r, &v);
}

void fxt_record_text(struct fxt_record *r, const char *key, const char *s, size_t len)
{
	struct fxt_string k;
	fxt_record_literal(r, key, &k);
	if (len > FXT_VALUE_BYTES)
		len = FXT_VALUE_BYTES;
	open_arg(r, ARG_STRING, &k, words_of(len), len ? INLINE | len : 0);
	put_stream(r, s, len);
}

void fxt_record_hex(struct fxt_record *r, const char *key, const void *data, size_t bytes)
{
	static const char digits[] = "0123456789abcdef";
	const unsigned char *s = data;
	struct fxt_string k;
	fxt_record_literal(r, key, &k);
	if (bytes > FXT_VALUE_BYTES / 2)
		bytes = FXT_VALUE_BYTES / 2;
	open_arg(r, ARG_STRING, &k, words_of(2 * bytes), bytes ? INLINE | 2 * bytes : 0);
	char *to = take(r, words_of(2 * bytes));
	for (size_t i = 0; to && i < bytes; i++) {
		to[2 * i] = digits[s[i] >> 4];
		to[2 * i + 1] = digits[s[i] & 15];
	}
}
