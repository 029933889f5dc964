# Rules 2.1 and 2.2: what a job asks for, and how its podsets share flavors.

story Resources with an excluded prefix do not count
rules 2.1.2
config exclude example.com/ networking.io/fast
queue a
  quota default cpu=4
job w1 queue=a cpu=1 example.com/licence=3 networking.io/fast-nic=1
expect
  admitted w1
  flavor w1 main.cpu=default main.example.com/licence=none
job w2 queue=a cpu=1 networking.io/slow-nic=1
expect
  asleep w2
  condition w2 QuotaReserved=False Pending "couldn't assign flavors to pod set main: resource networking.io/slow-nic unavailable in ClusterQueue"

story A transformation adds its outputs and keeps the input
rules 2.1.3
config transform example.com/mig out:example.com/credits=10 out:example.com/slots=500m
queue a
  quota default example.com/mig=8 example.com/credits=100 example.com/slots=8
job w1 queue=a example.com/mig=2 count=3
expect
  admitted w1
  usage a default.example.com/mig=6 default.example.com/credits=60 default.example.com/slots=3

story A transformation may replace its input
rules 2.1.4
config transform example.com/mig replace out:example.com/credits=10
queue a
  quota default example.com/credits=25
job w1 queue=a example.com/mig=2
expect
  admitted w1
  usage a default.example.com/credits=20
job w2 queue=a example.com/mig=1
expect
  asleep w2
  condition w2 QuotaReserved=False Pending "couldn't assign flavors to pod set main: insufficient unused quota for example.com/credits in flavor default, 5 more needed"

story A transformation may multiply by another resource
rules 2.1.5
config transform example.com/vmem replace by=example.com/vgpu out:example.com/total=1
queue a
  quota default example.com/vgpu=10 example.com/total=100
job both queue=a example.com/vgpu=3 example.com/vmem=20
expect usage a default.example.com/vgpu=3 default.example.com/total=60
job alone queue=a example.com/vmem=20
expect
  admitted alone
  usage a default.example.com/vgpu=3 default.example.com/total=80

story A kept input is the multiplied one
rules 2.1.6
config transform example.com/vmem by=example.com/vgpu out:example.com/total=2
queue a
  quota default example.com/vgpu=10 example.com/vmem=100 example.com/total=1000
job w1 queue=a example.com/vgpu=3 example.com/vmem=20
expect usage a default.example.com/vgpu=3 default.example.com/vmem=60 default.example.com/total=120

story Outputs of several inputs add up
rules 2.1.7
config transform example.com/mig-1g replace out:example.com/mem=5Gi
config transform example.com/mig-2g replace out:example.com/mem=10Gi
queue a
  quota default example.com/mem=100Gi
job w1 queue=a example.com/mig-1g=2 example.com/mig-2g=1
expect usage a default.example.com/mem=20Gi

story Requests are rounded up, pod by pod
rules 2.1.8
queue a
  quota default cpu=1 memory=1Ki gpu=3
job w1 queue=a cpu=1500u memory=1500m gpu=500m count=3
expect
  admitted w1
  usage a default.cpu=6m default.memory=6 default.gpu=3

story Pods already done are not asked for
rules 2.1.9
queue a
  quota default cpu=10
job w1 queue=a cpu=2 count=4 gated=later
reclaim w1 main=1
ungate w1
expect
  admitted w1
  usage a default.cpu=6

story Without its gate reclaimable pods are asked for all the same
rules 2.1.10
feature ReclaimablePods=false
queue a
  quota default cpu=10
job w1 queue=a cpu=2 count=4
expect usage a default.cpu=8
reclaim w1 main=1
expect usage a default.cpu=8

story The usage of an admitted job falls with its pods
rules 2.1.11
queue a
  quota default cpu=10 memory=8Gi
job w1 queue=a
  podset driver count=1 cpu=1 memory=1Gi
  podset worker count=4 cpu=2 memory=1Gi
expect usage a default.cpu=9 default.memory=5Gi
reclaim w1 worker=3
expect
  admitted w1
  usage a default.cpu=3 default.memory=2Gi
reclaim w1 driver=1 worker=4
expect usage a default.cpu=0 default.memory=0

story A queue that covers pods counts them
rules 2.1.12
queue a
  quota default cpu=10 pods=5
job w1 queue=a cpu=1 count=3
job w2 queue=a cpu=1 count=3
job w3 queue=a cpu=1 count=2
expect
  admitted w1 w3
  asleep w2
  usage a default.pods=5 default.cpu=5
  flavor w1 main.pods=default
  condition w2 QuotaReserved=False Pending "couldn't assign flavors to pod set main: insufficient unused quota for pods in flavor default, 1 more needed"

story A queue that counts only pods
rules 2.1.12
queue a
  quota default pods=2
job w1 queue=a count=2
job w2 queue=a count=1
expect
  admitted w1
  asleep w2

story A queue that does not cover pods does not count them
rules 2.1.13
queue a
  quota default cpu=10
job w1 queue=a cpu=1 count=3
expect
  admitted w1
  flavor w1 main.pods=none

# ---- 2.2

story Podsets of one group share a flavor
rules 2.2.1
queue a
  quota one cpu=3
  quota two cpu=10
job w1 queue=a
  podset leader count=1 cpu=1 group=g
  podset worker count=4 cpu=1 group=g
expect
  admitted w1
  flavor w1 leader.cpu=two worker.cpu=two

story Other podsets choose for themselves, in order
rules 2.2.2
queue a
  quota one cpu=3
  quota two cpu=10
job w1 queue=a
  podset leader count=1 cpu=1
  podset worker count=4 cpu=1
expect
  admitted w1
  flavor w1 leader.cpu=one worker.cpu=two

story A zero request for an uncovered resource is ignored
rules 2.2.3
queue a
  quota default cpu=4
job w1 queue=a cpu=1 gpu=0
expect
  admitted w1
  flavor w1 main.gpu=none

story Uncovered resources may be ignored by configuration
rules 2.2.4
config ignore-undeclared
queue a
  quota default cpu=4
job w1 queue=a cpu=1 gpu=2
expect
  admitted w1
  flavor w1 main.cpu=default main.gpu=none

story An uncovered resource is refused
rules 2.2.5
queue a
  quota default cpu=4
job w1 queue=a cpu=1 gpu=2
expect
  asleep w1
  condition w1 QuotaReserved=False Pending "couldn't assign flavors to pod set main: resource gpu unavailable in ClusterQueue"

story Resources of one group share a flavor
rules 2.2.6
queue a
  quota one cpu=4 memory=1Gi
  quota two cpu=4 memory=8Gi
job w1 queue=a cpu=1 memory=2Gi
expect
  admitted w1
  flavor w1 main.cpu=two main.memory=two

story Resource groups choose for themselves
rules 2.2.7
queue a
  quota one cpu=4
  quota two cpu=4
  group
  quota slow gpu=1
  quota fast gpu=8
job w1 queue=a cpu=1 gpu=2
expect
  admitted w1
  flavor w1 main.cpu=one main.gpu=fast

story If one group cannot serve, nothing is taken of the other
rules 2.2.7 2.2.9
queue a
  quota one cpu=4
  group
  quota fast gpu=1
job w1 queue=a cpu=1 gpu=2
expect
  asleep w1
  usage a one.cpu=0 fast.gpu=0
  condition w1 QuotaReserved=False Pending "couldn't assign flavors to pod set main: insufficient quota for gpu in flavor fast, previously considered podsets requests (0) + current podset request (2) > maximum capacity (1)"

story What earlier podsets got counts for later ones
rules 2.2.8 2.4.1
queue a
  quota default cpu=3
job w1 queue=a
  podset driver count=1 cpu=2
  podset exec count=1 cpu=2
expect
  asleep w1
  condition w1 QuotaReserved=False Pending "couldn't assign flavors to pod set exec: insufficient quota for cpu in flavor default, previously considered podsets requests (2) + current podset request (2) > maximum capacity (3)"

story What earlier podsets got counts against what is available
rules 2.2.8 2.4.10
queue a
  quota default cpu=5
job runs queue=a cpu=2
expect admitted runs
after 1s
job w1 queue=a
  podset driver count=1 cpu=2
  podset exec count=1 cpu=2
expect
  asleep w1
  condition w1 QuotaReserved=False Pending "couldn't assign flavors to pod set exec: insufficient unused quota for cpu in flavor default, 1 more needed"
finish runs
expect admitted w1

story The first podset that fails ends it
rules 2.2.9
queue a
  quota default cpu=3
job w1 queue=a
  podset first count=1 cpu=1
  podset second count=1 cpu=4
  podset third count=1 cpu=9
expect
  asleep w1
  condition w1 QuotaReserved=False Pending "couldn't assign flavors to pod set second: insufficient quota for cpu in flavor default, previously considered podsets requests (1) + current podset request (4) > maximum capacity (3)"

# ---- 2.8

story Partial admission takes as many pods as fit
rules 2.8.1
queue a
  quota default cpu=7
job w1 queue=a cpu=1 count=10 min=2
expect
  admitted w1
  count w1 main=7
  usage a default.cpu=7

story Partial admission scales every resource
rules 2.8.1
queue a
  quota default cpu=100 memory=11Gi
job w1 queue=a cpu=1 memory=2Gi count=10 min=2
expect
  count w1 main=5
  usage a default.cpu=5 default.memory=10Gi

story Partial admission never goes below the minimum
rules 2.8.3
queue a
  quota default cpu=4
job w1 queue=a cpu=1 count=10 min=5
expect
  asleep w1
  condition w1 QuotaReserved=False Pending "couldn't assign flavors to pod set main: insufficient quota for cpu in flavor default, previously considered podsets requests (0) + current podset request (10) > maximum capacity (4)"

story Partial admission reaches the minimum
rules 2.8.3
queue a
  quota default cpu=4
job w1 queue=a cpu=1 count=10 min=4
expect count w1 main=4

story Podsets without a minimum keep their count
rules 2.8.4
queue a
  quota default cpu=8
job w1 queue=a
  podset driver count=2 cpu=1
  podset worker count=10 min=2 cpu=1
expect
  admitted w1
  count w1 driver=2 worker=6

story Podsets with a minimum give up their part
rules 2.8.2
queue a
  quota default cpu=12
job w1 queue=a
  podset x count=10 min=2 cpu=1
  podset y count=6 min=2 cpu=1
# d = 8 and 4, D = 12. k=5: 10-floor(40/12)=7, 6-floor(20/12)=5: 12 pods; k=4: 8+5=13.
expect
  admitted w1
  count w1 x=7 y=5

story Without its gate nobody shrinks
rules 2.8.5
feature PartialAdmission=false
queue a
  quota default cpu=7
job w1 queue=a cpu=1 count=10 min=2
expect asleep w1

story A job admitted with fewer pods starts again with all
rules 2.8.1 1.5.1
queue a within=LowerPriority
  quota default cpu=4
job other queue=a cpu=1
job w1 queue=a cpu=1 count=4 min=1
expect
  admitted other
  count w1 main=3
after 1s
job high queue=a cpu=4 priority=5
expect preempted other w1 by high
release other w1
expect admitted high
finish high other
expect
  admitted w1
  count w1 main=4

# ---- 2.10

story A quota beyond int64 is unlimited
rules 2.10.1 2.10.3
queue a
  quota default cpu=1 memory=1000000000Ti
expect available a default.memory=unlimited
job w1 queue=a cpu=500m memory=8000Ti
expect
  admitted w1
  available a default.memory=unlimited
  usage a default.memory=8000Ti
finish w1
expect
  usage a default.memory=0
  available a default.memory=unlimited

story An unlimited child makes an unlimited cohort
rules 2.10.1 2.10.3
queue a cohort=all
  quota default cpu=1
queue b cohort=all
  quota default cpu=unlimited
expect
  subtree cohort all default.cpu=unlimited
  potential a default.cpu=unlimited
job w1 queue=a cpu=1000000
expect admitted w1

story Unlimited with a borrowing limit is limited for the borrower
rules 2.10.3 3.2.9
queue a cohort=all
  quota default cpu=1 borrow:2
queue b cohort=all
  quota default cpu=unlimited
expect
  potential a default.cpu=3
  available a default.cpu=3
job w1 queue=a cpu=4
expect asleep w1

story Messages print amounts in the manner of their resource
rules 2.10.2
queue a
  quota default cpu=1 memory=1Gi ephemeral-storage=1Gi hugepages-2Mi=8Mi gpu=1
job c queue=a cpu=2500m
job m queue=a memory=1536Mi
job e queue=a ephemeral-storage=2Gi
job h queue=a hugepages-2Mi=10Mi
job g queue=a gpu=2000
expect
  condition c QuotaReserved=False Pending "couldn't assign flavors to pod set main: insufficient quota for cpu in flavor default, previously considered podsets requests (0) + current podset request (2500m) > maximum capacity (1)"
  condition m QuotaReserved=False Pending "couldn't assign flavors to pod set main: insufficient quota for memory in flavor default, previously considered podsets requests (0) + current podset request (1536Mi) > maximum capacity (1Gi)"
  condition e QuotaReserved=False Pending "couldn't assign flavors to pod set main: insufficient quota for ephemeral-storage in flavor default, previously considered podsets requests (0) + current podset request (2Gi) > maximum capacity (1Gi)"
  condition h QuotaReserved=False Pending "couldn't assign flavors to pod set main: insufficient quota for hugepages-2Mi in flavor default, previously considered podsets requests (0) + current podset request (10Mi) > maximum capacity (8Mi)"
  condition g QuotaReserved=False Pending "couldn't assign flavors to pod set main: insufficient quota for gpu in flavor default, previously considered podsets requests (0) + current podset request (2k) > maximum capacity (1)"

# ---- odd counts

story More pods reclaimed than there are
rules 2.1.11
queue a
  quota default cpu=6
job w1 queue=a cpu=2 count=3
expect usage a default.cpu=6
reclaim w1 main=99
expect
  admitted w1
  usage a default.cpu=0

story Reclaimed pods of a job that got fewer
rules 2.1.11 2.8.1
queue a
  quota default cpu=7
job w1 queue=a cpu=1 count=10 min=2
expect count w1 main=7
# 8 of its 10 pods are still wanted, and it has 7.
reclaim w1 main=2
expect usage a default.cpu=7
reclaim w1 main=5
expect usage a default.cpu=5

story What is excluded is not transformed
rules 2.1.2 2.1.3
config exclude example.com/
config transform example.com/x out:other.io/credits=10
queue a
  quota default cpu=4 other.io/credits=5
job w1 queue=a cpu=1 example.com/x=2
expect
  admitted w1
  usage a default.other.io/credits=0

story Pods may be counted in a group of their own
rules 2.1.12 2.2.7
queue a
  quota one cpu=2
  quota two cpu=8
  group
  quota slots pods=3
job w1 queue=a cpu=2 count=2
job w2 queue=a cpu=1 count=2
expect
  flavor w1 main.cpu=two main.pods=slots
  asleep w2
  condition w2 QuotaReserved=False Pending "couldn't assign flavors to pod set main: insufficient unused quota for pods in flavor slots, 1 more needed"
