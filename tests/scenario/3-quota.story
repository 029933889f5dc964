# Rules 3.1 to 3.3: the tree and its numbers.

# ---- 3.1

story A cohort that is only named
rules 3.1.1 3.2.1
queue a cohort=all
  quota default cpu=3
queue b cohort=all
  quota default cpu=4
expect
  subtree cohort all default.cpu=7
  available a default.cpu=7
job w1 queue=a cpu=7
expect admitted w1

story A cohort with quota of its own
rules 3.1.2 3.2.1
cohort all
  quota default cpu=5
queue a cohort=all
  quota default cpu=1
expect
  subtree cohort all default.cpu=6
  potential a default.cpu=6
job w1 queue=a cpu=6
expect
  admitted w1
  usage cohort all default.cpu=6
  available a default.cpu=0

story A cohort with a flavor that its queues lack
rules 3.1.2 3.2.13
cohort all
  quota spot cpu=5
queue a cohort=all
  quota default cpu=1
expect
  subtree cohort all spot.cpu=5
  subtree cohort all default.cpu=1
job w1 queue=a cpu=2
expect asleep w1

story Removing a cohort with children takes only its own quota away
rules 3.1.3
cohort all
  quota default cpu=5
queue a cohort=all
  quota default cpu=1
queue b cohort=all
  quota default cpu=2
expect available a default.cpu=8
remove cohort all
expect
  subtree cohort all default.cpu=3
  available a default.cpu=3
job w1 queue=a cpu=3
expect admitted w1

story Removing a cohort cuts it off from its parent
rules 3.1.4
cohort all parent=root
queue a cohort=all
  quota default cpu=1
queue far cohort=root
  quota default cpu=4
expect available a default.cpu=5
remove cohort all
expect
  available a default.cpu=1
  available far default.cpu=4
cohort all parent=root
expect available a default.cpu=5

story A cohort may be told before and after its queues
rules 3.1.2
queue a cohort=x
  quota default cpu=1
cohort x parent=y
cohort y parent=z
queue far cohort=z
  quota default cpu=4
expect available a default.cpu=5
change cohort y parent=
expect available a default.cpu=1

story Queues in a cycle of cohorts admit nobody
rules 3.1.5 1.3.27
queue a cohort=x
  quota default cpu=4
job w1 queue=a cpu=1
expect admitted w1
cohort x parent=y
cohort y parent=x
job w2 queue=a cpu=1
expect
  order
  waiting w2
  admitted w1

story Breaking the cycle wakes everybody
rules 3.1.6
cohort x parent=y
cohort y parent=x
queue a cohort=x
  quota default cpu=4
queue b cohort=y
  quota default cpu=4
job wa queue=a cpu=3
job wb queue=b cpu=3
expect order
change cohort y parent=
expect
  admitted wa wb
  usage cohort y default.cpu=6

story A cohort may be its own parent by mistake
rules 3.1.5 3.1.6
cohort x parent=x
queue a cohort=x
  quota default cpu=4
job wa queue=a cpu=3
expect order
change cohort x parent=
expect admitted wa

story A queue that changes its cohort takes its usage along
rules 3.1.7
queue a cohort=left
  quota default cpu=2
queue l cohort=left
  quota default cpu=3
queue r cohort=right
  quota default cpu=3
job w1 queue=a cpu=4
expect
  admitted w1
  usage cohort left default.cpu=4
change queue a cohort=right
expect
  usage cohort left default.cpu=0
  usage cohort right default.cpu=4
  available l default.cpu=3
  available r default.cpu=1

# ---- 3.2: the example of these stories
#   all (own 5): a nominal 10, lends 4; b nominal 6, lends all.
#   local(a) = 6, subtree(all) = 5 + 4 + 6 = 15.

story What a cohort has
rules 3.2.1 3.2.2 3.2.5
cohort all
  quota default cpu=5
queue a cohort=all
  quota default cpu=10 lend:4
queue b cohort=all
  quota default cpu=6
expect
  subtree cohort all default.cpu=15
  subtree a default.cpu=10
  available a default.cpu=21
  available b default.cpu=15

story What each could have at best
rules 3.2.8
cohort all
  quota default cpu=5
queue a cohort=all
  quota default cpu=10 lend:4
queue b cohort=all
  quota default cpu=6
expect
  potential cohort all default.cpu=15
  potential a default.cpu=21
  potential b default.cpu=15

story The local part is used first
rules 3.2.3 3.2.4
cohort all
  quota default cpu=5
queue a cohort=all
  quota default cpu=10 lend:4
queue b cohort=all
  quota default cpu=6
job w1 queue=a cpu=2
expect
  usage a default.cpu=2
  usage cohort all default.cpu=0
  available a default.cpu=19
  available b default.cpu=15
job w2 queue=a cpu=6
expect
  usage a default.cpu=8
  usage cohort all default.cpu=2
  available a default.cpu=13
  available b default.cpu=13

story What is not lent cannot be borrowed
rules 3.2.4 3.2.2
queue a cohort=all
  quota default cpu=10 lend:4
queue b cohort=all
  quota default cpu=0
job big queue=b cpu=5
job fits queue=b cpu=4
expect
  asleep big
  admitted fits
  available a default.cpu=6

story A lending limit of 0 lends nothing
rules 3.2.2
queue a cohort=all
  quota default cpu=10 lend:0
queue b cohort=all
  quota default cpu=1
expect
  subtree cohort all default.cpu=1
  available b default.cpu=1
  available a default.cpu=11

story Borrowing stops at the borrowing limit
rules 3.2.6 2.4.2
queue a cohort=all
  quota default cpu=10 borrow:2
queue b cohort=all
  quota default cpu=20
expect available a default.cpu=12
job w1 queue=a cpu=11
expect available a default.cpu=1
job w2 queue=a cpu=2
expect
  asleep w2
  condition w2 QuotaReserved=False Pending "couldn't assign flavors to pod set main: insufficient unused quota for cpu in flavor default, 1 more needed"

story A borrowing limit together with a lending limit
rules 3.2.6 3.2.9
cohort all
  quota default cpu=5
queue a cohort=all
  quota default cpu=10 lend:4 borrow:2
queue b cohort=all
  quota default cpu=6
expect
  available a default.cpu=12
  potential a default.cpu=12
job w1 queue=a cpu=8
expect available a default.cpu=4

story A borrowing limit of 0
rules 3.2.6 3.2.9
queue a cohort=all
  quota default cpu=3 borrow:0
queue b cohort=all
  quota default cpu=9
expect potential a default.cpu=3
job w1 queue=a cpu=4
job w2 queue=a cpu=3
expect
  asleep w1
  admitted w2

story What others use limits what is left to borrow
rules 3.2.6
queue a cohort=all
  quota default cpu=2 borrow:5
queue b cohort=all
  quota default cpu=6
job wb queue=b cpu=4
expect
  admitted wb
  available a default.cpu=4
  available b default.cpu=4

story Available never falls below nothing
rules 3.2.7
queue a
  quota default cpu=5
job w1 queue=a cpu=4
expect admitted w1
change queue a
  quota default cpu=3
expect
  admitted w1
  usage a default.cpu=4
  available a default.cpu=0

story Three levels
rules 3.2.1 3.2.3 3.2.6 3.2.8
cohort root
  quota default cpu=1
cohort mid parent=root
  quota default cpu=2
queue leaf cohort=mid
  quota default cpu=3
queue side cohort=root
  quota default cpu=4
expect
  subtree cohort mid default.cpu=5
  subtree cohort root default.cpu=10
  available leaf default.cpu=10
job w1 queue=leaf cpu=7
expect
  usage leaf default.cpu=7
  usage cohort mid default.cpu=7
  usage cohort root default.cpu=7
  available side default.cpu=3

story A cohort in the middle with limits of its own
rules 3.2.15 3.2.6 3.2.2
cohort mid parent=root
  quota default cpu=2 borrow:1 lend:3
queue leaf cohort=mid
  quota default cpu=3
queue side cohort=root
  quota default cpu=4
# mid: subtree 5, local 2. root: 4 + 3 = 7. mid may have 2 + min(7, 3 + 1) = 6.
expect
  subtree cohort root default.cpu=7
  potential cohort mid default.cpu=6
  available leaf default.cpu=6
  available side default.cpu=7
job big queue=leaf cpu=7
job fits queue=leaf cpu=6
expect
  asleep big
  admitted fits
  usage cohort mid default.cpu=6
  usage cohort root default.cpu=4
  available side default.cpu=3

story A cohort that lends nothing to its parent
rules 3.2.15 3.2.2
cohort mid parent=root
  quota default cpu=2 lend:0
queue leaf cohort=mid
  quota default cpu=3
queue side cohort=root
  quota default cpu=4
expect
  available side default.cpu=4
  available leaf default.cpu=9
job w1 queue=leaf cpu=5
expect
  usage cohort root default.cpu=0
  available side default.cpu=4

story What leaves takes back what it added
rules 3.2.10
cohort all
  quota default cpu=5
queue a cohort=all
  quota default cpu=10 lend:4
queue b cohort=all
  quota default cpu=6
job w1 queue=a cpu=5
job w2 queue=a cpu=5
job w3 queue=b cpu=7
expect usage cohort all default.cpu=11
finish w1
expect
  usage a default.cpu=5
  usage cohort all default.cpu=7
  available a default.cpu=9
finish w2 w3
expect
  usage cohort all default.cpu=0
  available a default.cpu=21
  available b default.cpu=15

story Quota of a stopped queue is still lent
rules 3.2.12
queue a cohort=all stop=Hold
  quota default cpu=5
queue b cohort=all
  quota default cpu=1
job w1 queue=b cpu=6
expect admitted w1

story Usage of a removed flavor stays until its job ends
rules 3.2.13
queue a
  quota old cpu=5
job w1 queue=a cpu=4
expect usage a old.cpu=4
change queue a
  quota new cpu=5
job w2 queue=a cpu=4
expect
  admitted w1 w2
  usage a old.cpu=4 new.cpu=4
finish w1
expect usage a old.cpu=0 new.cpu=4

story Quota cut below usage: nobody new until enough has gone
rules 3.2.7 3.2.11
queue a cohort=all
  quota default cpu=6
queue b cohort=all
  quota default cpu=0
job w1 queue=a cpu=3
job w2 queue=a cpu=3
expect admitted w1 w2
change queue a
  quota default cpu=2
job w3 queue=b cpu=1
expect asleep w3
finish w1
expect asleep w3
finish w2
expect admitted w3

story A queue that is removed gives back nothing it does not have
rules 3.2.10 3.1.1
queue a cohort=all
  quota default cpu=2
queue b cohort=all
  quota default cpu=2
job wa queue=a cpu=3
expect admitted wa
finish wa
remove queue b
expect
  subtree cohort all default.cpu=2
  available a default.cpu=2

# ---- 3.3

story Reservation and usage are two numbers
rules 3.3.1 3.3.2
admission-check prov
queue a checks=prov
  quota default cpu=5
job w1 queue=a cpu=2
job w2 queue=a cpu=2
expect reserved w1 w2
check w1 prov=Ready
expect
  admitted w1
  usage a default.cpu=4
  admitted-usage a default.cpu=2

story An evicted job is reserved until it has stopped
rules 3.3.1 4.7.1
queue a within=LowerPriority
  quota default cpu=2
job low queue=a cpu=2
expect admitted low
after 1s
job high queue=a cpu=1 priority=5
expect
  evicting low Preempted
  usage a default.cpu=2
release low
expect usage a default.cpu=1
