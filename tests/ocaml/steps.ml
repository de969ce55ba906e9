(* Calls, exceptions, effects, C, callbacks and collections, once each, between the two marks: each
   function calls what its name says. It is stepped by tests/prog/stepper_x86_64.c. *)
open Effect
open Effect.Deep

external mark : int -> unit = "steps_mark_bytes" "steps_mark" [@@noalloc] [@@untagged]
external noalloc : (int[@untagged]) -> (int[@untagged]) = "steps_bytes" "steps_noalloc" [@@noalloc]
external calls : int -> int = "steps_call"
external many : int -> int -> int -> int -> int -> int -> int -> int -> int = "steps_bytes" "steps_many"
external calls_back : (int -> int) -> int -> int = "steps_call_back"
external fails : int -> int = "steps_fail"

exception Found of int
type _ Effect.t += Ask : int -> int Effect.t | Outer : int -> int Effect.t | Nobody : int Effect.t
type _ Effect.t += Drop : int Effect.t

let[@inline never] leaf x = x * 3 + 1
let[@inline never] tail x = leaf (x + 2)
let[@inline never] plain x = leaf (leaf x) + tail (x + 1)
let[@inline never] rec deep d x = if d = 0 then leaf x else 1 + deep (d - 1) (x + d)
let[@inline never] many_args a b c d e f g h i j k l = leaf (a + b + c) + d + e + f + g + h + i + j + k + l
let[@inline never] spills x = many_args x 1 2 3 4 5 6 7 8 9 10 x + leaf x
let[@inline never] applies f x = f x (leaf x) + 1
let[@inline never] curries x = applies (Sys.opaque_identity (fun a b -> leaf a + b)) x

let[@inline never] raiser x = if x land 1 = 0 then raise (Found x) else raise_notrace Not_found
let[@inline never] rec raises_deep d x = if d = 0 then raiser x else 1 + raises_deep (d - 1) x
let[@inline never] raises x = try raises_deep 3 x with Found y -> leaf y | Not_found -> leaf (x + 1)
let[@inline never] again x = try raises_deep 2 x with Found y when y < 0 -> leaf y
let[@inline never] reraises x = try again x with Found y -> leaf y | Not_found -> leaf x
let[@inline never] bounds a x = try a.(x) with Invalid_argument _ -> leaf x
let[@inline never] from_c x = try fails x + leaf x with Failure _ -> leaf (x + 1)

let[@inline never] asks x = perform (Ask x) + leaf x
let[@inline never] asks_outer x = perform (Outer x) + leaf x
let[@inline never] nobody x = try perform Nobody with Unhandled _ -> leaf x
let[@inline never] drops x = perform Drop + x
let[@inline never] inner x =
  match_with (fun x -> asks (asks_outer x)) x
    { retc = (fun r -> leaf r); exnc = raise;
      effc = fun (type a) (e : a Effect.t) -> match e with
        | Ask y -> Some (fun (k : (a, _) continuation) -> continue k (leaf y))
        | _ -> None }
let[@inline never] handles f x =
  match_with f x
    { retc = (fun r -> leaf r); exnc = (function Found y -> leaf y | _ -> leaf 0);
      effc = fun (type a) (e : a Effect.t) -> match e with
        | Outer y -> Some (fun (k : (a, _) continuation) -> continue k (leaf y))
        | Ask y -> Some (fun (k : (a, _) continuation) -> discontinue k (Found y))
        | Drop -> Some (fun (_ : (a, _) continuation) -> leaf 7)
        | _ -> None }
let[@inline never] in_fiber x = 1 + deep 100 x

let[@inline never] back x = noalloc (leaf x) + 1
let[@inline never] back_raises x = if x > 0 then raise (Found x) else leaf x
let[@inline never] back_asks x = asks x + 1
let[@inline never] through_c x =
  calls_back back x + (try calls_back back_raises (x + 1) with Found y -> leaf y)
let[@inline never] effect_in_c x = try calls_back back_asks x with Unhandled _ -> leaf x
let[@inline never] foreign x = noalloc x + calls x + many 1 2 3 4 5 6 7 x

let[@inline never] rec makes n = if n = 0 then [] else (n, float_of_int n) :: makes (n - 1)
let[@inline never] allocates n = List.length (Sys.opaque_identity (makes n))
let[@inline never] polls n = let x = ref 0 in for i = 1 to n do x := !x + i done; !x

let[@inline never] all x =
  plain x + deep 5 x + spills x + curries x + raises x + raises (x + 1) + reraises x + reraises (x + 1)
  + bounds [| x |] 5 + from_c x + handles inner x + handles asks x + handles nobody x + handles drops x
  + handles reraises x + handles raiser x + handles in_fiber x + handles foreign x + handles through_c x
  + foreign x + through_c x + effect_in_c x + allocates 40 + handles allocates 40 + polls 5 + leaf 1

let () =
  Printexc.record_backtrace false;
  let sum = ref (all 2) in
  mark 0;
  sum := !sum + all 4;
  Printexc.record_backtrace true;
  sum := !sum + raises 2 + handles reraises 4;
  mark 1;
  print_int !sum
