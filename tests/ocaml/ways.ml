(* ways SECONDS WAY: ten, twenty, thirty and forty take so many per cent of its CPU time, in OCaml or
   in C, and are called in this way, or in all of them in turn. *)
open Effect.Deep

type _ Effect.t += Ask : int -> int Effect.t
exception Found of int

let[@inline never] ten n = let x = ref 1 in for i = 1 to n do x := (!x * 25214903917) + i done; !x
let[@inline never] twenty n = let x = ref 1 in for i = 1 to n do x := (!x * 25214903917) + i done; !x
let[@inline never] thirty n = let x = ref 1 in for i = 1 to n do x := (!x * 25214903917) + i done; !x
let[@inline never] forty n = let x = ref 1 in for i = 1 to n do x := (!x * 25214903917) + i done; !x

external c_ten : (int[@untagged]) -> (int[@untagged]) = "ways_byte" "ways_ten"
external c_twenty : (int[@untagged]) -> (int[@untagged]) = "ways_byte" "ways_twenty"
external c_thirty : (int[@untagged]) -> (int[@untagged]) = "ways_byte" "ways_thirty"
external c_forty : (int[@untagged]) -> (int[@untagged]) = "ways_byte" "ways_forty"
external n_ten : (int[@untagged]) -> (int[@untagged]) = "ways_byte" "ways_ten" [@@noalloc]
external n_twenty : (int[@untagged]) -> (int[@untagged]) = "ways_byte" "ways_twenty" [@@noalloc]
external n_thirty : (int[@untagged]) -> (int[@untagged]) = "ways_byte" "ways_thirty" [@@noalloc]
external n_forty : (int[@untagged]) -> (int[@untagged]) = "ways_byte" "ways_forty" [@@noalloc]
external callback : (int -> int) -> int -> int = "ways_callback"

let ocaml = [| ten; twenty; thirty; forty |]
let stubs = Array.map (fun f n -> f n + 1) [| c_ten; c_twenty; c_thirty; c_forty |]
let noalloc =
  [| (fun n -> n_ten n + 1); (fun n -> n_twenty n + 1); (fun n -> n_thirty n + 1);
     (fun n -> n_forty n + 1) |]

let direct f n = f n
let fiber (f : int -> int) n = match_with f n { retc = Fun.id; exnc = raise; effc = (fun _ -> None) }
let handler (f : int -> int) n =
  match_with (fun n -> 1 + Effect.perform (Ask n)) n
    { retc = Fun.id; exnc = raise;
      effc = fun (type a) (e : a Effect.t) -> match e with
        | Ask n -> Some (fun (k : (a, _) continuation) -> continue k (f n))
        | _ -> None }
let[@inline never] raiser f n = raise (Found (f n))
let caught f n = try raiser f n with Found x -> x

let ways =
  [ "ocaml", (ocaml, direct); "stub", (stubs, direct); "noalloc", (noalloc, direct);
    "callback", (ocaml, callback); "fiber", (ocaml, fiber); "handler", (ocaml, handler);
    "exception", (ocaml, caught); "domain", (ocaml, direct); "thread", (ocaml, direct) ]

(* Lengths are random: no timer keeps step with them. *)
let round (functions, way) =
  let n = 100 * (1 + Random.int 1000) in
  Array.iteri (fun i f -> ignore (Sys.opaque_identity (way f ((i + 1) * n)))) functions

let rec loop seconds these =
  if Sys.time () < seconds then begin
    List.iter (fun (_, way) -> round way) these;
    loop seconds these
  end

let () =
  let seconds = float_of_string Sys.argv.(1) and name = Sys.argv.(2) in
  let is wanted = name = wanted || name = "all" in
  let these = List.filter (fun (way, _) -> is way) ways in
  let thread = if is "thread" then Some (Thread.create (loop seconds) these) else None in
  let domain =
    if is "domain" then Some (Domain.spawn (fun () -> loop seconds these)) else None in
  loop seconds these;
  Option.iter Thread.join thread;
  Option.iter Domain.join domain
