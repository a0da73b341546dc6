-- Fleet administration, export of 2 April 2024
PRAGMA foreign_keys = ON;

CREATE TABLE drivers (
  driver_id INTEGER PRIMARY KEY,
  name TEXT NOT NULL,
  birth_date DATE,
  licence_class TEXT,
  hired_on DATE,
  depot TEXT,
  status TEXT,
  phone TEXT
);

CREATE TABLE vehicles (
  vehicle_id INTEGER PRIMARY KEY,
  plate TEXT NOT NULL UNIQUE,
  type TEXT,
  model TEXT,
  year INTEGER,
  depot TEXT,
  mileage_km INTEGER,
  status TEXT,
  fuel TEXT
);

CREATE TABLE trips (
  trip_id INTEGER PRIMARY KEY,
  vehicle_id INTEGER NOT NULL REFERENCES vehicles(vehicle_id),
  driver_id INTEGER NOT NULL REFERENCES drivers(driver_id),
  origin TEXT,
  destination TEXT,
  trip_date DATE,
  distance_km INTEGER,
  status TEXT,
  cargo TEXT
);

CREATE TABLE services (
  service_id INTEGER PRIMARY KEY,
  vehicle_id INTEGER NOT NULL REFERENCES vehicles(vehicle_id),
  service_date DATE,
  description TEXT,
  workshop TEXT,
  cost_eur REAL,
  status TEXT
);

INSERT INTO drivers VALUES
  (1, 'Anna Leitner', '1984-03-12', 'C', '2015-04-01', 'Vienna', 'active', '+43 660 5550101'),
  (2, 'Marko Jurić', '1979-11-02', 'CE', '2012-09-15', 'Graz', 'active', '+43 660 5550102'),
  (3, 'Sophie Brandner', '1991-06-25', 'B', '2019-02-11', 'Linz', 'active', '+43 660 5550103'),
  (4, 'Thomas Egger', '1968-01-30', 'CE', '2003-05-05', 'Vienna', 'retired', '+43 660 5550104'),
  (5, 'Lukas Hofstätter', '1995-09-09', 'B', '2021-07-01', 'Graz', 'active', '+43 660 5550105'),
  (6, 'Petra Novak', '1987-12-19', 'C', '2016-10-03', 'Vienna', 'on leave', '+43 660 5550106'),
  (7, 'Emre Yildiz', '1990-04-14', 'CE', '2018-03-19', 'Linz', 'active', '+43 660 5550107'),
  (8, 'Julia Steiner', '1998-08-21', 'B', '2022-11-14', 'Salzburg', 'active', '+43 660 5550108'),
  (9, 'Ferdinand Maier', '1973-02-07', 'C', '2009-06-22', 'Salzburg', 'suspended', '+43 660 5550109'),
  (10, 'Katalin Szabó', '1985-05-28', 'CE', '2014-01-13', 'Vienna', 'active', '+43 660 5550110'),
  (11, 'Daniel Kofler', '1993-10-31', 'B', '2020-08-24', 'Innsbruck', 'active', '+43 660 5550111'),
  (12, 'Helga Wimmer', '1976-07-16', 'C', '2010-03-08', 'Linz', 'on leave', '+43 660 5550112'),
  (13, 'Igor Petek', '1988-09-03', 'CE', '2017-05-29', 'Graz', 'active', '+43 660 5550113'),
  (14, 'Nina Aschauer', '1996-01-11', 'B', '2023-02-20', 'Innsbruck', 'active', '+43 660 5550114');

INSERT INTO vehicles VALUES
  (1, 'W-41827T', 'van', 'Mercedes Sprinter', 2019, 'Vienna', 128400, 'in service', 'diesel'),
  (2, 'W-55302K', 'van', 'VW Crafter', 2021, 'Vienna', 74210, 'in service', 'diesel'),
  (3, 'G-118PL', 'truck', 'MAN TGM', 2017, 'Graz', 311950, 'in service', 'diesel'),
  (4, 'G-774RR', 'van', 'Ford Transit', 2018, 'Graz', 156030, 'in workshop', 'diesel'),
  (5, 'L-920AZ', 'truck', 'Volvo FH', 2020, 'Linz', 402310, 'in service', 'diesel'),
  (6, 'L-333BM', 'van', 'Renault Master', 2016, 'Linz', 201770, 'sold', 'diesel'),
  (7, 'S-607DD', 'van', 'Peugeot e-Expert', 2022, 'Salzburg', 38950, 'in service', 'electric'),
  (8, 'S-612DD', 'car', 'Skoda Octavia', 2020, 'Salzburg', 91200, 'in service', 'petrol'),
  (9, 'I-204XC', 'van', 'Fiat Ducato', 2019, 'Innsbruck', 118865, 'in service', 'diesel'),
  (10, 'W-70011E', 'car', 'VW ID.3', 2023, 'Vienna', 21480, 'in service', 'electric'),
  (11, 'W-48890M', 'truck', 'Scania R450', 2018, 'Vienna', 487600, 'in workshop', 'diesel'),
  (12, 'G-902KT', 'truck', 'DAF XF', 2021, 'Graz', 265440, 'in service', 'diesel'),
  (13, 'I-311YA', 'car', 'Toyota Corolla', 2021, 'Innsbruck', 66730, 'reserved', 'hybrid'),
  (14, 'L-481QE', 'van', 'Mercedes eSprinter', 2023, 'Linz', 17320, 'in service', 'electric'),
  (15, 'W-29116B', 'van', 'Opel Movano', 2015, 'Vienna', 243900, 'sold', 'diesel'),
  (16, 'S-700HF', 'truck', 'Iveco Eurocargo', 2019, 'Salzburg', 198020, 'reserved', 'diesel');

INSERT INTO trips VALUES
  (101, 1, 1, 'Vienna', 'St. Pölten', '2024-03-04', 68, 'completed', 'office furniture'),
  (102, 5, 7, 'Linz', 'Passau', '2024-03-05', 92, 'completed', 'machine parts'),
  (103, 3, 2, 'Graz', 'Maribor', '2024-03-05', 71, 'completed', 'steel profiles'),
  (104, 7, 8, 'Salzburg', 'Hallein', '2024-03-06', 19, 'completed', 'parcels'),
  (105, 9, 11, 'Innsbruck', 'Kufstein', '2024-03-07', 78, 'completed', 'catering equipment'),
  (106, 2, 6, 'Vienna', 'Graz', '2024-03-08', 197, 'completed', 'medical supplies'),
  (107, 12, 13, 'Graz', 'Villach', '2024-03-11', 182, 'completed', 'timber'),
  (108, 14, 3, 'Linz', 'Wels', '2024-03-11', 31, 'completed', 'parcels'),
  (109, 10, 1, 'Vienna', 'Bratislava', '2024-03-12', 79, 'completed', 'documents'),
  (110, 5, 7, 'Linz', 'Nuremberg', '2024-03-13', 325, 'completed', 'machine parts'),
  (111, 8, 8, 'Salzburg', 'Bad Ischl', '2024-03-14', 56, 'cancelled', 'documents'),
  (112, 1, 10, 'Vienna', 'Eisenstadt', '2024-03-15', 61, 'completed', 'wine'),
  (113, 3, 2, 'Graz', 'Zagreb', '2024-03-18', 189, 'completed', 'steel profiles'),
  (114, 4, 5, 'Graz', 'Leoben', '2024-03-18', 68, 'aborted', 'tyres'),
  (115, 9, 14, 'Innsbruck', 'Bolzano', '2024-03-19', 118, 'completed', 'ski equipment'),
  (116, 12, 13, 'Graz', 'Ljubljana', '2024-03-20', 193, 'completed', 'timber'),
  (117, 2, 10, 'Vienna', 'Krems', '2024-03-21', 77, 'completed', 'wine'),
  (118, 14, 3, 'Linz', 'Steyr', '2024-03-22', 44, 'completed', 'tools'),
  (119, 5, 7, 'Linz', 'Prague', '2024-03-25', 248, 'completed', 'glassware'),
  (120, 7, 8, 'Salzburg', 'Freilassing', '2024-03-25', 8, 'completed', 'parcels'),
  (121, 1, 1, 'Vienna', 'Brno', '2024-03-26', 135, 'completed', 'office furniture'),
  (122, 13, 11, 'Innsbruck', 'Landeck', '2024-03-27', 76, 'cancelled', 'documents'),
  (123, 12, 2, 'Graz', 'Klagenfurt', '2024-03-28', 135, 'completed', 'steel profiles'),
  (124, 10, 10, 'Vienna', 'Sopron', '2024-03-29', 73, 'completed', 'documents'),
  (125, 5, 7, 'Linz', 'Munich', '2024-04-02', 262, 'planned', 'machine parts'),
  (126, 9, 14, 'Innsbruck', 'Bregenz', '2024-04-03', 195, 'planned', 'ski equipment'),
  (127, 3, 13, 'Graz', 'Trieste', '2024-04-04', 340, 'planned', 'coffee'),
  (128, 2, 1, 'Vienna', 'Zwettl', '2024-04-05', 125, 'planned', 'medical supplies');

INSERT INTO services VALUES
  (1, 4, '2024-03-19', 'clutch replacement', 'Autohaus Reiter', 1480.00, 'open'),
  (2, 11, '2024-03-21', 'gearbox repair', 'Scania Wien Süd', 6250.00, 'open'),
  (3, 1, '2024-01-15', 'annual inspection', 'Autohaus Reiter', 320.00, 'done'),
  (4, 2, '2024-02-02', 'brake pads', 'Garage Pichler', 415.50, 'done'),
  (5, 5, '2024-02-12', 'oil change', 'Volvo Trucks Linz', 540.00, 'done'),
  (6, 7, '2024-02-20', 'tyre change', 'Reifen Huber', 260.00, 'done'),
  (7, 9, '2024-01-29', 'windscreen', 'Carglass Innsbruck', 690.00, 'done'),
  (8, 3, '2023-11-08', 'annual inspection', 'MAN Service Graz', 780.00, 'done'),
  (9, 12, '2024-03-01', 'tachograph calibration', 'DAF Center Graz', 245.00, 'done'),
  (10, 8, '2024-03-15', 'timing belt', 'Garage Pichler', 890.00, 'done'),
  (11, 10, '2024-04-08', 'software update', 'VW Wien Nord', 0.00, 'scheduled'),
  (12, 14, '2024-04-10', 'annual inspection', 'Mercedes Linz', 350.00, 'scheduled'),
  (13, 16, '2024-04-12', 'tail lift repair', 'Iveco Salzburg', 1120.00, 'scheduled'),
  (14, 13, '2024-03-05', 'battery check', 'Garage Pichler', 75.00, 'done'),
  (15, 6, '2023-09-18', 'rust repair', 'Autohaus Reiter', 930.00, 'cancelled');
