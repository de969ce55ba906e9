(* SPDX-License-Identifier: BSD-2-Clause *)
(* A program that does nothing special: builds binary trees and counts their nodes.
   usage: trees DOMAINS ROUNDS [REST]: it sleeps for REST ms after each 4th round *)
type tree = Leaf | Node of tree * tree

let rec build depth = if depth = 0 then Leaf else Node (build (depth - 1), build (depth - 1))
let rec count = function Leaf -> 0 | Node (l, r) -> count l + 1 + count r

let work rounds rest =
  let kept = Array.make 16 Leaf and nodes = ref 0 in
  for i = 1 to rounds do
    let t = build (8 + (i mod 8)) in
    nodes := !nodes + count t;
    kept.(i land 15) <- t;
    if rest > 0. && i land 3 = 0 then Unix.sleepf rest
  done;
  !nodes

let () =
  let domains = int_of_string Sys.argv.(1) and rounds = int_of_string Sys.argv.(2)
  and rest = if Array.length Sys.argv > 3 then float_of_string Sys.argv.(3) /. 1000. else 0. in
  let others = List.init (domains - 1) (fun _ -> Domain.spawn (fun () -> work rounds rest)) in
  let mine = work rounds rest in
  Printf.printf "%d\n" (List.fold_left (fun n d -> n + Domain.join d) mine others)
