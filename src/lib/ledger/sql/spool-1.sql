-- SPDX-License-Identifier: Apache-2.0
-- Version 1 of the spool: events that are not yet in the server. SQLite alone.
CREATE TABLE spool(seq INTEGER PRIMARY KEY, {types});
