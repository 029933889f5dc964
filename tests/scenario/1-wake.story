# Rule 1.3, waking: we wake by need, so every way in which a sleeper could come to fit needs a story.

story Quota freed in the second flavor
rules 1.3.17 2.3.1
queue a
  quota one cpu=2
  quota two cpu=2
job w1 queue=a cpu=2
job w2 queue=a cpu=2
job w3 queue=a cpu=2
expect asleep w3
finish w2
expect flavor w3 main.cpu=two

story Quota freed only for one of two resources
rules 1.3.17
queue a
  quota default cpu=2 memory=2Gi
job c queue=a cpu=2
job m queue=a memory=2Gi
expect admitted c m
after 1s
job both queue=a cpu=1 memory=1Gi
expect asleep both
finish m
expect asleep both
finish c
expect admitted both

story Less than all it asks for is enough for a job that may shrink
rules 1.3.17 2.8.1
queue a
  quota default cpu=4
job w1 queue=a cpu=2
job w2 queue=a cpu=2
expect admitted w1 w2
after 1s
job w3 queue=a cpu=1 count=4 min=2
expect asleep w3
finish w1
expect
  admitted w3
  count w3 main=2

story One pod is not enough for a job that needs two
rules 1.3.17 2.8.3
queue a
  quota default cpu=4
job w1 queue=a cpu=1
job w2 queue=a cpu=3
expect admitted w1 w2
after 1s
job w3 queue=a cpu=1 count=4 min=2
expect asleep w3
finish w1
expect asleep w3

story The limit of its own queue
rules 1.3.17 3.2.6
queue a cohort=all
  quota default cpu=2 borrow:1
queue b cohort=all
  quota default cpu=4
job a1 queue=a cpu=3
job b1 queue=b cpu=2
expect admitted a1 b1
after 1s
job a2 queue=a cpu=1
expect asleep a2
finish b1
expect asleep a2
finish a1
expect admitted a2

story The limit of a cohort above
rules 1.3.17 3.2.15
cohort mid parent=root
  quota default cpu=0 borrow:2
queue a cohort=mid
  quota default cpu=0
queue b cohort=mid
  quota default cpu=0
queue l cohort=root
  quota default cpu=8
job b1 queue=b cpu=2
job l1 queue=l cpu=1
expect admitted b1 l1
after 1s
job a1 queue=a cpu=2
expect asleep a1
finish l1
expect asleep a1
finish b1
expect admitted a1

story A raised limit of a cohort above
rules 1.3.21 3.2.15
cohort mid parent=root
  quota default cpu=0 borrow:2
queue a cohort=mid
  quota default cpu=0
queue l cohort=root
  quota default cpu=8
job a1 queue=a cpu=3
expect asleep a1
change cohort mid
  quota default cpu=0 borrow:3
expect admitted a1

story A lent part that grows
rules 1.3.20 3.2.2
queue a cohort=all
  quota default cpu=0
queue l cohort=all
  quota default cpu=4 lend:1
job a1 queue=a cpu=2
expect asleep a1
change queue l
  quota default cpu=4 lend:2
expect admitted a1

story A share that falls lets a sleeper preempt, though other resources were freed
rules 1.3.17 4.4.5
config fair-sharing
queue a cohort=all reclaim=Any
  quota default cpu=0 memory=0
queue c cohort=all
  quota default cpu=0 memory=0
queue l cohort=all
  quota default cpu=10 memory=10Gi
job a0 queue=a memory=8Gi
job c0 queue=c cpu=2
job c1 queue=c cpu=2
job l0 queue=l cpu=6
expect admitted a0 c0 c1 l0
after 1s
job wa queue=a cpu=2
expect
  asleep wa
  evictions 0
# Without a0 its share would be 200, as much as c keeps.
finish a0
expect preempted c0 by wa InCohortFairSharing

story A queue that comes back within nominal may reclaim, though other resources were freed
rules 1.3.17 4.3.1
queue l cohort=all
  quota default cpu=0 memory=4Gi
queue c cohort=all
  quota default cpu=0 memory=0
queue a cohort=all reclaim=Any
  quota default cpu=4 memory=2Gi
job a1 queue=a memory=2Gi
job c1 queue=c cpu=4
expect admitted a1 c1
after 1s
# Its memory would have to be borrowed, so it has no advantage and may not reclaim cpu.
job wa queue=a cpu=4 memory=2Gi
expect
  asleep wa
  evictions 0
finish a1
expect preempted c1 by wa InCohortReclamation

story The same in a strict queue
rules 1.3.9 4.3.1
queue l cohort=all
  quota default cpu=0 memory=4Gi
queue c cohort=all
  quota default cpu=0 memory=0
queue a cohort=all strategy=StrictFIFO reclaim=Any
  quota default cpu=4 memory=2Gi
job a1 queue=a memory=2Gi
job c1 queue=c cpu=4
expect admitted a1 c1
after 1s
job wa queue=a cpu=4 memory=2Gi
expect
  heap wa
  evictions 0
finish a1
expect preempted c1 by wa InCohortReclamation

story Equal jobs of two local queues sleep and wake together
rules 1.3.14 1.3.17
queue a local=no
  quota default cpu=2
local red -> a
local blue -> a
job r1 queue=red cpu=2
expect admitted r1
after 1s
job r2 queue=red cpu=1
job b2 queue=blue cpu=1
expect
  asleep r2 b2
finish r1
expect admitted r2 b2

story A sleeper in a queue that is stopped and started again
rules 1.3.8 1.3.17 3.5.5
queue a
  quota default cpu=2
job w1 queue=a cpu=2
job w2 queue=a cpu=2
expect asleep w2
change queue a stop=Hold
expect admitted w1
finish w1
expect order
change queue a stop=None
expect admitted w2

story A sleeper whose local queue is stopped and started again
rules 1.3.8
queue a
  quota default cpu=2
job w1 queue=a cpu=2
job w2 queue=a cpu=2
expect asleep w2
change local a stop=Hold
expect blocked w2
finish w1
expect order
change local a stop=None
expect admitted w2

story A preemptor that goes away leaves the free quota to others
rules 1.7.8 1.3.13
queue a cohort=all within=LowerPriority
  quota default cpu=4
queue b cohort=all
  quota default cpu=0
job low queue=a cpu=3
expect admitted low
after 1s
job big queue=a cpu=4 priority=5
expect preempted low by big
after 1s
job wb queue=b cpu=1
expect heap wb
delete big
expect admitted wb

story A strict head that is gated, held or moved lets others pass
rules 1.3.6 1.3.7 1.3.9
queue a strategy=StrictFIFO
  quota default cpu=3
queue other
  quota default cpu=0
job runs queue=a cpu=2
expect admitted runs
after 1s
job h1 queue=a cpu=2 priority=9
job h2 queue=a cpu=2 priority=8
job h3 queue=a cpu=2 priority=7
job small queue=a cpu=1
expect heap h1 h2 h3 small
gate h1 data
expect heap h2 small
hold h2
expect heap h3 small
change job h3 queue=other
expect admitted small

story The same pair again after something new happened
rules 10.1.1 4.7.4
queue a within=LowerPriority
  quota default cpu=2
job low queue=a cpu=2
expect admitted low
after 1s
job high queue=a cpu=2 priority=5
expect preempted low by high
release low
expect admitted high
deactivate high
expect evicting high Deactivated
release high
expect admitted low
after 1s
activate high
expect preempted low by high
release low
expect admitted high

story A flavor that changes
rules 1.3.23 2.3.3
flavor one taint spot=true:NoSchedule
queue a
  quota one cpu=2
job w1 queue=a cpu=1
expect asleep w1
flavor one
expect admitted w1

story Configuration that changes
rules 1.3.20 2.2.4
queue a
  quota default cpu=2
job w1 queue=a cpu=1 gpu=1
expect asleep w1
config ignore-undeclared
expect admitted w1

story Fair sharing that is turned on
rules 1.3.20 4.4.5
queue l cohort=all
  quota default cpu=4
queue a cohort=all reclaim=Any
  quota default cpu=0
queue b cohort=all
  quota default cpu=0
job b1 queue=b cpu=2
job b2 queue=b cpu=2
expect admitted b1 b2
after 1s
job wa queue=a cpu=2
expect asleep wa
config fair-sharing
expect preempted b1 by wa InCohortFairSharing
