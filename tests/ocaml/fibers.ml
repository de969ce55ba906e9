(* SPDX-License-Identifier: BSD-2-Clause *)
(* Functions with known shares of the CPU time, in fibers and spans, by the user events that Eio
   writes, and one of its own. usage: fibers SECONDS
     fiber "reader"                 reads    40
       span "request" of Eio        requests 20
     between two fibers             turns    10
     fiber without a name           writes   20
       span "own" of the program    owns     10
   Lengths are random: no timer keeps step with them. *)
open Runtime_events

type User.tag += Create | Name | Run | Suspend | Enter | Exit | Own

let bytes =
  Type.register
    ~encode:(fun b s -> Bytes.blit_string s 0 b 0 (String.length s); String.length s)
    ~decode:(fun b n -> Bytes.sub_string b 0 n)

let create = User.register "eio.create_fiber" Create bytes
let name = User.register "eio.name" Name bytes
let run = User.register "eio.fiber" Run Type.int
let suspend = User.register "eio.suspend_fiber" Suspend bytes
let enter = User.register "eio.enter_span" Enter bytes
let exit_span = User.register "eio.exit_span" Exit Type.unit
let own = User.register "own" Own Type.span

let word n = let b = Bytes.create 8 in Bytes.set_int64_le b 0 (Int64.of_int n); Bytes.to_string b

let sink = ref 0
let[@inline never] reads n = let x = ref 1 in for i = 1 to n do x := (!x * 25214903917) + i done; !x
let[@inline never] requests n = let x = ref 1 in for i = 1 to n do x := (!x * 25214903917) + i done; !x
let[@inline never] turns n = let x = ref 1 in for i = 1 to n do x := (!x * 25214903917) + i done; !x
let[@inline never] writes n = let x = ref 1 in for i = 1 to n do x := (!x * 25214903917) + i done; !x
let[@inline never] owns n = let x = ref 1 in for i = 1 to n do x := (!x * 25214903917) + i done; !x

let lap () =
  let k = 1 + Random.int 20000 in
  let spend f n = sink := !sink + f (n * k) in
  User.write run 1;
  spend reads 20;
  User.write enter "request";
  spend requests 20;
  User.write exit_span ();
  spend reads 20;
  User.write suspend "readv";
  spend turns 10;
  User.write run 2;
  spend writes 20;
  User.write own Type.Begin;
  spend owns 10;
  User.write own Type.End;
  User.write suspend ""

let () =
  let seconds = float_of_string Sys.argv.(1) in
  User.write create (word 1 ^ word 0);
  User.write name (word 1 ^ "reader");
  User.write create (word 2 ^ word 0);
  while Sys.time () < seconds do lap () done
