(* Collects at known places: prints where the runtime itself says that it is, the outermost first, in
   the words of NDJSON; then collects on the same line. Waits for a byte before, and for the end of its
   input after. *)
let text slot =
  match Printexc.Slot.(location slot, name slot) with
  | Some l, Some name ->
    [ Printf.sprintf "%s@%s:%d:%d-%d" name l.filename l.line_number l.start_char l.end_char ]
  | _ -> []

let[@inline never] show () =
  let slots = Option.get (Printexc.backtrace_slots (Printexc.get_callstack 1000)) in
  let all = List.concat_map text (Array.to_list slots) in
  let rec drop = function
    | s :: rest when String.starts_with ~prefix:"Calls.show" s -> rest
    | _ :: rest -> drop rest
    | [] -> []
  in
  print_endline (String.concat " " (List.rev (drop all)))

let[@inline never] collect () = show (); Gc.full_major (); ignore (Sys.opaque_identity 0)
let rec deep n = if n = 0 then collect () else (deep (n - 1); ignore (Sys.opaque_identity n))
let[@inline always] inner x = collect (); x + 1
let[@inline never] inlined x = ignore (Sys.opaque_identity (inner x + 1))

type _ Effect.t += Ask : unit Effect.t

let[@inline never] in_fiber () =
  let open Effect.Deep in
  match_with
    (fun () -> Effect.perform Ask; collect ())
    ()
    { retc = (fun () -> ());
      exnc = raise;
      effc = (fun (type a) (e : a Effect.t) ->
        match e with
        | Ask -> Some (fun (k : (a, unit) continuation) -> continue k ())
        | _ -> None) };
  ignore (Sys.opaque_identity 0)

let () =
  ignore (input_char stdin);
  collect ();
  deep 40;
  inlined 3;
  in_fiber ();
  Domain.join (Domain.spawn (fun () -> collect (); 0)) |> ignore;
  flush stdout;
  try while true do ignore (input_char stdin) done with End_of_file -> ()
