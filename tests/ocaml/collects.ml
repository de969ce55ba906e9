(* Prints where the runtime itself says that it is, the outermost first, in the words of NDJSON, and collects
   there. From any domain. *)
let text slot =
  match Printexc.Slot.(location slot, name slot) with
  | Some l, Some name ->
    [ Printf.sprintf "%s@%s:%d:%d-%d" name l.filename l.line_number l.start_char l.end_char ]
  | _ -> []

let lock = Mutex.create ()

let[@inline never] show () =
  let slots = Option.get (Printexc.backtrace_slots (Printexc.get_callstack 1000)) in
  let all = List.concat_map text (Array.to_list slots) in
  let rec drop = function
    | s :: rest when String.starts_with ~prefix:"Collects.show" s -> rest
    | _ :: rest -> drop rest
    | [] -> []
  in
  Mutex.protect lock (fun () -> print_endline (String.concat " " (List.rev (drop all))))

let[@inline never] collect () = show (); Gc.full_major (); ignore (Sys.opaque_identity 0)
