/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Does things on threads of its own that make whoever asks for them wait and take no time
 * themselves, like closing the descriptor of a probe: several of them at once take no longer than
 * one.
 */
#ifndef BASE_LATER_H
#define BASE_LATER_H

struct later;

int later_new(struct later **ret); /* 0 or -errno */
/* Calls fn(arg) on another thread; at once, before it returns, if there is no room to wait in. */
void later_do(struct later *l, void (*fn)(void *arg), void *arg);
/* Waits until all is done. NULL is allowed. */
void later_free(struct later *l);

#endif
