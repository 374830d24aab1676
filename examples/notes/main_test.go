package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

func TestAddedNoteIsFound(t *testing.T) {
	mcptest.EachRevision(t, newServer(newStore()), func(t *testing.T, c *mcpclient.Client) {
		added, err := c.Call[note](t.Context(), "add_note", newNote{"Buy milk for " + t.Name()})
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.Call[found](t.Context(), "search_notes", query{Text: t.Name(), Limit: 5})
		if err != nil || len(got.Notes) != 1 || got.Notes[0] != added {
			t.Errorf("got %+v, %v, want %+v", got, err, added)
		}
	})
}

func TestErrorSaysWhatToDo(t *testing.T) {
	c := mcptest.Connect(t, newServer(newStore()), nil)
	_, err := c.Call[string](t.Context(), "delete_note", noteID{7})
	e, ok := errors.AsType[*mcpclient.ToolError](err)
	if !ok || !strings.Contains(e.Result.Content.Text(), "search_notes") {
		t.Errorf("got %v, want an error that names search_notes", err)
	}
}

func TestNotesOverHTTP(t *testing.T) {
	c := mcptest.Connect(t, mcpclient.URL(mcptest.HTTP(t, newServer(newStore()).HTTPHandler())), nil)
	if _, err := c.Call[note](t.Context(), "add_note", newNote{"Buy milk"}); err != nil {
		t.Fatal(err)
	}
	r, err := c.ReadResource(t.Context(), "notes://1")
	if err != nil || r.Contents[0].Text != "Buy milk" {
		t.Errorf("got %+v, %v, want the note", r, err)
	}
	uris := 0
	for resource, err := range c.Resources(t.Context()) {
		if err != nil || resource.URI != "notes://1" {
			t.Errorf("got %+v, %v, want the note", resource, err)
		}
		uris++
	}
	if uris != 1 {
		t.Errorf("got %d resources, want one", uris)
	}
	prompt, err := c.GetPrompt(t.Context(), "summarize_notes", map[string]string{"topic": "shopping"})
	if err != nil || len(prompt.Messages) != 1 {
		t.Errorf("got %+v, %v, want one message", prompt, err)
	}
}

func TestSurfaceIsUnchanged(t *testing.T) {
	mcptest.CheckSurface(t, mcptest.Connect(t, newServer(newStore()), nil), "testdata/surface.json")
}
