# Section 2.6: the scan goes on where it stopped. A flavor can be chosen in vain: the search for one
# resource alone finds victims (4.5), the search for all resources together does not. In these stories
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
