(* SPDX-License-Identifier: BSD-2-Clause *)
(* OCaml's read_poll, HZ times a second as olly does it (at 10), or without a pause (0), until the
   program ends: prints the user events that it got and the words that it lost. Says "ready" first.
   usage: poller DIR PID HZ *)
open Runtime_events

let () =
  let dir = Sys.argv.(1) and pid = int_of_string Sys.argv.(2) in
  let hz = float_of_string Sys.argv.(3) in
  let events = ref 0 and lost = ref 0 and ended = ref false in
  let cb =
    Callbacks.create ()
      ~lifecycle:(fun _ _ what _ -> if what = EV_RING_STOP then ended := true)
      ~lost_events:(fun _ words -> lost := !lost + words)
    |> Callbacks.add_user_event Type.int (fun _ _ _ _ -> incr events)
  in
  let cursor = create_cursor (Some (dir, pid)) in
  ignore (read_poll cursor cb None);
  prerr_endline "ready";
  while not !ended do
    ignore (read_poll cursor cb None);
    if hz > 0. && not !ended then Unix.sleepf (1. /. hz)
  done;
  Printf.printf "%d %d\n" !events !lost
