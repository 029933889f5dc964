# Rule 4.4: preemption under fair sharing. Mostly: l lends 4 cpu, a and b have none of their own,
# so that each cpu used is a share of 250.

story The own queue by priority
rules 4.4.3
config fair-sharing
queue l cohort=all
  quota default cpu=4
queue a cohort=all within=LowerPriority reclaim=LowerPriority
  quota default cpu=0
job low queue=a cpu=4
expect admitted low
after 1s
job high queue=a cpu=4 priority=5
expect preempted low by high InClusterQueue
release low
expect admitted high

story Above nominal, without reclaimWithinCohort, not even the own queue
rules 2.4.7 2.4.8
config fair-sharing
queue l cohort=all
  quota default cpu=4
queue a cohort=all within=LowerPriority
  quota default cpu=0
job low queue=a cpu=4
expect admitted low
after 1s
job high queue=a cpu=4 priority=5
expect
  asleep high
  evictions 0

story A queue of its own preempts within itself
rules 4.4.3
config fair-sharing
queue a within=LowerPriority
  quota default cpu=4
job low queue=a cpu=3
job equal queue=a cpu=1 priority=5
expect admitted low equal
after 1s
job high queue=a cpu=3 priority=5
expect preempted low by high InClusterQueue

story A queue of its own without candidates comes to rest
rules 4.4.3
config fair-sharing
queue a within=LowerPriority
  quota default cpu=4
job equal queue=a cpu=4 priority=5
expect admitted equal
after 1s
job high queue=a cpu=3 priority=5
expect
  asleep high
  evictions 0

story Within nominal: taken whatever the shares
rules 4.4.4
config fair-sharing
queue a cohort=all reclaim=Any
  quota default cpu=2 memory=0
queue c cohort=all
  quota default cpu=0 memory=0
queue l cohort=all
  quota default cpu=8 memory=10Gi
job a0 queue=a memory=8Gi
job c0 queue=c cpu=2
job l0 queue=l cpu=8
expect
  admitted a0 c0 l0
  share a 800
  share c 200
after 1s
job wa queue=a cpu=2
expect preempted c0 by wa InCohortReclamation
release c0
expect
  admitted wa
  asleep c0

story Without that gate shares are compared
rules 4.4.4
feature FairSharingPreemptWithinNominal=false
config fair-sharing
queue a cohort=all reclaim=Any
  quota default cpu=2 memory=0
queue c cohort=all
  quota default cpu=0 memory=0
queue l cohort=all
  quota default cpu=8 memory=10Gi
job a0 queue=a memory=8Gi
job c0 queue=c cpu=2
job l0 queue=l cpu=8
expect admitted a0 c0 l0
after 1s
job wa queue=a cpu=2
expect
  asleep wa
  evictions 0

story Without that gate a share of 0 still wins
rules 4.4.4 4.4.5
feature FairSharingPreemptWithinNominal=false
config fair-sharing
queue a cohort=all reclaim=Any
  quota default cpu=2
queue c cohort=all
  quota default cpu=0
job c0 queue=c cpu=2
expect admitted c0
after 1s
job wa queue=a cpu=2
expect preempted c0 by wa InCohortFairSharing

story At most the victim's final share
rules 4.4.5 4.4.1
config fair-sharing strategies=LessThanOrEqualToFinalShare
queue l cohort=all
  quota default cpu=4
queue a cohort=all reclaim=Any
  quota default cpu=0
queue b cohort=all
  quota default cpu=0
job b1 queue=b cpu=1
job b2 queue=b cpu=1
job b3 queue=b cpu=1
job b4 queue=b cpu=1
expect admitted b1 b2 b3 b4
after 1s
job wa queue=a cpu=2
expect
  preempted b1 b2 by wa InCohortFairSharing
  condition b1 Preempted=True InCohortFairSharing "Preempted to accommodate a workload (UID: wa, JobUID: UNKNOWN) due to Fair Sharing within the cohort; preemptor path: /all/a; preemptee path: /all/b"
release b1 b2
expect
  admitted wa b3 b4
  share a 500
  share b 500
  asleep b1 b2

story Not beyond the victim's final share
rules 4.4.5
config fair-sharing strategies=LessThanOrEqualToFinalShare
queue l cohort=all
  quota default cpu=4
queue a cohort=all reclaim=Any
  quota default cpu=0
queue b cohort=all
  quota default cpu=0
job b1 queue=b cpu=1
job b2 queue=b cpu=1
job b3 queue=b cpu=1
job b4 queue=b cpu=1
expect admitted b1 b2 b3 b4
after 1s
job wa queue=a cpu=3
expect
  asleep wa
  evictions 0

story A large victim is safe from the final share
rules 4.4.5
config fair-sharing strategies=LessThanOrEqualToFinalShare
queue l cohort=all
  quota default cpu=4
queue a cohort=all reclaim=Any
  quota default cpu=0
queue b cohort=all
  quota default cpu=0
job b1 queue=b cpu=4
expect admitted b1
after 1s
job wa queue=a cpu=3
expect
  asleep wa
  evictions 0

story Less than the victim's initial share
rules 4.4.6
config fair-sharing strategies=LessThanInitialShare
queue l cohort=all
  quota default cpu=4
queue a cohort=all reclaim=Any
  quota default cpu=0
queue b cohort=all
  quota default cpu=0
job b1 queue=b cpu=4
expect admitted b1
after 1s
job wa queue=a cpu=3
expect preempted b1 by wa InCohortFairSharing
release b1
expect
  admitted wa
  asleep b1
  share a 750

story Not as much as the victim's initial share
rules 4.4.6
config fair-sharing strategies=LessThanInitialShare
queue l cohort=all
  quota default cpu=4
queue a cohort=all reclaim=Any
  quota default cpu=0
queue b cohort=all
  quota default cpu=0
job b1 queue=b cpu=4
expect admitted b1
after 1s
job wa queue=a cpu=4
expect
  asleep wa
  evictions 0

story The second strategy helps where the first does not
rules 4.4.8
config fair-sharing
queue l cohort=all
  quota default cpu=4
queue a cohort=all reclaim=Any
  quota default cpu=0
queue b cohort=all
  quota default cpu=0
job b1 queue=b cpu=4
expect admitted b1
after 1s
job wa queue=a cpu=3
expect preempted b1 by wa InCohortFairSharing

story The second strategy is not asked when the first suffices
rules 4.4.8
config fair-sharing
queue l cohort=all
  quota default cpu=6
queue a cohort=all reclaim=Any
  quota default cpu=0
queue b cohort=all
  quota default cpu=0
job b1 queue=b cpu=1
expect admitted b1
after 1s
job z queue=b cpu=4
expect admitted z
after 1s
# z is the first candidate and would do for the initial share (333 < 833), but without it b would
# have 167; without b1 it has 667.
job wa queue=a cpu=2
expect preempted b1 by wa InCohortFairSharing

story Victims come from the highest share
rules 4.4.7
config fair-sharing
queue l cohort=all
  quota default cpu=4
queue a cohort=all reclaim=Any
  quota default cpu=0
queue b cohort=all
  quota default cpu=0
queue c cohort=all
  quota default cpu=0
job b1 queue=b cpu=1 priority=9
job b2 queue=b cpu=1 priority=9
job b3 queue=b cpu=1 priority=9
job c1 queue=c cpu=1
expect admitted b1 b2 b3 c1
after 1s
job wa queue=a cpu=1
expect preempted b1 by wa InCohortFairSharing

story borrowWithinCohort means nothing here
rules 4.4.2
config fair-sharing
queue l cohort=all
  quota default cpu=4
queue a cohort=all reclaim=LowerPriority borrow-within=LowerPriority
  quota default cpu=0
queue b cohort=all
  quota default cpu=0
job a0 queue=a cpu=3 priority=5
job b1 queue=b cpu=1
expect admitted a0 b1
after 1s
job wa queue=a cpu=1 priority=5
expect
  asleep wa
  evictions 0

story Policies hold also here
rules 4.4.1 4.1.4 4.1.5
config fair-sharing
queue l cohort=all
  quota default cpu=4
queue a cohort=all
  quota default cpu=0
queue b cohort=all
  quota default cpu=0
job b1 queue=b cpu=1 priority=7
job b2 queue=b cpu=3 priority=5
expect admitted b1 b2
after 1s
job wa queue=a cpu=1 priority=6
expect
  asleep wa
  evictions 0
change queue a reclaim=LowerPriority
expect preempted b2 by wa InCohortFairSharing

story A queue within nominal loses nobody here either
rules 4.4.1
config fair-sharing
queue a cohort=all reclaim=Any
  quota default cpu=0
queue b cohort=all
  quota default cpu=4
job b1 queue=b cpu=4
expect admitted b1
after 1s
job wa queue=a cpu=1 priority=9
expect
  asleep wa
  evictions 0

story Shares are compared below the common ancestor: within the own cohort
rules 4.4.9
config fair-sharing
cohort root
  quota default cpu=8
cohort left parent=root
cohort right parent=root
queue a cohort=left
  quota default cpu=0
queue b cohort=left reclaim=Any
  quota default cpu=0
queue c cohort=right
  quota default cpu=0
job a1 queue=a cpu=2
job a2 queue=a cpu=2
job c1 queue=c cpu=2
job c2 queue=c cpu=2
expect admitted a1 a2 c1 c2
after 1s
job wb queue=b cpu=2
expect preempted a1 by wb InCohortFairSharing

story Shares are compared below the common ancestor: across cohorts
rules 4.4.9
config fair-sharing
cohort root
  quota default cpu=8
cohort left parent=root
cohort right parent=root
queue a cohort=left
  quota default cpu=0
queue b cohort=left reclaim=Any
  quota default cpu=0
queue c cohort=right
  quota default cpu=0
job a1 queue=a cpu=2
job c1 queue=c cpu=2
job c2 queue=c cpu=2
job c3 queue=c cpu=2
expect admitted a1 c1 c2 c3
after 1s
job wb queue=b cpu=2
expect preempted c1 by wb InCohortFairSharing

story Who is not needed stays, under fair sharing too
rules 4.4.10
config fair-sharing
queue l cohort=all
  quota default cpu=4
queue a cohort=all reclaim=Any
  quota default cpu=0
queue b cohort=all
  quota default cpu=0
job b1 queue=b cpu=1
job b2 queue=b cpu=3
expect admitted b1 b2
after 1s
job wa queue=a cpu=2
expect preempted b2 by wa InCohortFairSharing
release b2
expect
  admitted wa b1
  asleep b2

story Weight 0 preempts nobody of finite share
rules 4.4.11
config fair-sharing
queue l cohort=all
  quota default cpu=4
queue a cohort=all weight=0 reclaim=Any
  quota default cpu=0
queue b cohort=all
  quota default cpu=0
job b1 queue=b cpu=4
expect admitted b1
after 1s
job wa queue=a cpu=1 priority=9
expect
  asleep wa
  evictions 0

story Weight 0 is preempted by every other
rules 4.4.11
config fair-sharing
queue l cohort=all
  quota default cpu=4
queue a cohort=all weight=0
  quota default cpu=0
queue b cohort=all reclaim=Any
  quota default cpu=0
job b1 queue=b cpu=3
job a1 queue=a cpu=1
expect admitted a1 b1
after 1s
job wb queue=b cpu=1
expect preempted a1 by wb InCohortFairSharing

story Weights decide who owes whom
rules 4.4.12
config fair-sharing
queue l cohort=all
  quota default cpu=4
queue a cohort=all weight=3 reclaim=Any
  quota default cpu=0
queue b cohort=all reclaim=Any
  quota default cpu=0
job a1 queue=a cpu=2
job b1 queue=b cpu=1
job b2 queue=b cpu=1
expect admitted a1 b1 b2
after 1s
# a would have 750/3 = 250, b would keep 250.
job wa queue=a cpu=1
expect preempted b1 by wa InCohortFairSharing
release b1
expect admitted wa
after 1s
job wa2 queue=a cpu=1
expect
  asleep wa2 b1
  evictions 0

story Equal shares leave each other alone
rules 4.4.5 4.4.6
config fair-sharing
queue l cohort=all
  quota default cpu=4
queue a cohort=all reclaim=Any
  quota default cpu=0
queue b cohort=all reclaim=Any
  quota default cpu=0
job a1 queue=a cpu=2
job b1 queue=b cpu=2
expect admitted a1 b1
after 1s
job a2 queue=a cpu=1 priority=100
job b2 queue=b cpu=1 priority=100
expect
  asleep a2 b2
  evictions 0

story A cohort within its quota takes it back for its queues
rules 4.4.5 4.4.9
config fair-sharing
cohort guaranteed parent=root
  quota default cpu=2
queue g cohort=guaranteed reclaim=Any
  quota default cpu=0
queue be cohort=root
  quota default cpu=0
job be1 queue=be cpu=1
job be2 queue=be cpu=1
expect admitted be1 be2
after 1s
job g1 queue=g cpu=2
expect preempted be1 be2 by g1 InCohortFairSharing

story A cohort's weight protects its queues
rules 4.4.12 4.4.9
config fair-sharing
cohort root
  quota default cpu=8
cohort left parent=root weight=3
cohort right parent=root
queue a cohort=left
  quota default cpu=0
queue c cohort=right reclaim=Any
  quota default cpu=0
job a1 queue=a cpu=2
job a2 queue=a cpu=2
job a3 queue=a cpu=2
job c1 queue=c cpu=2
expect admitted a1 a2 a3 c1
after 1s
# right would have 500, left has 250 now.
job wc queue=c cpu=2
expect
  asleep wc
  evictions 0

story Two preemptors under fair sharing with one victim
rules 1.7.6 4.4.7
config fair-sharing
queue a cohort=all reclaim=Any
  quota default cpu=2
queue b cohort=all reclaim=Any
  quota default cpu=2
queue c cohort=all
  quota default cpu=0
job wc queue=c cpu=4
expect admitted wc
after 1s
job wa queue=a cpu=2 priority=5
job wb queue=b cpu=2
expect
  preempted wc by wa InCohortReclamation
  evictions 1
  condition wb QuotaReserved=False Pending "Workload has overlapping preemption targets with another workload"
release wc
expect
  order wa wb
  asleep wc

story Fewer pods under fair sharing
rules 1.5.3 4.4.5
config fair-sharing strategies=LessThanOrEqualToFinalShare
queue l cohort=all
  quota default cpu=4
queue a cohort=all reclaim=Any
  quota default cpu=0
queue b cohort=all
  quota default cpu=0
job b1 queue=b cpu=1
job b2 queue=b cpu=1
job b3 queue=b cpu=1
job b4 queue=b cpu=1
expect admitted b1 b2 b3 b4
after 1s
# Three are too many, two are fair.
job wa queue=a cpu=1 count=3 min=1
expect preempted b1 b2 by wa InCohortFairSharing
release b1 b2
expect
  admitted wa
  count wa main=2
