# Loops reported upstream, and others of their kind. Between two outside events preemption is finite:
# 'settle' lets every evicted job stop at once and come back, and fails if that does not come to rest.

story kueue 3779, flat: a borrower does not preempt one of lower share
rules 10.1.1 4.4.2
config fair-sharing
queue a cohort=testing reclaim=LowerPriority borrow-within=LowerPriority within=LowerPriority
  quota default cpu=150m
queue b cohort=testing reclaim=LowerPriority borrow-within=LowerPriority within=LowerPriority
  quota default cpu=150m
queue best-effort cohort=testing
  quota default cpu=0
job a1 queue=a cpu=250m priority=100
job be1 queue=best-effort cpu=50m
expect admitted a1 be1
after 1s
job a2 queue=a cpu=50m priority=100
settle
expect
  admitted a1 be1
  asleep a2
  evictions 0

story kueue 3779, flat, without fair sharing: preempted once
rules 10.1.1 10.1.2 4.3.4
queue a cohort=testing reclaim=LowerPriority borrow-within=LowerPriority within=LowerPriority
  quota default cpu=150m
queue b cohort=testing reclaim=LowerPriority borrow-within=LowerPriority within=LowerPriority
  quota default cpu=150m
queue best-effort cohort=testing
  quota default cpu=0
job a1 queue=a cpu=250m priority=100
job be1 queue=best-effort cpu=50m
expect admitted a1 be1
after 1s
job a2 queue=a cpu=50m priority=100
settle
expect
  admitted a1 a2
  asleep be1
  evictions 1
after 1h
expect nothing

story kueue 3779, hierarchical: the guaranteed cohort gets its own back, once
rules 10.1.1 10.1.2 4.4.9
config fair-sharing
cohort guaranteed parent=root
  quota default cpu=300m
queue g cohort=guaranteed reclaim=Any within=LowerPriority
  quota default cpu=0
queue be-a cohort=root reclaim=Any
  quota default cpu=0
queue be-b cohort=root reclaim=Any
  quota default cpu=0
job a1 queue=be-a cpu=100m
expect admitted a1
after 1s
job a2 queue=be-a cpu=100m
expect admitted a2
after 1s
job b1 queue=be-b cpu=50m
expect admitted b1
after 1s
job b2 queue=be-b cpu=50m
expect admitted b2
after 1s
job g1 queue=g cpu=50m priority=100
settle
expect
  admitted g1 a1 b1 b2
  asleep a2
  evictions 1
after 1s
job g2 queue=g cpu=100m priority=100
settle
expect
  admitted g1 g2 a1 b1
  asleep a2 b2
  evictions 1
after 1h
expect nothing

story kueue 7101: groups of 2 against groups of 6, 5, 4 and 3
rules 10.1.1 4.4.5
config fair-sharing strategies=LessThanOrEqualToFinalShare
cohort all
  quota default pods=8
queue proj-1 cohort=all reclaim=Any within=LowerPriority
  quota default pods=0
queue proj-2 cohort=all reclaim=Any within=LowerPriority
  quota default pods=0
job p1 queue=proj-1 count=2
job p2 queue=proj-1 count=2
job p3 queue=proj-1 count=2
job p4 queue=proj-1 count=2
expect admitted p1 p2 p3 p4
after 1s
job six queue=proj-2 count=6
settle
expect
  asleep six
  evictions 0
after 1s
job five queue=proj-2 count=5
settle
expect
  asleep five
  evictions 0
after 1s
job four queue=proj-2 count=4
settle
expect
  admitted four
  evictions 2
  usage proj-1 default.pods=4
  usage proj-2 default.pods=4
after 1s
job three queue=proj-2 count=3
settle
expect
  admitted four
  asleep three five six
  evictions 0
after 1h
expect nothing

story kueue 7101, all at once
rules 10.1.1 4.4.8
config fair-sharing
cohort all
  quota default pods=8
queue proj-1 cohort=all reclaim=Any within=LowerPriority
  quota default pods=0
queue proj-2 cohort=all reclaim=Any within=LowerPriority
  quota default pods=0
job p1 queue=proj-1 count=2
job p2 queue=proj-1 count=2
job p3 queue=proj-1 count=2
job p4 queue=proj-1 count=2
expect admitted p1 p2 p3 p4
at 10s
job six queue=proj-2 count=6 created=1s
job five queue=proj-2 count=5 created=2s
job four queue=proj-2 count=4 created=3s
job three queue=proj-2 count=3 created=4s
settle
expect
  admitted four
  asleep six five three
  usage proj-1 default.pods=4
  evictions 2
after 1h
expect nothing

story kueue 7101, the small one first
rules 10.1.1
config fair-sharing
cohort all
  quota default pods=8
queue proj-1 cohort=all reclaim=Any within=LowerPriority
  quota default pods=0
queue proj-2 cohort=all reclaim=Any within=LowerPriority
  quota default pods=0
job p1 queue=proj-1 count=2
job p2 queue=proj-1 count=2
job p3 queue=proj-1 count=2
job p4 queue=proj-1 count=2
expect admitted p1 p2 p3 p4
after 1s
job three queue=proj-2 count=3
settle
expect
  admitted three
  usage proj-1 default.pods=4
  evictions 2
after 1s
job four queue=proj-2 count=4
settle
expect
  asleep four
  evictions 0

story kueue 14543: fill-back makes a preemption illegal, and it ends there
rules 10.1.1 10.1.2 4.4.10
config fair-sharing
queue l cohort=all
  quota default cpu=10
queue p cohort=all within=LowerOrNewerEqualPriority reclaim=Any
  quota default cpu=0
queue t cohort=all within=LowerOrNewerEqualPriority reclaim=Any
  quota default cpu=0
at 10s
job t-hero queue=t cpu=6
expect admitted t-hero
at 20s
job p-small queue=p cpu=4
expect admitted p-small
at 30s
job p-hero queue=p cpu=5 created=5s
# The own p-small lowers p's share to 500, less than t's 600: t-hero is taken; then p-small may stay.
expect preempted t-hero by p-hero InCohortFairSharing
settle
expect
  admitted p-hero p-small
  waiting t-hero
  evictions 0
after 1h
expect
  nothing
  admitted p-hero p-small

story kueue 14543, from the other side: each new event may start something, nothing starts itself
rules 10.1.1
config fair-sharing
queue l cohort=all
  quota default cpu=10
queue p cohort=all within=LowerOrNewerEqualPriority reclaim=Any
  quota default cpu=0
queue t cohort=all within=LowerOrNewerEqualPriority reclaim=Any
  quota default cpu=0
at 10s
job p-hero queue=p cpu=5
job t-hero queue=t cpu=6
settle
expect
  admitted p-hero
  asleep t-hero
at 20s
job p-small queue=p cpu=4
settle
expect evictions 0
at 30s
job t-small queue=t cpu=2
settle
expect
  rest
  admitted p-hero t-small
  asleep p-small t-hero
  evictions 1
after 1h
expect nothing

story kueue 2821: reclaimed while borrowing goes behind
rules 10.1.1 1.2.11 4.3.4
feature PrioritySortingWithinCohort=false
queue l cohort=all
  quota default cpu=6
queue a cohort=all within=LowerPriority reclaim=Any
  quota default cpu=0
queue b cohort=all within=LowerPriority reclaim=LowerPriority borrow-within=LowerPriority
  quota default cpu=0
job wa queue=a cpu=3
job b1 queue=b cpu=3 priority=5
expect admitted wa b1
at 10s
job b2 queue=b cpu=3 priority=5
expect preempted wa by b2 InCohortReclaimWhileBorrowing
settle
expect
  admitted b1 b2
  asleep wa
  evictions 0
after 1h
expect nothing

story kueue 6947: a job that never fits does not stop its queue from reclaiming
rules 10.1.1 2.4.1
queue a cohort=all reclaim=Any
  quota default cpu=3
queue b cohort=all
  quota default cpu=0
job w1 queue=b cpu=1
expect admitted w1
after 1s
job w4 queue=a cpu=4
after 1s
job w3 queue=a cpu=3
settle
expect
  admitted w3
  asleep w1 w4
  evictions 1
after 1h
expect nothing

story kueue 6947, with the two arriving together
rules 10.1.1 2.4.1
queue a cohort=all reclaim=Any
  quota default cpu=3
queue b cohort=all
  quota default cpu=0
job w1 queue=b cpu=1
expect admitted w1
at 10s
job w4 queue=a cpu=4 priority=9
job w3 queue=a cpu=3
settle
expect
  admitted w3
  asleep w1 w4
  evictions 1

story kueue 6929: the same with limits
rules 10.1.1
queue cq1 cohort=demo reclaim=Any
  quota default cpu=3 borrow:0
queue cq2 cohort=demo reclaim=Any
  quota default cpu=0 borrow:3
job job-1 queue=cq2 cpu=1
job job-2 queue=cq2 cpu=1
expect admitted job-1 job-2
after 1s
job job-3 queue=cq1 cpu=4
after 1s
job job-4 queue=cq1 cpu=3
settle
expect
  admitted job-4
  asleep job-1 job-2 job-3
  evictions 2

story kueue 6774: two zero weights
rules 10.1.1 3.6.9
config fair-sharing
cohort top
  quota default cpu=8
queue a cohort=top weight=0 reclaim=Any
  quota default cpu=0
queue b cohort=top weight=0 reclaim=Any
  quota default cpu=0
job a1 queue=a cpu=2
job a2 queue=a cpu=2
job a3 queue=a cpu=2
job a4 queue=a cpu=2
expect admitted a1 a2 a3 a4
after 1s
job b1 queue=b cpu=2
job b2 queue=b cpu=2
job b3 queue=b cpu=2
settle
expect
  usage a default.cpu=4
  usage b default.cpu=4
  evictions 2
after 1h
expect nothing

story kueue 12541: a queue of its own under fair sharing
rules 10.1.1 4.4.3
config fair-sharing
queue a within=LowerPriority
  quota default cpu=4
job low queue=a cpu=2
job mid queue=a cpu=2 priority=5
expect admitted low mid
after 1s
job high queue=a cpu=4 priority=5
settle
expect
  asleep high
  admitted low mid
  evictions 0

story The preemptor is served before its victim comes back
rules 10.1.2
feature FairSharingPrioritizeNonBorrowing=false
config fair-sharing
queue a cohort=all reclaim=Any
  quota default cpu=2 memory=0
queue c cohort=all reclaim=Any
  quota default cpu=0 memory=0
queue l cohort=all
  quota default cpu=8 memory=10Gi
job a0 queue=a memory=8Gi
job c0 queue=c cpu=2
job l0 queue=l cpu=8
expect admitted a0 c0 l0
after 1s
job wa queue=a cpu=2
# c0 has the lower share and would go first, were it not wa's victim.
expect preempted c0 by wa InCohortReclamation
settle
expect
  admitted wa
  asleep c0
  evictions 0

story Newer and equal: back and forth is not possible
rules 10.1.1 4.1.3
queue a within=LowerOrNewerEqualPriority
  quota default cpu=2
at 10s
job young queue=a cpu=2
expect admitted young
at 20s
job old queue=a cpu=2 created=5s
settle
expect
  admitted old
  asleep young
  evictions 1
after 1h
expect nothing

story Reclaim both ways comes to rest
rules 10.1.1 4.1.6
queue a cohort=all reclaim=Any
  quota default cpu=4
queue b cohort=all reclaim=Any
  quota default cpu=4
job a1 queue=a cpu=3
job a2 queue=a cpu=3
job b1 queue=b cpu=2
expect admitted a1 a2 b1
after 1s
job b2 queue=b cpu=2
job a3 queue=a cpu=1 priority=9
settle
expect
  admitted b1 b2
  usage a default.cpu=4
after 1h
expect nothing

story Four queues, all with victims of each other, come to rest
rules 10.1.1
config fair-sharing
cohort all
  quota default cpu=12
queue a cohort=all reclaim=Any within=LowerPriority
  quota default cpu=0
queue b cohort=all reclaim=Any within=LowerPriority
  quota default cpu=0
queue c cohort=all reclaim=Any within=LowerPriority weight=2
  quota default cpu=0
queue d cohort=all reclaim=Any within=LowerPriority weight=500m
  quota default cpu=0
job a1 queue=a cpu=5
job a2 queue=a cpu=3 priority=1
job a3 queue=a cpu=1 priority=2
job b1 queue=b cpu=4
job b2 queue=b cpu=2 priority=3
job c1 queue=c cpu=6
job c2 queue=c cpu=3 priority=1
job d1 queue=d cpu=7
job d2 queue=d cpu=1 priority=1
settle
expect rest
after 1s
job b3 queue=b cpu=5 priority=2
job c3 queue=c cpu=5 priority=2
job d3 queue=d cpu=2 priority=9
settle
expect rest
after 1h
expect nothing
