(* SPDX-License-Identifier: BSD-2-Clause *)
(* Collects all the time, switches its ring on at the first byte on stdin, and ends with stdin. Says
   "ready" first, and "on" when that is done. *)
let byte = Bytes.create 1

let rec work () =
  for _ = 1 to 5 do
    Gc.minor ()
  done;
  match Unix.select [ Unix.stdin ] [] [] 0.002 with
  | [], _, _ -> work ()
  | _ ->
    if Unix.read Unix.stdin byte 0 1 = 1 then begin
      Runtime_events.start ();
      print_endline "on";
      work ()
    end

let () =
  print_endline "ready";
  work ()
