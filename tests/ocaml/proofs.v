(* SPDX-License-Identifier: BSD-2-Clause *)
(* Some seconds of work for coqc, without numbers that are as deep as they are large. *)
Require Import List Arith Lia ZArith.

Fixpoint fib n := match n with
  | S (S q as p) => (fib p + fib q)%Z
  | _ => 1%Z
  end.
Lemma computed : fib 26 = 196418%Z.
Proof. vm_compute. reflexivity. Qed.

Lemma chain : forall a b c d e f g h : Z,
  (a < b -> b < c -> c < d -> d < e -> e < f -> f < g -> g < h -> 2 * a + 12 < 2 * h)%Z.
Proof. do 60 (assert True by (assert (forall a b c d e f : nat,
  a < b -> b < c -> c < d -> d < e -> e < f -> a + 4 < f) by (intros; lia); exact I));
  intros; lia. Qed.

Lemma squares : forall a b c : Z, ((a + b + c) * (a + b + c) =
  a * a + b * b + c * c + 2 * a * b + 2 * a * c + 2 * b * c)%Z.
Proof. do 40 (assert True by (assert (forall a b c : Z, ((a - b) * (a + b) * c = a * a * c - b * b * c)%Z)
  by (intros; ring); exact I)); intros; ring. Qed.

Fixpoint sum n := match n with O => O | S m => n + sum m end.
Lemma gauss : forall n, 2 * sum n = n * (n + 1).
Proof. induction n; simpl sum; lia. Qed.

Lemma reversed : forall l m n : list nat, rev (l ++ m ++ n) = rev n ++ rev m ++ rev l.
Proof. intros. rewrite !rev_app_distr. rewrite app_assoc. reflexivity. Qed.
