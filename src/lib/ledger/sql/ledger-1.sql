-- SPDX-License-Identifier: Apache-2.0
-- Version 1 of the ledger. A step is never changed once it is released: what is different later is a further step.
--
-- Table events has everything that was recorded, and job_state what follows from it for each job (job.sql), because
-- the views have to be quick, and whether a job is pending is not seen at one of its events.
CREATE TABLE events(id {id}, {types}, UNIQUE (uid, kind, number));

CREATE TABLE job_state(
  uid TEXT NOT NULL PRIMARY KEY,
  last_ns BIGINT NOT NULL,        -- the newest event
  namespace TEXT, name TEXT, type TEXT, flux_job_name TEXT, jobid BIGINT, queue TEXT, username TEXT, priority BIGINT,
  size BIGINT, group_name TEXT, duration_ns BIGINT, estimated_start_ns BIGINT, nodes TEXT, resources TEXT,
  reason TEXT, message TEXT,      -- of the newest event that has a state
  state TEXT, state_ns BIGINT,    -- since when
  submitted_ns BIGINT,
  first_started_ns BIGINT,
  started_ns BIGINT,              -- the last time
  ended_ns BIGINT,
  reservation BIGINT,             -- 1: it has one
  starts BIGINT NOT NULL,
  run_ns BIGINT NOT NULL DEFAULT 0 -- of the runs that are over
);
CREATE INDEX job_pending ON job_state(queue, submitted_ns) WHERE state = 'pending';
CREATE INDEX job_reserved ON job_state(estimated_start_ns) WHERE reservation = 1;
CREATE INDEX job_submitted ON job_state(submitted_ns);
CREATE INDEX job_ended ON job_state(ended_ns, uid) WHERE ended_ns IS NOT NULL;

-- The first nine columns are those of fluxqueue's table.
CREATE VIEW pending_queue AS
SELECT resources AS jobspec, namespace, flux_job_name, name, type, coalesce(reservation, 0) AS reservation,
  duration_ns / 1000000000 AS duration, {stamp submitted_ns} AS created_at, size,
  uid, queue, priority, username, reason, message,
  CASE WHEN reservation = 1 THEN {stamp estimated_start_ns} END AS estimated_start
FROM job_state WHERE state = 'pending';

CREATE VIEW reservations AS
SELECT name, jobid AS flux_id, namespace, uid, queue, {stamp estimated_start_ns} AS estimated_start
FROM job_state WHERE reservation = 1;

-- As fluxnetes has it. What is in no group is one of its own.
CREATE VIEW pods_provisional AS
SELECT coalesce(group_name, name) AS group_name, size AS group_size, namespace, name, resources AS podspec,
  duration_ns / 1000000000 AS duration, {stamp submitted_ns} AS created_at
FROM job_state WHERE state = 'pending';

CREATE VIEW jobs AS
SELECT uid, namespace, name, type, flux_job_name, jobid, queue, username, priority, size, state, reason, message,
  {stamp submitted_ns} AS submitted, {stamp started_ns} AS started, {stamp ended_ns} AS ended,
  CAST(coalesce(first_started_ns, ended_ns, {now}) - submitted_ns AS DOUBLE PRECISION) / 1000000000.0 AS wait_seconds,
  CAST(run_ns + CASE WHEN state = 'running' THEN {now} - started_ns ELSE 0 END AS DOUBLE PRECISION) / 1000000000.0
    AS run_seconds,
  starts,
  coalesce(nodes, (SELECT {list e.nodes} FROM events e WHERE e.uid = j.uid AND e.kind = 'pod_bind')) AS nodes,
  resources, duration_ns / 1000000000 AS duration, group_name
FROM job_state j;
