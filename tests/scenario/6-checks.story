# Rule 6.1, decision side: quota first, then the admission checks.

story All checks must be ready
rules 6.1.1 1.8.4
admission-check img
admission-check prov
queue a checks=img,prov
  quota default cpu=2
job w1 queue=a cpu=1
expect
  reserved w1
  checks w1 img=Pending prov=Pending
check w1 img=Ready
expect
  reserved w1
  no-condition w1 Admitted
check w1 prov=Ready
expect admitted w1

story Only the checks of the assigned flavors
rules 6.1.1
admission-check prov
queue a checks=prov:spot
  quota default cpu=1
  quota spot cpu=1
job w1 queue=a cpu=1
job w2 queue=a cpu=1
expect
  admitted w1
  reserved w2
  flavor w2 main.cpu=spot
  checks w2 prov=Pending
check w2 prov=Ready
expect admitted w2

story A check for some flavors and a job that uses several
rules 6.1.1
flavor default label type=plain
flavor spot label type=spot
admission-check img
admission-check prov
queue a checks=img,prov:spot
  quota default cpu=2
  quota spot cpu=2
job w1 queue=a
  podset x cpu=1 select type=plain
  podset y cpu=1 select type=spot
job w2 queue=a cpu=1 select type=plain
expect
  reserved w1 w2
  checks w1 img=Pending prov=Pending
  checks w2 img=Pending

story Before a reservation only the checks for all flavors
rules 6.1.2
admission-check img
admission-check prov
queue a checks=img,prov:spot
  quota default cpu=0
  quota spot cpu=1
job w1 queue=a cpu=1
job w2 queue=a cpu=1
expect
  checks w1 img=Pending prov=Pending
  asleep w2
  checks w2 img=Pending

story Retry evicts
rules 6.1.3 4.7.2 4.7.6
admission-check prov
queue a checks=prov
  quota default cpu=1
job w1 queue=a cpu=1
expect reserved w1
after 10s
check w1 prov=Retry "no nodes"
expect
  evicting w1 AdmissionCheck
  condition w1 Evicted=True AdmissionCheck "Evicted due to AdmissionCheck in Retry state: \"prov\" (no nodes)"
  checks w1 prov=Pending:1
release w1
expect
  reserved w1
  condition w1 Evicted=False QuotaReserved "Previously: Evicted due to AdmissionCheck in Retry state: \"prov\" (no nodes)"

story Retry of two checks names both, sorted
rules 6.1.3
admission-check prov
admission-check img
queue a checks=prov,img
  quota default cpu=1
job w1 queue=a cpu=1
expect reserved w1
check w1 prov=Retry
check w1 img=Retry "pulling"
expect condition w1 Evicted=True AdmissionCheck "Evicted due to AdmissionChecks in Retry state: \"img\" (pulling); \"prov\""

story Retry of an admitted job evicts it too
rules 6.1.3
admission-check prov
queue a checks=prov
  quota default cpu=1
job w1 queue=a cpu=1
expect reserved w1
check w1 prov=Ready
expect admitted w1
check w1 prov=Retry
expect evicting w1 AdmissionCheck

story Rejected deactivates
rules 6.1.4 7.5.9
admission-check prov
queue a checks=prov
  quota default cpu=1
job w1 queue=a cpu=1
expect reserved w1
check w1 prov=Rejected "too large"
expect
  evicting w1 Deactivated AdmissionCheck
  condition w1 DeactivationTarget=True AdmissionCheck
  condition w1 Evicted=True DeactivatedDueToAdmissionCheck "The workload is deactivated due to AdmissionCheck in Rejected state: \"prov\" (too large)"
release w1
expect
  blocked w1
  usage a default.cpu=0
  condition w1 Requeued=False DeactivatedDueToAdmissionCheck

story Rejected wins over Retry
rules 6.1.5
admission-check img
admission-check prov
queue a checks=img,prov
  quota default cpu=1
job w1 queue=a cpu=1
expect reserved w1
check w1 img=Retry
check w1 prov=Rejected
expect evicting w1 Deactivated AdmissionCheck

story A check may say when to come back
rules 6.1.6 4.7.5
admission-check prov
queue a checks=prov
  quota default cpu=1
job w1 queue=a cpu=1
expect reserved w1
at 10s
check w1 prov=Retry after=60s
expect evicting w1 AdmissionCheck
at 20s
release w1
expect
  asleep w1
  backoff w1 at=70s
  condition w1 Requeued=False AdmissionCheck
  next 70s
at 69s
expect asleep w1
at 70s
expect
  reserved w1
  condition w1 Requeued=True BackoffFinished "The workload backoff was finished"

story Who comes back at once does not wait
rules 6.1.6 4.7.5
admission-check prov
queue a checks=prov
  quota default cpu=1
job w1 queue=a cpu=1
expect reserved w1
at 10s
check w1 prov=Retry
expect evicting w1 AdmissionCheck
release w1
expect
  reserved w1
  condition w1 Requeued=True BackoffFinished "The workload backoff was finished"

story The longest of several times counts
rules 6.1.6
admission-check img
admission-check prov
queue a checks=img,prov
  quota default cpu=1
job w1 queue=a cpu=1
expect reserved w1
at 10s
check w1 img=Retry after=100s
check w1 prov=Retry after=30s
expect evicting w1 AdmissionCheck
release w1
expect
  asleep w1
  backoff w1 at=110s

story A new check is asked for
rules 6.1.1
admission-check img
admission-check prov
queue a checks=img
  quota default cpu=1
job w1 queue=a cpu=1
expect
  reserved w1
  checks w1 img=Pending
change queue a checks=img,prov
expect checks w1 img=Pending prov=Pending
check w1 img=Ready
expect reserved w1
check w1 prov=Ready
expect admitted w1

story A check that is no longer asked for holds nobody back
rules 6.1.1
admission-check img
queue a checks=img
  quota default cpu=1
job w1 queue=a cpu=1
expect reserved w1
change queue a checks=
expect admitted w1
