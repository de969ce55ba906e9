(* SPDX-License-Identifier: BSD-2-Clause *)
(* Collects, switches its own ring on, and collects again. usage: lategc N: N collections before
   and N after, and N user events of each constant type written past the library's own check, which
   drops them while the ring is off. Reads a line first; prints nothing. *)
open Runtime_events

external write_anyway : Bytes.t -> 'a User.t -> 'a -> unit = "caml_runtime_events_user_write"

type User.tag += Tag

let tick = User.register "lategc.tick" Tag Type.unit
let size = User.register "lategc.size" Tag Type.int
let round = User.register "lategc.round" Tag Type.span

let () =
  let n = int_of_string Sys.argv.(1) in
  prerr_endline "ready";
  ignore (input_line stdin);
  let room = Bytes.create 1024 in
  for i = 1 to n do
    write_anyway room round Type.Begin;
    write_anyway room tick ();
    write_anyway room size (-i);
    Gc.minor ();
    write_anyway room round Type.End
  done;
  start ();
  for _ = 1 to n do
    Gc.minor ()
  done
