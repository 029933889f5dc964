# Rules 2.3 to 2.6: which flavors match, what fits, and which flavor is chosen.

story Flavors are tried in order
rules 2.3.1
queue a
  quota one cpu=2
  quota two cpu=2
job w1 queue=a cpu=2
job w2 queue=a cpu=2
expect
  flavor w1 main.cpu=one
  flavor w2 main.cpu=two

story A flavor that does not exist keeps its queue inactive
rules 2.3.2 3.4.3
flavor ghost absent
queue a
  quota ghost cpu=2
  quota two cpu=2
job w1 queue=a cpu=1
expect
  inactive a "Can't admit new workloads: references missing ResourceFlavor(s): ghost."
  order

story An untolerated taint excludes the flavor
rules 2.3.3
flavor tainted taint instance=spot:NoSchedule
flavor plain
queue a
  quota tainted cpu=2
  quota plain cpu=2
job w1 queue=a cpu=1
expect flavor w1 main.cpu=plain

story An untolerated taint says so
rules 2.3.3
flavor tainted taint instance=spot:NoSchedule
queue a
  quota tainted cpu=2
job w1 queue=a cpu=1
expect
  asleep w1
  condition w1 QuotaReserved=False Pending "couldn't assign flavors to pod set main: untolerated taint {instance spot NoSchedule <nil>} in flavor tainted"

story NoExecute excludes as NoSchedule does
rules 2.3.3
flavor tainted taint drain=now:NoExecute
queue a
  quota tainted cpu=2
job w1 queue=a cpu=1
expect condition w1 QuotaReserved=False Pending "couldn't assign flavors to pod set main: untolerated taint {drain now NoExecute <nil>} in flavor tainted"

story A tolerated taint does not exclude
rules 2.3.4
flavor tainted taint instance=spot:NoSchedule
flavor plain
queue a
  quota tainted cpu=9
  quota plain cpu=9
job equal queue=a cpu=1 tolerate instance=spot:NoSchedule
job exists queue=a cpu=1 tolerate instance:NoSchedule
job any-effect queue=a cpu=1 tolerate instance=spot
job everything queue=a cpu=1 tolerate *
job wrong-value queue=a cpu=1 tolerate instance=ondemand:NoSchedule
job wrong-effect queue=a cpu=1 tolerate instance=spot:NoExecute
expect
  flavor equal main.cpu=tainted
  flavor exists main.cpu=tainted
  flavor any-effect main.cpu=tainted
  flavor everything main.cpu=tainted
  flavor wrong-value main.cpu=plain
  flavor wrong-effect main.cpu=plain

story A flavor may tolerate for its pods
rules 2.3.4
flavor tainted taint instance=spot:NoSchedule tolerate instance=spot:NoSchedule
queue a
  quota tainted cpu=2
job w1 queue=a cpu=1
expect admitted w1

story Every taint must be tolerated by somebody
rules 2.3.3 2.3.4
flavor tainted taint a=1:NoSchedule taint b=2:NoSchedule tolerate a
queue a
  quota tainted cpu=2
job w1 queue=a cpu=1
job w2 queue=a cpu=1 tolerate b=2
expect
  asleep w1
  admitted w2
  condition w1 QuotaReserved=False Pending "couldn't assign flavors to pod set main: untolerated taint {b 2 NoSchedule <nil>} in flavor tainted"

story PreferNoSchedule is only a wish
rules 2.3.5
flavor tainted taint instance=spot:PreferNoSchedule
queue a
  quota tainted cpu=2
job w1 queue=a cpu=1
expect admitted w1

story The node selector picks the flavor
rules 2.3.6
flavor a label zone=a
flavor b label zone=b
queue q
  quota a cpu=2
  quota b cpu=2
job w1 queue=q cpu=1 select zone=b
job w2 queue=q cpu=1 select zone=c
expect
  flavor w1 main.cpu=b
  asleep w2
  condition w2 QuotaReserved=False Pending "couldn't assign flavors to pod set main: flavor a doesn't match node affinity, flavor b doesn't match node affinity"

story Labels that a flavor does not speak of do not count
rules 2.3.7
flavor a label zone=a
queue q
  quota a cpu=2
job w1 queue=q cpu=1 select arch=arm
job w2 queue=q cpu=1 select arch=arm select zone=b
expect
  flavor w1 main.cpu=a
  asleep w2

story Whether a label counts is asked of each flavor
rules 2.3.7
flavor first label zone=a
flavor second label arch=x86
queue q
  quota first cpu=2
  quota second cpu=2
job w1 queue=q cpu=1 select zone=b
expect flavor w1 main.cpu=second

story One affinity term is enough
rules 2.3.8
flavor a label zone=a label disk=ssd
flavor b label zone=b label disk=hdd
queue q
  quota a cpu=4
  quota b cpu=4
job w1 queue=q cpu=1 affinity "zone=c" affinity "zone=b"
job w2 queue=q cpu=1 affinity "zone in (b,c),disk=ssd" affinity "disk=hdd"
job w3 queue=q cpu=1 affinity "zone in (a,b),disk!=ssd"
expect
  flavor w1 main.cpu=b
  flavor w2 main.cpu=b
  flavor w3 main.cpu=b

story Within a term foreign keys are dropped
rules 2.3.7 2.3.8
flavor a label zone=a
flavor b label zone=b
queue q
  quota a cpu=2
  quota b cpu=2
job w1 queue=q cpu=1 affinity "zone=b,arch=arm"
expect flavor w1 main.cpu=b

story A term of foreign keys only lets every flavor pass
rules 2.3.9
flavor a label zone=a
flavor b label zone=b
queue q
  quota a cpu=2
  quota b cpu=2
job w1 queue=q cpu=1 affinity "arch=arm" affinity "zone=b"
expect flavor w1 main.cpu=a

story Selector and affinity must both match
rules 2.3.6 2.3.8
flavor a label zone=a label disk=ssd
flavor b label zone=b label disk=ssd
queue q
  quota a cpu=2
  quota b cpu=2
job w1 queue=q cpu=1 select disk=ssd affinity "zone=b"
job w2 queue=q cpu=1 select disk=hdd affinity "zone=b"
expect
  flavor w1 main.cpu=b
  asleep w2

story Podsets of a job may match different flavors
rules 2.3.6 2.2.2
flavor a label zone=a
flavor b label zone=b
queue q
  quota a cpu=2
  quota b cpu=2
job w1 queue=q
  podset x cpu=1 select zone=b
  podset y cpu=1 select zone=a
expect flavor w1 x.cpu=b y.cpu=a

# ---- 2.4

story More than could ever be available
rules 2.4.1
queue a cohort=all
  quota default cpu=2 borrow:1
queue b cohort=all
  quota default cpu=10
job w1 queue=a cpu=4
expect
  asleep w1
  condition w1 QuotaReserved=False Pending "couldn't assign flavors to pod set main: insufficient quota for cpu in flavor default, previously considered podsets requests (0) + current podset request (4) > maximum capacity (3)"

story Exactly what is available fits
rules 2.4.2
queue a cohort=all
  quota default cpu=2 borrow:1
queue b cohort=all
  quota default cpu=10
job w1 queue=a cpu=3
expect admitted w1

story A request within nominal may preempt
rules 2.4.5 2.4.9
queue a cohort=all within=LowerPriority
  quota default cpu=3
queue b cohort=all
  quota default cpu=1
job low queue=a cpu=3
job wb queue=b cpu=1
expect admitted low wb
after 1s
job high queue=a cpu=3 priority=5
expect preempted low by high InClusterQueue

story A request above nominal preempts nobody without permission to borrow
rules 2.4.8
queue a cohort=all within=LowerPriority reclaim=Any
  quota default cpu=2
queue b cohort=all
  quota default cpu=2
queue c cohort=all
  quota default cpu=2
job wb queue=b cpu=4
expect admitted wb
after 1s
job wa queue=a cpu=3 priority=9
expect
  asleep wa
  evictions 0
  condition wa QuotaReserved=False Pending "couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor default, 1 more needed"

story A request above nominal may reclaim within a cohort below the root
rules 2.4.6 4.3.2
cohort left parent=root
cohort right parent=root
queue a cohort=left reclaim=Any
  quota default cpu=2
queue b cohort=left
  quota default cpu=2
queue c cohort=right
  quota default cpu=0
job wc queue=c cpu=2 priority=9
expect admitted wc
after 1s
job wa queue=a cpu=3
expect preempted wc by wa InCohortReclamation
release wc
expect
  admitted wa
  asleep wc

story A request above nominal may preempt while borrowing
rules 2.4.7 4.3.4
queue a cohort=all reclaim=LowerPriority borrow-within=LowerPriority
  quota default cpu=0
queue b cohort=all
  quota default cpu=4
queue c cohort=all
  quota default cpu=0
job wc queue=c cpu=4
expect admitted wc
after 1s
job wa queue=a cpu=4 priority=5
expect preempted wc by wa InCohortReclaimWhileBorrowing

story What is missing is told in numbers
rules 2.4.10
queue a
  quota default cpu=4 memory=10Gi
job runs queue=a cpu=3 memory=9Gi
expect admitted runs
after 1s
job c queue=a cpu=2500m memory=1Gi
job m queue=a cpu=1 memory=3Gi
expect
  condition c QuotaReserved=False Pending "couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor default, 1500m more needed"
  condition m QuotaReserved=False Pending "couldn't assign flavors to pod set main: insufficient unused quota for memory in flavor default, 2Gi more needed"

story Both resources that need preemption are told
rules 2.4.10 2.4.11
queue a
  quota default cpu=4 memory=10Gi
job runs queue=a cpu=3 memory=9Gi
expect admitted runs
after 1s
job both queue=a cpu=2 memory=2Gi
expect condition both QuotaReserved=False Pending "couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor default, 1 more needed, insufficient unused quota for memory in flavor default, 1Gi more needed"

story After one resource that can never fit the others are not asked
rules 2.4.11
queue a
  quota default cpu=4 memory=10Gi
job both queue=a cpu=5 memory=11Gi
expect
  asleep both
  condition both QuotaReserved=False Pending "couldn't assign flavors to pod set main: insufficient quota for cpu in flavor default, previously considered podsets requests (0) + current podset request (5) > maximum capacity (4)"

# ---- 2.5

story A flavor that fits by borrowing ends the scan
rules 2.5.1
queue l cohort=all
  quota one cpu=4
  quota two cpu=0
queue a cohort=all
  quota one cpu=2
  quota two cpu=4
job w1 queue=a cpu=3
expect flavor w1 main.cpu=one

story With TryNextFlavor a flavor without borrowing is preferred
rules 2.5.2
queue l cohort=all
  quota one cpu=4
  quota two cpu=0
queue a cohort=all when-can-borrow=TryNextFlavor
  quota one cpu=2
  quota two cpu=4
job w1 queue=a cpu=3
expect flavor w1 main.cpu=two

story If all borrow, the first wins
rules 2.5.2 2.5.6
queue l cohort=all
  quota one cpu=4
  quota two cpu=4
queue a cohort=all when-can-borrow=TryNextFlavor
  quota one cpu=2
  quota two cpu=2
job w1 queue=a cpu=3
expect flavor w1 main.cpu=one

story A lower level of borrowing is preferred
rules 2.5.2 2.4.4
cohort near parent=root
queue far cohort=root
  quota one cpu=4
  quota two cpu=0
queue next cohort=near
  quota one cpu=0
  quota two cpu=4
queue a cohort=near when-can-borrow=TryNextFlavor
  quota one cpu=0
  quota two cpu=0
job w1 queue=a cpu=3
expect flavor w1 main.cpu=two

story Before preempting, the next flavor is tried
rules 2.5.3
queue a within=LowerPriority
  quota one cpu=2
  quota two cpu=2
job low queue=a cpu=2
expect flavor low main.cpu=one
after 1s
job high queue=a cpu=2 priority=5
expect
  flavor high main.cpu=two
  evictions 0

story With MayStopSearch the first flavor is preempted
rules 2.5.4
queue a within=LowerPriority when-can-preempt=MayStopSearch
  quota one cpu=2
  quota two cpu=2
job low queue=a cpu=2
expect flavor low main.cpu=one
after 1s
job high queue=a cpu=2 priority=5
expect preempted low by high InClusterQueue
release low
expect
  flavor high main.cpu=one
  flavor low main.cpu=two

story What does not fit never ends the scan
rules 2.5.5
queue a when-can-preempt=MayStopSearch
  quota one cpu=1
  quota two cpu=2
job w1 queue=a cpu=2
expect flavor w1 main.cpu=two

story Where nobody may be preempted the scan goes on
rules 2.5.5
queue a within=LowerPriority when-can-preempt=MayStopSearch
  quota one cpu=2
  quota two cpu=2
job high queue=a cpu=2 priority=9
expect flavor high main.cpu=one
after 1s
job mid queue=a cpu=2 priority=5
expect flavor mid main.cpu=two

story Of two flavors to preempt in, the first
rules 2.5.6
queue a within=LowerPriority
  quota one cpu=2
  quota two cpu=2
job l1 queue=a cpu=2
job l2 queue=a cpu=2
expect
  flavor l1 main.cpu=one
  flavor l2 main.cpu=two
after 1s
job high queue=a cpu=2 priority=5
expect preempted l1 by high

story Reclaiming is better than preempting the own
rules 2.5.7 2.4.9
queue a cohort=all within=LowerPriority reclaim=Any
  quota one cpu=2
  quota two cpu=2
queue b cohort=all
  quota one cpu=0
  quota two cpu=0
job a1 queue=a cpu=2
expect flavor a1 main.cpu=one
after 1s
job b1 queue=b cpu=2
expect flavor b1 main.cpu=two
after 1s
job high queue=a cpu=2 priority=5
expect preempted b1 by high InCohortReclamation
release b1
expect flavor high main.cpu=two

story Borrowing is better than preempting
rules 2.5.8
queue l cohort=all
  quota one cpu=0
  quota two cpu=4
queue a cohort=all within=LowerPriority when-can-borrow=TryNextFlavor when-can-preempt=TryNextFlavor
  quota one cpu=2
  quota two cpu=0
job low queue=a cpu=2
expect flavor low main.cpu=one
after 1s
job high queue=a cpu=2 priority=5
expect
  flavor high main.cpu=two
  evictions 0

story The same said in words
rules 2.5.8
queue l cohort=all
  quota one cpu=0
  quota two cpu=4
queue a cohort=all within=LowerPriority when-can-borrow=TryNextFlavor when-can-preempt=TryNextFlavor preference=BorrowingOverPreemption
  quota one cpu=2
  quota two cpu=0
job low queue=a cpu=2
expect flavor low main.cpu=one
after 1s
job high queue=a cpu=2 priority=5
expect flavor high main.cpu=two

story With PreemptionOverBorrowing it is not
rules 2.5.9
queue l cohort=all
  quota one cpu=0
  quota two cpu=4
queue a cohort=all within=LowerPriority when-can-borrow=TryNextFlavor when-can-preempt=TryNextFlavor preference=PreemptionOverBorrowing
  quota one cpu=2
  quota two cpu=0
job low queue=a cpu=2
expect flavor low main.cpu=one
after 1s
job high queue=a cpu=2 priority=5
expect preempted low by high InClusterQueue
release low
expect
  flavor high main.cpu=one
  flavor low main.cpu=two

story With PreemptionOverBorrowing even a hopeless flavor within nominal is preferred
rules 2.5.10
queue l cohort=all
  quota one cpu=0
  quota two cpu=4
queue c cohort=all
  quota one cpu=0
  quota two cpu=0
queue a cohort=all when-can-borrow=TryNextFlavor when-can-preempt=TryNextFlavor preference=PreemptionOverBorrowing
  quota one cpu=4
  quota two cpu=0
job wc queue=c cpu=4
expect flavor wc main.cpu=one
after 1s
job wa queue=a cpu=4
expect
  asleep wa
  condition wa QuotaReserved=False Pending "couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor one, 4 more needed"
finish wc
expect flavor wa main.cpu=one

story By default it would borrow in the other
rules 2.5.8
queue l cohort=all
  quota one cpu=0
  quota two cpu=4
queue c cohort=all
  quota one cpu=0
  quota two cpu=0
queue a cohort=all when-can-borrow=TryNextFlavor
  quota one cpu=4
  quota two cpu=0
job wc queue=c cpu=4
expect flavor wc main.cpu=one
after 1s
job wa queue=a cpu=4
expect flavor wa main.cpu=two

story The worst resource decides
rules 2.5.11
queue a within=LowerPriority
  quota one cpu=4 memory=4Gi
  quota two cpu=4 memory=4Gi
job low queue=a cpu=1 memory=4Gi
expect flavor low main.cpu=one
after 1s
job high queue=a cpu=1 memory=1Gi priority=5
expect
  flavor high main.cpu=two main.memory=two
  evictions 0

story Without FlavorFungibility the first that fits wins
rules 2.5.12
feature FlavorFungibility=false
queue l cohort=all
  quota one cpu=4
  quota two cpu=0
queue a cohort=all when-can-borrow=TryNextFlavor
  quota one cpu=2
  quota two cpu=4
job w1 queue=a cpu=3
expect flavor w1 main.cpu=one

story Without FlavorFungibility a later fit is better than preempting
rules 2.5.12
feature FlavorFungibility=false
queue a within=LowerPriority when-can-preempt=MayStopSearch
  quota one cpu=2
  quota two cpu=2
job low queue=a cpu=2
expect flavor low main.cpu=one
after 1s
job high queue=a cpu=2 priority=5
expect
  flavor high main.cpu=two
  evictions 0

story All reasons of all flavors are told, sorted
rules 2.5.13
flavor zz taint spot=true:NoSchedule
flavor aa label zone=a
queue q
  quota zz cpu=9
  quota aa cpu=9
  quota small cpu=1
  quota full cpu=2
job runs queue=q cpu=2 select zone=b
expect flavor runs main.cpu=full
after 1s
job w1 queue=q cpu=2 select zone=b
expect
  asleep w1
  condition w1 QuotaReserved=False Pending "couldn't assign flavors to pod set main: flavor aa doesn't match node affinity, insufficient quota for cpu in flavor small, previously considered podsets requests (0) + current podset request (2) > maximum capacity (1), insufficient unused quota for cpu in flavor full, 2 more needed, untolerated taint {spot true NoSchedule <nil>} in flavor zz"

story A podset that fits says nothing of the flavors before
rules 2.5.13 2.2.9
queue q
  quota one cpu=1
  quota two cpu=4
job w1 queue=q
  podset fits cpu=2
  podset fails cpu=5
expect condition w1 QuotaReserved=False Pending "couldn't assign flavors to pod set fails: insufficient quota for cpu in flavor one, previously considered podsets requests (0) + current podset request (5) > maximum capacity (1), insufficient quota for cpu in flavor two, previously considered podsets requests (2) + current podset request (5) > maximum capacity (4)"
