/* SPDX-License-Identifier: BSD-2-Clause */
/* The environment of <ebtrace/probes.h>. Ignored in programs that run with more privilege than
 * their caller (AT_SECURE). */
#ifndef EBT_SETTINGS_H
#define EBT_SETTINGS_H

#include "ring_file.h"

/* The value of `name`, else of its synonym, which may be NULL; NULL: unset or empty. */
const char *ebt_setting(const char *name, const char *synonym);
/* Writes one line to stderr: why the value of a setting is not used. While the library is
 * loaded. */
void ebt_setting_error(const char *name, const char *value, const char *text);
/* Calls start() with the file that the setting names, if there is one, and removes the variable
 * from the environment. A FIFO that nobody reads (-ENXIO) is tried again for up to 10 s; a line on
 * stderr tells so, and any other error. 0: started, or unset; else the last error of start(). */
int ebt_setting_start(const char *name, int (*start)(const char *path));
/* Reads the settings of the ring file; does not change `runtime`. */
void ebt_settings_read(struct ebt_config *config);

#endif
