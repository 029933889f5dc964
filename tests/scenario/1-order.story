# Rules 1.1 and 1.2: how long a cycle goes on, and who stands where in a queue.

story A cycle goes on until nothing more fits
rules 1.1.1 1.2.4 1.3.11
queue a
  quota default cpu=3
job w1 queue=a cpu=1
job w2 queue=a cpu=1
job w3 queue=a cpu=1
job w4 queue=a cpu=1
expect
  order w1 w2 w3
  admitted w1 w2 w3
  asleep w4
  usage a default.cpu=3
  available a default.cpu=0

story Nothing new, nothing done
rules 1.1.2
queue a
  quota default cpu=3
job w1 queue=a cpu=3
job w2 queue=a cpu=1
expect admitted w1
after 24h
expect
  nothing
  next never

story A blocked strict head costs nothing until something moves
rules 1.1.3 1.3.9
queue a strategy=StrictFIFO
  quota default cpu=3
job w1 queue=a cpu=2
expect admitted w1
after 1s
job w2 queue=a cpu=2
expect heap w2
after 10m
expect
  nothing
  heap w2
  next never
finish w1
expect admitted w2

story An inactive queue offers nobody
rules 1.2.1
queue a stop=Hold
  quota default cpu=3
job w1 queue=a cpu=1
expect order
change queue a stop=None
expect admitted w1

story Higher priority goes first
rules 1.2.2
queue a
  quota default cpu=2
job low queue=a cpu=1 priority=1
job mid queue=a cpu=1 priority=5
job high queue=a cpu=1 priority=10
expect
  order high mid
  asleep low

story A negative priority goes after none
rules 1.2.2
queue a
  quota default cpu=1
job below queue=a cpu=1 priority=-1
job plain queue=a cpu=1
expect
  order plain
  asleep below

story Among equals the older goes first
rules 1.2.3
queue a
  quota default cpu=1
at 60s
job a2 queue=a cpu=1 created=20s
job z1 queue=a cpu=1 created=10s
expect
  order z1
  asleep a2

story Of the same age the smaller UID goes first
rules 1.2.4
queue a
  quota default cpu=2
job x queue=a cpu=1 uid=ccc
job y queue=a cpu=1 uid=aaa
job z queue=a cpu=1 uid=bbb
expect
  order y z
  asleep x

story Priority counts before age, age before UID
rules 1.2.2 1.2.3 1.2.4
queue a strategy=StrictFIFO
  quota default cpu=1
job runs queue=a cpu=1 priority=100
expect admitted runs
at 100s
job a queue=a cpu=1 priority=1 created=90s
job b queue=a cpu=1 priority=1 created=80s uid=z
job c queue=a cpu=1 priority=1 created=80s uid=y
job d queue=a cpu=1 priority=2 created=95s
expect queue a d c b a

story Who waits for his victims stays first in BestEffortFIFO
rules 1.2.5 1.3.10 1.7.8
queue a within=LowerPriority
  quota default cpu=5
job low queue=a cpu=4
expect admitted low
after 1s
job big queue=a cpu=4 priority=5
expect
  preempted low by big InClusterQueue
  heap big
after 1s
job hi queue=a cpu=1 priority=10
expect
  queue a big hi
  heap big hi
release low
expect
  order big hi
  asleep low

story In StrictFIFO priority counts also before who waits for his victims
rules 1.2.5
queue a strategy=StrictFIFO within=LowerPriority
  quota default cpu=5
job low queue=a cpu=4
expect admitted low
after 1s
job big queue=a cpu=4 priority=5
expect preempted low by big InClusterQueue
after 1s
job hi queue=a cpu=1 priority=10
expect
  order hi
  heap big
release low
expect
  order big
  heap low

story The sticky place goes with its workload
rules 1.3.13
queue a within=LowerPriority
  quota default cpu=5
job low queue=a cpu=4
expect admitted low
after 1s
job big queue=a cpu=4 priority=5
expect preempted low by big
after 1s
job hi queue=a cpu=1 priority=10
expect heap big hi
delete big
expect
  order hi
  evicting low Preempted InClusterQueue

story After a PodsReady timeout the time of eviction counts
rules 1.2.8 1.3.4
config pods-ready timeout=60s
queue a
  quota default cpu=1
job w1 queue=a cpu=1
expect admitted w1
at 10s
job w2 queue=a cpu=1
expect asleep w2
at 60s
expect evicting w1 PodsReadyTimeout WaitForStart
release w1
expect admitted w2
ready w2
at 130s
job w3 queue=a cpu=1 created=50s
expect queue a w3 w1

story With timestamp Creation the time of creation counts
rules 1.2.9
config pods-ready timeout=60s order=creation
queue a
  quota default cpu=1
job w1 queue=a cpu=1
expect admitted w1
at 10s
job w2 queue=a cpu=1
expect asleep w2
at 60s
expect evicting w1 PodsReadyTimeout
release w1
expect admitted w2
ready w2
at 130s
job w3 queue=a cpu=1 created=50s
expect queue a w1 w3

story After a retried check the time of eviction counts
rules 1.2.10
admission-check prov
queue a checks=prov
  quota default cpu=1
job w1 queue=a cpu=1
expect reserved w1
at 60s
check w1 prov=Retry
expect evicting w1 AdmissionCheck
job other queue=a cpu=1 created=30s
release w1
expect order other
job third queue=a cpu=1 created=50s
expect queue a third w1

story After a retried check it counts even with timestamp Creation
rules 1.2.10
config pods-ready timeout=1h order=creation
admission-check prov
queue a checks=prov
  quota default cpu=1
job w1 queue=a cpu=1
expect reserved w1
at 60s
check w1 prov=Retry
expect evicting w1 AdmissionCheck
job other queue=a cpu=1 created=30s
release w1
expect order other
job third queue=a cpu=1 created=50s
expect queue a third w1

story A preempted job keeps its age
rules 1.2.3 4.7.4
queue a within=LowerPriority
  quota default cpu=1
job old queue=a cpu=1
expect admitted old
at 10s
job young queue=a cpu=1
expect asleep young
at 20s
job high queue=a cpu=1 priority=9
expect preempted old by high
release old
expect
  admitted high
  queue a old young
finish high
expect
  order old
  asleep young

story A boost raises the priority
rules 1.2.12
feature PriorityBoost=true
queue a
  quota default cpu=1
job plain queue=a cpu=1 priority=10
job boosted queue=a cpu=1 priority=5 boost=6
expect
  order boosted
  asleep plain

story A negative boost lowers it
rules 1.2.12
feature PriorityBoost=true
queue a
  quota default cpu=1
job plain queue=a cpu=1 priority=3
job tamed queue=a cpu=1 priority=5 boost=-3
expect order plain

story Without its gate a boost is ignored
rules 1.2.13
queue a
  quota default cpu=1
job plain queue=a cpu=1 priority=10
job boosted queue=a cpu=1 priority=5 boost=600
expect order plain

story Priority and boost do not overflow
rules 1.2.14
feature PriorityBoost=true
queue a
  quota default cpu=1
job a-top queue=a cpu=1 priority=2147483647
job z-over queue=a cpu=1 priority=2147483647 boost=1
expect order z-over

story Neither do they underflow
rules 1.2.14
feature PriorityBoost=true
queue a
  quota default cpu=1
job a-under queue=a cpu=1 priority=-2147483648 boost=-1
job z-bottom queue=a cpu=1 priority=-2147483648
expect order z-bottom

story A boost that arrives later moves the job
rules 1.2.12 1.3.3
feature PriorityBoost=true
queue a strategy=StrictFIFO
  quota default cpu=1
job runs queue=a cpu=1 priority=99
expect admitted runs
after 1s
job b1 queue=a cpu=1 priority=2
job b2 queue=a cpu=1 priority=1
expect queue a b1 b2
change job b2 boost=5
expect queue a b2 b1
