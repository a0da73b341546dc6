"""Words, stems, sentences, numbers and dates, and the languages that they are in."""
