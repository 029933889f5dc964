# Rules 7.7 with 1.5, 1.7 and 2.4: slices that take the place of others, jobs that shrink, and
# workloads whose preemption gate is closed.

# ---- growing ----

story A slice asks only for what it needs beyond the one before
rules 1.5.6 7.7.1 7.7.2
queue a
  quota default cpu=10
job one queue=a cpu=2 count=3
expect
  admitted one
  usage a default.cpu=6
job two queue=a cpu=2 count=5 replaces=one
expect
  admitted two
  finished one
  count two main=5
  usage a default.cpu=10
  condition two QuotaReserved=True QuotaReserved "Quota reserved in ClusterQueue a"
  condition one Finished=True WorkloadSliceReplaced "Replaced to accommodate a workload (UID: two, JobUID: ) due to workload slice aggregation"
  evictions 0

story Scale-up in one podset, the others unchanged
rules 1.5.6 2.4.12 7.7.2
queue a
  quota default cpu=10
job wl queue=a
  podset worker count=2 cpu=1
  podset coordinator count=1 cpu=2
expect usage a default.cpu=4
job slice queue=a replaces=wl
  podset worker count=2 cpu=1
  podset coordinator count=3 cpu=2
expect
  admitted slice
  finished wl
  usage a default.cpu=8
job next queue=a cpu=1 count=2
after 1s
job last queue=a cpu=1 count=2
expect
  admitted next
  asleep last
  usage a default.cpu=10

story One podset grows into what another gives up
rules 2.4.12 7.7.2
queue a
  quota default cpu=10
job one queue=a
  podset left count=6 cpu=1
  podset right count=4 cpu=1
expect usage a default.cpu=10
job two queue=a replaces=one
  podset left count=2 cpu=1
  podset right count=8 cpu=1
expect
  admitted two
  finished one
  usage a default.cpu=10
# The other way round as well, whatever the order of the podsets (ours).
job three queue=a replaces=two
  podset left count=4 cpu=1
  podset right count=6 cpu=1
expect
  admitted three
  finished two
  usage a default.cpu=10

story What the slice needs beyond must be there
rules 1.5.6 2.4.12
queue a
  quota default cpu=10
job one queue=a cpu=1 count=6
job other queue=a cpu=1 count=3
expect admitted one other
job two queue=a cpu=1 count=8 replaces=one
expect
  asleep two
  admitted one
  usage a default.cpu=9
  condition two QuotaReserved=False Pending "couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor default, 1 more needed"
  explain two NO_QUOTA help=wait-for,raise-quota,shrink "needs 2 of cpu in flavor default, has 1 available"
finish other
expect
  admitted two
  finished one
  usage a default.cpu=8

story A slice of the same size takes over as well
rules 1.5.6 7.7.2
queue a
  quota default cpu=4
job one queue=a cpu=4
expect admitted one
job two queue=a cpu=4 replaces=one
expect
  admitted two
  finished one
  usage a default.cpu=4

story A slice after a slice
rules 1.5.6 7.7.1
queue a
  quota default cpu=6
job one queue=a cpu=1 count=1
expect admitted one
job two queue=a cpu=1 count=3 replaces=one
expect admitted two
job three queue=a cpu=1 count=6 replaces=two
expect
  admitted three
  finished one two
  usage a default.cpu=6

story The flavors of the slice before are kept
rules 2.4.12
queue a when-can-borrow=TryNextFlavor when-can-preempt=TryNextFlavor
  quota spot cpu=4
  quota reserved cpu=10
job first queue=a cpu=4
expect flavor first main.cpu=spot
job one queue=a cpu=1 count=2
expect flavor one main.cpu=reserved
finish first
job two queue=a cpu=1 count=4 replaces=one
expect
  admitted two
  flavor two main.cpu=reserved
  usage a spot.cpu=0 reserved.cpu=4

story No other flavor will do
rules 2.4.12
queue a
  quota spot cpu=4
  quota reserved cpu=10
job one queue=a cpu=1 count=2
expect flavor one main.cpu=spot
job two queue=a cpu=1 count=5 replaces=one
expect
  asleep two
  admitted one
  condition two QuotaReserved=False Pending "couldn't assign flavors to pod set main: could not assign reserved flavor since the original workload is assigned: spot, insufficient unused quota for cpu in flavor spot, 1 more needed"

story A resource that the slice before did not have
rules 2.4.12
queue a
  quota default cpu=10 memory=10Gi
job one queue=a cpu=1 count=2
expect usage a default.cpu=2 default.memory=0
job two queue=a cpu=1 memory=1Gi count=3 replaces=one
expect
  admitted two
  usage a default.cpu=3 default.memory=3Gi

story A slice may borrow what it needs beyond
rules 1.5.6 2.4.12
queue a cohort=all
  quota default cpu=4
queue b cohort=all
  quota default cpu=4
job one queue=a cpu=1 count=4
expect admitted one
job two queue=a cpu=1 count=7 replaces=one
expect
  admitted two
  usage a default.cpu=7
  available b default.cpu=1

story Under fair sharing too
rules 1.5.6
config fair-sharing
queue a cohort=all reclaim=Any
  quota default cpu=4
queue b cohort=all reclaim=Any
  quota default cpu=4
job one queue=a cpu=1 count=3
job other queue=b cpu=1 count=5
expect admitted one other
job two queue=a cpu=1 count=4 replaces=one
expect
  evicting other Preempted
  admitted one
  usage a default.cpu=3
release other
expect
  admitted two
  finished one
  asleep other

# ---- growing by preemption ----

story A slice preempts for what it needs beyond
rules 1.5.6 1.7.14
queue a within=LowerOrNewerEqualPriority
  quota default cpu=2
job low queue=a cpu=1 priority=-1
job high queue=a cpu=1 priority=10
expect admitted low high
after 1s
job high-2 queue=a cpu=1 count=2 replaces=high
expect
  preempted low by high-2 InClusterQueue
  admitted high
  heap high-2
  condition high-2 QuotaReserved=False Pending "couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor default, 1 more needed. Pending the preemption of 1 workload(s)"
release low
expect
  admitted high-2
  finished high
  asleep low
  usage a default.cpu=2
change job high-2 count=1
expect
  admitted high-2 low
  usage a default.cpu=2

story The slice before is never a victim of its successor
rules 1.7.14
queue a within=LowerPriority
  quota default cpu=4
job one queue=a cpu=1 count=3 priority=1
expect admitted one
after 1s
job two queue=a cpu=1 count=6 priority=9 replaces=one
expect
  asleep two
  admitted one
  evictions 0

story The slice before is victim of nobody else in that turn
rules 1.7.14
queue a cohort=all within=LowerPriority
  quota default cpu=3
queue b cohort=all reclaim=LowerPriority borrow-within=LowerPriority
  quota default cpu=2
queue c cohort=all
  quota default cpu=3
job one queue=a cpu=1 count=5 priority=1
job low queue=a cpu=1 count=3
expect admitted one low
after 1s
job two queue=a cpu=1 count=8 priority=9 replaces=one
job other queue=b cpu=4 priority=5
expect
  preempted low by two InClusterQueue
  admitted one
  heap two other
  told other QuotaReserved=False Pending "Workload has overlapping preemption targets with another workload"
release low
expect
  admitted two
  finished one
  usage a default.cpu=8

story Who finds its victim replaced looks for another
rules 1.7.14 7.7.2
queue a cohort=all
  quota default cpu=4
queue b cohort=all reclaim=LowerPriority borrow-within=LowerPriority
  quota default cpu=2
queue c cohort=all
  quota default cpu=4
job one queue=a cpu=1 count=6 priority=1
expect admitted one
after 1s
job two queue=a cpu=1 count=8 priority=3 replaces=one
job other queue=b cpu=5 priority=2
expect
  admitted two
  finished one
  waiting other
  evictions 0
  told other QuotaReserved=False Pending "Workload has overlapping preemption targets with another workload"

story A slice that is being evicted has no place to give
rules 7.7.3
queue a within=LowerPriority
  quota default cpu=4
job one queue=a cpu=1 count=2 priority=1
expect admitted one
after 1s
job high queue=a cpu=4 priority=9
expect preempted one by high
job two queue=a cpu=1 count=4 priority=1 replaces=one
expect
  evicting one
  waiting two
release one
expect
  admitted high
  asleep one
  waiting two
finish high
expect
  order one two
  finished one
  admitted two

story A slice that waits has no place to give
rules 7.7.3
queue a
  quota default cpu=4
job other queue=a cpu=4
expect admitted other
job one queue=a cpu=1 count=2 created=1s
job two queue=a cpu=1 count=3 replaces=one created=2s
expect waiting one two
finish other
expect
  order one two
  finished one
  admitted two
  usage a default.cpu=3

story A slice of another queue has no place to give
rules 1.5.6
queue a
  quota default cpu=4
queue b
  quota default cpu=4
job one queue=a cpu=1 count=4
expect admitted one
job two queue=b cpu=1 count=4 replaces=one
expect
  admitted one two
  usage a default.cpu=4
  usage b default.cpu=4

story Checks are passed anew
rules 7.7.1
admission-check c
queue a checks=c
  quota default cpu=4
job one queue=a cpu=1 count=2
check one c=Ready
expect admitted one
job two queue=a cpu=1 count=4 replaces=one
expect
  reserved two
  finished one
  usage a default.cpu=4
check two c=Ready
expect admitted two

# ---- shrinking ----

story A job that shrinks gives quota back and stays where it is
rules 7.7.5
queue a
  quota default cpu=4
job one queue=a cpu=1 count=4
expect admitted one
job other queue=a cpu=1 count=2
expect asleep other
change job one count=2
expect
  admitted one other
  count one main=2
  usage a default.cpu=4

story One podset of several
rules 7.7.5
queue a
  quota default cpu=8
job one queue=a
  podset worker count=2 cpu=1
  podset coordinator count=3 cpu=2
expect usage a default.cpu=8
change job one
  podset worker count=2 cpu=1
  podset coordinator count=2 cpu=2
expect
  admitted one
  count one worker=2 coordinator=2
  usage a default.cpu=6

story What is held never grows in place
rules 7.7.5
queue a
  quota default cpu=8
job one queue=a cpu=1 count=4
expect admitted one
change job one count=6
expect
  admitted one
  usage a default.cpu=4
change job one count=3
expect usage a default.cpu=3

story Shrunk before it was preempted, it comes back smaller
rules 7.7.5
queue a within=LowerPriority
  quota default cpu=4
job one queue=a cpu=1 count=4
expect admitted one
change job one count=2
after 1s
job high queue=a cpu=4 priority=9
expect preempted one by high
release one
finish high
expect
  admitted one
  usage a default.cpu=2

story Shrunk after some of its pods ended, those that run still count
rules 7.7.5
queue a
  quota default cpu=8
job one queue=a cpu=1 count=8
reclaim one main=3
expect usage a default.cpu=5
change job one count=6
expect usage a default.cpu=5
reclaim one main=1
expect usage a default.cpu=5
reclaim one main=3
expect usage a default.cpu=3

story Found at the start with more than it asks for now
rules 7.7.5 10.1.3
queue a
  quota default cpu=8
job one queue=a cpu=1 count=6
holds one flavor=default
change job one count=4
expect
  admitted one
  usage a default.cpu=4

# ---- preemption gates ----

story A closed gate keeps from preempting and blocks nobody
rules 1.7.12
queue a within=LowerPriority
  quota default cpu=2
job low queue=a cpu=1500m
expect admitted low
after 1s
job high queue=a cpu=1 priority=9 preemption-gate=closed
expect
  asleep high
  admitted low
  evictions 0
  condition high QuotaReserved=False Pending "Workload requires preemption, but it's gated"
  condition high BlockedOnPreemptionGates=True PreemptionGated "Workload requires preemption, but it's gated"
  explain high BLOCKED "fits after preempting 1 workload, but a preemption gate is closed"
job low2 queue=a cpu=500m
expect
  admitted low2
  asleep high

story The gate opens
rules 1.7.13
queue a within=LowerPriority
  quota default cpu=2
job low queue=a cpu=2
expect admitted low
after 1s
job high queue=a cpu=1 priority=9 preemption-gate=closed
expect asleep high
change job high preemption-gate=open
expect preempted low by high
release low
expect
  admitted high
  condition high BlockedOnPreemptionGates=False QuotaReserved "Previously: Workload requires preemption, but it's gated"

story A gated one takes what becomes free
rules 1.7.13
queue a within=LowerPriority
  quota default cpu=2
job low queue=a cpu=2
expect admitted low
after 1s
job high queue=a cpu=1 priority=9 preemption-gate=closed
expect asleep high
finish low
expect
  admitted high
  evictions 0

story A closed gate does not matter where there is room
rules 1.7.12
queue a within=LowerPriority
  quota default cpu=2
job w queue=a cpu=1 preemption-gate=closed
expect
  admitted w
  no-condition w BlockedOnPreemptionGates

story Each gated one is told for itself
rules 1.7.13
queue a within=LowerPriority
  quota default cpu=2
job low queue=a cpu=2
expect admitted low
after 1s
job g1 queue=a cpu=1 priority=9 preemption-gate=closed
job g2 queue=a cpu=1 priority=9 preemption-gate=closed
expect
  asleep g1 g2
  condition g1 BlockedOnPreemptionGates=True PreemptionGated
  condition g2 BlockedOnPreemptionGates=True PreemptionGated

story Equal but not gated is looked at for itself
rules 1.7.13
queue a within=LowerPriority
  quota default cpu=2
job low queue=a cpu=2
expect admitted low
after 1s
job g queue=a cpu=1 priority=9 preemption-gate=closed
expect asleep g
job free queue=a cpu=1 priority=9
expect preempted low by free

story In a strict queue a gated head waits in its place
rules 1.7.12
queue a strategy=StrictFIFO within=LowerPriority
  quota default cpu=2
job low queue=a cpu=1500m
expect admitted low
after 1s
job high queue=a cpu=1 priority=9 preemption-gate=closed
job low2 queue=a cpu=500m
expect
  heap high low2
  condition high BlockedOnPreemptionGates=True PreemptionGated
  evictions 0

story Nobody to preempt is told before the gate
rules 1.7.12
queue a
  quota default cpu=2
job low queue=a cpu=2
expect admitted low
after 1s
job high queue=a cpu=1 priority=9 preemption-gate=closed
expect
  asleep high
  no-condition high BlockedOnPreemptionGates
