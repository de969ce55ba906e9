// SPDX-License-Identifier: BSD-2-Clause
/* What the kernel counts of a pause, from a record to the arguments of its end. */
#include "base/log.h"
#include "session/pause_usage.h"
#include "source/bpf/account.h"
#include "tests/tap.h"

int main(void)
{
	struct session *session;
	struct ebt_usage counted = {1, 2, 3, 4, 5, 6, 7};
	struct pause_usage u;
	bool lacks = false;
	if (session_new(&session))
		return 1;
	log_level = LOG_QUIET;

	struct ebt_event ev = {.kind = EBT_END};
	ok(!bpf_account_pause(session, &ev, &counted, sizeof(counted), &lacks) &&
		   pause_usage_get(session, &ev, &u) && u.count[PAUSE_RUN_DELAY] == 1 &&
		   u.count[PAUSE_VOLUNTARY] == 2 && u.count[PAUSE_INVOLUNTARY] == 3 &&
		   u.count[PAUSE_MINOR_FAULTS] == 4 && u.count[PAUSE_MAJOR_FAULTS] == 5 &&
		   u.count[PAUSE_MIGRATIONS] == 6 && u.count[PAUSE_FAULT_NS] == 7,
	   "the end of a pause has what was counted in it");
	ok(!lacks, "nothing lacks");
	session_drop_event(session, &ev);

	counted.run_delay = EBT_USAGE_UNKNOWN;
	ok(!bpf_account_pause(session, &ev, &counted, sizeof(counted), &lacks) &&
		   pause_usage_get(session, &ev, &u) && u.count[PAUSE_RUN_DELAY] == PAUSE_UNKNOWN &&
		   u.count[PAUSE_VOLUNTARY] == 2,
	   "what the kernel does not count is not known, and the rest is");
	ok(lacks, "which is said");
	session_drop_event(session, &ev);

	ok(!bpf_account_pause(session, &ev, &counted, sizeof(counted) - 1, &lacks) &&
		   !pause_usage_get(session, &ev, &u),
	   "a payload that is too short has no counts");
	ev.kind = EBT_CUSTOM;
	ok(!bpf_account_pause(session, &ev, &counted, sizeof(counted), &lacks) &&
		   !(ev.flags & EBT_F_PAYLOAD),
	   "nor has that of another event");
	session_free(session);
	return tap_done();
}
