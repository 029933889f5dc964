# Rules 7.1 to 7.5, decision side: pods ready, execution time, conditions, activation.

# ---- 7.1

story Not ready in time
rules 7.1.1 7.1.4 7.1.6 4.7.5
config pods-ready timeout=60s
queue a
  quota default cpu=1
job w1 queue=a cpu=1
expect
  admitted w1
  next 60s
at 59s
expect admitted w1
at 60s
expect
  evicting w1 PodsReadyTimeout WaitForStart
  condition w1 Evicted=True PodsReadyTimeout "Exceeded the PodsReady timeout default/w1"
  backoff w1 count=1 at=120s
release w1
expect
  asleep w1
  condition w1 Requeued=False PodsReadyTimeout "Exceeded the PodsReady timeout default/w1"
  next 120s
at 119s
expect asleep w1
at 120s
expect
  admitted w1
  condition w1 Requeued=True BackoffFinished "The workload backoff was finished"
  backoff w1 count=1 at=none

story Ready in time
rules 7.1.2
config pods-ready timeout=60s
queue a
  quota default cpu=1
job w1 queue=a cpu=1
expect admitted w1
at 59s
ready w1
expect next never
at 10h
expect admitted w1

story Ready once, not ready again
rules 7.1.3
config pods-ready timeout=60s recovery=30s
queue a
  quota default cpu=1
job w1 queue=a cpu=1
expect admitted w1
at 10s
ready w1
at 100s
unready w1
expect
  admitted w1
  next 130s
at 130s
expect evicting w1 PodsReadyTimeout WaitForRecovery

story Recovered in time
rules 7.1.3
config pods-ready timeout=60s recovery=30s
queue a
  quota default cpu=1
job w1 queue=a cpu=1
expect admitted w1
at 10s
ready w1
at 100s
unready w1
at 120s
ready w1
at 10h
expect admitted w1

story Each time twice as long, up to a limit
rules 7.1.4
config pods-ready timeout=10s base=10 max=15
queue a
  quota default cpu=1
job w1 queue=a cpu=1
expect admitted w1
at 10s
expect
  evicting w1 PodsReadyTimeout
  backoff w1 count=1 at=20s
release w1
at 20s
expect admitted w1
at 30s
expect
  evicting w1 PodsReadyTimeout
  backoff w1 count=2 at=45s
release w1
at 45s
expect admitted w1
at 55s
expect backoff w1 count=3 at=70s

story The back-off runs from the eviction, not from the release
rules 7.1.4
config pods-ready timeout=10s base=10
queue a
  quota default cpu=1
job w1 queue=a cpu=1
expect admitted w1
at 10s
expect evicting w1
at 18s
release w1
expect
  asleep w1
  next 20s
at 20s
expect admitted w1

story A slow release after the back-off is over
rules 7.1.4 7.1.6
config pods-ready timeout=10s base=10
queue a
  quota default cpu=1
job w1 queue=a cpu=1
expect admitted w1
at 10s
expect evicting w1
at 60s
release w1
expect
  admitted w1
  condition w1 Requeued=True BackoffFinished

story Too often: deactivated
rules 7.1.5
config pods-ready timeout=10s base=10 limit=1
queue a
  quota default cpu=1
job w1 queue=a cpu=1
expect admitted w1
at 10s
expect evicting w1 PodsReadyTimeout
release w1
at 20s
expect admitted w1
at 30s
expect
  evicting w1 Deactivated RequeuingLimitExceeded
  condition w1 DeactivationTarget=True RequeuingLimitExceeded "exceeding the maximum number of re-queuing retries"
  condition w1 Evicted=True DeactivatedDueToRequeuingLimitExceeded "The workload is deactivated due to exceeding the maximum number of re-queuing retries"
release w1
expect
  blocked w1
  usage a default.cpu=0

story A limit of 0 deactivates at once
rules 7.1.5
config pods-ready timeout=10s limit=0
queue a
  quota default cpu=1
job w1 queue=a cpu=1
expect admitted w1
at 10s
expect evicting w1 Deactivated RequeuingLimitExceeded

story One after the other
rules 7.1.7 1.7.9
config pods-ready timeout=1h block
queue a
  quota default cpu=4
job w1 queue=a cpu=1
job w2 queue=a cpu=1
job w3 queue=a cpu=1
expect
  order w1
  waiting w2 w3
  condition w2 QuotaReserved=False Waiting "waiting for all admitted workloads to be in PodsReady condition"
ready w1
expect
  order w2
  waiting w3
ready w2
expect order w3

story One after the other over all queues
rules 7.1.7
config pods-ready timeout=1h block
queue a
  quota default cpu=4
queue b
  quota default cpu=4
job wa queue=a cpu=1
job wb queue=b cpu=1
expect
  order wa
  waiting wb
  condition wb QuotaReserved=False Waiting "waiting for all admitted workloads to be in PodsReady condition"
ready wa
expect order wb

story One that ends without ever being ready blocks no more
rules 7.1.7
config pods-ready timeout=1h block
queue a
  quota default cpu=4
job w1 queue=a cpu=1
job w2 queue=a cpu=1
expect order w1
finish w1
expect order w2

story Without blockAdmission nobody waits
rules 7.1.7
config pods-ready timeout=1h
queue a
  quota default cpu=4
job w1 queue=a cpu=1
job w2 queue=a cpu=1
expect admitted w1 w2

story Nobody waits for pods unless told to
rules 7.1.8
queue a
  quota default cpu=1
job w1 queue=a cpu=1
expect
  admitted w1
  next never
after 100h
expect admitted w1

story An eviction counts from the last admission
rules 7.1.1
config pods-ready timeout=60s
queue a within=LowerPriority
  quota default cpu=1
job w1 queue=a cpu=1
expect admitted w1
at 50s
job high queue=a cpu=1 priority=5
expect evicting w1 Preempted
release w1
expect admitted high
ready high
at 100s
finish high
expect admitted w1
at 159s
expect admitted w1
at 160s
expect evicting w1 PodsReadyTimeout

# ---- 7.2

story Over its time
rules 7.2.1
queue a
  quota default cpu=1
job w1 queue=a cpu=1 max-exec=30s
expect
  admitted w1
  next 30s
at 29s
expect admitted w1
at 30s
expect
  evicting w1 Deactivated MaximumExecutionTimeExceeded
  condition w1 DeactivationTarget=True MaximumExecutionTimeExceeded "exceeding the maximum execution time"
  condition w1 Evicted=True DeactivatedDueToMaximumExecutionTimeExceeded "The workload is deactivated due to exceeding the maximum execution time"
release w1
expect
  blocked w1
  usage a default.cpu=0

story Done within its time
rules 7.2.1
queue a
  quota default cpu=1
job w1 queue=a cpu=1 max-exec=30s
expect admitted w1
at 29s
finish w1
at 1h
expect
  finished w1
  evictions 0

story Earlier runs count, waiting does not
rules 7.2.2 7.2.3
queue a within=LowerPriority
  quota default cpu=1
job w1 queue=a cpu=1 max-exec=60s
expect admitted w1
at 40s
job high queue=a cpu=1 priority=5
expect evicting w1 Preempted
release w1
expect admitted high
at 1000s
finish high
expect
  admitted w1
  next 1020s
at 1019s
expect admitted w1
at 1020s
expect evicting w1 Deactivated MaximumExecutionTimeExceeded

story Waiting before the first admission does not count
rules 7.2.3
queue a
  quota default cpu=1
job w0 queue=a cpu=1
job w1 queue=a cpu=1 max-exec=30s
expect asleep w1
at 1000s
finish w0
expect
  admitted w1
  next 1030s

story Time runs from admission, not from reservation
rules 7.2.3
admission-check prov
queue a checks=prov
  quota default cpu=1
job w1 queue=a cpu=1 max-exec=30s
expect reserved w1
at 100s
check w1 prov=Ready
expect
  admitted w1
  next 130s

# ---- 7.5

story A new job has no condition before it was looked at
rules 7.5.1 7.5.8
queue a stop=Hold strategy=StrictFIFO
  quota default cpu=1
job h queue=a cpu=1 held
expect
  no-condition h QuotaReserved
  no-condition h Admitted

story A job whose local queue does not exist
rules 7.5.2
queue a
  quota default cpu=1
job w1 queue=nowhere cpu=1
expect
  blocked w1
  condition w1 QuotaReserved=False Inadmissible "LocalQueue nowhere doesn't exist"

story A job whose local queue is stopped
rules 7.5.3
queue a local=no
  quota default cpu=1
local red -> a stop=Hold
job w1 queue=red cpu=1
expect condition w1 QuotaReserved=False Inadmissible "LocalQueue red is inactive"

story A job whose queue was removed
rules 7.5.4
queue a
  quota default cpu=1
job w1 queue=a cpu=1
job w2 queue=a cpu=1
expect asleep w2
finish w1
remove queue a
expect condition w2 QuotaReserved=False Inadmissible "ClusterQueue a doesn't exist"

story A job whose queue becomes inactive
rules 7.5.5
queue a
  quota default cpu=1
job w1 queue=a cpu=1
job w2 queue=a cpu=1
expect condition w2 QuotaReserved=False Pending
change queue a stop=Hold
expect condition w2 QuotaReserved=False Inadmissible "ClusterQueue a is inactive"

story A gated job
rules 7.5.6 7.5.7
queue a
  quota default cpu=1
job w1 queue=a cpu=1 gated=example.com/data
expect
  blocked w1
  condition w1 QuotaReserved=False AdmissionGated "Admission is gated by: example.com/data"
ungate w1
expect
  told w1 QuotaReserved=False Pending "AdmissionGatedBy cleared, waiting for quota reservation"
  admitted w1

story The gate is told before any other obstacle
rules 7.5.6
job w1 queue=nowhere cpu=1 gated=data
expect condition w1 QuotaReserved=False AdmissionGated "Admission is gated by: data"
gate w1 data,approval
expect condition w1 QuotaReserved=False AdmissionGated "Admission is gated by: data,approval"
ungate w1
expect condition w1 QuotaReserved=False Inadmissible "LocalQueue nowhere doesn't exist"

story A gate that comes later takes a waiting job out
rules 7.5.6
queue a
  quota default cpu=1
job w0 queue=a cpu=1
job w1 queue=a cpu=1
expect asleep w1
gate w1 data
expect
  blocked w1
  queue a
finish w0
expect order

story Deactivating an admitted job evicts it
rules 7.5.9 7.5.10
queue a
  quota default cpu=1
job w1 queue=a cpu=1
expect admitted w1
deactivate w1
expect
  evicting w1 Deactivated
  condition w1 Evicted=True Deactivated "The workload is deactivated"
release w1
expect
  blocked w1
  condition w1 Requeued=False Deactivated "The workload is deactivated"
activate w1
expect
  admitted w1
  condition w1 Requeued=True Reactivated "The workload was reactivated"

story Deactivating a job that only reserved quota evicts it too
rules 7.5.9
admission-check prov
queue a checks=prov
  quota default cpu=1
job w1 queue=a cpu=1
expect reserved w1
deactivate w1
expect evicting w1 Deactivated
release w1
expect
  blocked w1
  usage a default.cpu=0

story Deactivating a waiting job takes it out of its queue
rules 7.5.9
queue a
  quota default cpu=1
job w1 queue=a cpu=1
job w2 queue=a cpu=1
expect asleep w2
deactivate w2
expect
  blocked w2
  queue a
  evictions 0
finish w1
expect order
activate w2
expect admitted w2

story Activated before it has stopped
rules 7.5.10 4.7.1
queue a
  quota default cpu=1
job w1 queue=a cpu=1
expect admitted w1
deactivate w1
expect evicting w1 Deactivated
activate w1
expect evicting w1 Deactivated
release w1
expect admitted w1

story A deleted job leaves nothing behind
rules 7.5.9 1.3.18
queue a
  quota default cpu=2
job w1 queue=a cpu=2
expect admitted w1
deactivate w1
expect evicting w1
delete w1
expect
  gone w1
  usage a default.cpu=0
job w1 queue=a cpu=1
expect admitted w1

story Who only reserved quota blocks the next one too
rules 7.1.7
config pods-ready timeout=1h block
admission-check prov
queue a checks=prov
  quota default cpu=4
job w1 queue=a cpu=1
job w2 queue=a cpu=1
expect
  reserved w1
  waiting w2
check w1 prov=Ready
expect
  admitted w1
  waiting w2
ready w1
expect reserved w2

story The timeout runs from admission, not from reservation
rules 7.1.1
config pods-ready timeout=60s
admission-check prov
queue a checks=prov
  quota default cpu=4
job w1 queue=a cpu=1
expect
  reserved w1
  next never
at 100s
check w1 prov=Ready
expect
  admitted w1
  next 160s
