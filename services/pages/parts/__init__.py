"""Parts of pages: tables, maps, pictures, and words for numbers and times."""
