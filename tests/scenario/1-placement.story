# Rule 1.3: in the heap or asleep, and what wakes.

story BestEffortFIFO lets the next one pass, StrictFIFO does not
rules 1.3.1 1.3.9 1.3.11
queue best
  quota default cpu=3
queue strict strategy=StrictFIFO
  quota default cpu=3
job b-runs queue=best cpu=2
job s-runs queue=strict cpu=2
expect admitted b-runs s-runs
after 1s
job b-big queue=best cpu=2 priority=5
job b-small queue=best cpu=1
job s-big queue=strict cpu=2 priority=5
job s-small queue=strict cpu=1
expect
  asleep b-big
  admitted b-small
  heap s-big s-small

story A repeated fact leaves a sleeper asleep
rules 1.3.2 1.8.7
queue a
  quota default cpu=1
job w1 queue=a cpu=1
job w2 queue=a cpu=1
expect asleep w2
change job w2
expect
  nothing
  asleep w2

story A sleeper that shrinks is looked at again
rules 1.3.3
queue a
  quota default cpu=3
job w1 queue=a cpu=5
expect asleep w1
change job w1 cpu=3
expect admitted w1

story A sleeper that gains priority is looked at again
rules 1.3.3 4.1.2
queue a within=LowerPriority
  quota default cpu=1
job runs queue=a cpu=1 priority=5
expect admitted runs
after 1s
job waits queue=a cpu=1 priority=5
expect asleep waits
change job waits priority=6
expect
  preempted runs by waits InClusterQueue
  heap waits

story A sleeper with fewer pods to run is looked at again
rules 1.3.3 2.1.9
queue a
  quota default cpu=2
job w1 queue=a cpu=1 count=3
expect asleep w1
reclaim w1 main=1
expect
  admitted w1
  usage a default.cpu=2

story An equal newcomer goes to sleep unseen
rules 1.3.5 7.5.1
queue a
  quota default cpu=1
job w1 queue=a cpu=1
expect admitted w1
after 1s
job w2 queue=a cpu=1
expect
  asleep w2
  condition w2 QuotaReserved=False Pending
after 1s
job w3 queue=a cpu=1
expect
  asleep w3
  no-condition w3 QuotaReserved

story Equal jobs go to sleep with the one that was refused
rules 1.3.14
queue a
  quota default cpu=1
job w1 queue=a cpu=1 priority=5
job w2 queue=a cpu=1
job w3 queue=a cpu=1
job w4 queue=a cpu=1
expect
  admitted w1
  asleep w2 w3 w4
  condition w2 QuotaReserved=False Pending
  no-condition w3 QuotaReserved
  no-condition w4 QuotaReserved

story Another priority, another count or another request is looked at for itself
rules 1.3.15
queue a
  quota default cpu=1
job w1 queue=a cpu=1 priority=5
expect admitted w1
after 1s
job w2 queue=a cpu=1
job w3 queue=a cpu=1 priority=-1
job w4 queue=a cpu=500m count=2
job w5 queue=a cpu=900m
job w6 queue=a cpu=1 select zone=a
expect
  asleep w2 w3 w4 w5 w6
  condition w2 QuotaReserved=False Pending
  condition w3 QuotaReserved=False Pending
  condition w4 QuotaReserved=False Pending
  condition w5 QuotaReserved=False Pending
  condition w6 QuotaReserved=False Pending

story Without the gate everyone is looked at
rules 1.3.16
feature SchedulingEquivalenceHashing=false
queue a
  quota default cpu=1
job w1 queue=a cpu=1
job w2 queue=a cpu=1
job w3 queue=a cpu=1
expect
  asleep w2 w3
  condition w2 QuotaReserved=False Pending
  condition w3 QuotaReserved=False Pending

story Equal jobs in StrictFIFO stay in the heap
rules 1.3.9 1.3.14
queue a strategy=StrictFIFO
  quota default cpu=1
job w1 queue=a cpu=1
job w2 queue=a cpu=1
job w3 queue=a cpu=1
expect
  heap w2 w3
  condition w2 QuotaReserved=False Pending

story Gated, held and inactive jobs are in no queue
rules 1.3.6 7.5.11
queue a
  quota default cpu=9
job g queue=a cpu=1 gated=data
job h queue=a cpu=1 held
job i queue=a cpu=1 inactive
expect
  blocked g h i
  queue a
unhold h
ungate g
activate i
expect admitted g h i

story A waiting job can be held back and let go
rules 1.3.6 7.5.11
queue a
  quota default cpu=1
job runs queue=a cpu=1
expect admitted runs
after 1s
job w1 queue=a cpu=1
expect asleep w1
hold w1
expect blocked w1
finish runs
expect
  blocked w1
  order
unhold w1
expect admitted w1

story A finished job is in no queue
rules 1.3.6
queue a
  quota default cpu=1
job w1 queue=a cpu=1
job w2 queue=a cpu=1
expect asleep w2
finish w2
expect
  finished w2
  queue a
finish w1
expect
  finished w1
  order

story A job moves to another queue
rules 1.3.7
queue a
  quota default cpu=1
queue b
  quota default cpu=1
job w1 queue=a cpu=1
job w2 queue=a cpu=1
expect asleep w2
change job w2 queue=b
expect
  admitted w2
  usage b default.cpu=1
  queue a

story A re-pointed local queue takes its jobs along
rules 1.3.8
queue a
  quota default cpu=1
queue b
  quota default cpu=4
local team -> a
job w1 queue=team cpu=1
job w2 queue=team cpu=1
job w3 queue=team cpu=1
expect asleep w2 w3
local team -> b
expect
  admitted w1 w2 w3
  usage a default.cpu=1
  usage b default.cpu=2

story A local queue that comes late finds its jobs
rules 1.3.8 7.5.2
queue a local=no
  quota default cpu=2
job w1 queue=late cpu=1
job w2 queue=late cpu=1
expect blocked w1 w2
local late -> a
expect admitted w1 w2

story A queue that comes late finds its jobs
rules 1.3.8 7.5.4
local team -> a
job w1 queue=team cpu=1
expect blocked w1
queue a local=no
  quota default cpu=1
expect admitted w1

story A local queue that goes takes its waiting jobs out
rules 1.3.8 7.5.2
queue a
  quota default cpu=1
job w1 queue=a cpu=1
job w2 queue=a cpu=1
expect asleep w2
remove local a
expect
  blocked w2
  admitted w1
  condition w2 QuotaReserved=False Inadmissible "LocalQueue a doesn't exist"

story Quota freed in one queue wakes the whole cohort
rules 1.3.17 1.3.18
queue a cohort=all
  quota default cpu=0
queue b cohort=all
  quota default cpu=2
job wb queue=b cpu=2
expect admitted wb
after 1s
job wa queue=a cpu=2
expect asleep wa
finish wb
expect admitted wa

story A queue in another tree wakes nobody here
rules 1.3.17
queue a
  quota default cpu=1
queue b
  quota default cpu=1
job a1 queue=a cpu=1
job b1 queue=b cpu=1
expect admitted a1 b1
after 1s
job a2 queue=a cpu=1
expect asleep a2
finish b1
expect
  asleep a2
  order

story Deleting a running job wakes
rules 1.3.18
queue a
  quota default cpu=1
job w1 queue=a cpu=1
job w2 queue=a cpu=1
expect asleep w2
delete w1
expect
  gone w1
  admitted w2

story Deactivating a running job wakes once it has stopped
rules 1.3.18 4.7.1 7.5.9
queue a
  quota default cpu=1
job w1 queue=a cpu=1
job w2 queue=a cpu=1
expect asleep w2
deactivate w1
expect
  evicting w1 Deactivated
  asleep w2
release w1
expect
  blocked w1
  admitted w2

story A preempted job that has stopped wakes others
rules 1.3.18
queue a within=LowerPriority
  quota default cpu=3
job low queue=a cpu=3
expect admitted low
after 1s
job high queue=a cpu=2 priority=5
job small queue=a cpu=1 priority=-1
expect preempted low by high
release low
expect
  admitted high small
  asleep low

story Pods no longer needed make room
rules 1.3.19 2.1.11
queue a
  quota default cpu=3
job w1 queue=a cpu=1 count=3
expect admitted w1
after 1s
job w2 queue=a cpu=2
expect asleep w2
reclaim w1 main=1
expect
  asleep w2
  usage a default.cpu=2
reclaim w1 main=2
expect
  admitted w2
  usage a default.cpu=3

story A running job that loses priority may be preempted
rules 1.3.19
queue a within=LowerPriority
  quota default cpu=1
job w1 queue=a cpu=1 priority=5
expect admitted w1
after 1s
job w2 queue=a cpu=1 priority=5
expect asleep w2
change job w1 priority=4
expect preempted w1 by w2 InClusterQueue

story More quota wakes
rules 1.3.20
queue a
  quota default cpu=1
job w1 queue=a cpu=2
expect asleep w1
change queue a
  quota default cpu=2
expect admitted w1

story A new queue lends to its cohort
rules 1.3.20
queue a cohort=all
  quota default cpu=1
job w1 queue=a cpu=3
expect asleep w1
queue b cohort=all
  quota default cpu=2
expect admitted w1

story A queue that joins a cohort is woken
rules 1.3.20 3.1.7
queue a
  quota default cpu=0
queue b cohort=all
  quota default cpu=2
job w1 queue=a cpu=2
expect asleep w1
change queue a cohort=all
expect admitted w1

story A new preemption policy wakes
rules 1.3.20
queue a
  quota default cpu=1
job low queue=a cpu=1
expect admitted low
after 1s
job high queue=a cpu=1 priority=3
expect asleep high
change queue a within=LowerPriority
expect preempted low by high

story A cohort's own quota wakes
rules 1.3.21 3.1.2
queue a cohort=all
  quota default cpu=1
job w1 queue=a cpu=3
expect asleep w1
cohort all
  quota default cpu=1
expect asleep w1
cohort all
  quota default cpu=2
expect admitted w1

story A cohort that finds a parent wakes
rules 1.3.21
queue a cohort=left
  quota default cpu=0
queue b cohort=right
  quota default cpu=2
job w1 queue=a cpu=2
expect asleep w1
cohort left parent=root
cohort right parent=root
expect admitted w1

story A namespace that comes to match wakes
rules 1.3.22 1.4.7
queue a namespaces="team=red"
  quota default cpu=1
job w1 queue=a cpu=1
expect
  asleep w1
  condition w1 QuotaReserved=False Pending "workload namespace doesn't match ClusterQueue selector"
namespace default label team=red
expect admitted w1

story A selector that comes to match wakes
rules 1.3.20 1.4.7
queue a namespaces="team=red"
  quota default cpu=1
job w1 queue=a cpu=1
expect asleep w1
change queue a namespaces=""
expect admitted w1

story A flavor that appears makes its queue active
rules 1.3.23 3.4.3
flavor ghost absent
queue a
  quota ghost cpu=1
job w1 queue=a cpu=1
expect
  inactive a "Can't admit new workloads: references missing ResourceFlavor(s): ghost."
  order
flavor ghost
expect
  active a "Can admit new workloads"
  admitted w1

story A check that appears makes its queue active
rules 1.3.23 3.4.4
queue a checks=prov
  quota default cpu=1
job w1 queue=a cpu=1
expect
  inactive a "Can't admit new workloads: references missing AdmissionCheck(s): prov."
  order
admission-check prov
expect
  active a
  reserved w1

story The weight of a local queue wakes nobody
rules 1.3.24
queue a
  quota default cpu=1
job w1 queue=a cpu=1
job w2 queue=a cpu=1
expect asleep w2
change local a weight=5
expect
  nothing
  asleep w2

story A foreign namespace is put to sleep in StrictFIFO too
rules 1.3.25 1.4.7
namespace red label team=red
queue a strategy=StrictFIFO namespaces="team=red"
  quota default cpu=2
local red/a -> a
job stranger queue=a cpu=1 priority=9
job red/own queue=a cpu=1
expect
  asleep stranger
  admitted red/own

story Freed quota does not wake who does not match
rules 1.3.26
namespace red label team=red
queue a namespaces="team=red"
  quota default cpu=1
local red/a -> a
job red/own queue=a cpu=1
job stranger queue=a cpu=1
expect
  admitted red/own
  asleep stranger
finish red/own
expect
  asleep stranger
  order

story Freed quota does not wake before the back-off is over
rules 1.3.4 1.3.26
config pods-ready timeout=60s
queue a
  quota default cpu=2
job w1 queue=a cpu=1
job w2 queue=a cpu=1
expect admitted w1 w2
ready w2
at 60s
expect evicting w1 PodsReadyTimeout
release w1
expect
  asleep w1
  backoff w1 count=1 at=120s
finish w2
expect
  asleep w1
  order
at 120s
expect admitted w1

story A look that finds flavors still untried is followed by another at once
rules 1.3.12 2.6.2
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
  flavor wa main.cpu=two main.memory=two
  evictions 0

story A queue that becomes strict knows no sleepers
rules 1.3.9 1.3.20
queue a
  quota default cpu=3
job running queue=a cpu=2
job big queue=a cpu=5 priority=10
job small queue=a cpu=1
expect
  admitted running small
  asleep big
change queue a strategy=StrictFIFO
expect heap big
job next queue=a cpu=1
finish running
expect heap big next
change queue a strategy=BestEffortFIFO
expect
  asleep big
  admitted next
