CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, city TEXT);
INSERT INTO customers VALUES (101, 'Acme', 'Riga'), (102, 'Globex', 'Oslo'), (103, 'Initech', 'Riga');

CREATE TABLE orders (id INTEGER PRIMARY KEY, customer INTEGER REFERENCES customers(id), product INTEGER,
  amount REAL, status TEXT, note TEXT);
INSERT INTO orders VALUES (1, 101, 7, 10.0, 'open', 'Pump 17 gasket'), (2, 101, 7, 20.5, 'closed', 'Pump 18 valve'),
  (3, 102, 8, 5.0, 'open', 'Spare filter'), (4, 103, 9, 9.5, 'open', 'Pump 17 valve');

CREATE TABLE tickets (id INTEGER PRIMARY KEY, opened DATE, ts TIMESTAMP, title TEXT, severity TEXT);
INSERT INTO tickets VALUES (1, '2026-03-02', '2026-03-05 10:00:00', 'Valve stuck half open in hall 3', 'high'),
  (2, '2026-03-20', '2026-03-20 12:00:00', 'Leak at the filter', 'critical'),
  (3, '2026-04-01', '2026-04-02 08:00:00', 'Pump 17 noisy', 'high');
