"""Floor 2: SQLite opened properly: modes, migrations, one actor thread per file, group commit."""
