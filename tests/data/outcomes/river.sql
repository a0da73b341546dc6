CREATE TABLE boats (id INTEGER PRIMARY KEY, name TEXT, kind TEXT, seats INTEGER, built INTEGER, weight_kg REAL, berth TEXT, insured BOOLEAN);
INSERT INTO boats VALUES
  (1, 'Kingfisher', 'eight', 8, 2014, 96.0, 'rack A1', 1),
  (2, 'Grey Heron', 'eight', 8, 2021, 93.5, 'rack A2', 1),
  (3, 'Otter', 'coxed four', 4, 2009, 53.0, 'rack B1', 0),
  (4, 'Dragonfly', 'quad', 4, 2018, 52.0, 'rack B2', 1),
  (5, 'Moorhen', 'pair', 2, 2016, 27.5, 'rack C1', 1),
  (6, 'Swift', 'double', 2, 2022, 27.0, 'rack C2', 1),
  (7, 'Minnow', 'single', 1, 2011, 15.0, 'rack D1', 0),
  (8, 'Teal', 'single', 1, 2023, 14.0, 'rack D2', 1),
  (9, 'Old Bess', 'single', 1, 1987, 19.5, 'rack D3', 0);
CREATE TABLE members (id INTEGER PRIMARY KEY, name TEXT, category TEXT, joined DATE, swim_test DATE, locker INTEGER, town TEXT);
INSERT INTO members VALUES
  (101, 'Ada Lindqvist', 'full', '2011-04-02', '2024-03-10', 12, 'Heron Bay'),
  (102, 'Bilal Osman', 'full', '2017-09-20', '2025-09-14', 31, 'Saltford'),
  (103, 'Clare Penhaligon', 'student', '2023-10-05', '2023-09-10', NULL, 'Heron Bay'),
  (104, 'Dev Chaudhry', 'junior', '2024-05-18', '2024-09-08', NULL, 'Marsh End'),
  (105, 'Edith Vance', 'social', '1998-01-15', NULL, NULL, 'Saltford'),
  (106, 'Farid Nazari', 'full', '2020-02-28', '2022-03-13', 7, 'Heron Bay'),
  (107, 'Gwen Tolliver', 'junior', '2025-03-01', '2025-03-09', NULL, 'Heron Bay'),
  (108, 'Hugo Marchetti', 'full', '2006-06-11', '2025-03-09', 55, 'Kingsmere'),
  (109, 'Ines Duarte', 'student', '2024-11-12', '2024-09-08', 40, 'Saltford'),
  (110, 'Jonah Blackwood', 'social', '2019-08-30', NULL, NULL, 'Kingsmere');
CREATE TABLE outings (id INTEGER PRIMARY KEY, boat_id INTEGER REFERENCES boats(id), leader_id INTEGER REFERENCES members(id), day DATE, km REAL, weather TEXT, remark TEXT);
INSERT INTO outings VALUES
  (1, 1, 101, '2026-03-07', 14.0, 'sunny', 'First row of the racing squad after the winter.'),
  (2, 5, 102, '2026-03-08', 9.5, 'windy', NULL),
  (3, 8, 108, '2026-03-12', 11.0, 'cloudy', 'Saw an otter near the weir bridge.'),
  (4, 4, 106, '2026-03-15', 12.5, 'rain', 'Turned back early because of hail.'),
  (5, 2, 101, '2026-03-21', 18.0, 'sunny', 'Timed pieces, best 6:12 over 2000 metres.'),
  (6, 7, 104, '2026-03-22', 4.0, 'sunny', 'Capsized at the pontoon, nobody hurt.'),
  (7, 6, 109, '2026-04-02', 10.0, 'cloudy', NULL),
  (8, 1, 108, '2026-04-04', 16.0, 'sunny', 'Race against Saltford, lost by a length.'),
  (9, 4, 103, '2026-04-11', 8.0, 'windy', NULL),
  (10, 8, 102, '2026-04-12', 13.0, 'sunny', 'Lost a fin on a sunken branch.'),
  (11, 2, 101, '2026-04-18', 20.5, 'cloudy', 'Long row to the estuary and back.'),
  (12, 6, 106, '2026-04-25', 7.5, 'rain', NULL);
CREATE TABLE repairs (id INTEGER PRIMARY KEY, boat_id INTEGER REFERENCES boats(id), reported DATE, done DATE, cost REAL, state TEXT, description TEXT);
INSERT INTO repairs VALUES
  (1, 3, '2025-11-02', NULL, NULL, 'waiting', 'Crack along the hull below seat 3; needs a new skin of carbon.'),
  (2, 7, '2026-03-22', '2026-03-26', 35.0, 'done', 'Bent rigger straightened after the capsize.'),
  (3, 8, '2026-04-12', '2026-04-16', 48.0, 'done', 'New fin glued on.'),
  (4, 1, '2026-04-05', '2026-04-21', 210.0, 'done', 'Steering wire of the cox replaced.'),
  (5, 4, '2026-04-11', NULL, 120.0, 'in progress', 'Slide of the bow seat jams.'),
  (6, 9, '2024-06-30', NULL, NULL, 'waiting', 'Dry rot in the stern; worth keeping only as decoration.');
