#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# `ebtrace info --kernel` tells the truth on Linux 6.1, also where the kernel is locked down.
. tests/lib.sh
. tests/kernels/lib.sh
guest_needs 6.1
guest_programs
# `make nightly` has all that it does in a guest.
GUEST_SETUP="export FEW=1"
on_kernel 6.1 -- tests/live/19-features.t
on_kernel 6.1 lockdown=confidentiality -- tests/live/19-features.t
done_testing
