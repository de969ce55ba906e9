/* SPDX-License-Identifier: BSD-2-Clause */
/* The traits of a process, with its own numbers of phases, by the release of its ring's
 * producer. */
#ifndef SESSION_RELEASE_H
#define SESSION_RELEASE_H

#include "session/traits.h"

/* All zero for EBT_RELEASE_AUTO and for what is no release. */
struct traits release_traits(enum ebt_release release);

#endif
