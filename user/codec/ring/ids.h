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

/* The canonical id of each of the *n numbers of the release; never NULL. */
const uint16_t *ring_canonical_phases(enum ebt_release release, uint32_t *n);
/* The release's number of each canonical id; RING_NO_RAW: none. NULL, *n = 0: they are the same. */
const uint16_t *ring_raw_phases(enum ebt_release release, uint32_t *n);

uint32_t ring_counters(void); /* the number of known ids, from 0 on */
uint32_t ring_lifecycles(void);

/* "5.1.1" -> EBT_RELEASE_OCAML_5_1; a later 5.x -> the newest known; AUTO: no release of OCaml
 * 5. */
enum ebt_release ring_release_from_version_string(const char *version);
/* The same of the text that names a producer, "ocaml 5.1.1". */
enum ebt_release ring_release_from_producer(const char *producer);
const char *ring_release_name(enum ebt_release release); /* "ocaml 5.1", "ebtrace" */

#endif
