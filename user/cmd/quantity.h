/* SPDX-License-Identifier: BSD-2-Clause */
/* Times and sizes as people write them: 500us, 10ms, 2s, 64K, 16M. */
#ifndef CMD_QUANTITY_H
#define CMD_QUANTITY_H

#include <stdbool.h>

/* In ns; without a unit it is seconds. False: it is no time. */
bool quantity_time(const char *text, double *ret_ns);
/* In bytes; K, M and G are powers of 1,024. False: it is no size. */
bool quantity_size(const char *text, double *ret_bytes);

#endif
