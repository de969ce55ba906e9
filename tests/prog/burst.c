// SPDX-License-Identifier: BSD-2-Clause
/*
 * burst PAIRS CUSTOMS: emits so many pairs of one phase, then so many user events of 200 bytes, as
 * fast as it can, stays for a fifth of a second, and ends.
 */
#include <ebtrace/probes.h>
#include <stdlib.h>
#include <time.h>

int main(int argc, char **argv)
{
	static const unsigned char payload[200];
	if (argc < 3)
		return 2;
	int pairs = atoi(argv[1]), customs = atoi(argv[2]);
	for (int i = 0; i < pairs; i++) {
		ebt_begin(EBT_PHASE_minor);
		ebt_end(EBT_PHASE_minor);
	}
	int user = ebt_register("burst", EBT_USER_CUSTOM);
	for (int i = 0; i < customs; i++)
		ebt_custom(user, payload, sizeof(payload));
	nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
	return 0;
}
