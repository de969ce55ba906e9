(* SPDX-License-Identifier: BSD-2-Clause *)
(* Some seconds of work for coqc, whose collector is busy with proof terms. *)
Require Import List Arith Lia ZArith.

Fixpoint fib n := match n with
  | S (S q as p) => fib p + fib q
  | _ => 1
  end.

Lemma computed : fib 18 = 4181.
Proof. vm_compute. reflexivity. Qed.

Lemma chain : forall a b c d e f g h : Z,
  (a < b -> b < c -> c < d -> d < e -> e < f -> f < g -> g < h -> 2 * a + 12 < 2 * h)%Z.
Proof. do 400 (assert True by (assert (forall a b c d e f : nat,
  a < b -> b < c -> c < d -> d < e -> e < f -> a + 4 < f) by (intros; lia); exact I));
  intros; lia. Qed.

Lemma reversed : forall l m n : list nat, rev (l ++ m ++ n) = rev n ++ rev m ++ rev l.
Proof. intros. rewrite !rev_app_distr. rewrite app_assoc. reflexivity. Qed.
