(* Collects in a plug-in, in callbacks from C, and in four domains at once. Waits for a byte before, and for
   the end of its input after. *)
external call_back : (unit -> unit) -> unit = "plugged_call_back"
external call_back_deep : (unit -> unit) -> unit = "plugged_call_back_deep"

let rec deep n = if n = 0 then Collects.collect () else (deep (n - 1); ignore (Sys.opaque_identity n))

let[@inline never] from_c () =
  call_back (fun () -> call_back (fun () -> deep 2; ignore (Sys.opaque_identity 0)); ignore (Sys.opaque_identity 0));
  ignore (Sys.opaque_identity 0)

let[@inline never] from_deep_c () =
  call_back_deep (fun () -> Collects.collect (); ignore (Sys.opaque_identity 0));
  ignore (Sys.opaque_identity 0)

let () =
  ignore (input_char stdin);
  Dynlink.loadfile_private "plug.cmxs";
  from_c ();
  from_deep_c ();
  let held = Mutex.create () in
  Mutex.lock held;
  let waiting = Domain.spawn (fun () -> Mutex.lock held; ignore (Sys.opaque_identity 0)) in
  for _ = 1 to 10 do deep 1 done;
  Mutex.unlock held;
  Domain.join waiting;
  let work n () = for _ = 1 to 5 do deep n; if n > 1 then from_c () done in
  List.init 4 (fun n -> Domain.spawn (work n)) |> List.iter Domain.join;
  try while true do ignore (input_char stdin) done with End_of_file -> ()
