(* SPDX-License-Identifier: BSD-2-Clause *)
(* A short OCaml program: ten minor collections. *)
let () =
  for _ = 1 to 10 do
    Gc.minor ()
  done
