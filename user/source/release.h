/* SPDX-License-Identifier: BSD-2-Clause */
/* What a release of a ring's producer says of the process that uses it. */
#ifndef SOURCE_RELEASE_H
#define SOURCE_RELEASE_H

#include "core/traits.h"

/* Nothing is known of EBT_RELEASE_AUTO and of what is no release. */
struct traits release_traits(enum ebt_release release);

#endif
