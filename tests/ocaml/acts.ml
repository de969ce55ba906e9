(* SPDX-License-Identifier: BSD-2-Clause *)
(* A program that does what its arguments say, one after the other, and prints a line
   PID TAB KIND TAB NAME TAB VALUE for each user event that it writes while its ring is on: the
   expectation of a test. See `act` for the arguments. *)
open Runtime_events

type User.tag += Unit_tag | Int_tag | Span_tag | Bytes_tag

let bytes_type =
  Type.register
    ~encode:(fun b s -> Bytes.blit_string s 0 b 0 (String.length s); String.length s)
    ~decode:(fun b n -> Bytes.sub_string b 0 n)

let tick = User.register "acts.tick" Unit_tag Type.unit
let number = User.register "acts.number" Int_tag Type.int
let stretch = User.register "acts.stretch" Span_tag Type.span
let bytes = User.register "acts.bytes" Bytes_tag bytes_type

let ring_is_on = ref (Sys.getenv_opt "OCAML_RUNTIME_EVENTS_START" <> None)
let children = ref []

let said kind name value =
  if !ring_is_on then Printf.printf "%d\t%s\t%s\t%s\n" (Unix.getpid ()) kind name value

let write_int ev v = User.write ev v; said "int" (User.name ev) (string_of_int v)

let write_bytes ev s =
  User.write ev s;
  let hex = List.map (fun c -> Printf.sprintf "%02x" (Char.code c)) (List.of_seq (String.to_seq s)) in
  said "custom" (User.name ev) (String.concat "" hex)

let text n = String.init n (fun i -> Char.chr ((n + i) land 255))

(* Every type of user event, the lengths at which a payload takes another word or is full, and a
   name that is registered when the ring has long been there. *)
let every_type () =
  User.write tick ();
  said "unit" "acts.tick" "";
  List.iter (write_int number) [ 0; 1; -1; 0x7fffffff; -0x80000000 ];
  User.write stretch Type.Begin;
  said "span_begin" "acts.stretch" "";
  List.iter (fun n -> write_bytes bytes (text n))
    [ 0; 1; 6; 7; 8; 9; 15; 16; 17; 255; 1015; 1016; 1017; 1023; 1024 ];
  User.write stretch Type.End;
  said "span_end" "acts.stretch" "";
  write_int (User.register "acts.registered late" Int_tag Type.int) 7;
  write_bytes (User.register "acts.\xc3\xa9t\xc3\xa9" Bytes_tag bytes_type) "late, too"

(* N domains at a time, R times: the slots of those that ended are used again. *)
let domains n rounds =
  let here = Atomic.make 0 in
  let work r v () =
    Atomic.incr here;
    while Atomic.get here < n * (r + 1) do Domain.cpu_relax () done;
    for i = 0 to 99 do User.write number ((1000 * v) + i) done;
    Gc.minor () in
  for r = 0 to rounds - 1 do
    let v i = (n * r) + i in
    let all = List.init n (fun i -> Domain.spawn (work r (v i))) in
    List.iter Domain.join all;
    for i = 0 to n - 1 do
      for j = 0 to 99 do said "int" "acts.number" (string_of_int ((1000 * v i) + j)) done
    done
  done

(* N events, RATE a second and never faster: time that the CPU was taken away for is not made up. *)
let paced n rate =
  let batch = max 1 (rate / 2000) and next = ref (Unix.gettimeofday ()) in
  for i = 1 to n do
    User.write number i;
    if i mod batch = 0 then begin
      next := !next +. (float batch /. float rate);
      let early = !next -. Unix.gettimeofday () in
      if early > 0.0003 then Unix.sleepf (early -. 0.0002)
      else if early < -0.001 then next := !next -. early
    end
  done;
  Printf.printf "%d\tint\tacts.number\t%d events\n" (Unix.getpid ()) n

let on_signal name signal =
  Sys.set_signal signal (Sys.Signal_handle (fun _ ->
      Printf.eprintf "got %s\n%!" name;
      exit 5))

let say_goodbye () =
  at_exit (fun () ->
      write_bytes (User.register "acts.goodbye" Bytes_tag bytes_type) "at_exit";
      flush stdout;
      prerr_endline "goodbye")

let rec act = function
  | [] -> exit 0
  | "users" :: rest -> every_type (); go rest
  | "ints" :: n :: rest -> for i = 1 to int_of_string n do write_int number i done; go rest
  | "domains" :: n :: rounds :: rest -> domains (int_of_string n) (int_of_string rounds); go rest
  | "paced" :: n :: rate :: rest -> paced (int_of_string n) (int_of_string rate); go rest
  | "minor" :: n :: rest -> for _ = 1 to int_of_string n do Gc.minor () done; go rest
  | "start" :: rest -> start (); ring_is_on := true; go rest
  | "pause" :: rest -> pause (); ring_is_on := false; go rest
  | "resume" :: rest -> resume (); ring_is_on := true; go rest
  | "watch itself" :: rest -> ignore (create_cursor None); go rest
  | "say" :: word :: rest -> prerr_endline word; go rest
  | "getenv" :: name :: rest ->
      prerr_endline (name ^ "=" ^ Option.value (Sys.getenv_opt name) ~default:"");
      go rest
  | "wait" :: rest -> (try ignore (input_line stdin) with End_of_file -> ()); go rest
  | "sleep" :: s :: rest -> Unix.sleepf (float_of_string s); go rest
  | "chdir" :: dir :: rest -> Sys.chdir dir; go rest
  | "unlink" :: file :: rest -> Sys.remove file; go rest
  | "signals" :: rest ->
      on_signal "SIGTERM" Sys.sigterm; on_signal "SIGINT" Sys.sigint; on_signal "SIGHUP" Sys.sighup;
      say_goodbye ();
      go rest
  | "fork" :: rest ->
      (match Unix.fork () with
       | 0 -> children := []; go ("ints" :: "10" :: rest)
       | pid -> children := pid :: !children; go rest)
  | "reap" :: rest -> List.iter (fun pid -> ignore (Unix.waitpid [] pid)) !children; go rest
  | "exit" :: status :: _ -> exit (int_of_string status)
  | "raise" :: _ -> failwith "as told"
  | "kill" :: signal :: _ -> flush stdout; Unix.kill (Unix.getpid ()) (int_of_string signal)
  | what :: _ -> prerr_endline ("what is " ^ what ^ "?"); exit 99

and go rest = flush stdout; act rest

let () = act (List.tl (Array.to_list Sys.argv))
