/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The release of OCaml that wrote a ring file in which it is not recorded: 5.0 to 5.2 number phases
 * in one way, 5.3 and later in another, and the nesting of phases shows which.
 */
#ifndef SOURCE_RING_GUESS_H
#define SOURCE_RING_GUESS_H

#include <ebtrace/cursor.h>

/* EBT_RELEASE_OCAML_5_2 or _5_5, each for all that share its numbers; AUTO: no phase in the rings
 * is nested in one that shows it. `name` is for messages. The descriptor stays open. */
enum ebt_release ring_guess_release(int fd, const char *name);

#endif
