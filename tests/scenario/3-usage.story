# Rule 3.8: admission fair sharing. Half-life 10 min, a sample every 5 min.

story The local queue that used less goes first
rules 3.8.1 1.2.6 3.8.3
config admission-fair-sharing half-life=10m sampling=5m
queue a usage-based local=no
  quota default cpu=4
local red -> a
local blue -> a
job r1 queue=red cpu=4
expect admitted r1
after 20m
job r2 queue=red cpu=4 priority=9
after 1s
job z-b1 queue=blue cpu=4
expect queue a z-b1 r2
finish r1
expect
  order z-b1
  asleep r2

story Without usage-based scope priority goes first
rules 3.8.1 1.2.7
config admission-fair-sharing half-life=10m sampling=5m
queue a local=no
  quota default cpu=4
local red -> a
local blue -> a
job r1 queue=red cpu=4
expect admitted r1
after 20m
job r2 queue=red cpu=4 priority=9
job b1 queue=blue cpu=4
expect queue a r2 b1
change queue a usage-based
expect queue a r2 b1

story The first look at a queue decides whether usage orders it
rules 1.2.7
config admission-fair-sharing half-life=10m sampling=5m
queue a usage-based local=no
  quota default cpu=4
local red -> a
local blue -> a
job r1 queue=red cpu=4
expect admitted r1
after 20m
job r2 queue=red cpu=4 priority=9
job b1 queue=blue cpu=4
expect queue a b1 r2
change queue a usage-based=false
expect queue a b1 r2

story An admission counts at once
rules 3.8.2
config admission-fair-sharing half-life=10m sampling=5m
queue a usage-based local=no
  quota default cpu=3
local red -> a
local blue -> a
job a-red1 queue=red cpu=1
job a-red2 queue=red cpu=1
job a-red3 queue=red cpu=1
job z-blue1 queue=blue cpu=1
job z-blue2 queue=blue cpu=1
expect
  order a-red1 z-blue1 a-red2
  asleep z-blue2 a-red3

story A large job counts more than a small one
rules 3.8.2
config admission-fair-sharing half-life=10m sampling=5m
queue a usage-based local=no
  quota default cpu=6
local red -> a
local blue -> a
job a-red1 queue=red cpu=3
job a-red2 queue=red cpu=1
job z-blue1 queue=blue cpu=1
job z-blue2 queue=blue cpu=1
job z-blue3 queue=blue cpu=1
expect order a-red1 z-blue1 z-blue2 z-blue3

story Usage of the past fades
rules 3.8.4 3.8.3
config admission-fair-sharing half-life=10m sampling=5m
queue a usage-based local=no
  quota default cpu=5
local red -> a
local blue -> a
local green -> a
job r1 queue=red cpu=4
job b1 queue=blue cpu=1
expect admitted r1 b1
at 20m
finish r1
job g1 queue=green cpu=4
expect admitted g1
at 21m
job r2 queue=red cpu=5
job b2 queue=blue cpu=5
expect queue a b2 r2
at 3h
expect queue a r2 b2

story A weight lets a local queue use more
rules 3.8.5
config admission-fair-sharing half-life=10m sampling=5m
queue a usage-based local=no
  quota default cpu=5
local red -> a weight=10
local blue -> a
job r1 queue=red cpu=4
job b1 queue=blue cpu=1
expect admitted r1 b1
after 1h
job z-r2 queue=red cpu=5
job a-b2 queue=blue cpu=5
expect queue a z-r2 a-b2

story Resources count by their weights
rules 3.8.6
config admission-fair-sharing half-life=10m sampling=5m weight:cpu=0
queue a usage-based local=no
  quota default cpu=5 gpu=1
local red -> a
local blue -> a
job r1 queue=red cpu=4
job b1 queue=blue cpu=1 gpu=1
expect admitted r1 b1
after 1h
job z-r2 queue=red cpu=5
job a-b2 queue=blue cpu=5
expect queue a z-r2 a-b2

story Without weights all resources count alike
rules 3.8.6
config admission-fair-sharing half-life=10m sampling=5m
queue a usage-based local=no
  quota default cpu=5 gpu=1
local red -> a
local blue -> a
job r1 queue=red cpu=4
job b1 queue=blue cpu=1 gpu=1
expect admitted r1 b1
after 1h
job a-r2 queue=red cpu=5
job z-b2 queue=blue cpu=5
expect queue a z-b2 a-r2

story Victims come from the local queue that used more
rules 3.8.7
config admission-fair-sharing half-life=10m sampling=5m
queue a usage-based local=no within=LowerPriority
  quota default cpu=3
local red -> a
local blue -> a
local green -> a
job r1 queue=red cpu=2
expect admitted r1
after 10m
job b1 queue=blue cpu=1
expect admitted b1
after 10m
job high queue=green cpu=1 priority=5
expect preempted r1 by high InClusterQueue

story Without admission fair sharing the latest is the victim
rules 3.8.7 4.2.4
queue a local=no within=LowerPriority
  quota default cpu=3
local red -> a
local blue -> a
local green -> a
job r1 queue=red cpu=2
expect admitted r1
after 10m
job b1 queue=blue cpu=1
expect admitted b1
after 10m
job high queue=green cpu=1 priority=5
expect preempted b1 by high InClusterQueue

story Usage counts even before who waits for his victims
rules 1.2.6
config admission-fair-sharing half-life=10m sampling=5m
queue a usage-based local=no within=LowerPriority
  quota default cpu=4
local red -> a
local blue -> a
local green -> a
job r1 queue=red cpu=2
job g1 queue=green cpu=2
expect admitted r1 g1
after 20m
job r2 queue=red cpu=2 priority=5
expect evictions 1
after 1s
job b1 queue=blue cpu=2 priority=5
expect queue a b1 r2

story Without the configuration usage is not counted
rules 3.8.1
queue a usage-based local=no
  quota default cpu=4
local red -> a
local blue -> a
job r1 queue=red cpu=4
expect admitted r1
after 20m
job r2 queue=red cpu=4 priority=9
job b1 queue=blue cpu=4
expect queue a r2 b1

story A failed admission takes its penalty back
rules 3.8.2 1.8.6
config admission-fair-sharing half-life=10m sampling=5m
queue a usage-based local=no
  quota default cpu=1
local red -> a
local blue -> a
job a-red1 queue=red cpu=1
expect admitted a-red1
job a-red2 queue=red cpu=1
job z-blue1 queue=blue cpu=1
expect queue a z-blue1 a-red2
admit-failed a-red1
expect
  order a-red1
  queue a z-blue1 a-red2

story Local queues without usage are ordered as ever
rules 3.8.1
config admission-fair-sharing half-life=10m sampling=5m
queue a usage-based local=no
  quota default cpu=0
local red -> a
local blue -> a
job r1 queue=red cpu=1 priority=1
job b1 queue=blue cpu=1 priority=2
job r2 queue=red cpu=1 priority=3
expect queue a r2 b1 r1
