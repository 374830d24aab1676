// Notes is a server for notes in a database: tools add and search them, resources list and read them.
package main

import (
	"context"
	"database/sql"
	"encoding/base64"
	"errors"
	"log"
	"os"
	"strconv"
	"strings"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/fondaco/fondaco/examples/compared/app/notes"
)

const scheme = "notes://"

const pageSize = 2

type draft struct {
	Title string `json:"title" jsonschema:"a title of one line" jsonschema_extras:"minLength=1"`
	Body  string `json:"body" jsonschema:"the text"`
}

type query struct {
	Text string `json:"text" jsonschema:"part of a title or text"`
}

type found struct {
	Notes []notes.Note `json:"notes"`
}

type app struct {
	db  *notes.DB
	srv *server.MCPServer
}

func (a *app) add(ctx context.Context, _ mcp.CallToolRequest, in draft) (notes.Note, error) {
	if in.Title == "" {
		return notes.Note{}, errors.New("title: it is empty; give it one line")
	}
	n, err := a.db.Add(ctx, in.Title, in.Body)
	if err == nil {
		a.srv.SendNotificationToAllClients("notifications/resources/list_changed", nil)
	}
	return n, err
}

func (a *app) search(ctx context.Context, _ mcp.CallToolRequest, in query) (found, error) {
	if in.Text == "" {
		return found{}, errors.New("text: it is empty")
	}
	all, err := a.db.Search(ctx, in.Text)
	return found{all}, err
}

func (a *app) read(ctx context.Context, req mcp.ReadResourceRequest) ([]mcp.ResourceContents, error) {
	uri := req.Params.URI
	id, err := strconv.ParseInt(strings.TrimPrefix(uri, scheme), 10, 64)
	if err != nil {
		return nil, server.ErrResourceNotFound
	}
	n, err := a.db.Get(ctx, id)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, server.ErrResourceNotFound
	}
	if err != nil {
		return nil, err
	}
	return []mcp.ResourceContents{mcp.TextResourceContents{URI: uri, MIMEType: "text/plain", Text: n.Body}}, nil
}

// list replaces the list of registered resources, of which there are none. The server has decoded the
// cursor as base64 before, and a hook cannot return an error.
func (a *app) list(ctx context.Context, _ any, req *mcp.ListResourcesRequest, page *mcp.ListResourcesResult) {
	var after int64
	if cursor, err := base64.StdEncoding.DecodeString(string(req.Params.Cursor)); err == nil {
		after, _ = strconv.ParseInt(string(cursor), 10, 64)
	}
	rows, err := a.db.After(ctx, after, pageSize)
	if err != nil {
		log.Print(err)
		return
	}
	for _, n := range rows {
		id := strconv.FormatInt(n.ID, 10)
		page.Resources = append(page.Resources, mcp.NewResource(scheme+id, n.Title, mcp.WithMIMEType("text/plain")))
		page.NextCursor = mcp.Cursor(base64.StdEncoding.EncodeToString([]byte(id)))
	}
	if len(rows) < pageSize {
		page.NextCursor = ""
	}
}

func main() {
	db, err := notes.Open(os.Getenv("NOTES_DB"))
	if err != nil {
		log.Fatal(err)
	}
	a := &app{db: db}
	hooks := &server.Hooks{}
	hooks.AddAfterListResources(a.list)
	a.srv = server.NewMCPServer("notes", "1.0.0", server.WithHooks(hooks), server.WithInputSchemaValidation(),
		server.WithResourceCapabilities(false, true))
	a.srv.AddTool(mcp.NewTool("add_note", mcp.WithDescription("Adds a note"), mcp.WithInputSchema[draft](),
		mcp.WithOutputSchema[notes.Note](), mcp.WithDestructiveHintAnnotation(false)), mcp.NewStructuredToolHandler(a.add))
	a.srv.AddTool(mcp.NewTool("search_notes", mcp.WithDescription("Finds notes"), mcp.WithInputSchema[query](),
		mcp.WithOutputSchema[found](), mcp.WithReadOnlyHintAnnotation(true)), mcp.NewStructuredToolHandler(a.search))
	a.srv.AddResourceTemplate(mcp.NewResourceTemplate(scheme+"{id}", "note", mcp.WithTemplateMIMEType("text/plain")), a.read)
	if err := server.ServeStdio(a.srv); err != nil {
		log.Fatal(err)
	}
}
