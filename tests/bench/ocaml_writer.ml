(* SPDX-License-Identifier: BSD-2-Clause *)
(* What OCaml's own probes cost, off and on: "NAME HUNDREDTHS_OF_NS" lines. *)
external pairs : int -> int = "bench_pairs"

type Runtime_events.User.tag += Tag
let int_event = Runtime_events.(User.register "bench.int" Tag Type.int)
let bytes_type =
  Runtime_events.Type.register
    ~encode:(fun b s -> Bytes.blit_string s 0 b 0 (String.length s); String.length s)
    ~decode:(fun b n -> Bytes.sub_string b 0 n)
let custom_event = Runtime_events.User.register "bench.custom" Tag bytes_type

let rounds = 2_000_000

let time f =
  let t = Unix.gettimeofday () in
  for i = 1 to rounds do f i done;
  int_of_float ((Unix.gettimeofday () -. t) *. 1e11 /. float rounds)

let () =
  ignore (pairs rounds);
  Printf.printf "idle_probe %d\n" (pairs rounds);
  Runtime_events.start ();
  ignore (pairs rounds);
  let payload = "sixteen bytes..." in
  Printf.printf "ring_write %d\n" (pairs rounds);
  Printf.printf "ring_write_int %d\n" (time (fun i -> Runtime_events.User.write int_event i));
  Printf.printf "ring_write_custom16 %d\n"
    (time (fun _ -> Runtime_events.User.write custom_event payload))
