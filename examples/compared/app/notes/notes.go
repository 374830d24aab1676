// Package notes keeps notes in a database.
package notes

import (
	"context"
	"database/sql"

	_ "modernc.org/sqlite" // the driver
)

// Note is a row.
type Note struct {
	ID    int64  `json:"id"`
	Title string `json:"title"`
	Body  string `json:"body"`
}

// DB is a database of notes.
type DB struct{ db *sql.DB }

// Open opens the database in a file, which it makes if there is none.
func Open(file string) (*DB, error) {
	db, err := sql.Open("sqlite", file)
	if err != nil {
		return nil, err
	}
	_, err = db.Exec("CREATE TABLE IF NOT EXISTS notes (id INTEGER PRIMARY KEY, title TEXT NOT NULL, body TEXT NOT NULL)")
	return &DB{db}, err
}

// Add adds a note.
func (d *DB) Add(ctx context.Context, title, body string) (Note, error) {
	n := Note{Title: title, Body: body}
	err := d.db.QueryRowContext(ctx, "INSERT INTO notes (title, body) VALUES (?, ?) RETURNING id", title, body).Scan(&n.ID)
	return n, err
}

// Get returns a note, or sql.ErrNoRows.
func (d *DB) Get(ctx context.Context, id int64) (Note, error) {
	n := Note{ID: id}
	err := d.db.QueryRowContext(ctx, "SELECT title, body FROM notes WHERE id = ?", id).Scan(&n.Title, &n.Body)
	return n, err
}

// Search returns the notes that contain a text.
func (d *DB) Search(ctx context.Context, text string) ([]Note, error) {
	return d.query(ctx, "SELECT id, title, body FROM notes WHERE instr(title || ' ' || body, ?) > 0 ORDER BY id LIMIT 50", text)
}

// After returns at most limit notes after one, in the order of their ids.
func (d *DB) After(ctx context.Context, id int64, limit int) ([]Note, error) {
	return d.query(ctx, "SELECT id, title, body FROM notes WHERE id > ? ORDER BY id LIMIT ?", id, limit)
}

func (d *DB) query(ctx context.Context, query string, args ...any) ([]Note, error) {
	rows, err := d.db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	found := []Note{}
	for rows.Next() {
		var n Note
		if err := rows.Scan(&n.ID, &n.Title, &n.Body); err != nil {
			return nil, err
		}
		found = append(found, n)
	}
	return found, rows.Err()
}
