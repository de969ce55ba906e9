# SPDX-License-Identifier: BSD-2-Clause
# Many command lines, run by one process in this directory, whose libraries are linked once (serve.c); sourced.

# serve PROGRAM: begins it.
serve() { coproc SERVE { LD_BIND_NOW=1 exec "$1"; }; }
# run FILE ARGS...: one command line. What it prints is put behind FILE's end, and in `err`; its status is in $status.
run() {
	printf '%s\0' "$1" $(($# - 1)) "${@:2}" >&"${SERVE[1]}"
	read -r status <&"${SERVE[0]}" || exit 1
}
# served: ends it.
served() {
	local server=$SERVE_PID
	exec {SERVE[1]}>&-
	wait "$server"
}
