(* SPDX-License-Identifier: BSD-2-Clause *)
(* What embed.c calls: N collections. *)
let () =
  Callback.register "work" (fun n ->
      for _ = 1 to n do
        Gc.minor ()
      done)
