(* SPDX-License-Identifier: BSD-2-Clause *)
(* OCaml and the probes of libebtrace in one process (both_stubs.c), each with its own ring. *)
external emit : int -> unit = "both_emit"

type Runtime_events.User.tag += Number

let ocaml = Runtime_events.(User.register "both.ocaml" Number Type.int)

let () =
  for i = 1 to 100 do
    emit i;
    Runtime_events.User.write ocaml i;
    if i mod 10 = 0 then Gc.minor ()
  done;
  prerr_endline "ready";
  (try ignore (input_line stdin) with End_of_file -> ());
  emit 101;
  Runtime_events.User.write ocaml 101
