package skills_test

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"testing"
	"testing/fstest"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/leak"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpext/skills"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

func TestMain(m *testing.M) { leak.Main(m) }

var quiet = slog.New(slog.DiscardHandler)

const (
	pdfManifest = "---\nname: pdf\ndescription: Fills forms\nmetadata:\n  version: \"2\"\n---\n\nSee references.\n"
	pdfURI      = "skill://pdf/SKILL.md"
)

// library is a tree of skills, one inside of another, with what is none of them.
func library() fstest.MapFS {
	return fstest.MapFS{
		"README.md":                         {Data: []byte("not a skill")},
		"pdf/SKILL.md":                      {Data: []byte(pdfManifest)},
		"pdf/references/FORMS.md":           {Data: []byte("# Forms\n")},
		"pdf/references/a b;c.png":          {Data: []byte("\x89PNG\xff\x00")},
		"pdf/.git/config":                   {Data: []byte("secret")},
		"acme/billing/refunds/SKILL.md":     {Data: manifest("refunds")},
		"acme/billing/refunds/sub/SKILL.md": {Data: manifest("sub")},
		"acme/billing/notes.txt":            {Data: []byte("not of a skill")},
	}
}

func manifest(name string) []byte {
	return []byte("---\nname: " + name + "\ndescription: Does " + name + "\n---\n")
}

// serve returns a client of a server of skills, and the server.
func serve(t *testing.T, fsys fs.FS, o *skills.Options, v mcp.Revision) (*mcpclient.Client, *skills.Skills) {
	t.Helper()
	srv := mcpserver.New("library", "1", &mcpserver.Options{Logger: quiet})
	s, err := skills.Serve(srv, fsys, o)
	if err != nil {
		t.Fatal(err)
	}
	return connect(t, srv, v), s
}

func connect(t *testing.T, srv *mcpserver.Server, v mcp.Revision) *mcpclient.Client {
	t.Helper()
	return mcptest.Connect(t, srv, &mcpclient.Options{Revisions: []mcp.Revision{v}, Extensions: []mcpclient.Extension{skills.Client()}})
}

// list returns all entries that are listed.
func list(t *testing.T, c *mcpclient.Client) []*skills.Skill {
	t.Helper()
	var all []*skills.Skill
	for s, err := range skills.List(t.Context(), c) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	return all
}

func get(t *testing.T, c *mcpclient.Client, uri string) *skills.Skill {
	t.Helper()
	s, err := skills.Get(t.Context(), c, uri)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// fault returns the fault of an error, or "".
func fault(err error) skills.Fault {
	e, ok := errors.AsType[*skills.VerificationError](err)
	if !ok {
		return ""
	}
	return e.Fault
}

// forger is a server that says of its skills what it likes.
type forger struct {
	entry string            // the answer of skills/get and skills/list, a JSON object
	files map[string]string // by URI
	reads []string          // what was read
}

func (f *forger) client(t *testing.T) *mcpclient.Client {
	t.Helper()
	srv := mcpserver.New("forger", "1", &mcpserver.Options{Logger: quiet})
	srv.Extend(mcpserver.Extension{ID: skills.ID, OneSided: true, Requests: map[string]mcpserver.ExtensionRequest{
		skills.MethodList: {Handler: func(context.Context, *mcpserver.Request) (any, error) {
			return raw(`{"skills":[` + f.entry + `]}`), nil
		}},
		skills.MethodGet: {Handler: func(context.Context, *mcpserver.Request) (any, error) {
			return raw(`{"skill":` + f.entry + `}`), nil
		}},
	}})
	srv.AddTemplate(mcp.ResourceTemplate{URITemplate: "skill://{+path}", Name: "files"},
		func(_ context.Context, p *mcp.ReadResourceParams) (mcp.Result, error) {
			f.reads = append(f.reads, p.URI)
			return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: p.URI, Text: f.files[p.URI]}}}, nil
		})
	return connect(t, srv, mcp.V20260728)
}

func answer(result string) mcpserver.Handler {
	return func(context.Context, *mcpserver.Request) (any, error) { return raw(result), nil }
}
