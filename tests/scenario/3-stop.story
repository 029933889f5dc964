# Rules 3.4 and 3.5: when a queue is active, and how it is stopped.

story A queue with all it names is active
rules 3.4.6
admission-check prov
flavor default
queue a checks=prov
  quota default cpu=1
expect active a "Can admit new workloads"

story A queue being deleted
rules 3.4.1
queue a
  quota default cpu=2
job w1 queue=a cpu=1
expect admitted w1
change queue a terminating
job w2 queue=a cpu=1
expect
  inactive a "Can't admit new workloads; clusterQueue is terminating"
  admitted w1
  order

story A stopped queue
rules 3.4.2
queue a stop=Hold
  quota default cpu=1
expect inactive a "Can't admit new workloads: is stopped."

story Missing flavors in the order of the spec
rules 3.4.3
flavor zeta absent
flavor alpha absent
queue a
  quota zeta cpu=1
  quota here cpu=1
  quota alpha cpu=1
expect inactive a "Can't admit new workloads: references missing ResourceFlavor(s): zeta,alpha."

story A flavor that is removed
rules 3.4.3
flavor one
queue a
  quota one cpu=2
job w1 queue=a cpu=1
expect admitted w1
remove flavor one
job w2 queue=a cpu=1
expect
  inactive a "Can't admit new workloads: references missing ResourceFlavor(s): one."
  admitted w1
  order
flavor one
expect admitted w2

story Missing checks
rules 3.4.4
queue a checks=img,prov
  quota default cpu=1
expect inactive a "Can't admit new workloads: references missing AdmissionCheck(s): img,prov."

story Inactive checks, sorted
rules 3.4.5
admission-check prov inactive
admission-check img inactive
queue a checks=prov,img
  quota default cpu=1
job w1 queue=a cpu=1
expect
  inactive a "Can't admit new workloads: references inactive AdmissionCheck(s): img,prov."
  order
admission-check prov
expect inactive a "Can't admit new workloads: references inactive AdmissionCheck(s): img."
admission-check img
expect
  active a
  reserved w1

story All that is wrong is told
rules 3.4.6
flavor ghost absent
admission-check lazy inactive
queue a checks=prov,lazy stop=HoldAndDrain
  quota ghost cpu=1
expect inactive a "Can't admit new workloads: is stopped, references missing ResourceFlavor(s): ghost, references missing AdmissionCheck(s): prov, references inactive AdmissionCheck(s): lazy."

# ---- 3.5

story Hold lets the admitted run on
rules 3.5.1
queue a
  quota default cpu=2
job w1 queue=a cpu=1
expect admitted w1
change queue a stop=Hold
job w2 queue=a cpu=1
expect
  admitted w1
  order
  condition w2 QuotaReserved=False Inadmissible "ClusterQueue a is inactive"
change queue a stop=None
expect admitted w1 w2

story Hold takes back what is only reserved
rules 3.5.2
admission-check prov
queue a checks=prov
  quota default cpu=2
job w1 queue=a cpu=1
job w2 queue=a cpu=1
expect reserved w1 w2
check w2 prov=Ready
expect admitted w2
change queue a stop=Hold
expect
  admitted w2
  usage a default.cpu=1
  told w1 QuotaReserved=False Inadmissible "ClusterQueue a is stopped"
  condition w1 QuotaReserved=False Inadmissible "ClusterQueue a is inactive"
  no-condition w1 Evicted
change queue a stop=None
expect reserved w1

story Hold of a local queue takes back what is only reserved
rules 3.5.2 3.5.6
admission-check prov
queue a checks=prov local=no
  quota default cpu=2
local red -> a
local blue -> a
job w1 queue=red cpu=1
job w2 queue=blue cpu=1
expect reserved w1 w2
change local red stop=Hold
expect
  reserved w2
  usage a default.cpu=1
  told w1 QuotaReserved=False Inadmissible "LocalQueue red is stopped"
  condition w1 QuotaReserved=False Inadmissible "LocalQueue red is inactive"

story HoldAndDrain evicts the admitted
rules 3.5.3 4.7.5
queue a
  quota default cpu=2
job w1 queue=a cpu=1
expect admitted w1
change queue a stop=HoldAndDrain
expect
  evicting w1 ClusterQueueStopped
  condition w1 Evicted=True ClusterQueueStopped "The ClusterQueue is stopped"
release w1
expect
  usage a default.cpu=0
  condition w1 QuotaReserved=False
  condition w1 Admitted=False NoReservation "The workload has no reservation"
  condition w1 Requeued=False ClusterQueueStopped "The ClusterQueue is stopped"

story Resuming a drained queue
rules 3.5.5
queue a
  quota default cpu=2
job w1 queue=a cpu=1
expect admitted w1
change queue a stop=HoldAndDrain
expect evicting w1
release w1
expect order
change queue a stop=None
expect
  admitted w1
  condition w1 Requeued=True ClusterQueueRestarted "The ClusterQueue was restarted after being stopped"
  condition w1 Evicted=False QuotaReserved "Previously: The ClusterQueue is stopped"

story HoldAndDrain of a local queue evicts only its own
rules 3.5.3 3.5.6
queue a local=no
  quota default cpu=2
local red -> a
local blue -> a
job w1 queue=red cpu=1
job w2 queue=blue cpu=1
expect admitted w1 w2
change local red stop=HoldAndDrain
expect
  evicting w1 LocalQueueStopped
  admitted w2
  condition w1 Evicted=True LocalQueueStopped "The LocalQueue is stopped"
release w1
expect
  usage a default.cpu=1
  condition w1 Requeued=False LocalQueueStopped "The LocalQueue is stopped"
change local red stop=None
expect
  admitted w1
  condition w1 Requeued=True LocalQueueRestarted "The LocalQueue was restarted after being stopped"

story The local queue is judged first
rules 3.5.4
queue a local=no
  quota default cpu=2
local red -> a
job w1 queue=red cpu=1
expect admitted w1
change local red stop=HoldAndDrain
change queue a stop=HoldAndDrain
expect
  evicting w1 LocalQueueStopped
  evictions 1

story The local queue is judged first also for what is found at the start
rules 3.5.4 10.1.3
queue a local=no stop=HoldAndDrain
  quota default cpu=2
local red -> a stop=HoldAndDrain
job w1 queue=red cpu=1
holds w1 in=a
expect
  evicting w1 LocalQueueStopped
  evictions 1

story A stopped local queue blocks its jobs and no others
rules 3.5.6 7.5.3
queue a local=no
  quota default cpu=2
local red -> a stop=Hold
local blue -> a
job w1 queue=red cpu=1 priority=9
job w2 queue=blue cpu=1
expect
  blocked w1
  admitted w2
  condition w1 QuotaReserved=False Inadmissible "LocalQueue red is inactive"
change local red stop=None
expect admitted w1

story Hold of a local queue lets its admitted run on
rules 3.5.1 3.5.6
queue a local=no
  quota default cpu=2
local red -> a
job w1 queue=red cpu=1
expect admitted w1
change local red stop=Hold
job w2 queue=red cpu=1
expect
  admitted w1
  blocked w2

story Draining twice evicts once
rules 3.5.3 4.6.2
queue a
  quota default cpu=2
job w1 queue=a cpu=1
expect admitted w1
change queue a stop=HoldAndDrain
expect evictions 1
change queue a stop=Hold
expect evicting w1 ClusterQueueStopped
change queue a stop=HoldAndDrain
expect evictions 0

story From Hold to HoldAndDrain
rules 3.5.1 3.5.3
queue a
  quota default cpu=2
job w1 queue=a cpu=1
expect admitted w1
change queue a stop=Hold
expect
  admitted w1
  evictions 0
change queue a stop=HoldAndDrain
expect evicting w1 ClusterQueueStopped

story A missing local queue takes back what is only reserved
rules 3.5.2
admission-check prov
queue a checks=prov
  quota default cpu=2
job w1 queue=a cpu=1
expect reserved w1
remove local a
expect
  usage a default.cpu=0
  told w1 QuotaReserved=False Inadmissible "LocalQueue a is terminating or missing"
  condition w1 QuotaReserved=False Inadmissible "LocalQueue a doesn't exist"

story HoldAndDrain takes back what is only reserved, without an eviction
rules 3.5.2 3.5.3
admission-check prov
queue a checks=prov
  quota default cpu=2
job w1 queue=a cpu=1
job w2 queue=a cpu=1
expect reserved w1 w2
check w2 prov=Ready
expect admitted w2
change queue a stop=HoldAndDrain
expect
  evicting w2 ClusterQueueStopped
  no-condition w1 Evicted
  usage a default.cpu=1
  evictions 1
