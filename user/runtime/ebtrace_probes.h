/* SPDX-License-Identifier: BSD-2-Clause */
/* Programs that link libebtrace-probes, recognised by its markers. */
#ifndef RUNTIME_EBTRACE_PROBES_H
#define RUNTIME_EBTRACE_PROBES_H

#include "runtime/runtime.h"

extern const struct runtime runtime_ebtrace_probes;

#endif
