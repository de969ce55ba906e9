// SPDX-License-Identifier: BSD-2-Clause
/* Calls the probes of OCaml's runtime in a loop; built in the chroot beside ocaml_writer.ml. */
#define CAML_INTERNALS
#include <caml/mlvalues.h>
#include <caml/runtime_events.h>
#include <time.h>

static double now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Hundredths of a ns an event. */
value bench_pairs(value rounds)
{
	long n = Long_val(rounds);
	double t = now_ns();
	for (long i = 0; i < n / 2; i++) {
		caml_ev_begin(EV_MINOR);
		caml_ev_end(EV_MINOR);
	}
	return Val_long((long)((now_ns() - t) * 100 / (double)n));
}
