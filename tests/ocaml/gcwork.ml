(* SPDX-License-Identifier: BSD-2-Clause *)
(* A program that makes the collector work in several domains, with user events of every type.
   usage: gcwork DOMAINS ROUNDS [wait]; `wait`: says "ready" and reads a line first. Prints
   "KIND NAME COUNT" for the user events that it wrote. *)
open Runtime_events

type User.tag += Unit_tag | Int_tag | Span_tag | Text_tag

let text_type =
  Type.register
    ~encode:(fun b s -> Bytes.blit_string s 0 b 0 (String.length s); String.length s)
    ~decode:(fun b n -> Bytes.sub_string b 0 n)

let tick = User.register "gcwork.tick" Unit_tag Type.unit
let size = User.register "gcwork.size" Int_tag Type.int
let round = User.register "gcwork.round" Span_tag Type.span
let text = User.register "gcwork.text" Text_tag text_type

type tree = Leaf | Node of tree * int * tree

let rec build depth = if depth = 0 then Leaf else Node (build (depth - 1), depth, build (depth - 1))
let rec count = function Leaf -> 0 | Node (l, _, r) -> count l + 1 + count r

let work rounds index =
  let kept = Array.make 64 Leaf in
  for i = 1 to rounds do
    User.write round Type.Begin;
    kept.(i land 63) <- build (6 + (i + index) mod 6);
    User.write tick ();
    User.write size (count kept.(i land 63));
    User.write text (String.make (i mod 40) 'x');
    if i mod 5 = 0 then Gc.minor ();
    User.write round Type.End
  done

let () =
  let domains = int_of_string Sys.argv.(1) and rounds = int_of_string Sys.argv.(2) in
  if Array.length Sys.argv > 3 then begin
    prerr_endline "ready";
    ignore (input_line stdin)
  end;
  let others = List.init (domains - 1) (fun i -> Domain.spawn (fun () -> work rounds (i + 1))) in
  work rounds 0;
  List.iter Domain.join others;
  let n = domains * rounds in
  List.iter (fun (kind, name) -> Printf.printf "%s %s %d\n" kind name n)
    [ "custom", "gcwork.text"; "int", "gcwork.size"; "span_begin", "gcwork.round";
      "span_end", "gcwork.round"; "unit", "gcwork.tick" ]
