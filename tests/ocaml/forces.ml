(* SPDX-License-Identifier: BSD-2-Clause *)
(* forces calls|none: marks and sweeps a large heap, because it asks for that, or since it allocates there. *)
let keep = Array.init 400_000 (fun i -> ref i)
let[@inline never] force () = Gc.full_major (); ignore (Sys.opaque_identity 0)

let allocate rounds =
  for i = 1 to rounds do
    ignore (Sys.opaque_identity (Array.make 400 i));
    ignore (Sys.opaque_identity (List.init 100 Fun.id))
  done

let () =
  if Sys.argv.(1) = "calls" then
    for _ = 1 to 12 do
      allocate 10;
      force ()
    done
  else allocate 60_000;
  ignore (Sys.opaque_identity keep.(0))
