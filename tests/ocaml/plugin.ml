(* SPDX-License-Identifier: BSD-2-Clause *)
(* A library with an OCaml runtime in it, one of several in a process: ten events of its own name,
   when it is started. *)
type Runtime_events.User.tag += Number

let () =
  let own = Filename.(remove_extension (basename Sys.argv.(0))) in
  let ev = Runtime_events.(User.register ("plugin." ^ own) Number Type.int) in
  for i = 1 to 10 do Runtime_events.User.write ev i done;
  Gc.minor ()
