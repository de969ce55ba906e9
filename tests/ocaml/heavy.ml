(* SPDX-License-Identifier: BSD-2-Clause *)
(* A program that does one thing most of the time.
   usage: heavy allocates|deep|strings SECONDS *)
type tree = Leaf | Node of tree * tree

module Names = Map.Make (String)

let rec build depth = if depth = 0 then Leaf else Node (build (depth - 1), build (depth - 1))
let rec count = function Leaf -> 0 | Node (l, r) -> count l + 1 + count r
let allocates () = count (build 14)

(* Not by tail calls: a list as long as this has as many frames. *)
let rec twice = function [] -> [] | x :: rest -> let y = 2 * x in y :: twice rest
let rec sum = function [] -> 0 | x :: rest -> x + sum rest
let numbers = List.init 700 Fun.id
let deep () = sum (twice numbers)

let strings () =
  let add names i = Names.add (string_of_int (i * 7919 land 4095)) i names in
  let names = List.fold_left add Names.empty (List.init 500 Fun.id) in
  Names.fold (fun name i n -> n + i + String.length (Printf.sprintf "%s %d" name i)) names 0

let () =
  let work = match Sys.argv.(1) with "allocates" -> allocates | "deep" -> deep | _ -> strings in
  let until = float_of_string Sys.argv.(2) and n = ref 0 in
  while Sys.time () < until do
    for _ = 1 to 10 do n := !n + work () done
  done;
  print_int (Sys.opaque_identity !n land 1)
