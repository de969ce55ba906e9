#!/bin/bash
# SPDX-License-Identifier: BSD-2-Clause
# Locks the guest's kernel down, then runs the test of what `ebtrace info --kernel` says there.
echo confidentiality >/sys/kernel/security/lockdown && exec bash tests/live/19-features.t
