# Rules 1.4 to 1.7: nomination, the order between queues, processing.

# ---- rule 1.4 nomination

story Who holds quota is not nominated again
rules 1.4.1
queue a
  quota default cpu=5
job w1 queue=a cpu=2
expect admitted w1
change job w1
expect
  nothing
  usage a default.cpu=2

story A waiting job with a retried check is not nominated
rules 1.4.2 1.4.5 6.1.2
admission-check prov
queue a checks=prov
  quota default cpu=1
job w1 queue=a cpu=1
job w2 queue=a cpu=1
expect
  reserved w1
  asleep w2
  checks w2 prov=Pending
check w2 prov=Retry "no nodes"
finish w1
expect
  asleep w2
  condition w2 QuotaReserved=False Pending "The workload has failed admission checks"

story A waiting job with a rejected check is not nominated
rules 1.4.2
admission-check prov
queue a checks=prov
  quota default cpu=1
job w1 queue=a cpu=1
job w2 queue=a cpu=1
expect asleep w2
check w2 prov=Rejected
finish w1
expect condition w2 QuotaReserved=False Pending "The workload has failed admission checks"

story An inactive queue says so
rules 1.4.3 7.5.5
queue a stop=Hold
  quota default cpu=1
job w1 queue=a cpu=1
expect
  condition w1 QuotaReserved=False Inadmissible "ClusterQueue a is inactive"
  no-condition w1 Admitted

story A missing queue says so
rules 1.4.4 7.5.4
local team -> nowhere
job w1 queue=team cpu=1
expect
  blocked w1
  condition w1 QuotaReserved=False Inadmissible "ClusterQueue nowhere doesn't exist"

story A missing namespace says so
rules 1.4.6
queue a
  quota default cpu=1
local ghost/a -> a
namespace ghost
remove namespace ghost
job ghost/w1 queue=a cpu=1
expect
  asleep ghost/w1
  condition ghost/w1 QuotaReserved=False Pending "workload namespace \"ghost\" does not exist: Namespace \"ghost\" not found"
namespace ghost
expect admitted ghost/w1

story A foreign namespace says so
rules 1.4.7 1.4.5
queue a namespaces="team in (red,blue)"
  quota default cpu=1
namespace default label team=green
job w1 queue=a cpu=1
expect
  asleep w1
  condition w1 QuotaReserved=False Pending "workload namespace doesn't match ClusterQueue selector"

story A selector that matches nothing lets nobody in
rules 1.4.7
queue a namespaces=none
  quota default cpu=1
job w1 queue=a cpu=1
expect
  asleep w1
  condition w1 QuotaReserved=False Pending "workload namespace doesn't match ClusterQueue selector"

story An invalid job sleeps with its message
rules 1.4.8
queue a
  quota default cpu=2
job bad queue=a cpu=1 priority=9 invalid="resources validation failed: requests must not exceed its limits"
job good queue=a cpu=1
expect
  asleep bad
  admitted good
  condition bad QuotaReserved=False Pending "resources validation failed: requests must not exceed its limits"

story An invalid job blocks a strict queue
rules 1.4.8 1.3.9
queue a strategy=StrictFIFO
  quota default cpu=2
job bad queue=a cpu=1 priority=9 invalid="resources didn't satisfy LimitRange constraints: too small"
job good queue=a cpu=1
expect heap bad good

story A stopped queue offers no victims and stays charged
rules 1.4.9 3.2.12
queue a cohort=all reclaim=Any
  quota default cpu=4
queue b cohort=all
  quota default cpu=0
job wb queue=b cpu=4
expect admitted wb
change queue b stop=Hold
job wa queue=a cpu=4
expect
  asleep wa
  admitted wb
  evictions 0
  usage cohort all default.cpu=4
  condition wa QuotaReserved=False Pending "couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor default, 4 more needed"
change queue b stop=None
expect preempted wb by wa InCohortReclamation

# ---- rule 1.5 computing an assignment

story Full counts are taken when they fit
rules 1.5.1
queue a
  quota default cpu=4
job w1 queue=a cpu=1 count=4 min=1
expect
  admitted w1
  count w1 main=4

story Full counts with victims come before fewer pods
rules 1.5.2
queue a within=LowerPriority
  quota default cpu=4
job low queue=a cpu=2
expect admitted low
after 1s
job w queue=a cpu=1 count=4 min=1 priority=5
expect preempted low by w InClusterQueue
release low
expect
  admitted w
  count w main=4
  asleep low

story Fewer pods when there is nobody to preempt
rules 1.5.3
queue a within=LowerPriority
  quota default cpu=4
job high queue=a cpu=2 priority=9
expect admitted high
after 1s
job w queue=a cpu=1 count=4 min=1 priority=5
expect
  admitted w
  count w main=2
  usage a default.cpu=4
  evictions 0

story Fewer pods may need victims too
rules 1.5.4
queue a within=LowerPriority
  quota default cpu=4
job high queue=a cpu=1 priority=9
job low queue=a cpu=1
expect admitted high low
after 1s
job w queue=a cpu=1 count=4 min=1 priority=5
expect preempted low by w InClusterQueue
release low
expect
  admitted w
  count w main=3

story When nothing helps the refusal speaks of full counts
rules 1.5.5 1.7.2
queue a
  quota default cpu=4
job high queue=a cpu=4 priority=9
expect admitted high
after 1s
job w queue=a cpu=1 count=4 min=2
expect
  asleep w
  condition w QuotaReserved=False Pending "couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor default, 4 more needed"

# ---- rule 1.6 order between queues

story Who does not borrow goes before who does
rules 1.6.1 2.4.3 2.4.4
queue a cohort=all
  quota default cpu=2
queue b cohort=all
  quota default cpu=2
job a0 queue=a cpu=2
expect admitted a0
after 1s
job wa queue=a cpu=2 priority=100
job wb queue=b cpu=2
expect
  order wb
  asleep wa

story Who borrows nearby goes before who borrows from afar
rules 1.6.1 2.4.4
cohort left parent=root
cohort right parent=root
queue a cohort=left
  quota default cpu=0
queue b cohort=left
  quota default cpu=2
queue c cohort=right
  quota default cpu=0
job wa queue=a cpu=2
job wc queue=c cpu=2 priority=100
expect
  order wa
  asleep wc

story The level is the highest over all resources
rules 1.6.2
queue a cohort=all
  quota default cpu=2 memory=0
queue b cohort=all
  quota default cpu=2 memory=2Gi
job wa queue=a cpu=1 memory=2Gi priority=100
job wb queue=b cpu=1 memory=2Gi
expect
  order wb
  asleep wa

story Between borrowers priority counts
rules 1.6.3
queue l cohort=all
  quota default cpu=2
queue a cohort=all
  quota default cpu=0
queue b cohort=all
  quota default cpu=0
job wa queue=a cpu=2 priority=1
job wb queue=b cpu=2 priority=5
expect
  order wb
  asleep wa

story Between those within their nominal priority counts too
rules 1.6.3
queue a cohort=all
  quota default cpu=2
queue b cohort=all
  quota default cpu=2
job a0 queue=a cpu=1 priority=9
job b0 queue=b cpu=1 priority=9
expect admitted a0 b0
after 1s
job wa queue=a cpu=1 priority=1
job wb queue=b cpu=1 priority=5
expect order wb wa

story Without PrioritySortingWithinCohort the older borrower goes first
rules 1.6.4
feature PrioritySortingWithinCohort=false
queue l cohort=all
  quota default cpu=2
queue a cohort=all
  quota default cpu=0
queue b cohort=all
  quota default cpu=0
at 10s
job wa queue=a cpu=2 priority=1 created=5s
job wb queue=b cpu=2 priority=5 created=6s
expect
  order wa
  asleep wb

story Between equals the older borrower goes first
rules 1.6.5
queue l cohort=all
  quota default cpu=2
queue a cohort=all
  quota default cpu=0
queue b cohort=all
  quota default cpu=0
at 10s
job wa queue=a cpu=2 created=6s
job wb queue=b cpu=2 created=5s
expect
  order wb
  asleep wa

story Between equals of one age the smaller UID goes first
rules 1.6.6
queue l cohort=all
  quota default cpu=2
queue a cohort=all
  quota default cpu=0
queue b cohort=all
  quota default cpu=0
job wa queue=a cpu=2 uid=2
job wb queue=b cpu=2 uid=1
expect
  order wb
  asleep wa

# ---- rule 1.7 processing

story Who lost the race is tried again at once
rules 1.7.1 1.3.10
queue l cohort=all
  quota default cpu=3
queue a cohort=all
  quota default cpu=0
queue b cohort=all
  quota default cpu=0
job wa queue=a cpu=2 priority=5
job wb queue=b cpu=2
expect
  order wa
  asleep wb
  condition wb QuotaReserved=False Pending "couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor default, 1 more needed"

story Who lost the race takes another flavor
rules 1.7.1 2.3.1
queue l cohort=all
  quota one cpu=2
  quota two cpu=2
queue a cohort=all
  quota one cpu=0
  quota two cpu=0
queue b cohort=all
  quota one cpu=0
  quota two cpu=0
job wa queue=a cpu=2 priority=5
job wb queue=b cpu=2
expect
  order wa wb
  flavor wa main.cpu=one
  flavor wb main.cpu=two

story Several borrowers are admitted together
rules 1.7.10
queue l cohort=all
  quota default cpu=4
queue a cohort=all
  quota default cpu=0
queue b cohort=all
  quota default cpu=0
job wa queue=a cpu=2
job wb queue=b cpu=2
expect admitted wa wb

story A strict head that finds no victims keeps borrowers away from its quota
rules 1.7.3 1.7.5
queue a cohort=all strategy=StrictFIFO reclaim=LowerPriority
  quota default cpu=4
queue b cohort=all
  quota default cpu=0
queue c cohort=all
  quota default cpu=0
job wc queue=c cpu=3 priority=10
expect admitted wc
after 1s
job wa queue=a cpu=2 priority=5
job wb queue=b cpu=1
expect
  heap wa wb
  order
  condition wb QuotaReserved=False Pending "Workload no longer fits after processing another workload"

story A BestEffortFIFO head that finds no victims goes to sleep and lets borrowers pass
rules 1.7.3 1.3.11
queue a cohort=all reclaim=LowerPriority
  quota default cpu=4
queue b cohort=all
  quota default cpu=0
queue c cohort=all
  quota default cpu=0
job wc queue=c cpu=3 priority=10
expect admitted wc
after 1s
job wa queue=a cpu=2 priority=5
job wb queue=b cpu=1
expect
  asleep wa
  admitted wb

story A strict head that may reclaim from anybody reserves nothing
rules 1.7.3
queue a cohort=all strategy=StrictFIFO reclaim=Any
  quota default cpu=4
queue b cohort=all
  quota default cpu=0
job a0 queue=a cpu=3 priority=10
expect admitted a0
after 1s
job wa queue=a cpu=2 priority=5
job wb queue=b cpu=1
expect
  heap wa
  admitted wb

story A strict head without that policy reserves all it asks for when it borrows
rules 1.7.4
queue a cohort=all strategy=StrictFIFO
  quota default cpu=4
queue b cohort=all
  quota default cpu=0
job a0 queue=a cpu=3 priority=10
expect admitted a0
after 1s
job wa queue=a cpu=2 priority=5
job wb queue=b cpu=1
expect
  heap wa wb
  order

story With a borrowing limit it reserves no more than it could have
rules 1.7.4
queue a cohort=all strategy=StrictFIFO
  quota default cpu=4 borrow:0
queue b cohort=all
  quota default cpu=0
queue c cohort=all
  quota default cpu=2
job a0 queue=a cpu=3 priority=10
expect admitted a0
after 1s
job wa queue=a cpu=2 priority=5
job wb queue=b cpu=2
expect
  heap wa
  admitted wb

story With a borrowing limit it still reserves that much
rules 1.7.4
queue a cohort=all strategy=StrictFIFO
  quota default cpu=4 borrow:0
queue b cohort=all
  quota default cpu=0
queue c cohort=all
  quota default cpu=2
job a0 queue=a cpu=3 priority=10
expect admitted a0
after 1s
job wa queue=a cpu=2 priority=5
job wb queue=b cpu=3
expect
  heap wa wb
  order

story Two preemptors with one victim: the second is skipped
rules 1.7.6 4.6.2
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
  heap wa wb
  condition wb QuotaReserved=False Pending "Workload has overlapping preemption targets with another workload"
release wc
expect
  order wa wb
  asleep wc

story A preemptor says how many it waits for
rules 1.7.7 1.7.8
queue a within=LowerPriority
  quota default cpu=4
job l1 queue=a cpu=2
job l2 queue=a cpu=2
expect admitted l1 l2
after 1s
job high queue=a cpu=4 priority=5
expect
  preempted l1 l2 by high
  heap high
  condition high QuotaReserved=False Pending "couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor default, 4 more needed. Pending the preemption of 2 workload(s)"

story Released one after the other
rules 1.7.8 4.6.2
queue a within=LowerPriority
  quota default cpu=4
job l1 queue=a cpu=2
job l2 queue=a cpu=2
expect admitted l1 l2
after 1s
job high queue=a cpu=4 priority=5
expect preempted l1 l2 by high
release l1
expect
  heap high
  waiting l1
  order
  evictions 0
release l2
expect
  admitted high
  asleep l1 l2
