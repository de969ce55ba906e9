/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The files that clients of debuginfod keep: FOLDER/BUILDID/debuginfo. The folder is that of
 * DEBUGINFOD_CACHE_PATH, to which files are added; else the one that libdebuginfod uses, which is only
 * read. Files are not trusted.
 */
#ifndef ELF_DEBUGINFOD_CACHE_H
#define ELF_DEBUGINFOD_CACHE_H

/* A descriptor of the file of a build id in hexadecimal; -1: there is none. */
int debuginfod_cache_open(const char *hex);
/* Copies a file into the folder that the user has named; without one, nothing. 0 or -errno. */
int debuginfod_cache_add(const char *hex, int fd);

#endif
