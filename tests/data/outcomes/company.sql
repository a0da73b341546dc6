CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT, city TEXT, country TEXT, since DATE);
INSERT INTO customers VALUES
  (501, 'Nordwind GmbH', 'Hamburg', 'Germany', '2019-03-01'),
  (502, 'Baltic Foods', 'Riga', 'Latvia', '2020-07-15'),
  (503, 'Maple & Sons', 'Toronto', 'Canada', '2021-01-20'),
  (504, 'Aurora Hotels', 'Oslo', 'Norway', '2022-05-09'),
  (505, 'Casa Verde', 'Lisbon', 'Portugal', '2022-11-30'),
  (506, 'Bluebird Cafe', 'Riga', 'Latvia', '2024-02-12');

CREATE TABLE products (id INTEGER PRIMARY KEY, name TEXT, category TEXT, price REAL, weight_kg REAL);
INSERT INTO products VALUES
  (71, 'Espresso machine E2', 'machines', 1890.0, 14.5),
  (72, 'Grinder G1', 'machines', 420.0, 5.2),
  (73, 'Milk frother M3', 'accessories', 95.0, 1.1),
  (74, 'Descaling powder', 'consumables', 12.5, 0.5),
  (75, 'Water filter W4', 'consumables', 28.0, 0.3);

CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers(id),
  product_id INTEGER REFERENCES products(id), quantity INTEGER, amount REAL, status TEXT, ordered DATE);
INSERT INTO orders VALUES
  (9001, 501, 71, 2, 3780.0, 'delivered', '2026-01-14'),
  (9002, 502, 74, 40, 500.0, 'delivered', '2026-01-20'),
  (9003, 502, 75, 10, 280.0, 'open', '2026-02-03'),
  (9004, 503, 72, 1, 420.0, 'cancelled', '2026-02-11'),
  (9005, 504, 71, 3, 5670.0, 'open', '2026-02-27'),
  (9006, 504, 73, 3, 285.0, 'open', '2026-02-27'),
  (9007, 505, 72, 2, 840.0, 'delivered', '2026-03-05'),
  (9008, 506, 71, 1, 1890.0, 'delivered', '2026-03-09'),
  (9009, 506, 74, 10, 125.0, 'delivered', '2026-03-16'),
  (9010, 501, 75, 20, 560.0, 'open', '2026-03-30');

CREATE TABLE tickets (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers(id), opened DATE, closed DATE,
  severity TEXT, title TEXT, solution TEXT);
INSERT INTO tickets VALUES
  (3001, 501, '2026-02-02', '2026-02-03', 'high', 'Espresso machine E2 leaks under the group head',
    'The gasket of the group head was replaced.'),
  (3002, 502, '2026-02-10', '2026-02-10', 'low', 'Invoice sent to the old address',
    'Address corrected and the invoice sent again.'),
  (3003, 504, '2026-03-01', NULL, 'critical', 'Boiler does not heat in room 12', NULL),
  (3004, 506, '2026-03-12', '2026-03-14', 'medium', 'Grinder G1 makes a whistling noise', 'A bearing was greased.'),
  (3005, 505, '2026-03-18', NULL, 'high', 'Display stays dark after the update', NULL),
  (3006, 501, '2026-03-25', '2026-03-26', 'low', 'Question about the warranty of the milk frother',
    'Two years, as for every accessory.');

CREATE TABLE machines (id INTEGER PRIMARY KEY, name TEXT, hall TEXT, installed DATE, service_interval_days INTEGER,
  state TEXT);
INSERT INTO machines VALUES
  (1, 'Press P1', 'A', '2018-04-12', 90, 'running'),
  (2, 'Lathe L4', 'A', '2016-09-30', 180, 'running'),
  (3, 'Mill F2', 'B', '2020-02-17', 60, 'stopped'),
  (4, 'Robot R7', 'C', '2023-06-05', 30, 'running'),
  (5, 'Oven O3', 'C', '2015-01-08', 365, 'stopped');

CREATE TABLE rechnungen (nummer TEXT PRIMARY KEY, kunde TEXT, betrag REAL, faellig DATE, status TEXT);
INSERT INTO rechnungen VALUES
  ('R-101', 'Bäckerei Huber', 240.0, '2026-02-15', 'bezahlt'),
  ('R-102', 'Gasthof Adler', 1310.5, '2026-03-01', 'offen'),
  ('R-103', 'Café Linde', 89.9, '2026-03-20', 'offen'),
  ('R-104', 'Hotel Seeblick', 2200.0, '2026-04-10', 'bezahlt'),
  ('R-105', 'Bäckerei Huber', 175.0, '2026-04-22', 'offen');

CREATE TABLE заявки (номер INTEGER PRIMARY KEY, цех TEXT, оборудование TEXT, описание TEXT, статус TEXT, создана DATE);
INSERT INTO заявки VALUES
  (1, 'литейный', 'печь 4', 'не держит температуру', 'открыта', '2026-02-05'),
  (2, 'сборочный', 'конвейер 2', 'порвана лента', 'закрыта', '2026-02-19'),
  (3, 'литейный', 'кран 1', 'скрипит трос', 'открыта', '2026-03-03'),
  (4, 'покрасочный', 'камера 3', 'слабая вытяжка', 'закрыта', '2026-03-11');
