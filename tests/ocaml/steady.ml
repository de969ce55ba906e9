(* SPDX-License-Identifier: BSD-2-Clause *)
(* Domains that do the same again and again, as long as stdin is open: they build, search, raise,
   perform, compute and collect. Prints how many times each domain did so, and how many of its
   results were others than at first.
   usage: steady DOMAINS *)
type tree = Leaf | Node of tree * int * tree
type _ Effect.t += Ask : int -> int Effect.t

exception Found of int

let rec build depth n = if depth = 0 then Leaf else Node (build (depth - 1) (2 * n), n, build (depth - 1) (2 * n + 1))
let rec sum = function Leaf -> 0 | Node (l, n, r) -> sum l + n + sum r
let rec find n = function
  | Leaf -> ()
  | Node (l, m, r) -> if n = m then raise (Found (m * 7)) else (find n l; find n r)
let asked x =
  let open Effect.Deep in
  match_with (fun x -> Effect.perform (Ask x) + Effect.perform (Ask (x + 1))) x
    { retc = Fun.id; exnc = raise;
      effc = fun (type a) (e : a Effect.t) -> match e with
        | Ask y -> Some (fun (k : (a, _) continuation) -> continue k (y * 3))
        | _ -> None }

let work () =
  let tree = build 9 1 and floats = ref 0. and asks = ref 0 in
  for i = 1 to 50 do
    floats := (!floats +. sqrt (float_of_int i)) *. 1.0001;
    asks := !asks + asked i + (try find (i * 5) tree; 0 with Found n -> n)
  done;
  Hashtbl.hash_param 100 1000 (sum tree, !floats, !asks, Printf.sprintf "%d %h" !asks !floats)

let () =
  let domains = int_of_string Sys.argv.(1) and ends = Atomic.make false and first = work () in
  let run () =
    let times = ref 0 and others = ref 0 in
    while not (Atomic.get ends) do
      incr times;
      if work () <> first then incr others;
      if !times land 255 = 0 then Gc.major ()
    done;
    (!times, !others)
  in
  let running = List.init domains (fun _ -> Domain.spawn run) in
  print_endline "ready";
  (try while true do ignore (input_char stdin) done with End_of_file -> ());
  Atomic.set ends true;
  List.iter (fun d -> let times, others = Domain.join d in Printf.printf "%d %d\n" times others) running
