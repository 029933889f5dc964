# Rule 2.6: the scan goes on where it stopped. A flavor can be chosen in vain: the search for one
# resource alone finds victims (rule 4.5), the search for all resources together does not. In these stories
# flavor "one" has cpu that could be reclaimed, but memory that must be borrowed.

story The next look starts behind the flavor chosen in vain
rules 2.6.1 2.6.2 4.5.1
queue l cohort=all
  quota one cpu=0 memory=4Gi
  quota two cpu=0 memory=0
queue c cohort=all
  quota one cpu=0 memory=0
  quota two cpu=0 memory=0
queue a cohort=all reclaim=Any when-can-preempt=MayStopSearch
  quota one cpu=4 memory=1Gi
  quota two cpu=4 memory=2Gi
job wc queue=c cpu=4 memory=0
expect flavor wc main.cpu=one
after 1s
job wa queue=a cpu=4 memory=2Gi
expect
  admitted wa
  flavor wa main.cpu=two

story When the last flavor was tried in vain too, it sleeps
rules 2.6.4 1.3.11
queue l cohort=all
  quota one cpu=0 memory=4Gi
  quota two cpu=0 memory=0
queue c cohort=all
  quota one cpu=0 memory=0
  quota two cpu=0 memory=0
queue a cohort=all reclaim=Any when-can-preempt=MayStopSearch
  quota one cpu=4 memory=1Gi
  quota two cpu=3 memory=2Gi
job wc queue=c cpu=4 memory=0
expect flavor wc main.cpu=one
after 1s
job wa queue=a cpu=4 memory=2Gi
expect
  asleep wa
  evictions 0

story A new look starts at the first flavor again
rules 2.6.3 2.6.4
queue l cohort=all
  quota one cpu=0 memory=4Gi
  quota two cpu=0 memory=0
queue c cohort=all
  quota one cpu=0 memory=0
  quota two cpu=0 memory=0
queue a cohort=all reclaim=Any when-can-preempt=MayStopSearch
  quota one cpu=4 memory=1Gi
  quota two cpu=3 memory=2Gi
job wc queue=c cpu=4 memory=0
expect flavor wc main.cpu=one
after 1s
job wa queue=a cpu=4 memory=2Gi
expect asleep wa
finish wc
expect flavor wa main.cpu=one main.memory=one

# ---- more of rule 2.5: modes and borrowing together

story Preempting and borrowing at once goes on when borrowing would
rules 2.5.2 2.5.4 2.4.9
flavor one label zone=1
flavor two label zone=2
queue l cohort=all
  quota one cpu=2
  quota two cpu=0
queue a cohort=all within=LowerPriority when-can-borrow=TryNextFlavor when-can-preempt=MayStopSearch
  quota one cpu=2
  quota two cpu=2
job l1 queue=a cpu=2 select zone=1
job l2 queue=a cpu=2 select zone=1
expect admitted l1 l2
after 1s
# In one, with l1 gone, it would still borrow.
job high queue=a cpu=2 priority=5
expect
  flavor high main.cpu=two
  evictions 0

story The worst resource hides that another borrows
rules 2.5.11 2.5.4
queue l cohort=all
  quota one cpu=0 memory=4Gi
  quota two cpu=0 memory=0
queue a cohort=all within=LowerPriority when-can-borrow=TryNextFlavor when-can-preempt=MayStopSearch
  quota one cpu=2 memory=1Gi
  quota two cpu=2 memory=2Gi
job low queue=a cpu=2
expect flavor low main.cpu=one
after 1s
# cpu: preempt without borrowing; memory: fits by borrowing. The worse of the two is the first, and it ends the scan.
job high queue=a cpu=2 memory=2Gi priority=5
expect preempted low by high

story Two podsets, two flavors, victims in both
rules 4.1.7 2.2.8
flavor one label zone=1
flavor two label zone=2
queue a within=LowerPriority
  quota one cpu=2
  quota two cpu=2
job l1 queue=a cpu=2 select zone=1
job l2 queue=a cpu=2 select zone=2
expect admitted l1 l2
after 1s
job high queue=a priority=5
  podset x cpu=1 select zone=1
  podset y cpu=1 select zone=2
expect
  preempted l1 l2 by high
  condition high QuotaReserved=False Pending "couldn't assign flavors to pod set x: flavor two doesn't match node affinity, insufficient unused quota for cpu in flavor one, 1 more needed; couldn't assign flavors to pod set y: flavor one doesn't match node affinity, insufficient unused quota for cpu in flavor two, 1 more needed. Pending the preemption of 2 workload(s)"
release l1 l2
expect flavor high x.cpu=one y.cpu=two

story Two podsets, victims only where they are needed
rules 4.1.7
flavor one label zone=1
flavor two label zone=2
queue a within=LowerPriority
  quota one cpu=2
  quota two cpu=2
job l1 queue=a cpu=1 select zone=1
job l2 queue=a cpu=2 select zone=2
expect admitted l1 l2
after 1s
job high queue=a priority=5
  podset x cpu=1 select zone=1
  podset y cpu=1 select zone=2
expect preempted l2 by high
