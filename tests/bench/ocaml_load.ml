(* SPDX-License-Identifier: BSD-2-Clause *)
(* What is traced: says "ready", reads a line, does what its arguments say, and prints how many
   seconds that took. usage: load trees DEPTH ROUNDS | small DEPTH ROUNDS | minor N | paced N RATE | busy N |
   pairs N | bursts N PAIRS *)
open Runtime_events

type User.tag += Tag

let number = User.register "load.number" Tag Type.int

type tree = Leaf | Node of tree * tree

let rec make depth = if depth = 0 then Leaf else Node (make (depth - 1), make (depth - 1))
let rec count = function Leaf -> 1 | Node (l, r) -> 1 + count l + count r

(* The binary trees benchmark: one long-lived tree, many short-lived ones of every size. *)
let trees depth rounds =
  for _ = 1 to rounds do
    let kept = make depth in
    let d = ref 4 in
    while !d <= depth do
      for _ = 1 to 1 lsl (depth - !d + 4) do ignore (Sys.opaque_identity (count (make !d))) done;
      d := !d + 4
    done;
    ignore (Sys.opaque_identity (count kept))
  done

(* N events, RATE a second, in batches of half a millisecond. Who is late by more than two of them
   does not catch up: that would be a burst at another rate. *)
let paced n rate =
  let start = ref (Unix.gettimeofday ()) and batch = max 1 (rate / 2000) in
  for i = 1 to n do
    User.write number i;
    if i mod batch = 0 then begin
      let early = !start +. (float i /. float rate) -. Unix.gettimeofday () in
      if early > 0.0001 then Unix.sleepf (early -. 0.00005)
      else if early < -0.001 then start := !start -. early
    end
  done

(* N events with about a microsecond of work before each, and no pause to make up for anything. *)
let busy n =
  let x = ref 1 in
  for i = 1 to n do
    for _ = 1 to 900 do x := (!x * 1103515245) + 12345 done;
    User.write number (Sys.opaque_identity i)
  done;
  ignore (Sys.opaque_identity !x)

(* N pairs, ten calls deep: with the program's own and the loop these are twelve frames. *)
let rec pairs depth n =
  if depth = 0 then for i = 1 to n do ignore (Sys.opaque_identity (i, i)) done
  else begin pairs (depth - 1) n; ignore (Sys.opaque_identity depth) end

(* N times so many pairs, with a pause of a tenth of a second. *)
let bursts n m =
  for _ = 1 to n do
    pairs 9 m;
    Unix.sleepf 0.1
  done

let () =
  prerr_endline "ready";
  (try ignore (input_line stdin) with End_of_file -> ());
  (* The cost of a sample or of a probe is its CPU time, whatever else runs. *)
  let clock = if List.mem Sys.argv.(1) [ "pairs"; "bursts"; "minor"; "small" ] then Sys.time else Unix.gettimeofday in
  let t = clock () in
  let arg i = int_of_string Sys.argv.(i) in
  (match Sys.argv.(1) with
   | "trees" | "small" -> trees (arg 2) (arg 3)
   | "minor" -> for _ = 1 to arg 2 do Gc.minor () done
   | "paced" -> paced (arg 2) (arg 3)
   | "busy" -> busy (arg 2)
   | "pairs" -> pairs 9 (arg 2)
   | "bursts" -> bursts (arg 2) (arg 3)
   | what -> failwith what);
  Printf.printf "%.6f\n" (clock () -. t)
