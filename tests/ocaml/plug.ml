(* A plug-in that collects, when it is loaded, in its own functions and in those of the program. *)
let[@inline always] inner x = Collects.collect (); x + 1
let[@inline never] inlined x = ignore (Sys.opaque_identity (inner x + 1))
let[@inline never] itself () = Collects.show (); Gc.full_major (); ignore (Sys.opaque_identity 0)

type _ Effect.t += Ask : unit Effect.t

let[@inline never] in_fiber () =
  let open Effect.Deep in
  try_with
    (fun () -> Effect.perform Ask; itself ())
    ()
    { effc = (fun (type a) (e : a Effect.t) ->
        match e with
        | Ask -> Some (fun (k : (a, unit) continuation) -> continue k ())
        | _ -> None) };
  ignore (Sys.opaque_identity 0)

let () =
  itself ();
  inlined 3;
  in_fiber ()
