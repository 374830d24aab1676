// Notes is the server of the guide docs/server.md: tools, resources and a prompt for notes.
package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

func main() { mcpserver.Main(newServer(newStore())) }

func newServer(s *store) *mcpserver.Server {
	srv := mcpserver.New("notes", "1.0.0", &mcpserver.Options{
		Instructions: "Search the notes before you add one, to avoid duplicates.",
	})
	srv.Tool("search_notes", "Finds notes that contain a text", s.search, mcpserver.ReadOnly(), mcpserver.ClosedWorld())
	srv.Tool("add_note", "Adds a note", func(_ context.Context, in newNote) (note, error) {
		n := s.add(in.Text)
		srv.ResourcesChanged("notes://{id}")
		return n, nil
	}, mcpserver.NonDestructive(), mcpserver.ClosedWorld())
	srv.Tool("delete_note", "Deletes a note", func(_ context.Context, in noteID) (string, error) {
		if !s.remove(in.ID) {
			return "", fmt.Errorf("there is no note %d; search_notes returns the ids of all notes", in.ID)
		}
		srv.ResourcesChanged("notes://{id}")
		return fmt.Sprintf("Note %d is deleted.", in.ID), nil
	}, mcpserver.Idempotent(), mcpserver.ClosedWorld())
	srv.Template("notes://{id}", "note", "text/plain", s.read, mcpserver.ListResources(s.list))
	srv.Prompt("summarize_notes", "Summarizes the notes about a topic", s.summarize)
	return srv
}

type query struct {
	Text  string `json:"text" doc:"text that the notes contain; all notes contain the empty text"`
	Limit int    `json:"limit" doc:"maximum number of notes to return" min:"1" max:"100" default:"20"`
}

type newNote struct {
	Text string `json:"text" doc:"text of the note, in Markdown" minlen:"1" maxlen:"4000"`
}

type noteID struct {
	ID int `json:"id" doc:"id of the note" min:"1"`
}

type found struct {
	Notes []note `json:"notes"`
}

func (s *store) search(_ context.Context, in query) (found, error) {
	return found{s.find(in.Text, 0, in.Limit)}, nil
}

func (s *store) read(_ context.Context, in noteID) ([]byte, error) {
	n, ok := s.get(in.ID)
	if !ok {
		return nil, mcpserver.ErrNotFound
	}
	return []byte(n.Text), nil
}

// list lists the notes after the one whose id is the cursor.
func (s *store) list(_ context.Context, cursor string, limit int) (page []mcpserver.ListedResource[noteID], next string, err error) {
	after := 0
	if cursor != "" {
		if after, err = strconv.Atoi(cursor); err != nil {
			return nil, "", mcpserver.ErrInvalidCursor
		}
	}
	for _, n := range s.find("", after, limit) {
		page = append(page, mcpserver.ListedResource[noteID]{Vars: noteID{n.ID}, Name: fmt.Sprint("Note ", n.ID)})
	}
	if len(page) == limit {
		next = strconv.Itoa(page[limit-1].Vars.ID)
	}
	return page, next, nil
}

type topic struct {
	Topic string `json:"topic" doc:"what the notes are about"`
}

func (s *store) summarize(_ context.Context, in topic) ([]mcp.PromptMessage, error) {
	return []mcp.PromptMessage{mcpserver.UserMessage("Find the notes about " + in.Topic + " and summarize them.")}, nil
}
