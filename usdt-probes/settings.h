/* SPDX-License-Identifier: BSD-2-Clause */
/* The environment of <ebtrace/probes.h>. Ignored in programs that run with more privilege than
 * their caller (AT_SECURE). */
#ifndef EBT_SETTINGS_H
#define EBT_SETTINGS_H

#include "ring_file.h"

/* The value of `name`, else of its synonym, which may be NULL; NULL: unset or empty. */
const char *ebt_setting(const char *name, const char *synonym);
/* Reads the settings of the ring file; does not change `runtime`. */
void ebt_settings_read(struct ebt_config *config);

#endif
