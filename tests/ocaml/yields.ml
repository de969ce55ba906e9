(* SPDX-License-Identifier: BSD-2-Clause *)
(* Finalisers that Gc.full_major runs give way to another thread of the domain, which works for
   100 ms, with minor collections of its own, before the first one comes back. *)
let stop = ref false
let spin seconds =
  let until = Unix.gettimeofday () +. seconds in
  while Unix.gettimeofday () < until do () done
let work () =
  while not !stop do
    spin 0.05;
    Gc.minor ();
    Thread.yield ()
  done
let () =
  let t = Thread.create work () in
  for _ = 1 to 5 do
    let r = ref (Sys.opaque_identity 1) in
    Gc.finalise (fun _ -> Thread.delay 0.1) r;
    ignore (Sys.opaque_identity !r);
    Gc.full_major ()
  done;
  stop := true;
  Thread.join t
