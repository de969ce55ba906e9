(* Functions with known shares of the time, or that call one another in every way there is.
   shares SECONDS: ten, twenty, thirty and forty take so many per cent of the time of main.
   shares SECONDS mixed: loop calls plain, deep, raises, handles, effects, allocates, collects and
   floats, and each of these what its name says; a function calls only what `legal` of the test has
   for it. *)
let sink = ref 0
let[@inline never] spin n x =
  let x = ref x in
  for i = 1 to n do x := (!x * 25214903917) + i done;
  !x

let[@inline never] ten n = let x = ref 1 in for i = 1 to n do x := (!x * 25214903917) + i done; !x
let[@inline never] twenty n = let x = ref 1 in for i = 1 to n do x := (!x * 25214903917) + i done; !x
let[@inline never] thirty n = let x = ref 1 in for i = 1 to n do x := (!x * 25214903917) + i done; !x
let[@inline never] forty n = let x = ref 1 in for i = 1 to n do x := (!x * 25214903917) + i done; !x

(* Lengths are random: no timer keeps step with them. *)
let[@inline never] round () =
  let k = 1 + Random.int 1000 in
  sink := !sink + ten (10 * k) + twenty (20 * k) + thirty (30 * k) + forty (40 * k)

exception Found of int
type _ Effect.t += Ask : int -> int Effect.t

let[@inline never] leaf x = x * 3 + 1
let[@inline never] plain x = leaf (leaf x) + leaf (x + 1)
let[@inline never] rec deep d x = if d = 0 then leaf x else 1 + deep (d - 1) (x + d)
let[@inline never] raiser x = if x land 1 = 0 then raise (Found x) else raise Not_found
let[@inline never] raises x = try raiser x with Found y -> leaf y | Not_found -> leaf (x + 1)
let[@inline never] asks x = Effect.perform (Ask x) + leaf x
let[@inline never] handles x =
  let open Effect.Deep in
  match_with (fun x -> asks (asks x)) x
    { retc = (fun r -> r); exnc = raise;
      effc = fun (type a) (e : a Effect.t) -> match e with
        | Ask y -> Some (fun (k : (a, _) continuation) -> continue k (leaf y))
        | _ -> None }
let[@inline never] rec makes n = if n = 0 then [] else (n, float_of_int n) :: makes (n - 1)
let[@inline never] allocates n = List.length (Sys.opaque_identity (makes n))
let table = Hashtbl.create 64
let[@inline never] collects x =
  Hashtbl.replace table (x land 1023) (string_of_int x, ref x);
  if x land 4095 = 0 then Gc.full_major ();
  String.length (fst (Hashtbl.find table (x land 1023)))
let[@inline never] floats x = int_of_float (Float.pow 1.0001 (float_of_int (x land 255)) +. sin 1.5)
let[@inline never] loop x =
  plain x + deep 12 x + raises x + handles x + allocates (10 + (x land 31)) + collects x + floats x

let () =
  let seconds = float_of_string Sys.argv.(1) in
  let mixed = Array.length Sys.argv > 2 in
  let x = ref 0 in
  while Sys.time () < seconds do
    for _ = 1 to 20 do
      incr x;
      if mixed then sink := !sink + loop !x else round ()
    done
  done;
  sink := spin 1 !sink
