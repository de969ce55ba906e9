/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The signals that end a run, taken as events and not as interruptions. After the first one the
 * signals are what they would be without us, so the second ends ebtrace at once.
 */
#ifndef CMD_SIGNALS_H
#define CMD_SIGNALS_H

/* From now on SIGINT, SIGTERM, SIGHUP (not under nohup) and SIGCHLD are read from the descriptor
 * that it returns; SIGPIPE is ignored. Or -errno. */
int signals_open(void);
/* The next signal that asks for the end of the run; 0: none now. *ret_sent: it was sent to this
 * process alone, and not to all that run on the terminal. */
int signals_next(int fd, int *ret_sent);
void signals_restore(void);

#endif
