/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is known of each language's runtime without a file or process at hand: what its events mean,
 * version by version, and how the environment of a program controls its ring. Constant data; a new
 * runtime has a row here and a row in the table of runtimes (runtimes.h).
 */
#ifndef SESSION_LANGUAGE_H
#define SESSION_LANGUAGE_H

#include "session/traits.h"

struct language {
	struct traits_language traits;
	/* Environment variables of a program: its ring is on from the start; its directory; its
	 * file is kept at the end. start_too: another language's, which it obeys as well, or
	 * NULL. */
	const char *start, *start_too, *dir, *preserve;
	/* log2 of the words of a ring, as our own environment asks for it; 0: it does not. */
	unsigned (*ring_log_words)(void);
	/* The next two are NULL where rings keep their size. */
	/* The most domains that our own environment allows a program; 0: it does not say. */
	unsigned (*domains)(void);
	/* The variable that gives a program rings of 2^log_words words, and in *ret_value, which is
	 * the caller's to free, its value: what our own environment has, and that. NULL: no memory. */
	const char *(*enlarge_rings)(unsigned log_words, char **ret_value);
	const char *program; /* "an OCaml 5 program" */
	const char *hidden;  /* user events that cannot be probed; NULL: there are none */
};

#define LANGUAGES 2
extern const struct language languages[LANGUAGES];
enum { LANGUAGE_EBTRACE_PROBES, LANGUAGE_OCAML };

/* All rows in a sentence: after "the program must", and after "to trace it:". */
extern const char language_requirement[], language_advice[];
/* The variable of the ring directory that programs of all languages read. */
extern const char language_common_dir[];

/* The traits of a release; raw_phase, which is the codec's, is left NULL. All zero for AUTO and for
 * what is no release. */
struct traits language_traits(enum ebt_release release);
/* The language of a release; NULL as above. */
const struct language *language_of(enum ebt_release release);

#endif
