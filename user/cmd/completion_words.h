/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the completion of command lines knows: the words of the tables of commands, reports, formats
 * and events, put as lists by a shell's own functions. The full name of a command or a report,
 * "ebtrace mem live", is the key of a list.
 */
#ifndef CMD_COMPLETION_WORDS_H
#define CMD_COMPLETION_WORDS_H

#include "base/buf.h"
#include "cmd/commands.h"

/* The script of each shell, which is these lists and the functions of user/cmd/completion.SHELL
 * that read them. The same tables always make the same script. */
void completion_bash(struct buf *b);
void completion_zsh(struct buf *b);
void completion_fish(struct buf *b);

/* The names of the shells that have a script; NULL ends them. */
extern const char *const completion_shells[];

/* How a shell writes lists of words, each with a key. */
struct completion_list {
	void (*begin)(struct buf *b, const char *key);
	/* help is a line, or "". */
	void (*word)(struct buf *b, const char *word, const char *help);
	void (*end)(struct buf *b);
};

/* The words that may follow a full name. */
void completion_put_words(struct buf *b, const struct completion_list *l);
/* What -f may be of a full name. */
void completion_put_formats(struct buf *b, const struct completion_list *l);
/* What -e can match, with the key "events"; triggers of these, with the key "rules". */
void completion_put_events(struct buf *b, const struct completion_list *l);

#endif
