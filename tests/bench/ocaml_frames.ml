(* SPDX-License-Identifier: BSD-2-Clause *)
(* Runs for so many seconds 20 functions deep, in memory that is more than the caches hold. Says "ready" first. *)
let words = Array.make (1 lsl 22) 0
let rec below n until =
  if n > 0 then 1 + below (n - 1) until
  else begin
    let x = ref 1 and sum = ref 0 in
    while Sys.time () < until do
      for _ = 1 to 100_000 do
        x := (!x * 25214903917 + 11) land (1 lsl 48 - 1);
        sum := !sum + words.(!x lsr 20 land (1 lsl 22 - 1))
      done
    done;
    !sum
  end

let () =
  print_endline "ready";
  ignore (Sys.opaque_identity (below 17 (Sys.time () +. float_of_string Sys.argv.(1))))
