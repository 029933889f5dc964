-- SPDX-License-Identifier: Apache-2.0
-- Version 2 of the ledger: groups that gather members, and pods by the time that they ran. Views keep their columns and
-- get others behind them.

-- How many pods had places, and for how long: a period ends when their number changes, or the run does. Times of one
-- second are in the order in which they were recorded.
CREATE VIEW runs AS
SELECT uid, namespace, name, type, queue, {stamp began_ns} AS began, {stamp until_ns} AS ended, size, nodes, resources,
  CAST({most 0, coalesce(until_ns, now_ns) - began_ns} AS DOUBLE PRECISION) / 1000000000.0 AS seconds,
  size * CAST({most 0, coalesce(until_ns, now_ns) - began_ns} AS DOUBLE PRECISION) / 1000000000.0 AS pod_seconds,
  began_ns, until_ns AS ended_ns
FROM (
  SELECT uid, namespace, name, type, queue, size, nodes, resources, time_ns AS began_ns, {now} AS now_ns,
    (SELECT min(n.time_ns) FROM events n
      WHERE n.uid = e.uid AND n.kind IN ('start', 'resize', 'queue', 'end', 'cancel', 'reject')
      AND (n.time_ns / 1000000000, n.id) > (e.time_ns / 1000000000, e.id)) AS until_ns
  FROM events e WHERE kind IN ('start', 'resize')) r;

CREATE INDEX job_gathering ON job_state(state_ns) WHERE state = 'gathering';

-- As fluxnetes has it: also those whose members are not all there. What is in no group is one of its own.
{view pods_provisional}
SELECT coalesce(group_name, name) AS group_name, size AS group_size, namespace, name, resources AS podspec,
  duration_ns / 1000000000 AS duration, {stamp submitted_ns} AS created_at
FROM job_state WHERE state = 'pending'
UNION ALL
SELECT coalesce(group_name, name), size, namespace, name, resources, duration_ns / 1000000000, {stamp state_ns}
FROM job_state WHERE state = 'gathering';

{view jobs}
SELECT uid, namespace, name, type, flux_job_name, jobid, queue, username, priority, size, state, reason, message,
  {stamp submitted_ns} AS submitted, {stamp started_ns} AS started, {stamp ended_ns} AS ended,
  CASE WHEN first_started_ns < submitted_ns OR ended_ns < submitted_ns THEN 0.0
    ELSE CAST(coalesce(first_started_ns, ended_ns, {now}) - submitted_ns AS DOUBLE PRECISION) / 1000000000.0 END
    AS wait_seconds,
  CAST(run_ns + CASE WHEN state = 'running' THEN {now} - started_ns ELSE 0 END AS DOUBLE PRECISION) / 1000000000.0
    AS run_seconds,
  starts,
  coalesce(nodes, (SELECT {list e.nodes} FROM events e WHERE e.uid = j.uid AND e.kind = 'pod_bind')) AS nodes,
  resources, duration_ns / 1000000000 AS duration, group_name,
  coalesce((SELECT sum(r.pod_seconds) FROM runs r WHERE r.uid = j.uid), 0) AS pod_seconds
FROM job_state j;
