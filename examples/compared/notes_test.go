package compared_test

import (
	"path/filepath"
	"testing"

	"github.com/fondaco/fondaco/mcp/mcpclient"
)

func useNotes(t *testing.T, file string) []string {
	target := mcpclient.Command(file)
	target.Env = map[string]string{"NOTES_DB": filepath.Join(t.TempDir(), "notes.db")}
	c := connect(t, target, nil)
	return []string{
		resources(t, c),
		call(t, c, "add_note", object{"title": "Milk", "body": "two litres"}),
		call(t, c, "add_note", object{"title": "Ada", "body": "call her"}),
		call(t, c, "add_note", object{"title": "Oslo", "body": "book a flight"}),
		call(t, c, "add_note", object{"title": "", "body": "nothing"}),
		call(t, c, "add_note", object{"title": "no text"}),
		call(t, c, "search_notes", object{"text": "call"}),
		call(t, c, "search_notes", object{"text": "nowhere"}),
		resources(t, c),
		read(t, c, "notes://2"),
		read(t, c, "notes://9"),
	}
}

var wantNotes = []string{
	"",
	`{"body":"two litres","id":1,"title":"Milk"}`,
	`{"body":"call her","id":2,"title":"Ada"}`,
	`{"body":"book a flight","id":3,"title":"Oslo"}`,
	"failed",
	"failed",
	`{"notes":[{"body":"call her","id":2,"title":"Ada"}]}`,
	`{"notes":[]}`,
	"notes://1 Milk,notes://2 Ada,notes://3 Oslo,",
	"call her",
	"error",
}
