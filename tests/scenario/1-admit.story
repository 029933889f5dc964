# Rule 1.8: admission, and what happens when it fails.

story Admission tells count, flavors and usage
rules 1.8.1 1.8.2
queue a
  quota default cpu=10 memory=10Gi
job w1 queue=a
  podset driver count=1 cpu=500m memory=1Gi
  podset worker count=3 cpu=2 memory=1Gi
expect
  admitted w1
  count w1 driver=1 worker=3
  flavor w1 driver.cpu=default driver.memory=default worker.cpu=default worker.memory=default
  usage a default.cpu=6500m default.memory=4Gi
  condition w1 QuotaReserved=True QuotaReserved "Quota reserved in ClusterQueue a"
  condition w1 Admitted=True Admitted "The workload is admitted"

story Admitted again after preemption: the old words are kept
rules 1.8.3
queue a within=LowerPriority
  quota default cpu=1
job low queue=a cpu=1
expect admitted low
after 1s
job high queue=a cpu=1 priority=5
expect condition low Preempted=True InClusterQueue
release low
expect admitted high
finish high
expect
  admitted low
  condition low Evicted=False QuotaReserved "Previously: Preempted to accommodate a workload (UID: high, JobUID: UNKNOWN) due to prioritization in the ClusterQueue; preemptor path: /a; preemptee path: /a"
  condition low Preempted=False QuotaReserved "Previously: Preempted to accommodate a workload (UID: high, JobUID: UNKNOWN) due to prioritization in the ClusterQueue; preemptor path: /a; preemptee path: /a"

story With a check to pass only quota is reserved
rules 1.8.4 6.1.1 7.5.8
admission-check prov
queue a checks=prov
  quota default cpu=1
job w1 queue=a cpu=1
expect
  reserved w1
  checks w1 prov=Pending
  condition w1 QuotaReserved=True QuotaReserved "Quota reserved in ClusterQueue a"
  no-condition w1 Admitted
  usage a default.cpu=1
  admitted-usage a default.cpu=0
check w1 prov=Ready
expect
  admitted w1
  condition w1 Admitted=True Admitted "The workload is admitted"
  admitted-usage a default.cpu=1

story With its check passed before, it is admitted at once
rules 1.8.5
admission-check prov
queue a checks=prov
  quota default cpu=1
job w1 queue=a cpu=1
job w2 queue=a cpu=1
expect
  reserved w1
  asleep w2
check w2 prov=Ready
finish w1
expect
  admitted w2
  condition w2 Admitted=True Admitted "The workload is admitted"

story A failed write gives the quota back and tries again
rules 1.8.6
queue a
  quota default cpu=1
job w1 queue=a cpu=1
expect admitted w1
admit-failed w1
expect
  order w1
  admitted w1
  usage a default.cpu=1

story A failed write lets a more urgent one pass
rules 1.8.6
queue a
  quota default cpu=1
job w1 queue=a cpu=1
expect admitted w1
job w2 queue=a cpu=1 priority=5
admit-failed w1
expect
  order w2
  asleep w1

story A failed write is tried again also when equal jobs sleep
rules 1.8.6
queue a
  quota default cpu=1
job w1 queue=a cpu=1
job w2 queue=a cpu=1
expect
  admitted w1
  asleep w2
admit-failed w1
expect
  order w1
  asleep w2

story The same refusal is told once
rules 1.8.7
queue a
  quota default cpu=2
job w1 queue=a cpu=1
job w2 queue=a cpu=1
expect admitted w1 w2
after 1s
job w3 queue=a cpu=3
expect
  asleep w3
  condition w3 QuotaReserved=False Pending "couldn't assign flavors to pod set main: insufficient quota for cpu in flavor default, previously considered podsets requests (0) + current podset request (3) > maximum capacity (2)"
finish w1
expect
  asleep w3
  nothing

story A job that asks for nothing is admitted
rules 1.8.1
queue a
  quota default cpu=0
job w1 queue=a
job w2 queue=a count=0 cpu=5
expect
  admitted w1 w2
  usage a default.cpu=0

story A gate that comes after admission changes nothing
rules 1.8.1 1.3.6
queue a
  quota default cpu=1
job w1 queue=a cpu=1
expect admitted w1
gate w1 data
expect
  admitted w1
  evictions 0
