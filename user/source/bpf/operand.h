/* SPDX-License-Identifier: BSD-2-Clause */
/* An argument of a marker as the BPF programs decode it (bpf/operands.bpf.h). */
#ifndef SOURCE_BPF_OPERAND_H
#define SOURCE_BPF_OPERAND_H

#include "bpf/abi.h"
#include "elf/usdt_args.h"

struct ebt_operand operand_of_arg(const struct usdt_arg *arg);

#endif
