# Section 1 of docs/rules.md, in several turns: who is served while others wait for victims, lose races or overlap.

story Who waits for his victims is not overtaken by one that fits
rules 1.2.5 1.7.8
queue a within=LowerPriority
  quota default cpu=5
job low queue=a cpu=4
expect admitted low
after 1s
job big queue=a cpu=4 priority=5
expect preempted low by big
after 1s
job small queue=a cpu=1
expect
  heap big small
  order
release low
expect
  order big small
  asleep low

story In StrictFIFO neither
rules 1.3.9 1.7.8
queue a strategy=StrictFIFO within=LowerPriority
  quota default cpu=5
job low queue=a cpu=4
expect admitted low
after 1s
job big queue=a cpu=4 priority=5
expect preempted low by big
after 1s
job small queue=a cpu=1
expect
  heap big small
  order
release low
expect
  admitted big
  queue a low small

story Another queue is not held up by who waits for his victims
rules 1.7.8 1.7.1
queue a cohort=all within=LowerPriority
  quota default cpu=4
queue b cohort=all
  quota default cpu=2
job low queue=a cpu=4
expect admitted low
after 1s
job big queue=a cpu=4 priority=5
expect preempted low by big
after 1s
job wb queue=b cpu=2
expect admitted wb
release low
expect admitted big

story What a preemptor will use is not given to others meanwhile
rules 1.7.8 1.7.1
queue a cohort=all within=LowerPriority
  quota default cpu=4
queue b cohort=all
  quota default cpu=0
job low queue=a cpu=3
expect admitted low
after 1s
# big needs the free one and low's three.
job big queue=a cpu=4 priority=5
expect preempted low by big
after 1s
job wb queue=b cpu=1
expect
  heap wb
  order
  condition wb QuotaReserved=False Pending "Workload no longer fits after processing another workload"
release low
expect
  admitted big
  asleep wb low

story Two preemptors and two victims: one after the other
rules 1.7.6 4.2.1
queue a cohort=all reclaim=Any
  quota default cpu=2
queue b cohort=all reclaim=Any
  quota default cpu=2
queue c cohort=all
  quota default cpu=0
job c1 queue=c cpu=2
job c2 queue=c cpu=2
expect admitted c1 c2
after 1s
job wa queue=a cpu=2 priority=5
job wb queue=b cpu=2
expect
  preempted c1 by wa InCohortReclamation
  evictions 1
  condition wb QuotaReserved=False Pending "Workload has overlapping preemption targets with another workload"
release c1
expect
  order wa
  preempted c2 by wb InCohortReclamation
release c2
expect
  admitted wa wb
  asleep c1 c2

story Two preemptors in two flavors at the same time
rules 1.7.6 4.1.7
flavor one label zone=1
flavor two label zone=2
queue a cohort=all reclaim=Any
  quota one cpu=2
  quota two cpu=0
queue b cohort=all reclaim=Any
  quota one cpu=0
  quota two cpu=2
queue c cohort=all
  quota one cpu=0
  quota two cpu=0
job c1 queue=c cpu=2 select zone=1
job c2 queue=c cpu=2 select zone=2
expect admitted c1 c2
after 1s
job wa queue=a cpu=2 select zone=1
job wb queue=b cpu=2 select zone=2
expect
  preempted c1 by wa
  preempted c2 by wb
  evictions 2

story A job that arrives while a race is lost
rules 1.7.1 1.6.3
queue l cohort=all
  quota default cpu=4
queue a cohort=all
  quota default cpu=0
queue b cohort=all
  quota default cpu=0
queue c cohort=all
  quota default cpu=0
job wa queue=a cpu=3 priority=3
job wb queue=b cpu=2 priority=2
job wc queue=c cpu=1 priority=1
expect
  order wa wc
  asleep wb

story Those behind a refused job of another kind are served in the same turn
rules 1.1.1 1.3.11
queue a
  quota default cpu=4
job a1 queue=a cpu=5 priority=9
job a2 queue=a cpu=3 priority=8
job a3 queue=a cpu=2 priority=7
job a4 queue=a cpu=1 priority=6
job a5 queue=a cpu=1 priority=5
expect
  order a2 a4
  asleep a1 a3 a5

story A strict queue is served as far as its head goes
rules 1.3.9 1.1.1
queue a strategy=StrictFIFO
  quota default cpu=4
job a1 queue=a cpu=3 priority=9
job a2 queue=a cpu=2 priority=8
job a3 queue=a cpu=1 priority=7
expect
  order a1
  heap a2 a3
finish a1
expect order a2 a3

story Strict and best-effort queues in one cohort
rules 1.3.9 1.3.11 1.7.3
queue s cohort=all strategy=StrictFIFO
  quota default cpu=2
queue b cohort=all
  quota default cpu=2
job s1 queue=s cpu=5 priority=9
job s2 queue=s cpu=1
job b1 queue=b cpu=3
job b2 queue=b cpu=1
expect
  admitted b1 b2
  heap s1 s2

story A head that can never fit reserves nothing
rules 1.7.3 2.4.1
queue s cohort=all strategy=StrictFIFO
  quota default cpu=2
queue b cohort=all
  quota default cpu=0
job s1 queue=s cpu=5
job b1 queue=b cpu=2
expect
  heap s1
  admitted b1

story A released victim competes at once with its age and priority
rules 4.7.4 1.2.3
queue a within=LowerPriority
  quota default cpu=3
job v queue=a cpu=2 priority=1
expect admitted v
at 10s
job w queue=a cpu=2 priority=1
expect asleep w
at 20s
job p queue=a cpu=1 priority=9
job p2 queue=a cpu=1 priority=9
expect
  admitted p
  preempted v by p2
release v
expect
  admitted p2
  queue a v w
finish p
expect
  order v
  asleep w

story A job that leaves its queue leaves the reservation of its turn
rules 1.7.3 1.3.7
queue a cohort=all strategy=StrictFIFO
  quota default cpu=4
queue b cohort=all
  quota default cpu=0
job a0 queue=a cpu=3 priority=10
expect admitted a0
after 1s
job wa queue=a cpu=2 priority=5
job wb queue=b cpu=1
expect heap wa wb
delete wa
expect admitted wb
