(* SPDX-License-Identifier: BSD-2-Clause *)
(* Forks N children, 64 at a time, each of which waits for SECONDS (0.5), then collects 3 times;
   then executes itself M times, and waits and collects 3 times in each. usage: manykids N M
   [SECONDS]; reads a line first. *)
let seconds = if Array.length Sys.argv > 3 then Sys.argv.(3) else "0.5"

let collect () =
  Unix.sleepf (float_of_string seconds);
  for _ = 1 to 3 do
    Gc.minor ()
  done

let rec fork_children live left =
  if left > 0 && live < 64 then
    match Unix.fork () with
    | 0 ->
      collect ();
      Unix._exit 0
    | _ -> fork_children (live + 1) (left - 1)
  else if live > 0 then begin
    ignore (Unix.wait ());
    fork_children (live - 1) left
  end

let () =
  let children = int_of_string Sys.argv.(1) and execs = int_of_string Sys.argv.(2) in
  if Array.length Sys.argv < 5 then begin
    prerr_endline "ready";
    ignore (input_line stdin);
    fork_children 0 children
  end
  else collect ();
  if execs > 0 then
    Unix.execv Sys.executable_name
      [| Sys.argv.(0); "0"; string_of_int (execs - 1); seconds; "again" |]
