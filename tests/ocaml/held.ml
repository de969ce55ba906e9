(* SPDX-License-Identifier: BSD-2-Clause *)
(* A domain that is long in C, where no collection can stop it, while another one collects. *)
external spin : int -> unit = "held_spin" [@@noalloc]

let stop = Atomic.make false

let () =
  let other =
    Domain.spawn (fun () ->
      for _ = 1 to 20 do
        spin 20;
        ignore (Sys.opaque_identity (ref 0))
      done;
      Atomic.set stop true)
  in
  while not (Atomic.get stop) do Gc.minor () done;
  Domain.join other
