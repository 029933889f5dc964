# Rules 4.1 and 4.2: who may be preempted, and in which order candidates stand.

story Never means nobody of the own queue
rules 4.1.1
queue a
  quota default cpu=2
job low queue=a cpu=2
expect admitted low
after 1s
job high queue=a cpu=2 priority=9
expect
  asleep high
  evictions 0

story Lower priority means strictly lower
rules 4.1.2
queue a within=LowerPriority
  quota default cpu=4
job equal queue=a cpu=2 priority=5
job low queue=a cpu=2 priority=4
expect admitted equal low
after 1s
job w1 queue=a cpu=2 priority=5
expect preempted low by w1 InClusterQueue
release low
expect admitted w1
after 1s
job w2 queue=a cpu=2 priority=5
expect
  asleep w2
  evictions 0

story Newer and equal may be preempted by the older
rules 4.1.3
queue a within=LowerOrNewerEqualPriority
  quota default cpu=2
at 10s
job young queue=a cpu=2
expect admitted young
at 20s
job old queue=a cpu=2 created=5s
expect preempted young by old InClusterQueue
release young
expect
  admitted old
  asleep young

story Older and equal may not be preempted by the newer
rules 4.1.3
queue a within=LowerOrNewerEqualPriority
  quota default cpu=2
job old queue=a cpu=2
expect admitted old
at 20s
job young queue=a cpu=2
expect
  asleep young
  evictions 0

story Of the same age nobody preempts
rules 4.1.3
queue a within=LowerOrNewerEqualPriority
  quota default cpu=2
job z queue=a cpu=2
expect admitted z
at 20s
job a queue=a cpu=2 created=0s
expect
  asleep a
  evictions 0

story Newer but more important may not be preempted
rules 4.1.3
queue a within=LowerOrNewerEqualPriority
  quota default cpu=2
at 10s
job young queue=a cpu=2 priority=1
expect admitted young
at 20s
job old queue=a cpu=2 created=5s
expect asleep old

story reclaimWithinCohort Never
rules 4.1.4
queue a cohort=all
  quota default cpu=2
queue b cohort=all
  quota default cpu=0
job wb queue=b cpu=2
expect admitted wb
after 1s
job wa queue=a cpu=2 priority=9
expect
  asleep wa
  evictions 0

story reclaimWithinCohort LowerPriority
rules 4.1.5
queue a cohort=all reclaim=LowerPriority
  quota default cpu=4
queue b cohort=all
  quota default cpu=0
job equal queue=b cpu=2 priority=5
job low queue=b cpu=2 priority=4
expect admitted equal low
after 1s
job w1 queue=a cpu=2 priority=5
expect preempted low by w1 InCohortReclamation
release low
expect admitted w1
job w2 queue=a cpu=2 priority=5
expect
  asleep w2
  evictions 0

story reclaimWithinCohort Any
rules 4.1.6 4.3.1 4.3.12
queue a cohort=all reclaim=Any
  quota default cpu=2
queue b cohort=all
  quota default cpu=0
job wb queue=b cpu=2 priority=100
expect admitted wb
after 1s
job wa queue=a cpu=2 priority=-5
expect preempted wb by wa InCohortReclamation
release wb
expect
  admitted wa
  asleep wb

story Who uses another flavor is no candidate
rules 4.1.7
flavor one label zone=1
flavor two label zone=2
queue a within=LowerPriority
  quota one cpu=2
  quota two cpu=2
job high queue=a cpu=2 priority=9 select zone=1
job low queue=a cpu=2 select zone=2
expect admitted high low
after 1s
job mid queue=a cpu=1 priority=5 select zone=1
expect
  asleep mid
  evictions 0

story Who uses another resource is no candidate
rules 4.1.7
queue a within=LowerPriority
  quota default cpu=4 memory=4Gi
job cpu-only queue=a cpu=4
job memory-only queue=a memory=4Gi
expect admitted cpu-only memory-only
after 1s
job high queue=a memory=1Gi priority=5
expect preempted memory-only by high

story Who uses one of two contested resources is a candidate
rules 4.1.7
queue a within=LowerPriority
  quota default cpu=4 memory=4Gi
job cpu-only queue=a cpu=4
job memory-only queue=a memory=4Gi
expect admitted cpu-only memory-only
after 1s
job high queue=a cpu=1 memory=1Gi priority=5
expect preempted cpu-only memory-only by high

story A queue within nominal loses nobody
rules 4.1.8
queue a cohort=all reclaim=Any
  quota default cpu=4
queue b cohort=all
  quota default cpu=2
queue c cohort=all
  quota default cpu=0
job wb queue=b cpu=2
job wc queue=c cpu=3 priority=9
expect admitted wb wc
after 1s
job wa queue=a cpu=4 priority=5
expect preempted wc by wa InCohortReclamation

story A queue above nominal in another flavor loses nobody
rules 4.1.8
flavor one label zone=1
flavor two label zone=2
queue a cohort=all reclaim=Any
  quota one cpu=2
  quota two cpu=2
queue b cohort=all
  quota one cpu=1
  quota two cpu=0
job b1 queue=b cpu=1 select zone=1
job b2 queue=b cpu=2 select zone=2
job a1 queue=a cpu=2 select zone=1
expect admitted a1 b1 b2
after 1s
job wa queue=a cpu=1 priority=9 select zone=1
expect
  asleep wa
  evictions 0

story Boosts count on both sides
rules 4.1.9
feature PriorityBoost=true
queue a within=LowerPriority
  quota default cpu=4
job safe queue=a cpu=2 priority=1 boost=10
job low queue=a cpu=2 priority=8 boost=-6
expect admitted safe low
after 1s
job w1 queue=a cpu=2 priority=2 boost=1
expect preempted low by w1

# ---- 4.2

story The already evicted come first
rules 4.2.1 4.6.2 4.3.6
queue a within=LowerPriority
  quota default cpu=4
job v1 queue=a cpu=2 priority=1
job v2 queue=a cpu=2
expect admitted v1 v2
after 1s
deactivate v1
expect evicting v1 Deactivated
job high queue=a cpu=2 priority=5
expect
  heap high
  admitted v2
  evictions 0
  condition high QuotaReserved=False Pending "couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor default, 2 more needed. Pending the preemption of 1 workload(s)"
release v1
expect
  admitted high v2
  blocked v1

story Other queues before the own
rules 4.2.2 4.3.6
queue a cohort=all within=LowerPriority reclaim=Any
  quota default cpu=4
queue c cohort=all
  quota default cpu=0
job own queue=a cpu=2
job other queue=c cpu=2 priority=3
expect admitted own other
after 1s
job high queue=a cpu=2 priority=5
expect preempted other by high InCohortReclamation

story Lower priority first
rules 4.2.3
queue a within=LowerPriority
  quota default cpu=6
job a-mid queue=a cpu=2 priority=2
job b-low queue=a cpu=2 priority=1
job c-mid queue=a cpu=2 priority=3
expect admitted a-mid b-low c-mid
after 1s
job high queue=a cpu=2 priority=5
expect preempted b-low by high

story Among equals the latest admitted first
rules 4.2.4
queue a within=LowerPriority
  quota default cpu=4
job v1 queue=a cpu=2
expect admitted v1
after 10s
job v2 queue=a cpu=2
expect admitted v2
after 10s
job high queue=a cpu=2 priority=5
expect preempted v2 by high

story The time of reservation counts, not the age
rules 4.2.4
queue a within=LowerPriority
  quota default cpu=4
at 10s
job v1 queue=a cpu=2
expect admitted v1
at 20s
job v2 queue=a cpu=2 created=1s
expect admitted v2
at 30s
job high queue=a cpu=2 priority=5
expect preempted v2 by high

story Among those admitted together the smaller UID first
rules 4.2.5
queue a within=LowerPriority
  quota default cpu=4
job v1 queue=a cpu=2 uid=2
job v2 queue=a cpu=2 uid=1
expect admitted v1 v2
after 10s
job high queue=a cpu=2 priority=5
expect preempted v2 by high
