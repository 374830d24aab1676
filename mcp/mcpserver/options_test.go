package mcpserver_test

import (
	"encoding/json/jsontext"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// TestOptionsAreCopied changes everything in the options and in an extension once
// the server has them.
func TestOptionsAreCopied(t *testing.T) {
	t.Parallel()
	o := &mcpserver.Options{
		Instructions: "before",
		Icons:        []mcp.Icon{{Src: "https://example.com/before.png"}},
		Revisions:    []mcp.Revision{mcp.V20260728},
		Experimental: map[string]jsontext.Value{"x": jsontext.Value(`{"at":"before"}`)},
		MethodCache:  map[string]mcpserver.Cache{mcp.MethodDiscover: {TTL: time.Second}},
		HTTP:         &mcpserver.HTTPOptions{AllowedHosts: []string{"before.example.com"}},
	}
	srv := newServer(o)
	answer := func(text string) mcpserver.ExtensionRequest {
		return mcpserver.ExtensionRequest{Handler: func(anyContext, *mcpserver.Request) (any, error) {
			return map[string]string{"text": text}, nil
		}}
	}
	e := mcpserver.Extension{
		ID: "com.example/e", Settings: jsontext.Value(`{"at":"before"}`), OneSided: true,
		Requests: map[string]mcpserver.ExtensionRequest{"com.example/before": answer("before")},
	}
	srv.Extend(e)

	o.Instructions, o.Icons[0].Src, o.Revisions[0] = "LATER", "https://example.com/LATER.png", mcp.V20251125
	copy(o.Experimental["x"], `{"at":"LATER!"}`)
	o.Experimental["y"] = jsontext.Value(`"LATER"`)
	o.MethodCache[mcp.MethodDiscover] = mcpserver.Cache{TTL: 5 * time.Second}
	o.HTTP.AllowedHosts[0] = "later.example.com"
	copy(e.Settings, `{"at":"LATER!"}`)
	e.Requests["com.example/before"] = answer("LATER")

	w := dial(t, srv, mcp.V20260728)
	said := string(w.Must("server/discover", "")) + string(w.Must("com.example/before", ""))
	if strings.Contains(said, "LATER") || !strings.Contains(said, `"ttlMs":1000`) {
		t.Errorf("got %s, want the options as New got them", said)
	}
}

// TestOptionsMayChangeWhileTheServerRuns is for the race detector.
func TestOptionsMayChangeWhileTheServerRuns(t *testing.T) {
	t.Parallel()
	o := &mcpserver.Options{
		Ask:         new(mcpserver.AskOptions),
		Load:        new(mcpserver.LoadOptions),
		MethodCache: make(map[string]mcpserver.Cache),
	}
	srv := newServer(o)
	srv.Tool("a", "", nothing)
	changed := make(chan struct{})
	go func() {
		defer close(changed)
		for range 100 {
			o.PageSize, o.MaxResult, o.Ask.MaxRounds, o.Load.MaxCalls = 1, 1, 1, 1
			o.MethodCache[mcp.MethodToolsList] = mcpserver.Cache{TTL: time.Hour}
		}
	}()
	w := dial(t, srv, mcp.V20260728)
	for range 10 {
		w.Must("tools/list", "")
		w.Must("tools/call", `{"name":"a"}`)
	}
	<-changed
}

func TestNewNamesTheHTTPOptionThatCannotMatch(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]*mcpserver.HTTPOptions{
		`HTTPOptions.AllowedHosts: "https://mcp.example.com"`: {AllowedHosts: []string{"https://mcp.example.com"}},
		`HTTPOptions.AllowedOrigins: "app.example.com"`:       {AllowedOrigins: []string{"app.example.com"}},
	} {
		func() {
			defer func() {
				if got := fmt.Sprint(recover()); !strings.HasPrefix(got, "mcpserver.New: "+want) {
					t.Errorf("got panic %q, want %s", got, want)
				}
			}()
			mcpserver.New("airline", "1.0.0", &mcpserver.Options{HTTP: o})
		}()
	}
}
