# Rules 3.6 and 3.7: dominant resource share, and who goes first under fair sharing.

# ---- 3.6

story A share is what exceeds nominal over what could be lent
rules 3.6.1 3.6.6
config fair-sharing
queue a cohort=all
  quota default cpu=2
queue l cohort=all
  quota default cpu=8
job wa queue=a cpu=5
expect
  admitted wa
  share a 300
  share l 0

story Within nominal the share is 0
rules 3.6.6
config fair-sharing
queue a cohort=all
  quota default cpu=2
queue l cohort=all
  quota default cpu=8
job wa queue=a cpu=2
expect share a 0

story What exceeds is summed over flavors
rules 3.6.2
config fair-sharing
queue a cohort=all
  quota one cpu=2
  quota two cpu=2
queue l cohort=all
  quota one cpu=3
  quota two cpu=3
job w1 queue=a cpu=4
job w2 queue=a cpu=3
expect
  flavor w1 main.cpu=one
  flavor w2 main.cpu=two
  share a 300

story Room in one flavor does not make up for another
rules 3.6.2
config fair-sharing
queue a cohort=all
  quota one cpu=2
  quota two cpu=4
queue l cohort=all
  quota one cpu=4
  quota two cpu=0
job w1 queue=a cpu=4
expect
  flavor w1 main.cpu=one
  share a 200

story The largest resource counts
rules 3.6.3
config fair-sharing
queue a cohort=all
  quota default cpu=1 memory=1Gi
queue l cohort=all
  quota default cpu=9 memory=9Gi
job wa queue=a cpu=2 memory=5Gi
expect share a 400

story A weight divides the share
rules 3.6.4
config fair-sharing
queue a cohort=all weight=2
  quota default cpu=2
queue b cohort=all weight=500m
  quota default cpu=2
queue l cohort=all
  quota default cpu=6
job wa queue=a cpu=5
job wb queue=b cpu=3
expect
  share a 150
  share b 200

story Weight 0 and borrowing is an infinite share
rules 3.6.5
config fair-sharing
queue a cohort=all weight=0
  quota default cpu=2
queue l cohort=all
  quota default cpu=8
job w1 queue=a cpu=2
expect share a 0
job w2 queue=a cpu=1
expect
  admitted w2
  share a infinite

story A queue without a cohort has no share
rules 3.6.6
config fair-sharing
queue a
  quota default cpu=4
job w1 queue=a cpu=4
expect share a 0

story Cohorts have shares, the root has none
rules 3.6.7 3.6.6
config fair-sharing
cohort left parent=root
cohort right parent=root
queue a cohort=left
  quota default cpu=1
queue b cohort=left
  quota default cpu=1
queue c cohort=right
  quota default cpu=8
job wa queue=a cpu=5
expect
  share a 400
  share cohort left 300
  share cohort right 0
  share cohort root 0

story A cohort's weight divides its share
rules 3.6.7 3.6.4
config fair-sharing
cohort left parent=root weight=3
queue a cohort=left
  quota default cpu=1
queue c cohort=root
  quota default cpu=9
job wa queue=a cpu=4
expect
  share a 300
  share cohort left 100

story Status rounds up
rules 3.6.8
config fair-sharing
queue a cohort=all
  quota default cpu=1
queue l cohort=all
  quota default cpu=2
job wa queue=a cpu=2
expect share a 334

story Nothing left to lend: no ratio
rules 3.6.10
config fair-sharing
queue a cohort=all
  quota default cpu=2
job wa queue=a cpu=2
expect admitted wa
change queue a
  quota default cpu=0
expect
  usage a default.cpu=2
  share a 0

story What a lending limit keeps at home cannot be owed
rules 3.6.1
config fair-sharing
queue a cohort=all
  quota default cpu=0
queue l cohort=all
  quota default cpu=8 lend:4
job wa queue=a cpu=2
expect share a 500

# ---- 3.7

story Who does not borrow what it asks for goes first
rules 3.7.1
config fair-sharing
queue a cohort=all
  quota default cpu=2 memory=0
queue b cohort=all
  quota default cpu=0 memory=0
queue l cohort=all
  quota default cpu=8 memory=10Gi
job a0 queue=a memory=5Gi
job l0 queue=l cpu=8
expect
  admitted a0 l0
  share a 500
after 1s
job wa queue=a cpu=2
job wb queue=b cpu=2
expect
  order wa
  asleep wb

story Without that gate the share alone counts
rules 3.7.8
feature FairSharingPrioritizeNonBorrowing=false
config fair-sharing
queue a cohort=all
  quota default cpu=2 memory=0
queue b cohort=all
  quota default cpu=0 memory=0
queue l cohort=all
  quota default cpu=8 memory=10Gi
job a0 queue=a memory=5Gi
job l0 queue=l cpu=8
expect admitted a0 l0
after 1s
job wa queue=a cpu=2
job wb queue=b cpu=2
expect
  order wb
  asleep wa

story The lower share goes first, the own job counted
rules 3.7.2
config fair-sharing
queue l cohort=all
  quota default cpu=4
queue a cohort=all
  quota default cpu=0
queue b cohort=all
  quota default cpu=0
job a0 queue=a cpu=1
expect admitted a0
after 1s
job wa queue=a cpu=1
job wb queue=b cpu=3
expect
  order wa
  asleep wb

story On equal shares priority counts
rules 3.7.3
config fair-sharing
queue l cohort=all
  quota default cpu=2
queue a cohort=all
  quota default cpu=0
queue b cohort=all
  quota default cpu=0
job wa queue=a cpu=2 priority=1
job wb queue=b cpu=2 priority=5
expect
  order wb
  asleep wa

story Priority does not outweigh a lower share
rules 3.7.3
config fair-sharing
queue l cohort=all
  quota default cpu=4
queue a cohort=all
  quota default cpu=0
queue b cohort=all
  quota default cpu=0
job a0 queue=a cpu=2
expect admitted a0
after 1s
job wa queue=a cpu=2 priority=100
job wb queue=b cpu=2
expect
  order wb
  asleep wa

story On equal shares and priorities age counts
rules 3.7.4
config fair-sharing
queue l cohort=all
  quota default cpu=2
queue a cohort=all
  quota default cpu=0
queue b cohort=all
  quota default cpu=0
at 10s
job wa queue=a cpu=2 created=9s
job wb queue=b cpu=2 created=8s
expect order wb

story Without PrioritySortingWithinCohort age counts before priority
rules 3.7.7
feature PrioritySortingWithinCohort=false
config fair-sharing
queue l cohort=all
  quota default cpu=2
queue a cohort=all
  quota default cpu=0
queue b cohort=all
  quota default cpu=0
at 10s
job wa queue=a cpu=2 priority=100 created=9s
job wb queue=b cpu=2 created=8s
expect order wb

story Cohorts compete before their queues
rules 3.7.5
config fair-sharing
cohort root
  quota default cpu=6
cohort left parent=root
cohort right parent=root
queue a cohort=left
  quota default cpu=0
queue b cohort=left
  quota default cpu=0
queue c cohort=right
  quota default cpu=0
job a0 queue=a cpu=3
expect admitted a0
after 1s
job wb queue=b cpu=2 priority=50
job wc queue=c cpu=2
expect
  order wc
  asleep wb

story Within a cohort its queues compete
rules 3.7.5
config fair-sharing
cohort root
  quota default cpu=6
cohort left parent=root
cohort right parent=root
queue a cohort=left
  quota default cpu=0
queue b cohort=left
  quota default cpu=0
queue c cohort=right
  quota default cpu=0
job a0 queue=a cpu=1
job c0 queue=c cpu=4
expect admitted a0 c0
after 1s
job wa queue=a cpu=1 priority=50
job wb queue=b cpu=1
job wc queue=c cpu=1 priority=90
expect
  order wb
  asleep wa wc

story Shares are counted anew after each choice
rules 3.7.6
config fair-sharing
queue l cohort=all
  quota default cpu=4
queue a cohort=all
  quota default cpu=0
queue b cohort=all
  quota default cpu=0
job a1 queue=a cpu=1
job a2 queue=a cpu=1
job a3 queue=a cpu=1
job b1 queue=b cpu=1
job b2 queue=b cpu=1
job b3 queue=b cpu=1
expect
  order a1 b1 a2 b2
  asleep a3 b3

story A weight lets a queue have more
rules 3.7.9
config fair-sharing
queue l cohort=all
  quota default cpu=4
queue a cohort=all weight=2
  quota default cpu=0
queue b cohort=all
  quota default cpu=0
job a0 queue=a cpu=2
job b0 queue=b cpu=1
expect admitted a0 b0
after 1s
job wa queue=a cpu=1
job wb queue=b cpu=1 priority=9
expect
  order wa
  asleep wb

story Two zero weights compare what they borrow
rules 3.6.9
config fair-sharing
queue l cohort=all
  quota default cpu=4
queue a cohort=all weight=0
  quota default cpu=0
queue b cohort=all weight=0
  quota default cpu=0
job a0 queue=a cpu=2
job b0 queue=b cpu=1
expect admitted a0 b0
after 1s
job wa queue=a cpu=1 priority=9
job wb queue=b cpu=1
expect
  order wb
  asleep wa

story A zero weight goes after every other
rules 3.6.5 3.7.2
config fair-sharing
queue l cohort=all
  quota default cpu=4
queue a cohort=all weight=0
  quota default cpu=0
queue b cohort=all
  quota default cpu=0
job b0 queue=b cpu=3
expect admitted b0
after 1s
job wa queue=a cpu=1 priority=9
job wb queue=b cpu=1
expect
  order wb
  asleep wa

story Queues without a cohort do not compete
rules 3.7.2 1.7.10
config fair-sharing
queue a
  quota default cpu=1
queue b
  quota default cpu=1
job wa queue=a cpu=1
job wb queue=b cpu=1
expect admitted wa wb

story A cohort's weight lets its queues have more
rules 3.7.9 3.7.5
config fair-sharing
cohort root
  quota default cpu=8
cohort left parent=root weight=3
cohort right parent=root
queue a cohort=left
  quota default cpu=0
queue c cohort=right
  quota default cpu=0
job a0 queue=a cpu=4
job c0 queue=c cpu=2
expect admitted a0 c0
after 1s
# left would have 750/3 = 250, right 500.
job wa queue=a cpu=2
job wc queue=c cpu=2 priority=9
expect
  order wa
  asleep wc

story Who loses the race under fair sharing is tried again
rules 1.7.1 3.7.6
config fair-sharing
queue l cohort=all
  quota one cpu=2
  quota two cpu=2
queue a cohort=all
  quota one cpu=0
  quota two cpu=0
queue b cohort=all
  quota one cpu=0
  quota two cpu=0
job wa queue=a cpu=2 priority=5
job wb queue=b cpu=2
expect
  order wa wb
  flavor wa main.cpu=one
  flavor wb main.cpu=two
