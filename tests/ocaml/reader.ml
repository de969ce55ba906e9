(* SPDX-License-Identifier: BSD-2-Clause *)
(* OCaml's own reader: prints every event of DIR/PID.events, ring by ring, one a line:
   ring TAB ts TAB kind TAB name TAB value. usage: reader DIR PID [CUSTOM_EVENT...]
   OCaml delivers a custom event only to who has registered its name: those that are named. *)
open Runtime_events

type User.tag += Bytes_tag

let line ring ts kind name value =
  Printf.printf "%d\t%Ld\t%s\t%s\t%s\n" ring (Timestamp.to_int64 ts) kind name value

let hex b n = String.concat "" (List.init n (fun i -> Printf.sprintf "%02x" (Bytes.get_uint8 b i)))

let hex_type =
  Type.register ~encode:(fun _ _ -> 0) ~decode:(fun b n -> hex b n)

let callbacks () =
  let none kind ring ts name = line ring ts kind name "" in
  Callbacks.create ()
    ~runtime_begin:(fun r ts p -> none "begin" r ts (runtime_phase_name p))
    ~runtime_end:(fun r ts p -> none "end" r ts (runtime_phase_name p))
    ~runtime_counter:(fun r ts c v ->
        line r ts "counter" (runtime_counter_name c) (string_of_int v))
    ~alloc:(fun r ts sizes ->
        let words = Array.to_list (Array.map string_of_int sizes) in
        line r ts "alloc_sizes" "" (String.concat "," words))
    ~lifecycle:(fun r ts l data ->
        let value = match data with Some v -> string_of_int v | None -> "" in
        line r ts "lifecycle" (lifecycle_name l) value)
    ~lost_events:(fun r words -> Printf.printf "%d\t0\tlost\t\t%d\n" r words)
  |> Callbacks.add_user_event Type.unit (fun r ts e () -> none "unit" r ts (User.name e))
  |> Callbacks.add_user_event Type.int (fun r ts e v ->
      line r ts "int" (User.name e) (string_of_int v))
  |> Callbacks.add_user_event Type.span (fun r ts e v ->
      none (match v with Type.Begin -> "span_begin" | Type.End -> "span_end") r ts (User.name e))
  |> Callbacks.add_user_event hex_type (fun r ts e v -> line r ts "custom" (User.name e) v)

let () =
  let dir = Sys.argv.(1) and pid = int_of_string Sys.argv.(2) in
  for i = 3 to Array.length Sys.argv - 1 do
    ignore (User.register Sys.argv.(i) Bytes_tag hex_type)
  done;
  let cursor = create_cursor (Some (dir, pid)) in
  let cb = callbacks () in
  while read_poll cursor cb None > 0 do () done;
  free_cursor cursor
