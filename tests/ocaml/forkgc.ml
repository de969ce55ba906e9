(* SPDX-License-Identifier: BSD-2-Clause *)
(* Collects N times, then forks a child that waits, collects 2 N times and exits with 7; exits with
   the child's status. Reads a line first. *)
let () =
  let n = int_of_string Sys.argv.(1) in
  prerr_endline "ready";
  ignore (input_line stdin);
  for _ = 1 to n do
    Gc.minor ()
  done;
  match Unix.fork () with
  | 0 ->
    Unix.sleepf 0.5;
    for _ = 1 to 2 * n do
      Gc.minor ()
    done;
    exit 7
  | child -> (
    match Unix.waitpid [] child with
    | _, Unix.WEXITED status -> exit status
    | _ -> exit 1)
