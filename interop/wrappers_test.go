package interop_test

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

const (
	// Package mcp-remote connects a client over stdio to a server over HTTP.
	mcpRemote = "node_modules/mcp-remote/dist/proxy.js"
	// Package supergateway serves a program over HTTP or HTTP+SSE, or connects a client over
	// stdio to a server over them.
	supergateway = "node_modules/supergateway/dist/index.js"
)

func TestForeignClientBehindMCPRemote(t *testing.T) {
	needPeers(t)
	t.Parallel()
	fixture := server{addr: serveFixture(t)}
	h := startHost(t, map[string]upstream{"fixture": {URL: fixture.url("http")}})
	for _, to := range []struct {
		name string
		server
		plan
	}{
		{"server", fixture, fixturePlan("grown-remote")},
		{"host", server{addr: h.addr}, fixturePlan("grown-host").behind("fixture")},
	} {
		t.Run(to.name, func(t *testing.T) {
			visitForeign(t, "1", nodeCommand(mcpRemote, to.url("http"), "--transport", "http-only"), mcp.V20251125, to.plan, nil)
		})
	}
	h.interrupt(t)
}

func TestPageNamesTheVersionsOfWrappers(t *testing.T) {
	pinned, err := os.ReadFile("package.json")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../docs/compatibility.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"mcp-remote", "supergateway"} {
		m := regexp.MustCompile(`"` + name + `": "([\d.]+)"`).FindSubmatch(pinned)
		if m == nil || !bytes.Contains(page, fmt.Appendf(nil, "`%s` %s", name, m[1])) {
			t.Errorf("docs/compatibility.md does not name the version of %s in package.json, %q", name, m)
		}
	}
}

// nodeCommand returns a target for visitForeign.
func nodeCommand(words ...string) string { return "stdio:node " + strings.Join(words, " ") }

// startSupergateway starts a supergateway for a command, which is for a shell, and returns its
// address.
func startSupergateway(t *testing.T, command, output string, flags ...string) string {
	t.Helper()
	return startForeign(t, supergateway, append([]string{"--stdio", command, "--outputTransport", output}, flags...)...)
}

// Over HTTP+SSE all clients use one process, which each of them initializes, and get all of its
// messages. The first answer to a question counts.
func TestClientsShareAServerBehindSupergateway(t *testing.T) {
	needPeers(t)
	t.Parallel()
	target := mcpclient.URL("http://" + startSupergateway(t, program("fixture"), "sse") + "/sse")
	first := connectRunner(t, target, mcp.V20251125)
	defer first.Close()
	visit(t, target, mcp.V20251125, fixturePlan("grown"), nil)
	if got, err := first.Call[string](t.Context(), "echo", args{"text": "still here"}); err != nil || got != "still here" {
		t.Errorf("got %q, %v, want the first client served", got, err)
	}
}

func TestServerBehindSupergatewayOverHTTP(t *testing.T) {
	needPeers(t)
	t.Parallel()
	t.Run("stateful", func(t *testing.T) {
		t.Parallel()
		target := mcpclient.URL("http://" + startSupergateway(t, program("fixture"), "streamableHttp", "--stateful") + "/mcp")
		visit(t, target, mcp.V20251125, cancelLast(fixturePlan("grown")), nil)
	})
	t.Run("stateless", func(t *testing.T) {
		t.Parallel()
		addr := startSupergateway(t, program("fixture"), "streamableHttp", "--protocolVersion", mcp.V20251125.String())
		visit(t, mcpclient.URL("http://"+addr+"/mcp"), mcp.V20251125, withoutNewTool(fixturePlan("grown")), inOwnProcess.with(lacks{
			"asked": "the answer of the client would reach another process",
		}))
		visit(t, mcpclient.URL("http://"+addr+"/mcp"), mcp.V20260728, withoutNewTool(fixturePlan("grown")), inOwnProcess)
	})
}

// cancelLast returns p with the cancelled call last. A stateful supergateway sends all questions
// and notifications on the stream of the oldest call that has no result, and a cancelled call
// never gets one.
func cancelLast(p plan) plan {
	i := slices.IndexFunc(p, func(s step) bool { return s.Do == "cancel" })
	return append(slices.Delete(slices.Clone(p), i, i+1), p[i])
}

// withoutNewTool returns p without the call of the tool that the server has added.
func withoutNewTool(p plan) plan {
	i := slices.IndexFunc(p, func(s step) bool { return s.Do == "changed" })
	return slices.Delete(slices.Clone(p), i+1, i+2)
}

// inOwnProcess is lacking when each request has a process of its own.
var inOwnProcess = lacks{
	"changed": "each request has a process of its own",
	"updated": "each request has a process of its own",
}

// A client over stdio gets results, and no other messages of the server.
func TestClientsUseAServerThroughSupergateway(t *testing.T) {
	needPeers(t)
	t.Parallel()
	fixture, l := server{addr: serveFixture(t)}, make(lacks)
	for _, feature := range []string{"progress", "changed", "updated", "logged", "asked"} {
		l[feature] = "supergateway passes on results only"
	}
	l["cancel"] = "supergateway cancels another id than that of the call"
	p := cancellable(fixturePlan("grown"), l)
	t.Run("ours", func(t *testing.T) {
		visit(t, mcpclient.Command("node", supergateway, "--streamableHttp", fixture.url("http")), mcp.V20251125, p, l)
	})
	t.Run("theirs", func(t *testing.T) {
		visitForeign(t, "1", nodeCommand(supergateway, "--sse", fixture.url("sse")), mcp.V20251125, p, l)
	})
}

func TestServersBehindSupergatewayThroughTheHost(t *testing.T) {
	needPeers(t)
	t.Parallel()
	older := "SCHEME=stateful " + program("gosdk-1.2") + " stdio"
	newest := "SCHEME=stateless " + program("gosdk-1.8") + " stdio"
	h := startHost(t, map[string]upstream{
		"note":      {URL: "http://" + startSupergateway(t, program("fixture"), "sse") + "/sse", Settings: sharing},
		"stateful":  {URL: "http://" + startSupergateway(t, older, "streamableHttp", "--stateful") + "/mcp"},
		"stateless": {URL: "http://" + startSupergateway(t, newest, "streamableHttp") + "/mcp"},
	})
	waitForServers(t, server{addr: h.addr})
	for _, c := range ourClients[:2] {
		grown := slug("grown " + c.revision.String())
		for key, to := range map[string]struct {
			plan
			lacks
		}{
			"note": {fixturePlan(grown), lacks{
				"asked":  "a shared connection supports no questions",
				"logged": "the host cannot tell which of the clients on a shared connection a log message is for",
			}},
			"stateful":  {cancelLast(fixturePlan(grown)), unlisted(c.revision, "stdio")},
			"stateless": {withoutNewTool(fixturePlan(grown)), inOwnProcess},
		} {
			t.Run(key+" "+c.revision.String(), func(t *testing.T) {
				c.visit(t, server{addr: h.addr}, to.of(key).behind(key), to.lacks)
			})
		}
	}
	h.interrupt(t)
}
