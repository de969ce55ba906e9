/* SPDX-License-Identifier: BSD-2-Clause */
#include <caml/callback.h>
#include <caml/fail.h>
#include <caml/mlvalues.h>
#include <stdint.h>

#define WORK(name)                                                                             \
	intnat name(intnat n)                                                                  \
	{                                                                                      \
		uint64_t x = 1;                                                                \
		for (intnat i = 0; i < n; i++)                                                 \
			x = x * 6364136223846793005ull + 1442695040888963407ull + (uint64_t)i; \
		return (intnat)x;                                                              \
	}

WORK(ways_ten)
WORK(ways_twenty)
WORK(ways_thirty)
WORK(ways_forty)

value ways_callback(value f, value n)
{
	return caml_callback(f, n);
}

value ways_byte(value n)
{
	(void)n;
	caml_failwith("native code alone");
}
