/* SPDX-License-Identifier: BSD-2-Clause */
/* The canonical ids of phases, counters and lifecycles (events.def) as constants. */
#ifndef REPORT_PARTS_IDS_H
#define REPORT_PARTS_IDS_H

enum {
#define EBT_PHASE(id, name, stops) PHASE_##name = id,
#include <ebtrace/events.def>
};
enum {
#define EBT_COUNTER_ID(id, name, unit, help) COUNTER_##name = id,
#include <ebtrace/events.def>
};
enum {
#define EBT_LIFECYCLE_ID(id, name, help) LIFECYCLE_##name = id,
#include <ebtrace/events.def>
};

#endif
