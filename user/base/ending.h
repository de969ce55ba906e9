/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether the user has asked this process to end. Waits that can last for ever ask it. One per
 * process, as signals are.
 */
#ifndef BASE_ENDING_H
#define BASE_ENDING_H

#include <stdbool.h>
#include <stdint.h>

/* A signal that ends the run has been read or handled. Safe in a signal handler. */
void ending_ask(void);
/* For tests: undoes ending_ask(). */
void ending_forget(void);
/* True after ending_ask(), or while a signal that ends the run is blocked and pending. */
bool ending_asked(void);
/* True if that was 0.1 s ago. *asked_ns, 0 at first, is for the next call of the same wait. */
bool ending_overdue(uint64_t *asked_ns);
/* Waits until a descriptor has these events, or has hung up. 0; -ECANCELED: the user has asked to
 * end, and 0.1 s later it had none of them yet. */
int ending_poll(int fd, short events);

#endif
