# Ours: reservations found at the start (10.1.3) and explanations (10.1.4).

story What is found at the start is taken over
rules 10.1.3
queue a
  quota default cpu=4
job old queue=a cpu=3
job new queue=a cpu=2
holds old
expect
  admitted old
  asleep new
  usage a default.cpu=3
finish old
expect admitted new

story What is found above quota stays
rules 10.1.3 3.2.7
queue a
  quota default cpu=2
job old queue=a cpu=3
holds old
expect
  admitted old
  usage a default.cpu=3
  available a default.cpu=0
  evictions 0

story A reservation found without admission waits for its checks
rules 10.1.3
admission-check prov
queue a checks=prov
  quota default cpu=4
job w1 queue=a cpu=3
holds w1 admitted=no
expect reserved w1
check w1 prov=Ready
expect admitted w1

story An eviction found under way is finished
rules 10.1.3 4.7.1
queue a
  quota default cpu=4
job w1 queue=a cpu=3
holds w1 evicted=Preempted
expect
  evicting w1
  usage a default.cpu=3
release w1
expect admitted w1

story The time of the reservation found decides between victims
rules 10.1.3 4.2.4
queue a within=LowerPriority
  quota default cpu=4
at 100s
job v1 queue=a cpu=2
job v2 queue=a cpu=2
holds v1 reserved=50s
holds v2 reserved=20s
job high queue=a cpu=2 priority=5
expect preempted v1 by high

story In several flavors
rules 10.1.3
queue a
  quota one cpu=4
  quota two cpu=4
job w1 queue=a
  podset x cpu=1
  podset y count=2 cpu=1
holds w1 flavor=one y.cpu=two
expect
  admitted w1
  usage a one.cpu=1 two.cpu=2
  flavor w1 x.cpu=one y.cpu=two

# ---- explanations

story Explained: running, reserved, evicting, finished
rules 10.1.4
admission-check prov
queue a within=LowerPriority
  quota default cpu=2
queue c checks=prov
  quota default cpu=1
job runs queue=a cpu=2
job res queue=c cpu=1
expect
  explain runs RUNNING position=0
  explain res RESERVED
after 1s
job high queue=a cpu=2 priority=5
expect
  explain runs EVICTING
  explain high PREEMPTS position=1
release runs
finish high
finish res
expect
  explain high FINISHED position=0
  explain runs RUNNING

story Explained: no quota, and the place in the queue
rules 10.1.4
queue a
  quota default cpu=2
job w0 queue=a cpu=2
expect admitted w0
after 1s
job w1 queue=a cpu=2 priority=5
job w2 queue=a cpu=1
expect
  explain w1 NO_QUOTA position=1 help=wait-for,raise-quota
  explain w2 NO_QUOTA position=2 help=wait-for,raise-quota

story Explained: behind another in a strict queue
rules 10.1.4
queue a strategy=StrictFIFO
  quota default cpu=2
job w0 queue=a cpu=1
expect admitted w0
after 1s
job big queue=a cpu=2 priority=5
job small queue=a cpu=1
expect
  explain big NO_QUOTA position=1
  explain small BEHIND position=2

story Explained: never fits
rules 10.1.4
queue a cohort=all
  quota default cpu=2 borrow:1
queue l cohort=all
  quota default cpu=8
job w1 queue=a cpu=4 count=2
expect explain w1 NEVER_FITS position=1 help=raise-quota

story Explained: no flavor matches
rules 10.1.4
flavor tainted taint spot=true:NoSchedule
queue a
  quota tainted cpu=2
job w1 queue=a cpu=1
expect explain w1 NO_FLAVOR position=1

story Explained: blocked
rules 10.1.4
queue a
  quota default cpu=2
queue s stop=Hold
  quota default cpu=2
job gated queue=a cpu=1 gated=data
job lost queue=nowhere cpu=1
job off queue=a cpu=1 inactive
job stopped queue=s cpu=1
expect
  explain gated BLOCKED help=activate
  explain lost BLOCKED
  explain off BLOCKED help=activate
  explain stopped BLOCKED help=start-queue

story Explained: back-off
rules 10.1.4
config pods-ready timeout=10s
queue a
  quota default cpu=2
job w1 queue=a cpu=1
expect admitted w1
at 10s
expect evicting w1
release w1
expect explain w1 BACKOFF

story Explained: a borrowing limit
rules 10.1.4
queue a cohort=all
  quota default cpu=2 borrow:2
queue l cohort=all
  quota default cpu=8
job w0 queue=a cpu=3
expect admitted w0
after 1s
job w1 queue=a cpu=2
expect explain w1 NO_QUOTA help=raise-borrow
