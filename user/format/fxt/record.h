/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records of the Fuchsia trace format, as fuchsia.dev publishes it: words, sizes, and the tables of
 * strings and threads that records refer to. It knows nothing of what is traced; that is fxt.c's.
 *
 * A record is built in memory of its own and copied to the buffer as a whole. A string that may
 * come again is kept in a table and written once; the table is bounded, and a string without an
 * entry is written out in each record. So is a thread beyond the 255 that the format has indices
 * for. Text is made UTF-8, and what is too long is cut at a character and ends in an ellipsis, so
 * no record exceeds the format's 4095 words.
 */
#ifndef FORMAT_FXT_RECORD_H
#define FORMAT_FXT_RECORD_H

#include "base/buf.h"

#define FXT_RECORD_WORDS 4095  /* the format's limit of a record */
#define FXT_VALUE_BYTES	 31000 /* of a string value: leaves room for the rest of its record */
#define FXT_NAME_BYTES	 256   /* of any other string */
#define FXT_THREADS	 255   /* with an index */

/* Strings that are kept; the format allows 32767. */
#define FXT_STRINGS	 4096
#define FXT_STRING_BYTES (128 * 1024)
#define FXT_LITERALS	 64

enum fxt_type {
	FXT_METADATA = 0,
	FXT_INITIALIZATION = 1,
	FXT_STRING = 2,
	FXT_THREAD = 3,
	FXT_EVENT = 4,
	FXT_OBJECT = 7,
};
enum fxt_event_type {
	FXT_INSTANT = 0,
	FXT_COUNTER = 1,
	FXT_DURATION_BEGIN = 2,
	FXT_DURATION_END = 3,
	FXT_DURATION_COMPLETE = 4,
	FXT_ASYNC_BEGIN = 5,
	FXT_ASYNC_END = 7,
	FXT_FLOW_BEGIN = 8,
	FXT_FLOW_END = 10,
};
enum fxt_object_type { FXT_PROCESS_OBJECT = 1, FXT_THREAD_OBJECT = 2 };

/* A reference to a string: the index of a kept one, or its text, for this record. */
struct fxt_string {
	uint16_t ref; /* as the format has it; 0: the empty string */
	char text[FXT_NAME_BYTES];
};

struct fxt_thread {
	uint32_t index; /* 1 to FXT_THREADS; above: written out */
	uint64_t process, thread;
};

struct fxt_record {
	struct buf *out;
	unsigned count;	       /* of words */
	unsigned args_shift;   /* where its header counts the arguments */
	struct fxt_kept *kept; /* FXT_STRINGS, by index - 1 */
	uint16_t *slots;       /* hash → index */
	char *pool;	       /* text of what is kept */
	size_t kept_count, pool_used;
	struct fxt_literal {
		const char *s;
		uint16_t ref;
	} literals[FXT_LITERALS];	  /* direct-mapped */
	uint64_t words[FXT_RECORD_WORDS]; /* of the record that is open */
};

/* Initialises zeroed memory; `out` is kept. 0 or -ENOMEM. done() works on zeroed memory, too. */
int fxt_record_init(struct fxt_record *r, struct buf *out);
void fxt_record_done(struct fxt_record *r);

/* Writes the record of the string first, if it is new and there is a place for it. */
void fxt_record_string(struct fxt_record *r, const char *s, struct fxt_string *ret);

/* fxt_record_string() for a literal, which is found by its address from the second time on. */
void fxt_record_literal(struct fxt_record *r, const char *s, struct fxt_string *ret);

/* The magic number, the provider of all records, a tick of 1 ns. */
void fxt_record_preamble(struct fxt_record *r, const char *provider);
void fxt_record_thread(struct fxt_record *r, const struct fxt_thread *t);

/* Open a record, to which arguments are added (15 at most), then words, and which is then
 * closed. */
void fxt_record_event(struct fxt_record *r, enum fxt_event_type type, uint64_t ts,
		      const struct fxt_thread *t, const struct fxt_string *category,
		      const struct fxt_string *name);
void fxt_record_object(struct fxt_record *r, enum fxt_object_type type, uint64_t koid,
		       const struct fxt_string *name);
/* Keys are literals. */
void fxt_record_u64_of(struct fxt_record *r, const struct fxt_string *key, uint64_t v);
void fxt_record_u64(struct fxt_record *r, const char *key, uint64_t v);
void fxt_record_i64(struct fxt_record *r, const char *key, int64_t v);
void fxt_record_koid(struct fxt_record *r, const char *key, uint64_t v);
/* Strings that are not kept: text, and bytes as hexadecimal digits, at most FXT_VALUE_BYTES. */
void fxt_record_text(struct fxt_record *r, const char *key, const char *s, size_t len);
void fxt_record_hex(struct fxt_record *r, const char *key, const void *data, size_t bytes);
/* A string that is kept. */
void fxt_record_name(struct fxt_record *r, const char *key, const char *s);
void fxt_record_word(struct fxt_record *r, uint64_t v);
void fxt_record_close(struct fxt_record *r);

#endif
