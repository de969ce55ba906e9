/* SPDX-License-Identifier: BSD-2-Clause */
/* ebtrace info --kernel: what this kernel and these privileges allow, feature by feature, and for each
 * feature that is missing the reason and what to do. */
#ifndef CMD_INFO_KERNEL_H
#define CMD_INFO_KERNEL_H

#include <stdbool.h>

/* Prints the table, or one JSON object. The exit status: 0 also if features are missing. */
int info_kernel(bool json);
/* Prints the schema of the JSON object. */
void info_kernel_schema(void);

#endif
