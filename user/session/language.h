/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What is known of a language's runtime without a file or process at hand: what its events mean,
 * version by version, how the environment of a program controls its ring, and how its code is
 * recognised in stacks. Constant data. A new runtime has a row here, which the table of them lists
 * (languages.h), and a row in the table of runtimes (runtimes.h).
 */
#ifndef SESSION_LANGUAGE_H
#define SESSION_LANGUAGE_H

#include "session/traits.h"

/* The rings of a language's programs. */
struct language_ring {
	/* Environment variables of a program: its ring is on from the start; its directory; its
	 * file is kept at the end. start_too: another language's, which it obeys as well, or
	 * NULL. */
	const char *start, *start_too, *dir, *preserve;
	/* Our option for the version of a ring that does not record it; NULL: all do. */
	const char *version_option;
	/* The variable for the size of a program's rings, up to the number: log2 of words. */
	const char *larger;
	/* log2 of the words of a ring, as our own environment asks for it; 0: it does not. */
	unsigned (*log_words)(void);
	/* The next two are NULL where rings keep their size. */
	/* The most domains that our own environment allows a program; 0: it does not say. */
	unsigned (*domains)(void);
	/* The variable that gives a program rings of 2^log_words words, and in *ret_value, which is
	 * the caller's to free, its value: what our own environment has, and that. NULL: no
	 * memory. */
	const char *(*enlarge)(unsigned log_words, char **ret_value);
};

/* In what versions of a language's runtime differ. */
struct language_version {
	uint16_t major, minor;
	bool hides_user_events; /* the function is not called while the ring is off */
	bool nameless_rings;	/* the header has no place for the names of user events */
};

struct language {
	struct traits_language traits;
	const struct language_ring *ring; /* NULL: its programs have none */
	/* Versions that differ, the oldest first; those behind the last are like that one. At least
	 * one, of 0.0 if they do not differ; 0: it has no runtime with events. */
	const struct language_version *version;
	unsigned versions;
	/* The first version's number in captures, and to readers of rings (enum ebt_release); the
	 * others' follow. 0: none; a capture then knows the version by its producer's text. */
	uint32_t release;
	const char *program; /* "an OCaml 5 program" */
	const char *hidden;  /* user events that cannot be probed; NULL: there are none */
};

extern const struct language language_ebtrace_probes, language_ocaml, language_cxx;

#endif
