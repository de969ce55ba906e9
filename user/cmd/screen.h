/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A terminal as a screen: shows frames and reads keys. ncurses enters the program here alone. A
 * terminal that cannot place text (TERM=dumb) gets each frame as lines, below the one before, and
 * colours are used only where the terminal has them and NO_COLOR is not set.
 */
#ifndef CMD_SCREEN_H
#define CMD_SCREEN_H

#include <stdbool.h>
#include <stdint.h>

#include "report/top/frame.h"

struct screen;

/* Whether the locale of the environment has UTF-8. */
bool screen_is_utf8(void);
/* The columns of standard output, if it is a terminal, else those of $COLUMNS, else 80. */
unsigned screen_columns(void);
/* Takes standard output, and the keys of standard input, else of the terminal that controls us. 0
 * or -errno; -ENOTTY: the terminal is of an unknown kind. */
int screen_open(struct screen **ret);
/* The terminal is as before. NULL is allowed. */
void screen_close(struct screen *s);
/* A descriptor that is readable when there are keys; -1: there are none. */
int screen_fd(const struct screen *s);
/* Reads the size of the terminal. True: it is another one than before. */
bool screen_measure(struct screen *s);
unsigned screen_rows(const struct screen *s);
unsigned screen_cols(const struct screen *s);
/* The next key, a character or an enum top_key; 0: none now. */
uint32_t screen_key(struct screen *s);
/* True: what has read no key several times is gone, as the terminal of a broken connection is. */
bool screen_is_gone(const struct screen *s);
void screen_show(struct screen *s, const struct top_frame *f);

#endif
