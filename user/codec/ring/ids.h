/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Translates between the producers' numbers of phases and the canonical ids (OCaml 5.5's, in
 * events.def). OCaml 5.0 to 5.2 number phases differently; 5.3 to 5.5 only appended. Counters and
 * lifecycles have kept their numbers since 5.0. Tables are static and constant.
 */
#ifndef CODEC_RING_IDS_H
#define CODEC_RING_IDS_H

#include <ebtrace/cursor.h>

#define RING_NO_RAW UINT16_MAX

/* The ways in which releases number phases. 0: by canonical ids. */
#define RING_NUMBERINGS 3
unsigned ring_numbering(enum ebt_release release);
/* The canonical id of each of its *n numbers; never NULL. */
const uint16_t *ring_numbering_phases(unsigned numbering, uint32_t *n);
/* The canonical id of each of the release's *n numbers; never NULL. */
const uint16_t *ring_canonical_phases(enum ebt_release release, uint32_t *n);
/* The release's number of each canonical id; RING_NO_RAW: none. NULL, *n = 0: they are the same. */
const uint16_t *ring_raw_phases(enum ebt_release release, uint32_t *n);

uint32_t ring_counters(void); /* the number of known ids, from 0 on */
uint32_t ring_lifecycles(void);

const char *ring_release_name(enum ebt_release release); /* "ocaml 5.1", "ebtrace" */

#endif
