(* SPDX-License-Identifier: BSD-2-Clause *)
(* Makes the collector of several domains work, then prints what the runtime itself has counted:
   "NAME NUMBER", whole numbers. The last collection leaves no words uncounted but those of the
   printing.
   usage: gcstat DOMAINS ROUNDS *)
type tree = Leaf | Node of tree * int * tree

let rec build depth = if depth = 0 then Leaf else Node (build (depth - 1), depth, build (depth - 1))

let work rounds index =
  let kept = Array.make 64 Leaf in
  for i = 1 to rounds do
    kept.(i land 63) <- build (8 + ((i + index) mod 6));
    if i mod 50 = 0 then Gc.minor ()
  done;
  ignore (Sys.opaque_identity kept)

let () =
  let domains = int_of_string Sys.argv.(1) and rounds = int_of_string Sys.argv.(2) in
  let others = List.init (domains - 1) (fun i -> Domain.spawn (fun () -> work rounds (i + 1))) in
  work rounds 0;
  List.iter Domain.join others;
  (* Domains again, in the same slots. *)
  List.iter Domain.join (List.init (domains - 1) (fun i -> Domain.spawn (fun () -> work 20 i)));
  Gc.full_major ();
  Gc.compact ();
  let s = Gc.quick_stat () in
  Printf.printf "minor %d\nmajor %d\ncompactions %d\n" s.minor_collections s.major_collections
    s.compactions;
  Printf.printf "minor_words %.0f\npromoted_words %.0f\nmajor_words %.0f\n" s.minor_words
    s.promoted_words s.major_words
