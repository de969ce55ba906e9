(* SPDX-License-Identifier: BSD-2-Clause *)
(* Waits in known functions: waits [SECONDS]. Prints for how long each has waited, in ns. *)

let waited = Hashtbl.create 8

(* A call that returns at once, behind which the function is not a tail call. *)
let[@inline never] add name from =
  let ns = int_of_float (1e9 *. (Unix.gettimeofday () -. from)) in
  Hashtbl.replace waited name (ns + Option.value ~default:0 (Hashtbl.find_opt waited name))

let[@inline never] naps n =
  let from = Unix.gettimeofday () in
  for _ = 1 to n do Unix.sleepf 0.005 done;
  add "naps" from

let[@inline never] reads fd =
  let from = Unix.gettimeofday () in
  let byte = Bytes.create 1 in
  while Unix.read fd byte 0 1 = 1 do () done;
  add "reads" from

(* The collector runs it. *)
let[@inline never] finalises _ =
  let from = Unix.gettimeofday () in
  Unix.sleepf 0.03;
  add "finalises" from

let[@inline never] collects n =
  for _ = 1 to n do
    Gc.finalise finalises (ref 0);
    Gc.full_major ()
  done

type _ Effect.t += Nap : unit Effect.t

let[@inline never] performs () = Effect.perform Nap

(* Its handler waits, outside of the fiber. *)
let[@inline never] handles n =
  for _ = 1 to n do
    Effect.Deep.match_with performs ()
      { retc = (fun () -> ());
        exnc = raise;
        effc = (fun (type a) (e : a Effect.t) ->
          match e with
          | Nap -> Some (fun (k : (a, _) Effect.Deep.continuation) ->
            naps 2;
            Effect.Deep.continue k ())
          | _ -> None) }
  done

let[@inline never] fiber n =
  for _ = 1 to n do
    Effect.Deep.match_with (fun () -> naps 2; ()) ()
      { retc = (fun () -> ()); exnc = raise; effc = (fun _ -> None) }
  done

let () =
  let n = if Array.length Sys.argv > 1 then int_of_string Sys.argv.(1) else 20 in
  let from, into = Unix.pipe () in
  let writer = Domain.spawn (fun () ->
    for _ = 1 to n do
      Unix.sleepf 0.008;
      ignore (Unix.write_substring into "x" 0 1)
    done;
    Unix.close into) in
  reads from;
  Domain.join writer;
  naps n;
  collects 5;
  handles 5;
  fiber 5;
  Hashtbl.iter (Printf.printf "%s %d\n") waited
