#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# What ebtrace does on Linux 6.12.
. tests/lib.sh
. tests/kernels/lib.sh
guest_needs 6.12
guest_programs
on_kernel 6.12 -- tests/kernels/round.sh
done_testing
