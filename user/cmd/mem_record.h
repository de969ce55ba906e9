/* SPDX-License-Identifier: BSD-2-Clause */
/* ebtrace mem record: records the allocations of a program that it starts, or of running processes. */
#ifndef CMD_MEM_RECORD_H
#define CMD_MEM_RECORD_H

/* argv[0] is the command's full name. Returns the exit status. */
int mem_record(int argc, char **argv);

#endif
