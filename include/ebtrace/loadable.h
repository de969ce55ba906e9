/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Whether the dynamic linker will load a library of ours into a program, and the program then runs
 * as it would without. Decided of the program's file, before it is started: by ebtrace, and inside
 * a program by libebtrace-preload.so, which both have it. Allocates nothing, takes no lock and may
 * be called by a child of vfork(). errno changes.
 */
#ifndef EBTRACE_LOADABLE_H
#define EBTRACE_LOADABLE_H

#define EBT_LOADABLE_LINKER_BYTES 256

enum ebt_loadable {
	EBT_LOADABLE,
	EBT_LOADABLE_NO_PROGRAM, /* exec() fails, and knows why */
	EBT_LOADABLE_STATIC,
	EBT_LOADABLE_OTHER_LINKER,
	EBT_LOADABLE_OTHER_MACHINE,
	EBT_LOADABLE_SET_USER_ID,
	EBT_LOADABLE_SET_GROUP_ID,
	EBT_LOADABLE_CAPABLE,
	EBT_LOADABLE_SANITIZED, /* its runtime has to be the first library */
};

/* Opens the program at a path, or for a script the program that runs it. A descriptor or -errno. */
int ebt_loadable_open(int dir, const char *path);
/* Stores the path of the dynamic linker that the file names, "" if it names none. */
enum ebt_loadable ebt_loadable_check(int fd, char ret_linker[EBT_LOADABLE_LINKER_BYTES]);
/* While /proc is as it was when the program began: finds out which dynamic linker is ours. */
void ebt_loadable_prepare(void);

#endif
