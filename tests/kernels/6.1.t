#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# On Linux 6.1: `ebtrace info --kernel` tells the truth, ebtrace does what it says, and where the kernel
# is locked down it says so.
. tests/lib.sh
. tests/kernels/lib.sh
guest_needs 6.1
guest_programs
# `make nightly` has all of the features in a guest.
GUEST_SETUP="export FEW=1" BOOT_SECONDS=1000
# A kernel that is locked down stays so: that is last.
on_kernel 6.1 -- tests/live/19-features.t tests/kernels/round.sh tests/kernels/locked.sh
done_testing
