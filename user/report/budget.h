/* SPDX-License-Identifier: BSD-2-Clause */
/* The budget of a live run in the JSON of a report: a member "budget", if the run has one. */
#ifndef REPORT_BUDGET_H
#define REPORT_BUDGET_H

#include "base/json.h"
#include "report/schema.h"
#include "session/session.h"

void budget_json(struct json *j, const struct session *s);
/* The keys of the object, for the part "budget" of a schema; the member may be absent. */
extern const struct schema_key budget_keys[];

#endif
