(* SPDX-License-Identifier: BSD-2-Clause *)
(* A program that does nothing special: builds binary trees and counts their nodes.
   usage: trees DOMAINS ROUNDS *)
type tree = Leaf | Node of tree * tree

let rec build depth = if depth = 0 then Leaf else Node (build (depth - 1), build (depth - 1))
let rec count = function Leaf -> 0 | Node (l, r) -> count l + 1 + count r

let work rounds =
  let kept = Array.make 16 Leaf and nodes = ref 0 in
  for i = 1 to rounds do
    let t = build (8 + (i mod 8)) in
    nodes := !nodes + count t;
    kept.(i land 15) <- t
  done;
  !nodes

let () =
  let domains = int_of_string Sys.argv.(1) and rounds = int_of_string Sys.argv.(2) in
  let others = List.init (domains - 1) (fun _ -> Domain.spawn (fun () -> work rounds)) in
  let mine = work rounds in
  Printf.printf "%d\n" (List.fold_left (fun n d -> n + Domain.join d) mine others)
