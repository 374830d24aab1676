package docs_test

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

// noteTable is the database of resources.md; its comments have the queries.
var (
	noteMutex sync.Mutex
	noteTable = map[int]string{1: "Buy milk", 2: "Call Ada", 7: "Water the plants"} // guarded by noteMutex
)

func today(context.Context) ([]byte, error) { return []byte("# Today"), nil }

type noteVars struct {
	ID int `json:"id" min:"1"`
}

func readNote(_ context.Context, v noteVars) ([]byte, error) {
	text, ok := findNote(v.ID) // SELECT text FROM notes WHERE id = ?
	if !ok {
		return nil, mcpserver.ErrNotFound
	}
	return []byte(text), nil
}

func findNote(id int) (text string, ok bool) {
	noteMutex.Lock()
	defer noteMutex.Unlock()
	text, ok = noteTable[id]
	return text, ok
}

// notesAfter returns the ids of notes after one.
func notesAfter(after, limit int) (ids []int) {
	noteMutex.Lock()
	defer noteMutex.Unlock()
	for _, id := range slices.Sorted(maps.Keys(noteTable)) {
		if id > after && len(ids) < limit {
			ids = append(ids, id)
		}
	}
	return ids
}

func listNotes(_ context.Context, cursor string, limit int) (page []mcpserver.ListedResource[noteVars], next string, err error) {
	after := 0
	if cursor != "" {
		if after, err = strconv.Atoi(cursor); err != nil {
			return nil, "", mcpserver.ErrInvalidCursor
		}
	}
	for _, id := range notesAfter(after, limit) { // SELECT id FROM notes WHERE id > ? ORDER BY id LIMIT ?
		page = append(page, mcpserver.ListedResource[noteVars]{Vars: noteVars{id}, Name: fmt.Sprint("Note ", id)})
	}
	if len(page) == limit {
		next = strconv.Itoa(page[limit-1].Vars.ID)
	}
	return page, next, nil
}

func completeID(_ context.Context, c mcpserver.CompletionRequest, limit int) (ids []string, err error) {
	for _, id := range notesAfter(0, math.MaxInt) { // SELECT id FROM notes WHERE id LIKE ? || '%' ORDER BY id LIMIT ?
		if text := strconv.Itoa(id); strings.HasPrefix(text, c.Value) && len(ids) < limit {
			ids = append(ids, text)
		}
	}
	return ids, nil
}

func newNotes() *mcpserver.Server {
	srv := mcpserver.New("notes", "1.0.0", &mcpserver.Options{PageSize: 2})
	srv.Resource("notes://today", "Today", "text/markdown", today)
	srv.Template("notes://{id}", "note", "text/plain", readNote,
		mcpserver.ListResources(listNotes), mcpserver.CompleteQuery("id", completeID))
	return srv
}

func announce(srv *mcpserver.Server) {
	srv.ResourcesChanged("notes://{id}") // rows were added or removed: notifications/resources/list_changed
	srv.Updated("notes://7")             // row 7 was changed: to its subscribers
}

func TestResourcesOfADatabase(t *testing.T) {
	t.Parallel()
	srv := newNotes()
	c := mcptest.Connect(t, srv, nil)
	var uris []string
	for r, err := range c.Resources(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		uris = append(uris, r.URI)
	}
	if want := []string{"notes://today", "notes://1", "notes://2", "notes://7"}; !slices.Equal(uris, want) {
		t.Errorf("got %q, want %q", uris, want)
	}
	if _, err := c.ReadResource(t.Context(), "notes://3"); mcp.CodeOf(err) != mcp.CodeResourceNotFound {
		t.Errorf("got %v, want that there is no such note", err)
	}
	completion, err := c.Complete(t.Context(), &mcp.CompleteParams{
		Ref: mcp.ResourceRef("notes://{id}"), Argument: mcp.CompleteArgument{Name: "id", Value: "7"},
	})
	if err != nil || !slices.Equal(completion.Values, []string{"7"}) {
		t.Errorf("got %+v, %v, want 7", completion, err)
	}
	seen := 0
	for uri, err := range c.Watch(t.Context(), "notes://7") {
		if err != nil || uri != "notes://7" {
			t.Fatalf("got %s, %v, want the note", uri, err)
		}
		if seen++; seen == 2 {
			break
		}
		announce(srv)
	}
}

func TestTemplateWithoutAList(t *testing.T) {
	t.Parallel()
	srv := mcpserver.New("notes", "1.0.0", nil)
	srv.Resource("notes://today", "Today", "text/markdown", today)
	srv.Template("notes://{id}", "note", "text/plain", readNote)
	mcptest.EachRevision(t, srv, func(t *testing.T, c *mcpclient.Client) {
		for uri, want := range map[string]string{"notes://today": "# Today", "notes://2": "Call Ada"} {
			if r, err := c.ReadResource(t.Context(), uri); err != nil || r.Contents[0].Text != want {
				t.Errorf("%s: got %+v, %v, want %s", uri, r, err, want)
			}
		}
	})
}
