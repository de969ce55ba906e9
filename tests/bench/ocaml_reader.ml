(* SPDX-License-Identifier: BSD-2-Clause *)
(* OCaml's read_poll over the ring DIR/PID.events: hundredths of a ns an event, best of 50. *)
open Runtime_events

let once dir pid =
  let events = ref 0 in
  let cb =
    Callbacks.create ()
      ~runtime_begin:(fun _ _ _ -> incr events)
      ~runtime_end:(fun _ _ _ -> incr events)
      ~runtime_counter:(fun _ _ _ _ -> incr events)
  in
  let cursor = create_cursor (Some (dir, pid)) in
  let t = Unix.gettimeofday () in
  while read_poll cursor cb None > 0 do () done;
  let t = Unix.gettimeofday () -. t in
  free_cursor cursor;
  t *. 1e11 /. float (max 1 !events)

let () =
  let dir = Sys.argv.(1) and pid = int_of_string Sys.argv.(2) in
  let best = ref infinity in
  for _ = 1 to 50 do best := min !best (once dir pid) done;
  Printf.printf "read_poll %d\n" (int_of_float !best)
