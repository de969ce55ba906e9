/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether the user has asked this process to end. Waits that can last for ever ask it. One per process, as
 * signals are.
 */
#ifndef BASE_ENDING_H
#define BASE_ENDING_H

#include <stdbool.h>

/* A signal that ends the run has been read or handled. Safe in a signal handler. */
void ending_ask(void);
/* For tests: nobody has asked. */
void ending_forget(void);
/* True after ending_ask(), or while a signal that ends the run is blocked and pending. */
bool ending_asked(void);

#endif
