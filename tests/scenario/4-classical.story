# Rules 4.3, 4.6 and 4.7: preemption without fair sharing, and eviction.

story A queue within nominal takes back what was borrowed
rules 4.3.1 4.6.1
queue a cohort=all reclaim=Any
  quota default cpu=2
queue c cohort=all
  quota default cpu=1
job c1 queue=c cpu=1 priority=5
job c2 queue=c cpu=2
expect admitted c1 c2
after 1s
job wa queue=a cpu=2
expect
  preempted c2 by wa InCohortReclamation
  condition c2 Preempted=True InCohortReclamation "Preempted to accommodate a workload (UID: wa, JobUID: UNKNOWN) due to reclamation within the cohort; preemptor path: /all/a; preemptee path: /all/c"
  condition c2 Evicted=True Preempted "Preempted to accommodate a workload (UID: wa, JobUID: UNKNOWN) due to reclamation within the cohort; preemptor path: /all/a; preemptee path: /all/c"
  condition c2 QuotaReserved=True
release c2
expect
  admitted wa c1
  asleep c2

story A cohort within its subtree takes back what others borrowed
rules 4.3.2
cohort left parent=org
cohort right parent=org
queue a cohort=left reclaim=Any
  quota default cpu=0
queue b cohort=left
  quota default cpu=2
queue c cohort=right
  quota default cpu=2
job c1 queue=c cpu=2
job c2 queue=c cpu=2
expect admitted c1 c2
after 1s
job wa queue=a cpu=2
expect preempted c1 by wa InCohortReclamation
release c1
expect
  admitted wa c2
  asleep c1

story A cohort with quota of its own takes it back for its queues
rules 4.3.2
cohort guaranteed parent=org
  quota default cpu=100m
queue best-effort cohort=org
  quota default cpu=0
queue guaranteed cohort=guaranteed reclaim=Any
  quota default cpu=0
job be queue=best-effort cpu=100m
expect admitted be
after 1s
job g queue=guaranteed cpu=100m
expect
  preempted be by g InCohortReclamation
  condition be Evicted=True Preempted "Preempted to accommodate a workload (UID: g, JobUID: UNKNOWN) due to reclamation within the cohort; preemptor path: /org/guaranteed/guaranteed; preemptee path: /org/best-effort"

story The advantage of a cohort does not reach into it
rules 4.3.2 2.4.8
cohort left parent=org
queue a cohort=left reclaim=Any
  quota default cpu=0
queue b cohort=left
  quota default cpu=2
queue d cohort=left
  quota default cpu=0
job wd queue=d cpu=2
expect admitted wd
after 1s
job wa queue=a cpu=2 priority=9
expect
  asleep wa
  evictions 0

story Without advantage it takes only what lets it fit without borrowing
rules 4.3.3 4.3.12
queue a cohort=all within=LowerPriority reclaim=Any
  quota default cpu=4
queue c cohort=all
  quota default cpu=0
job a0 queue=a cpu=1
job c1 queue=c cpu=3
expect admitted a0 c1
after 1s
job wa queue=a cpu=4 priority=5
expect
  preempted a0 c1 by wa
  evicting a0 Preempted InClusterQueue by wa
  evicting c1 Preempted InCohortReclamation by wa
release a0 c1
expect
  admitted wa
  asleep a0 c1

story Without advantage and without own victims it takes nobody
rules 4.3.3
queue a cohort=all reclaim=Any
  quota default cpu=4
queue c cohort=all
  quota default cpu=0
job a0 queue=a cpu=1
job c1 queue=c cpu=3
expect admitted a0 c1
after 1s
job wa queue=a cpu=4 priority=5
expect
  asleep wa
  evictions 0

story Lower priorities may be reclaimed while borrowing
rules 4.3.4 4.3.12
queue a cohort=all reclaim=LowerPriority borrow-within=LowerPriority
  quota default cpu=1
queue l cohort=all
  quota default cpu=3
queue c cohort=all
  quota default cpu=0
job c1 queue=c cpu=4
expect admitted c1
after 1s
job wa queue=a cpu=2 priority=5
expect
  preempted c1 by wa InCohortReclaimWhileBorrowing
  condition c1 Preempted=True InCohortReclaimWhileBorrowing "Preempted to accommodate a workload (UID: wa, JobUID: UNKNOWN) due to reclamation within the cohort while borrowing; preemptor path: /all/a; preemptee path: /all/c"

story Equal priorities may not
rules 4.3.4
queue a cohort=all reclaim=Any borrow-within=LowerPriority
  quota default cpu=1
queue l cohort=all
  quota default cpu=3
queue c cohort=all
  quota default cpu=0
job c1 queue=c cpu=4 priority=5
expect admitted c1
after 1s
job wa queue=a cpu=2 priority=5
expect
  asleep wa
  evictions 0

story Within nominal it is plain reclaim all the same
rules 4.3.4 4.3.1
queue a cohort=all reclaim=LowerPriority borrow-within=LowerPriority
  quota default cpu=2
queue c cohort=all
  quota default cpu=0
job c1 queue=c cpu=2
expect admitted c1
after 1s
job wa queue=a cpu=2 priority=5
expect preempted c1 by wa InCohortReclamation

story The threshold protects who is above it
rules 4.3.5
queue a cohort=all reclaim=LowerPriority borrow-within=LowerPriority threshold=3
  quota default cpu=0
queue l cohort=all
  quota default cpu=2
queue c cohort=all
  quota default cpu=0
job c1 queue=c cpu=2 priority=4
expect admitted c1
after 1s
job wa queue=a cpu=2 priority=9
expect
  asleep wa
  evictions 0
change job c1 priority=3
expect preempted c1 by wa InCohortReclaimWhileBorrowing

story Other queues first, also while borrowing
rules 4.3.6
queue a cohort=all within=LowerPriority reclaim=LowerPriority borrow-within=LowerPriority
  quota default cpu=0
queue l cohort=all
  quota default cpu=4
queue c cohort=all
  quota default cpu=0
job own queue=a cpu=2
job other queue=c cpu=2 priority=3
expect admitted own other
after 1s
job wa queue=a cpu=2 priority=5
expect preempted other by wa InCohortReclaimWhileBorrowing

story A queue that is back at nominal loses no more
rules 4.3.7
queue a cohort=all reclaim=Any
  quota default cpu=4
queue c cohort=all
  quota default cpu=2
queue d cohort=all
  quota default cpu=0
job c1 queue=c cpu=1
job c2 queue=c cpu=2 priority=1
job d1 queue=d cpu=1 priority=5
expect admitted c1 c2 d1
after 1s
job wa queue=a cpu=4
expect preempted c1 d1 by wa InCohortReclamation
release c1 d1
expect
  admitted wa c2
  asleep c1 d1

story A cohort that is back at its subtree loses no more
rules 4.3.7
cohort right parent=org
queue a cohort=org reclaim=Any
  quota default cpu=4
queue c cohort=right
  quota default cpu=2
queue e cohort=right
  quota default cpu=0
queue d cohort=org
  quota default cpu=0
job e1 queue=e cpu=1
job e2 queue=e cpu=2 priority=1
job d1 queue=d cpu=1 priority=5
expect admitted e1 e2 d1
after 1s
job wa queue=a cpu=4
expect preempted e1 d1 by wa InCohortReclamation

story Who is not needed after all stays
rules 4.3.8
queue a within=LowerPriority
  quota default cpu=4
job v1 queue=a cpu=1
job v2 queue=a cpu=3 priority=1
expect admitted v1 v2
after 1s
job high queue=a cpu=3 priority=5
expect preempted v2 by high
release v2
expect
  admitted high v1
  asleep v2

story Fill back goes from the second-last to the first
rules 4.3.8
queue a within=LowerPriority
  quota default cpu=8
job v1 queue=a cpu=2
job v2 queue=a cpu=2 priority=1
job v3 queue=a cpu=4 priority=2
expect admitted v1 v2 v3
after 1s
job high queue=a cpu=6 priority=5
# Taken v1, v2, v3. 8 are free: v2 may stay (6 left), then v1 may not.
expect preempted v1 v3 by high

story The last one taken is not reconsidered
rules 4.3.8
queue a within=LowerPriority
  quota default cpu=4
job v1 queue=a cpu=2
job v2 queue=a cpu=2 priority=1
expect admitted v1 v2
after 1s
job high queue=a cpu=3 priority=5
expect preempted v1 v2 by high

story If it does not suffice nobody is touched
rules 4.3.9
queue a within=LowerPriority
  quota default cpu=4
job low queue=a cpu=1
job high queue=a cpu=3 priority=9
expect admitted low high
after 1s
job mid queue=a cpu=2 priority=5
expect
  asleep mid
  evictions 0
  condition mid QuotaReserved=False Pending "couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor default, 2 more needed"

story When borrowing does not help it is tried without
rules 4.3.10
queue a cohort=all within=LowerPriority reclaim=Any borrow-within=LowerPriority
  quota default cpu=4
queue c cohort=all
  quota default cpu=0
job a0 queue=a cpu=1
job c1 queue=c cpu=3 priority=9
expect admitted a0 c1
after 1s
job wa queue=a cpu=4 priority=5
expect
  preempted a0 c1 by wa
  evicting c1 Preempted InCohortReclamation by wa

story Borrowing spares the own when others will do
rules 4.3.10 4.3.8
queue a cohort=all within=LowerPriority reclaim=LowerPriority borrow-within=LowerPriority
  quota default cpu=4
queue l cohort=all
  quota default cpu=1
queue c cohort=all
  quota default cpu=0
job a0 queue=a cpu=1
job c1 queue=c cpu=4
expect admitted a0 c1
after 1s
job wa queue=a cpu=4 priority=5
expect preempted c1 by wa InCohortReclaimWhileBorrowing
release c1
expect admitted wa a0

story All that is asked for must fit
rules 4.3.11
queue a within=LowerPriority
  quota default cpu=4 memory=4Gi
job low queue=a cpu=4 memory=1Gi
job high queue=a memory=3Gi priority=9
expect admitted low high
after 1s
job mid queue=a cpu=1 memory=2Gi priority=5
expect
  asleep mid
  evictions 0

# ---- 4.6, 4.7

story A victim that is evicted already is not evicted again
rules 4.6.2
queue a within=LowerPriority
  quota default cpu=2
job low queue=a cpu=2
expect admitted low
after 1s
job p1 queue=a cpu=2 priority=5
expect evictions 1
delete p1
job p2 queue=a cpu=2 priority=5
expect
  evictions 0
  heap p2
release low
expect admitted p2

story Eviction keeps quota until the job has stopped
rules 4.7.1 4.7.3 4.7.4
queue a within=LowerPriority
  quota default cpu=2
job low queue=a cpu=2
expect admitted low
after 1s
job high queue=a cpu=2 priority=5
expect
  usage a default.cpu=2
  heap high
  condition low QuotaReserved=True
  condition low Admitted=True
release low
expect
  admitted high
  condition low QuotaReserved=False
  condition low Admitted=False NoReservation "The workload has no reservation"
  condition low Requeued=True Preempted "Preempted to accommodate a workload (UID: high, JobUID: UNKNOWN) due to prioritization in the ClusterQueue; preemptor path: /a; preemptee path: /a"

story Eviction resets the checks
rules 4.7.2 4.7.3
admission-check prov
queue a checks=prov within=LowerPriority
  quota default cpu=2
job low queue=a cpu=2
expect reserved low
check low prov=Ready
expect admitted low
after 1s
job high queue=a cpu=2 priority=5
expect
  evicting low Preempted
  checks low prov=Pending
release low
expect
  reserved high
  condition low Admitted=False NoReservationUnsatisfiedChecks "The workload has no reservation and not all checks ready"

story Who only reserved quota may be preempted too
rules 4.7.1
admission-check prov
queue a checks=prov within=LowerPriority
  quota default cpu=2
job low queue=a cpu=2
expect reserved low
after 1s
job high queue=a cpu=2 priority=5
expect
  preempted low by high InClusterQueue
  evicting low Preempted
release low
expect
  reserved high
  no-condition low Admitted

story A victim that finishes first is as good as released
rules 4.7.1 1.3.18
queue a within=LowerPriority
  quota default cpu=2
job low queue=a cpu=2
expect admitted low
after 1s
job high queue=a cpu=2 priority=5
expect evicting low
finish low
expect
  finished low
  admitted high

story A preemptor that is deleted lets its victim go all the same
rules 4.7.1 4.7.4
queue a within=LowerPriority
  quota default cpu=2
job low queue=a cpu=2
expect admitted low
after 1s
job high queue=a cpu=2 priority=5
expect evicting low
delete high
expect evicting low
release low
expect admitted low

story A borrower may preempt its own when its request is within nominal
rules 4.3.10 2.4.5
queue a cohort=all within=LowerPriority
  quota default cpu=4
queue l cohort=all
  quota default cpu=2
job a1 queue=a cpu=3
job a2 queue=a cpu=3 priority=1
expect admitted a1 a2
after 1s
job high queue=a cpu=3 priority=5
expect preempted a1 by high InClusterQueue
release a1
expect
  admitted high a2
  usage a default.cpu=6

story What is kept at home needs no victims
rules 4.3.1 3.2.4
queue a cohort=all reclaim=Any
  quota default cpu=4 lend:2
queue c cohort=all
  quota default cpu=0
job c1 queue=c cpu=2
expect admitted c1
after 1s
job w1 queue=a cpu=2
expect
  admitted w1
  evictions 0
after 1s
job w2 queue=a cpu=2
expect preempted c1 by w2 InCohortReclamation

story Victims of another queue that are on their way out are enough
rules 4.2.1 4.3.6
queue a cohort=all within=LowerPriority reclaim=Any
  quota default cpu=4
queue c cohort=all
  quota default cpu=0
job own queue=a cpu=2
job other queue=c cpu=2 priority=3
expect admitted own other
deactivate own
expect evicting own Deactivated
job high queue=a cpu=2 priority=5
expect
  heap high
  admitted other
  evictions 0
release own
expect admitted high

story HoldAndDrain does not evict who is evicted already
rules 4.6.2 3.5.3
queue a within=LowerPriority
  quota default cpu=2
job low queue=a cpu=2
expect admitted low
after 1s
job high queue=a cpu=2 priority=5
expect evicting low Preempted InClusterQueue
change queue a stop=HoldAndDrain
expect
  evictions 0
  evicting low Preempted InClusterQueue

story Both resources of a reclaim
rules 4.3.11 4.3.7
queue a cohort=all reclaim=Any
  quota default cpu=4 memory=4Gi
queue c cohort=all
  quota default cpu=0 memory=0
job c1 queue=c cpu=4 memory=1Gi
job c2 queue=c memory=3Gi priority=1
expect admitted c1 c2
after 1s
job w1 queue=a cpu=1 memory=1Gi
# Taking c1 frees enough of both.
expect preempted c1 by w1

story A lower cohort is asked before a higher one
rules 4.3.2 4.3.6
cohort left parent=org
queue a cohort=left reclaim=Any
  quota default cpu=2
queue b cohort=left
  quota default cpu=0
queue far cohort=org
  quota default cpu=0
queue l cohort=org
  quota default cpu=1
job b1 queue=b cpu=2 priority=9
job f1 queue=far cpu=1
expect admitted b1 f1
after 1s
# Both borrow; a is within nominal, so all is hierarchy and the lower priority goes first.
job wa queue=a cpu=1
expect preempted f1 by wa InCohortReclamation
