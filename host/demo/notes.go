package demo

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

const maxNotes = 100

// notes are kept in memory. Each note is a resource.
type notes struct {
	srv *mcpserver.Server

	mu     sync.Mutex
	bodies map[string]string // guarded by mu: by title
}

type note struct {
	Title string `json:"title" doc:"name of the note" pattern:"^[a-z0-9][a-z0-9-]*$" maxlen:"64" example:"shopping"`
	Body  string `json:"body" doc:"text of the note, in Markdown" maxlen:"65536"`
}

type titled struct {
	Title string `json:"title" doc:"name of the note"`
}

type search struct {
	Text string `json:"text,omitzero" doc:"what the notes have to contain; empty finds all"`
}

func addNotes(srv *mcpserver.Server) {
	n := &notes{srv: srv, bodies: make(map[string]string)}
	srv.Tool("write_note", "Write a note, or replace the one of that title", n.write,
		mcpserver.Title("Write a note"), icon("📝"), mcpserver.Idempotent(), mcpserver.ClosedWorld())
	srv.Tool("find_notes", "Find notes by a part of their text", n.find,
		mcpserver.Title("Find notes"), icon("🔎"), mcpserver.ReadOnly(), mcpserver.ClosedWorld())
	srv.Tool("delete_note", "Delete a note", n.delete,
		mcpserver.Title("Delete a note"), icon("🗑"), mcpserver.Idempotent(), mcpserver.ClosedWorld())
	srv.Template("notes://{title}", "Note", "text/markdown", n.read,
		icon("🗒"), mcpserver.Describe("A note by its title"), mcpserver.CompleteArg("title", n.complete))
	n.write(context.Background(), note{"welcome", "# Welcome\n\nWrite a note with `write_note`, and it becomes a resource.\n"})
}

func (n *notes) write(_ context.Context, in note) (mcp.ResourceLink, error) {
	uri := "notes://" + in.Title
	n.mu.Lock()
	defer n.mu.Unlock()
	_, exists := n.bodies[in.Title]
	if !exists && len(n.bodies) >= maxNotes {
		return mcp.ResourceLink{}, fmt.Errorf("there are %d notes already: delete one first", maxNotes)
	}
	n.bodies[in.Title] = in.Body
	if exists {
		n.srv.Updated(uri)
		return mcp.Link(uri, in.Title), nil
	}
	n.srv.Resource(uri, in.Title, "text/markdown", func(ctx context.Context) ([]byte, error) {
		return n.read(ctx, titled{in.Title})
	}, icon("🗒"))
	return mcp.Link(uri, in.Title), nil
}

func (n *notes) read(_ context.Context, in titled) ([]byte, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	body, ok := n.bodies[in.Title]
	if !ok {
		return nil, mcpserver.ErrNotFound
	}
	return []byte(body), nil
}

func (n *notes) find(_ context.Context, in search) (mcp.Contents, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	found := mcp.Contents{}
	for _, title := range slices.Sorted(maps.Keys(n.bodies)) {
		if strings.Contains(strings.ToLower(title+"\n"+n.bodies[title]), strings.ToLower(in.Text)) {
			found = append(found, mcp.Link("notes://"+title, title))
		}
	}
	return found, nil
}

func (n *notes) delete(_ context.Context, in titled) (string, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	delete(n.bodies, in.Title)
	if !n.srv.RemoveResource("notes://" + in.Title) {
		return "", fmt.Errorf("note %q: not found; find_notes lists the notes", in.Title)
	}
	return "Deleted " + in.Title + ".", nil
}

// complete suggests titles of notes.
func (n *notes) complete(ctx context.Context, c mcpserver.CompletionRequest) ([]string, error) {
	n.mu.Lock()
	titles := slices.Sorted(maps.Keys(n.bodies))
	n.mu.Unlock()
	return mcpserver.Prefix(titles...)(ctx, c)
}
