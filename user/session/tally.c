/* SPDX-License-Identifier: BSD-2-Clause */
#include "session/tally.h"

#include <stdlib.h>

void tally_free(struct tally *t)
{
	if (!t)
		return;
	histogram_done(&t->pauses);
	histogram_done(&t->held);
	histogram_done(&t->seen);
	free(t);
}
