// Notes is a server for notes in a database: tools add and search them, resources list and read them.
package main

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"log"
	"os"
	"strconv"

	"github.com/fondaco/fondaco/examples/compared/app/notes"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

const uri = "notes://{id}"

type draft struct {
	Title string `json:"title" doc:"a title of one line" minlen:"1"`
	Body  string `json:"body" doc:"the text"`
}

type query struct {
	Text string `json:"text" doc:"part of a title or text" minlen:"1"`
}

type found struct {
	Notes []notes.Note `json:"notes"`
}

type key struct {
	ID int64 `json:"id"`
}

func newServer(db *notes.DB) *mcpserver.Server {
	srv := mcpserver.New("notes", "1.0.0", &mcpserver.Options{PageSize: 2})
	srv.Tool("add_note", "Adds a note", func(ctx context.Context, in draft) (notes.Note, error) {
		n, err := db.Add(ctx, in.Title, in.Body)
		if err == nil {
			srv.ResourcesChanged(uri)
		}
		return n, err
	}, mcpserver.NonDestructive())
	srv.Tool("search_notes", "Finds notes", func(ctx context.Context, in query) (found, error) {
		all, err := db.Search(ctx, in.Text)
		return found{all}, err
	}, mcpserver.ReadOnly())
	srv.Template(uri, "note", "text/plain", func(ctx context.Context, k key) ([]byte, error) {
		n, err := db.Get(ctx, k.ID)
		if errors.Is(err, sql.ErrNoRows) {
			return nil, mcpserver.ErrNotFound
		}
		return []byte(n.Body), err
	}, mcpserver.ListResources(func(ctx context.Context, cursor string, limit int) (page []mcpserver.ListedResource[key], next string, err error) {
		after, err := strconv.ParseInt(cmp.Or(cursor, "0"), 10, 64)
		if err != nil {
			return nil, "", mcpserver.ErrInvalidCursor
		}
		rows, err := db.After(ctx, after, limit)
		for _, n := range rows {
			page = append(page, mcpserver.ListedResource[key]{Vars: key{n.ID}, Name: n.Title})
			next = strconv.FormatInt(n.ID, 10)
		}
		if len(rows) < limit {
			next = ""
		}
		return page, next, err
	}))
	return srv
}

func main() {
	db, err := notes.Open(os.Getenv("NOTES_DB"))
	if err != nil {
		log.Fatal(err)
	}
	mcpserver.Main(newServer(db))
}
