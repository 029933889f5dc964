-- SPDX-License-Identifier: Apache-2.0
-- What an event that was not there before says about its job.
--
-- It changes the state if it is not older than the last that did. One that comes late (it was lost, and is appended
-- again after a restart) adds what is not known yet.
INSERT INTO job_state AS j (uid, last_ns, namespace, name, type, flux_job_name, jobid, queue, username, priority, size,
  group_name, duration_ns, estimated_start_ns, nodes, resources, reason, message, state, state_ns, submitted_ns,
  first_started_ns, started_ns, ended_ns, reservation, starts)
SELECT {t 2}, {n 1}, {t 5}, {t 6}, {t 7}, {t 8}, {n 9}, {t 10}, {t 11}, {n 12}, {n 13},
  {t 14}, {n 15}, {n 16}, {t 26}, {t 18}, {t 27}, {t 28}, {t 21}, CASE WHEN {t 21} IS NULL THEN NULL ELSE {n 1} END,
  {n 22}, {n 23}, {n 23}, {n 24}, {n 25}, CASE WHEN {n 23} IS NULL THEN 0 ELSE 1 END
{from}
ON CONFLICT (uid) DO UPDATE SET
  {keep namespace}, {keep name}, {keep type}, {keep flux_job_name}, {keep jobid}, {keep queue}, {keep username},
  {keep priority}, {keep size}, {keep group_name}, {keep duration_ns}, {keep estimated_start_ns}, {keep nodes},
  {keep resources},
  reason = CASE WHEN {newer} THEN excluded.reason ELSE j.reason END,
  message = CASE WHEN {newer} THEN excluded.message ELSE j.message END,
  state = CASE WHEN {newer} THEN excluded.state ELSE j.state END,
  state_ns = CASE WHEN {newer} THEN excluded.state_ns ELSE j.state_ns END,
  ended_ns = CASE WHEN {newer} THEN excluded.ended_ns ELSE j.ended_ns END,
  reservation = CASE WHEN {newer} THEN coalesce(excluded.reservation, j.reservation) ELSE j.reservation END,
  submitted_ns = coalesce(j.submitted_ns, excluded.submitted_ns),
  first_started_ns = CASE WHEN excluded.first_started_ns < j.first_started_ns THEN excluded.first_started_ns
    ELSE coalesce(j.first_started_ns, excluded.first_started_ns) END,
  started_ns = CASE WHEN {newer} THEN coalesce(excluded.started_ns, j.started_ns)
    ELSE coalesce(j.started_ns, excluded.started_ns) END,
  run_ns = j.run_ns + CASE WHEN {newer} AND j.state = 'running' AND excluded.state_ns > j.started_ns
    THEN excluded.state_ns - j.started_ns ELSE 0 END,
  starts = j.starts + excluded.starts,
  last_ns = CASE WHEN excluded.last_ns > j.last_ns THEN excluded.last_ns ELSE j.last_ns END
