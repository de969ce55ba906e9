/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tries to exhaust a reader's memory with files: sparse rings of thousands of domains.
 *
 *   sparse_rings DIR N    writes DIR/1.events to DIR/N.events
 */
#include "tests/attack/forge_ring.h"

int main(int argc, char **argv)
{
	for (int i = 1; argc == 3 && i <= atoi(argv[2]); i++) {
		char path[4096];
		snprintf(path, sizeof(path), "%s/%d.events", argv[1], i);
		close(forge_ring(path));
	}
	return argc != 3;
}
