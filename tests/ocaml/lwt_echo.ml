(* SPDX-License-Identifier: BSD-2-Clause *)
(* A server of lines and its clients, by Lwt.
   usage: lwt_echo CLIENTS SECONDS *)
open Lwt.Syntax

let rec serve input output =
  let* line = Lwt_io.read_line_opt input in
  match line with
  | None -> Lwt_io.close output
  | Some line ->
    let words = String.split_on_char ' ' line in
    let* () = Lwt_io.write_line output (String.concat " " (List.rev_map String.uppercase_ascii words)) in
    serve input output

let rec ask until n (input, output) =
  if Unix.gettimeofday () > until then let* () = Lwt_io.close output in Lwt.return n
  else
    let* () = Lwt_io.write_line output (Printf.sprintf "line %d of some words to turn round" n) in
    let* _ = Lwt_io.read_line input in
    ask until (n + 1) (input, output)

let client until _ =
  let of_client, to_server = Lwt_io.pipe () and of_server, to_client = Lwt_io.pipe () in
  Lwt.async (fun () -> serve of_client to_client);
  ask until 0 (of_server, to_server)

let () =
  let until = Unix.gettimeofday () +. float_of_string Sys.argv.(2) in
  let lines = Lwt_main.run (Lwt_list.map_p (client until) (List.init (int_of_string Sys.argv.(1)) Fun.id)) in
  Printf.printf "%d lines\n" (List.fold_left ( + ) 0 lines)
