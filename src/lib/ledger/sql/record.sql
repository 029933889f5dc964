-- SPDX-License-Identifier: Apache-2.0
-- An event, once.
INSERT INTO events({columns}) VALUES ({values}) ON CONFLICT (uid, kind, number) DO NOTHING
