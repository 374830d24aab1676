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
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/fondaco/fondaco/examples/compared/app/notes"
)

const scheme = "notes://"

const pageSize = 2

type draft struct {
	Title string `json:"title" jsonschema:"a title of one line"`
	Body  string `json:"body" jsonschema:"the text"`
}

type query struct {
	Text string `json:"text" jsonschema:"part of a title or text"`
}

type found struct {
	Notes []notes.Note `json:"notes"`
}

type app struct{ db *notes.DB }

func (a app) add(ctx context.Context, _ *mcp.CallToolRequest, in draft) (*mcp.CallToolResult, notes.Note, error) {
	if in.Title == "" {
		return nil, notes.Note{}, errors.New("title: it is empty; give it one line")
	}
	n, err := a.db.Add(ctx, in.Title, in.Body)
	return nil, n, err
}

func (a app) search(ctx context.Context, _ *mcp.CallToolRequest, in query) (*mcp.CallToolResult, found, error) {
	if in.Text == "" {
		return nil, found{}, errors.New("text: it is empty")
	}
	all, err := a.db.Search(ctx, in.Text)
	return nil, found{all}, err
}

func (a app) read(ctx context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	uri := req.Params.URI
	id, err := strconv.ParseInt(strings.TrimPrefix(uri, scheme), 10, 64)
	if err != nil {
		return nil, mcp.ResourceNotFoundError(uri)
	}
	n, err := a.db.Get(ctx, id)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, mcp.ResourceNotFoundError(uri)
	}
	if err != nil {
		return nil, err
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{{URI: uri, MIMEType: "text/plain", Text: n.Body}}}, nil
}

// list answers resources/list from the database. The SDK itself lists registered resources only.
func (a app) list(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		if method != "resources/list" {
			return next(ctx, method, req)
		}
		params, _ := req.GetParams().(*mcp.ListResourcesParams)
		cursor := ""
		if params != nil {
			cursor = params.Cursor
		}
		after, err := strconv.ParseInt(cmp.Or(cursor, "0"), 10, 64)
		if err != nil {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "invalid cursor"}
		}
		rows, err := a.db.After(ctx, after, pageSize)
		if err != nil {
			return nil, err
		}
		page := &mcp.ListResourcesResult{Resources: []*mcp.Resource{}}
		for _, n := range rows {
			id := strconv.FormatInt(n.ID, 10)
			page.Resources = append(page.Resources, &mcp.Resource{URI: scheme + id, Name: n.Title, MIMEType: "text/plain"})
			page.NextCursor = id
		}
		if len(rows) < pageSize {
			page.NextCursor = ""
		}
		return page, nil
	}
}

func main() {
	db, err := notes.Open(os.Getenv("NOTES_DB"))
	if err != nil {
		log.Fatal(err)
	}
	a := app{db}
	srv := mcp.NewServer(&mcp.Implementation{Name: "notes", Version: "1.0.0"}, nil)
	destructive := false
	mcp.AddTool(srv, &mcp.Tool{
		Name: "add_note", Description: "Adds a note", Annotations: &mcp.ToolAnnotations{DestructiveHint: &destructive},
	}, a.add)
	mcp.AddTool(srv, &mcp.Tool{
		Name: "search_notes", Description: "Finds notes", Annotations: &mcp.ToolAnnotations{ReadOnlyHint: true},
	}, a.search)
	srv.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: scheme + "{id}", Name: "note", MIMEType: "text/plain"}, a.read)
	srv.AddReceivingMiddleware(a.list)
	if err := srv.Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		log.Fatal(err)
	}
}
