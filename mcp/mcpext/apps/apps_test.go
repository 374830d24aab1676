package apps_test

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/leak"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpext/apps"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/mcp/mcptest"
)

func TestMain(m *testing.M) { leak.Main(m) }

const (
	mapURI = "ui://weather/map"
	page   = "<!DOCTYPE html><title>Map</title>"
)

// withMeta are the revisions in which tools and contents have metadata.
var withMeta = []mcp.Revision{mcp.V20250618, mcp.V20251125, mcp.V20260728}

func newServer() *mcpserver.Server {
	return mcpserver.New("weather", "1", &mcpserver.Options{Logger: slog.New(slog.DiscardHandler)})
}

// weather is a server with a document, a tool for each visibility and a plain one.
func weather(o *apps.Options) *mcpserver.Server {
	srv := newServer()
	ui := apps.Enable(srv, o)
	ui.Resource(mapURI, "map", page, apps.ResourceMeta{
		CSP:           &apps.CSP{ConnectDomains: []string{"https://api.example.com"}},
		Permissions:   apps.Permissions{Geolocation: true, Camera: true},
		PrefersBorder: new(true),
	}, mcpserver.Describe("A map of the weather"))
	tell := func(ctx context.Context, _ struct{}) (string, error) {
		if apps.Supported(ctx) {
			return "Sunny, as the map shows", nil
		}
		return "Sunny in the south, rain in the north", nil
	}
	srv.Tool("weather", "Tells the weather", tell, ui.Show(mapURI))
	srv.Tool("refresh", "Tells what is new", tell, ui.Show(mapURI), apps.VisibleTo(apps.App))
	srv.Tool("advise", "Advises", tell, apps.VisibleTo(apps.Model))
	srv.Tool("plain", "Has no document", tell)
	return srv
}

func connect(t *testing.T, srv *mcpserver.Server, v mcp.Revision) *mcpclient.Client {
	t.Helper()
	return mcptest.Connect(t, srv, &mcpclient.Options{Revisions: []mcp.Revision{v}, Extensions: []mcpclient.Extension{apps.Client()}})
}

func of(t *testing.T, c *mcpclient.Client, o *apps.HostOptions) *apps.Interfaces {
	t.Helper()
	ui, err := apps.Load(t.Context(), c, o)
	if err != nil {
		t.Fatal(err)
	}
	return ui
}

func TestSupportedReportsWhetherTheClientShowsDocuments(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-389", "R-390b")
	with := func(settings string) []mcpclient.Extension {
		return []mcpclient.Extension{{ID: apps.ID, Sessions: true, Settings: jsontext.Value(settings)}}
	}
	for _, v := range withMeta {
		for name, test := range map[string]struct {
			extensions []mcpclient.Extension
			want       string
		}{
			"a host":               {[]mcpclient.Extension{apps.Client()}, "Sunny, as the map shows"},
			"nobody":               {nil, "Sunny in the south, rain in the north"},
			"without types":        {with(`{}`), "Sunny in the south, rain in the north"},
			"of other types":       {with(`{"mimeTypes":["text/html","text/uri-list"]}`), "Sunny in the south, rain in the north"},
			"of types that are no": {with(`{"mimeTypes":7}`), "Sunny in the south, rain in the north"},
			"of several types":     {with(`{"mimeTypes":["text/uri-list","text/html; profile=mcp-app"]}`), "Sunny, as the map shows"},
		} {
			c := mcptest.Connect(t, weather(nil), &mcpclient.Options{Revisions: []mcp.Revision{v}, Extensions: test.extensions})
			if got, err := c.Call[string](t.Context(), "weather", nil); err != nil || got != test.want {
				t.Errorf("%s, %s: got %q, %v, want %q", v, name, got, err, test.want)
			}
		}
	}
	for _, v := range []mcp.Revision{mcp.V20241105, mcp.V20250326} {
		c := connect(t, weather(nil), v)
		if got, err := c.Call[string](t.Context(), "weather", nil); err != nil || got != "Sunny in the south, rain in the north" {
			t.Errorf("%s, which has no links: got %q, %v, want the text alone", v, got, err)
		}
	}
	if apps.Supported(t.Context()) {
		t.Error("outside of a call: got true, want false")
	}
	var s struct {
		MIMETypes []string `json:"mimeTypes"`
	}
	if err := json.Unmarshal(apps.Client().Settings, &s); err != nil || !slices.Equal(s.MIMETypes, []string{"text/html;profile=mcp-app"}) {
		t.Errorf("the client declares %q, %v", s.MIMETypes, err)
	}
}

func TestDocumentAndItsLinkAreOnTheWireAsSpecified(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-391")
	const meta = `{"ui":{"csp":{"connectDomains":["https://api.example.com"]},"permissions":{"camera":{},"geolocation":{}},"prefersBorder":true}}`
	for _, v := range withMeta {
		c := connect(t, weather(&apps.Options{FlatKey: true}), v)
		result, err := c.ReadResource(t.Context(), mapURI)
		if err != nil {
			t.Fatal(err)
		}
		got := result.Contents[0]
		if got.URI != mapURI || got.MIMEType != "text/html;profile=mcp-app" || got.Text != page || encoded(t, got.Meta) != meta {
			t.Errorf("%s: got %+v with %s, want the document with %s", v, got, encoded(t, got.Meta), meta)
		}
		metas := make(map[string]string)
		for tool, err := range c.Tools(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			metas[tool.Name] = encoded(t, tool.Meta)
		}
		for tool, want := range map[string]string{
			"weather": `{"ui":{"resourceUri":"ui://weather/map"},"ui/resourceUri":"ui://weather/map"}`,
			"refresh": `{"ui":{"resourceUri":"ui://weather/map","visibility":["app"]},"ui/resourceUri":"ui://weather/map"}`,
			"advise":  `{"ui":{"visibility":["model"]}}`,
			"plain":   `null`,
		} {
			if metas[tool] != want {
				t.Errorf("%s, %s: got %s, want %s", v, tool, metas[tool], want)
			}
		}
	}
}

func encoded(t *testing.T, m mcp.Meta) string {
	t.Helper()
	if m == nil {
		return "null"
	}
	raw, err := json.Marshal(m, json.Deterministic(true))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestModelAndDocumentsHaveTheToolsThatAreForThem(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-392")
	ui := of(t, connect(t, weather(nil), mcp.V20260728), nil)
	var names []string
	for _, tool := range ui.ModelTools() {
		names = append(names, tool.Name)
	}
	if want := []string{"advise", "plain", "weather"}; !slices.Equal(names, want) {
		t.Errorf("the model has %q, want %q", names, want)
	}
	for tool, allowed := range map[string]bool{"weather": true, "refresh": true, "plain": true, "advise": false, "unknown": false} {
		result, err := ui.Call(t.Context(), tool, nil)
		if allowed && (err != nil || result.Content.Text() == "") || !allowed && !errors.Is(err, apps.ErrNotForApps) {
			t.Errorf("%s: got %v, %v, want allowed %v", tool, result, err, allowed)
		}
	}
}

func TestViewHasTheDocumentAndItsPolicy(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-392")
	c := connect(t, weather(nil), mcp.V20260728)
	v, err := of(t, c, &apps.HostOptions{Grant: apps.Permissions{Camera: true, Microphone: true}}).View(t.Context(), "weather")
	if err != nil {
		t.Fatal(err)
	}
	if v.URI != mapURI || v.HTML != page || v.Permissions != (apps.Permissions{Camera: true}) || v.Permissions.Allow() != "camera" {
		t.Errorf("got %+v", v)
	}
	if !strings.Contains(v.Policy, "connect-src https://api.example.com;") || len(v.Refused) > 0 || !*v.Meta.PrefersBorder {
		t.Errorf("got policy %q, refused %q, meta %+v", v.Policy, v.Refused, v.Meta)
	}
	v, err = of(t, c, nil).View(t.Context(), "refresh")
	if err != nil || v.Permissions.Allow() != "" {
		t.Errorf("without a grant: got %+v, %v, want no permission", v, err)
	}
	if _, err := of(t, c, nil).View(t.Context(), "plain"); !errors.Is(err, apps.ErrNoView) {
		t.Errorf("a tool without a document: got %v, want no view", err)
	}
}

// forge is a server of a tool with the metadata and of what is read.
func forge(meta string, contents ...mcp.ResourceContents) *mcpserver.Server {
	srv := newServer()
	srv.Tool("tool", "Shows", func(context.Context, struct{}) (string, error) { return "shown", nil },
		mcpserver.Define(func(t *mcp.Tool) { _ = json.Unmarshal([]byte(meta), &t.Meta) }))
	srv.AddTemplate(mcp.ResourceTemplate{URITemplate: "{+any}", Name: "any"}, func(context.Context, *mcp.ReadResourceParams) (mcp.Result, error) {
		return &mcp.ReadResourceResult{Contents: contents}, nil
	})
	return srv
}

func TestInvalidDocumentsAreRefused(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-392")
	const link = `{"ui":{"resourceUri":"ui://a/b"}}`
	document := func(change func(*mcp.ResourceContents)) []mcp.ResourceContents {
		c := mcp.ResourceContents{URI: "ui://a/b", MIMEType: apps.MIMEType, Text: page}
		change(&c)
		return []mcp.ResourceContents{c}
	}
	one := document(func(*mcp.ResourceContents) {})
	for name, test := range map[string]struct {
		meta     string
		contents []mcp.ResourceContents
		want     string // in the error, or "" for none
	}{
		"as it should be":  {link, one, ""},
		"by the older key": {`{"ui/resourceUri":"ui://a/b"}`, one, ""},
		"as bytes":         {link, document(func(c *mcp.ResourceContents) { c.Text, c.Blob = "", []byte(page) }), ""},
		"another spelling": {link, document(func(c *mcp.ResourceContents) { c.MIMEType = `Text/HTML; profile="mcp-app"` }), ""},
		"plain HTML":       {link, document(func(c *mcp.ResourceContents) { c.MIMEType = "text/html" }), "MIME type"},
		"no type":          {link, document(func(c *mcp.ResourceContents) { c.MIMEType = "" }), "MIME type"},
		"another document": {link, document(func(c *mcp.ResourceContents) { c.URI = "ui://a/c" }), "want those of the document alone"},
		"two":              {link, append(one, one...), "want those of the document alone"},
		"too long":         {link, document(func(c *mcp.ResourceContents) { c.Text += strings.Repeat(" ", 100) }), "want at most 64"},
		"empty":            {link, document(func(c *mcp.ResourceContents) { c.Text = "" }), "want HTML"},
		"not UTF-8":        {link, document(func(c *mcp.ResourceContents) { c.Text, c.Blob = "", []byte("\xff") }), "UTF-8"},
		"metadata that is none": {link, document(func(c *mcp.ResourceContents) {
			c.Meta = mcp.Meta{"ui": jsontext.Value(`{"csp":{"connectDomains":"*"}}`)}
		}), "_meta"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v, err := of(t, connect(t, forge(test.meta, test.contents...), mcp.V20260728), &apps.HostOptions{MaxHTML: 64}).View(t.Context(), "tool")
			if test.want == "" && (err != nil || v.HTML != page) || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("got %v, %v, want an error with %q", v, err, test.want)
			}
		})
	}
}

func TestInvalidLinksAreIgnored(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-391")
	for _, meta := range []string{
		`{"ui":{"resourceUri":"https://example.com/"}}`, `{"ui":{"resourceUri":"ui:x"}}`, `{"ui":{"resourceUri":"UI://a"}}`,
		`{"ui":{"resourceUri":"file:///etc/passwd"}}`, `{"ui":{"resourceUri":7}}`, `{"ui":7}`, `{"ui":{"visibility":"app"}}`,
		`{"ui/resourceUri":"https://example.com/"}`, `{"ui/resourceUri":{}}`, `{"ui":{"resourceUri":"ui://"}}`,
	} {
		ui := of(t, connect(t, forge(meta), mcp.V20260728), nil)
		if got := ui.ModelTools(); len(got) > 0 {
			t.Errorf("%s: the model has %v, want none", meta, got)
		}
		if _, err := ui.Call(t.Context(), "tool", nil); !errors.Is(err, apps.ErrNotForApps) {
			t.Errorf("%s: a document may call it: %v", meta, err)
		}
		if _, err := ui.View(t.Context(), "tool"); !errors.Is(err, apps.ErrNoView) {
			t.Errorf("%s: it has a view: %v", meta, err)
		}
	}
}

func TestResultsWithoutContentAreAnError(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-390b")
	srv := newServer()
	ui := apps.Enable(srv, nil)
	ui.Resource(mapURI, "map", page, apps.ResourceMeta{})
	srv.Tool("mute", "Says nothing", func(context.Context, struct{}) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{}, nil
	}, ui.Show(mapURI))
	srv.Tool("data", "Has data alone", func(context.Context, struct{}) (*mcp.CallToolResult, error) {
		return &mcp.CallToolResult{StructuredContent: jsontext.Value(`{"a":1}`)}, nil
	}, ui.Show(mapURI))
	c := connect(t, srv, mcp.V20260728)
	if _, err := c.CallTool(t.Context(), "mute", nil); mcp.CodeOf(err) != mcp.CodeInternal {
		t.Errorf("got %v, want an internal error", err)
	}
	if result, err := c.CallTool(t.Context(), "data", nil); err != nil || result.Content.Text() != `{"a":1}` {
		t.Errorf("data: got %v, %v, want them as a text too", result, err)
	}
}

func TestMistakesOfTheAuthorPanic(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-391")
	srv := newServer()
	ui := apps.Enable(srv, nil)
	for name, mistake := range map[string]func(){
		"another scheme": func() { ui.Resource("https://a/b", "b", page, apps.ResourceMeta{}) },
		"no HTML5":       func() { ui.Resource(mapURI, "map", "<html></html>", apps.ResourceMeta{}) },
		"an odd domain": func() {
			ui.Resource(mapURI, "map", page, apps.ResourceMeta{CSP: &apps.CSP{FrameDomains: []string{"*"}}})
		},
		"a document not there": func() { ui.Show(mapURI) },
		"visible to nobody":    func() { apps.VisibleTo() },
		"visible to somebody":  func() { apps.VisibleTo("user") },
		"enabled twice":        func() { apps.Enable(srv, nil) },
	} {
		if !panics(mistake) {
			t.Errorf("%s: want a panic", name)
		}
	}
}

func panics(f func()) (did bool) {
	defer func() { did = recover() != nil }()
	f()
	return false
}
