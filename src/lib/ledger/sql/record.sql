-- SPDX-License-Identifier: Apache-2.0
-- An event, once. What a process reports after a restart without a number of its own is not recorded if the job is
-- already as it says.
INSERT INTO events({columns}) SELECT {values} WHERE NOT EXISTS (
  SELECT 1 FROM job_state WHERE uid = {t 2} AND CASE {t 3}
    WHEN 'queue' THEN {t 19} IS NULL AND state IN ('gathering', 'pending') AND size = {n 13}
    WHEN 'reserve' THEN reservation = 1 AND estimated_start_ns = {n 16}
    WHEN 'unreserve' THEN coalesce(reservation, 0) = 0
    WHEN 'resize' THEN size = {n 13}
    WHEN 'reject' THEN state = 'rejected'
    ELSE false END)
ON CONFLICT (uid, kind, number) DO NOTHING
