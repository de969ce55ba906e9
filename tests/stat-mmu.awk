# SPDX-License-Identifier: BSD-2-Clause
# The least share of the mutator in windows of a ring without holes, of each domain, worked out anew from
# its events: columns domain, ts, kind, name. Each window that begins with a pause or ends with one is
# summed up. Prints a line of the domain, the length and the share in per cent, of all that there are.
# -v runs: names of phases that do not stop the mutator, in a line with spaces.
BEGIN {
	split(runs, list, " ")
	for (i in list) is_run[list[i]]
}
function see(d) { if (!(d in from)) { from[d] = start; order[++domains] = d } }
function leave(d, ts) { if (!--stopping[d]) { b[d, ++n[d]] = since[d]; e[d, n[d]] = ts } }
$3 == "lifecycle" && $4 == "ring_start" { start = $2; see($1) }
$3 == "lifecycle" && $4 == "domain_spawn" { see($1); from[$1] = $2 }
$3 == "begin" || $3 == "end" || $3 == "lifecycle" { last = $2 }
$3 == "lifecycle" && $4 == "domain_terminate" { until[$1] = $2 }
$3 == "begin" {
	see($1)
	open[$1, ++depth[$1]] = $4
	if (!($4 in is_run) && !stopping[$1]++) since[$1] = $2
}
$3 == "end" {
	# What is inside and has no end of its own ends with it.
	while (depth[$1] && open[$1, depth[$1]] != $4) if (!(open[$1, depth[$1]--] in is_run)) leave($1, $2)
	if (depth[$1] && !(open[$1, depth[$1]--] in is_run)) leave($1, $2)
}
# The time of all pauses before a moment; they are in order.
function time_before(d, at,    low, high, i) {
	low = 1
	high = n[d] + 1
	while (low < high) {
		i = int((low + high) / 2)
		if (e[d, i] > at) high = i
		else low = i + 1
	}
	return sum[d, low - 1] + (low <= n[d] && at > b[d, low] ? at - b[d, low] : 0)
}
function stopped(d, begin, end) { return time_before(d, end) - time_before(d, begin) }
END {
	split("1 2 5 10 20 50 100 200 500 1000", ms, " ")
	for (k = 1; k <= domains; k++) {
		d = order[k]
		to = d in until ? until[d] : last
		if (stopping[d]) { b[d, ++n[d]] = since[d]; e[d, n[d]] = to }
		for (i = 1; i <= n[d]; i++) sum[d, i] = sum[d, i - 1] + e[d, i] - b[d, i]
		for (m = 1; m <= 10; m++) {
			w = ms[m] * 1000000
			if (from[d] + w > to) continue
			most = 0
			for (i = 1; i <= n[d]; i++) {
				if (b[d, i] + w <= to && (s = stopped(d, b[d, i], b[d, i] + w)) > most) most = s
				if (e[d, i] - w >= from[d] && (s = stopped(d, e[d, i] - w, e[d, i])) > most) most = s
			}
			# Windows at either end, too.
			if ((s = stopped(d, from[d], from[d] + w)) > most) most = s
			if ((s = stopped(d, to - w, to)) > most) most = s
			printf "%d %d %.6f\n", d, w, 100 * (1 - most / w)
		}
	}
}
