(* Allocates at known sites. After each line of a stack that it prints, it allocates there. *)
external call_back : (unit -> unit) -> unit = "sites_call_back"

let sink = ref (Obj.repr 0)
let keep x = sink := Obj.repr x

(* ---- shares: the sites differ in what they allocate, at random, as a period would alias; with more
   large ones the runtime would empty minor heaps before half of them is used ---- *)

let[@inline never] pair n = keep (n, n)
let[@inline never] list n = keep [ n; n; n ]
let[@inline never] array n = keep (Array.make 20 n)
let[@inline never] bytes n = keep (Bytes.create (8 * (1 + (n land 31))))
let[@inline never] large n = keep (Array.make 1000 n)

let shares n =
  Random.init 42;
  let words = Array.make 5 0 in
  let add i n = words.(i) <- words.(i) + n in
  for i = 1 to n do
    let x = Random.bits () land 1023 in
    if x < 500 then (pair i; add 0 3)
    else if x < 700 then (list i; add 1 9)
    else if x < 850 then (array i; add 2 21)
    else if x < 1023 then (bytes i; add 3 (3 + (i land 31)))
    else (large i; add 4 1001)
  done;
  Array.iteri (fun i w -> Printf.printf "%s %d\n" [| "pair"; "list"; "array"; "bytes"; "large" |].(i) w) words

(* ---- large ones of very different sizes: 258 words, 3,001, and a few of 2,000,001; 3 GB in a second at
   most, as beyond 6 some are in no sample ---- *)

let[@inline never] small n = keep (Array.make 257 n)
let[@inline never] middle n = keep (Array.make 3000 n)
let[@inline never] huge bytes = keep (Bytes.create bytes)

let sizes n =
  Random.init 42;
  let words = Array.make 3 0 in
  let add i n = words.(i) <- words.(i) + n in
  let last_s = ref (Unix.gettimeofday ()) in
  for i = 1 to n do
    if i mod 4000 = 0 then begin
      Unix.sleepf (Float.max 0. (!last_s +. 0.01 -. Unix.gettimeofday ()));
      last_s := Unix.gettimeofday ()
    end;
    let x = Random.bits () land 1023 in
    if i mod 10000 = 1000 then (huge 15_999_999; add 2 2_000_001)
    else if x < 900 then (small i; add 0 258)
    else (middle i; add 1 3001)
  done;
  Array.iteri (fun i w -> Printf.printf "%s %d\n" [| "small"; "middle"; "huge" |].(i) w) words

(* ---- the same two sites in turn: 5 words and 2 ---- *)

let[@inline never] four n = keep (n, n, n, n)
let[@inline never] one n = keep (ref n)

let in_turn n =
  for i = 1 to n do four i; one i done;
  Printf.printf "four %d\none %d\n" (5 * n) (2 * n)

(* Of 1024 times one is followed by a pair, at random. *)
let apart n =
  Random.init 42;
  let pairs = ref 0 in
  for i = 1 to n do
    four i; one i;
    if Random.bits () land 1023 = 0 then (pair i; incr pairs)
  done;
  Printf.printf "four %d\none %d\npair %d\n" (5 * n) (2 * n) (3 * !pairs)

(* ---- four sites, at random, of 65.6, 26.2, 4.9 and 3.3 % of all words ---- *)

let in_four n =
  Random.init 1;
  let words = Array.make 4 0 in
  let add i n = words.(i) <- words.(i) + n in
  for i = 1 to n do
    let x = Random.bits () land 1023 in
    if x < 504 then (four i; add 0 5)
    else if x < 840 then (pair i; add 1 3)
    else if x < 932 then (one i; add 2 2)
    else if x < 1010 then ()
    else (list i; add 3 9)
  done;
  Array.iteri (fun i w -> Printf.printf "%s %d\n" [| "four"; "pair"; "one"; "list" |].(i) w) words

(* ---- stacks ---- *)

let text slot =
  match Printexc.Slot.(location slot, name slot) with
  | Some l, Some name ->
    [ Printf.sprintf "%s@%s:%d:%d-%d" name l.filename l.line_number l.start_char l.end_char ]
  | _ -> []

(* The callers of the function that calls this, the outermost first. *)
let[@inline never] show () =
  let slots = Option.get (Printexc.backtrace_slots (Printexc.get_callstack 1000)) in
  let all = List.concat_map text (Array.to_list slots) in
  let rec drop = function
    | s :: rest when not (String.starts_with ~prefix:"Sites.show" s) -> drop rest
    | _ :: _ :: rest -> rest
    | rest -> rest
  in
  print_endline (String.concat " " (List.rev (drop all)))

let[@inline never] allocate () =
  show ();
  for i = 1 to 400_000 do keep [ i; i ] done

let[@inline never] allocate_in_c () =
  show ();
  for i = 1 to 100_000 do keep (Bytes.create (100 + (i land 7))) done

let rec deep n = if n = 0 then allocate () else (deep (n - 1); keep n)

let[@inline always] inner x = allocate (); x + 1
let[@inline always] outer x = inner x + 1
let[@inline never] inlined () = keep (outer 1)

type _ Effect.t += Ask : int Effect.t

let in_fiber f =
  Effect.Deep.match_with f ()
    { retc = Fun.id;
      exnc = raise;
      effc = (fun (type a) (e : a Effect.t) ->
        match e with
        | Ask -> Some (fun (k : (a, _) Effect.Deep.continuation) -> Effect.Deep.continue k 1)
        | _ -> None) }

let[@inline never] fiber () =
  in_fiber (fun () ->
    keep (Effect.perform Ask);
    in_fiber (fun () ->
      keep (Effect.perform Ask);
      allocate ();
      keep 1);
    keep 2);
  keep 3

let[@inline never] from_c () =
  call_back (fun () ->
    in_fiber (fun () -> call_back (fun () -> allocate (); allocate_in_c (); keep 1));
    keep 2);
  keep 3

let[@inline never] guarded () = try allocate (); keep 1 with Not_found -> keep 2

let stacks () =
  deep 5;
  deep 100;
  inlined ();
  fiber ();
  from_c ();
  guarded ();
  allocate_in_c ();
  Domain.join (Domain.spawn (fun () -> fiber (); from_c ()))

(* ---- heaps that are emptied before half of them is used, and now and then one that is not ---- *)

let emptied rounds =
  let words = 3 * 33_000 in
  for _ = 1 to rounds do
    for _ = 1 to 40 do
      for i = 1 to words / 3 do pair i done;
      Gc.minor ()
    done;
    for i = 1 to 16_000 do list i done;
    Gc.minor ()
  done;
  Printf.printf "pair %d\nlist %d\n" (40 * words * rounds) (9 * 16_000 * rounds)

(* ---- marshalled values: of more than 256 words, and of fewer; by two ways that are probed, and one of C
   that is not; what the runtime counts is printed, too ---- *)

external value_of_block : string -> Obj.t = "sites_value_of_block"

let[@inline never] of_string s = keep (Marshal.from_string s 0)
let[@inline never] of_block s = keep (value_of_block s)
let[@inline never] of_channel ic = seek_in ic 0; keep (input_value ic)

(* A value that is too short for what its head says is refused when it is read. *)
let[@inline never] of_short s = try keep (Marshal.from_string s 0) with _ -> ()

let unmarshal n =
  let value = Array.init 300 (fun i -> (i, string_of_int i, [ float_of_int i ])) in
  let text = Marshal.to_string value [] in
  let short = Marshal.to_string [ 1; 2; 3 ] [] in
  let words = Obj.reachable_words (Obj.repr value) in
  let name = Filename.temp_file "sites" ".value" in
  let oc = open_out_bin name in
  output_string oc text;
  close_out oc;
  let ic = open_in_bin name in
  for i = 1 to n do
    of_string text;
    if i mod 4 = 0 then (of_channel ic; large i);
    if i mod 8 = 0 then of_block text;
    of_string short;
    of_short (String.sub text 0 100)
  done;
  close_in ic;
  Sys.remove name;
  let minor, promoted, major = Gc.counters () in
  Printf.printf "Stdlib__Marshal.from_bytes %d\nSites.of_channel %d\nSites.large %d\nblock %d\nall %.0f\n"
    (words * n) (n / 4 * words) (n / 4 * 1001) (n / 8 * words) (minor +. major -. promoted)

(* ---- domains in step: only the first one uses up half of its minor heap ---- *)

let unit_pairs = 4000

let domains rounds =
  let at = Array.init 4 (fun _ -> Atomic.make 0) in
  let body i tenths () =
    for r = 1 to rounds do
      for k = 1 to unit_pairs * tenths / 10 do ignore (Sys.opaque_identity (k, k)) done;
      Atomic.incr at.(i);
      Array.iter (fun a -> while Atomic.get a < r do Domain.cpu_relax () done) at
    done
  in
  let others = List.map (fun (i, t) -> Domain.spawn (body i t)) [ (1, 4); (2, 4); (3, 1) ] in
  body 0 10 ();
  List.iter Domain.join others;
  Printf.printf "%d %d\n" (3 * unit_pairs * rounds) (3 * unit_pairs * rounds * 9 / 10)

let () =
  if Array.length Sys.argv > 4 then Unix.execv Sys.executable_name (Array.sub Sys.argv 0 4);
  if Array.length Sys.argv > 3 then ignore (input_char stdin);
  let n = int_of_string Sys.argv.(2) in
  match Sys.argv.(1) with
  | "shares" -> shares n
  | "sizes" -> sizes n
  | "in_turn" -> in_turn n
  | "apart" -> apart n
  | "in_four" -> in_four n
  | "emptied" -> emptied n
  | "unmarshal" -> unmarshal n
  | "stacks" -> stacks ()
  | _ -> domains n
