package interop_test

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// version is a version of a foreign SDK and what is tested with it. docs/compatibility.md
// has a row for each.
type version struct {
	name, number string
	// pinned is the file of this directory that has pin, which fixes the version.
	pinned, pin string
	// sdk is the client for visitForeign, and clients are the revisions that it negotiates
	// by transport.
	sdk     string
	clients map[string]mcp.Revision
	// server is the command of the server without the transport, which is its last
	// argument, and servers are the newest revisions that it knows by transport.
	server  []string
	servers map[string]mcp.Revision
	// lacks are the features that are lacking in the client and in the server, with a
	// transport if the others have them.
	lacks map[string]lacks
}

var versions = slices.Concat(goVersions, []version{
	{
		name: "TypeScript SDK", number: "1.0.4", sdk: "1.0", server: []string{"node", "oldsdk.mjs", "sdk-1.0"},
		clients: over(mcp.V20241105, "stdio", "sse"), servers: over(mcp.V20241105, "stdio", "sse"),
		lacks: map[string]lacks{"client": olderThanElicitation, "server": {"asked": noElicitation}},
	},
	{
		name: "TypeScript SDK", number: "1.10.2", sdk: "1.10", server: []string{"node", "oldsdk.mjs", "sdk-1.10"},
		clients: over(mcp.V20241105, "stdio", "http", "sse"), servers: over(mcp.V20241105, "stdio", "http", "sse"),
		lacks: map[string]lacks{"client": olderThanElicitation, "server": {"asked": noElicitation}},
	},
	{
		name: "TypeScript SDK", number: "1.20.2", sdk: "1.20", server: []string{"node", "oldsdk.mjs", "sdk-1.20"},
		clients: over(mcp.V20250618, "stdio", "http", "sse"), servers: over(mcp.V20250618, "stdio", "http", "sse"),
	},
	{
		name: "fastmcp for Node", number: "4.20.16", pinned: "package.json", pin: `"fastmcp": "4.20.16"`, server: []string{"node", "fastmcp.mjs"},
		servers: over(mcp.V20251125, "stdio", "http"),
		lacks: map[string]lacks{"server": {
			"structured": "tools have no structured content here",
			"updated":    "the server has no subscriptions",
			"logged":     "log messages have a form of their own",
			"asked":      "tools cannot ask the user",
		}},
	},
})

var goVersions = []version{
	{
		name: "go-sdk", number: "1.0.0", pinned: "peers/oldest.mod", pin: "github.com/modelcontextprotocol/go-sdk v1.0.0", sdk: "gosdk-1.0",
		clients: over(mcp.V20250618, "stdio", "http", "sse"), servers: over(mcp.V20250618, "stdio", "http", "sse"),
	},
	{
		name: "go-sdk", number: "1.2.0", pinned: "peers/older.mod", pin: "github.com/modelcontextprotocol/go-sdk v1.2.0", sdk: "gosdk-1.2",
		clients: over(mcp.V20250618, "stdio", "http", "sse"), servers: over(mcp.V20250618, "stdio", "http", "sse"),
	},
	{
		name: "go-sdk", number: "1.8.0", pinned: "peers/go.mod", pin: "github.com/modelcontextprotocol/go-sdk v1.8.0", sdk: "gosdk-1.8",
		clients: with(over(mcp.V20260728, "stdio", "http"), over(mcp.V20251125, "sse")),
		servers: with(over(mcp.V20260728, "stdio", "stateless"), over(mcp.V20251125, "http", "sse")),
		lacks:   map[string]lacks{"server stateless": {"cancel": "over HTTP without sessions the server runs a call on whose response stream is closed"}},
	},
	{
		name: "mcp-go", number: "0.32.0", pinned: "peers/oldest.mod", pin: "github.com/mark3labs/mcp-go v0.32.0", sdk: "mcpgo-0.32",
		clients: over(mcp.V20250326, "stdio", "http", "sse"), servers: over(mcp.V20250326, "stdio", "http", "sse"),
		lacks: map[string]lacks{
			"client":      olderThanElicitation.with(lacks{"cancel": "the client does not tell the server that a call is cancelled"}),
			"client http": {"changed": noStream, "updated": noStream},
			"server": olderThanElicitation.with(lacks{
				"complete": "the server has no completion",
				"updated":  "the server has no subscriptions",
				"cancel":   "the server does not read cancellations, and over stdio a call that goes on blocks the next ones",
			}),
		},
	},
	{
		name: "mcp-go", number: "1.2.1", pinned: "peers/go.mod", pin: "github.com/mark3labs/mcp-go v1.2.1", sdk: "mcpgo-1.2",
		clients: with(over(mcp.V20260728, "stdio", "http"), over(mcp.V20251125, "sse")),
		servers: with(over(mcp.V20260728, "stdio", "http"), over(mcp.V20251125, "sse")),
		lacks: map[string]lacks{
			"client sse":  {"asked": "over HTTP+SSE neither the client nor the server has elicitation"},
			"server sse":  {"asked": "over HTTP+SSE neither the client nor the server has elicitation"},
			"server http": {"updated": "over HTTP the server sends no updates of resources"},
		},
	},
}

const (
	noElicitation = "the version has no elicitation"
	noStream      = "the client over HTTP opens no stream for notifications"
)

var olderThanElicitation = lacks{"asked": noElicitation, "structured": "the version has no structured content"}

func over(v mcp.Revision, transports ...string) map[string]mcp.Revision {
	m := make(map[string]mcp.Revision)
	for _, transport := range transports {
		m[transport] = v
	}
	return m
}

func with(a, b map[string]mcp.Revision) map[string]mcp.Revision {
	maps.Copy(a, b)
	return a
}

func (v version) String() string { return v.name + " " + v.number }

// lacking returns what the client or the server lacks over a transport.
func (v version) lacking(role, transport string) lacks {
	return v.lacks[role].with(v.lacks[role+" "+transport])
}

// upstream starts the server over a transport, unless it is a command, which the client
// starts. Its resources have a scheme.
func (v version) upstream(t *testing.T, transport, scheme string) upstream {
	t.Helper()
	command := v.server
	if command == nil {
		command = []string{program(v.sdk)}
	}
	switch {
	case transport == "stdio":
		command = append(slices.Clone(command), transport)
		for i, word := range command {
			if strings.HasSuffix(word, ".mjs") {
				command[i] = absolute(t, word)
			}
		}
		return upstream{Command: command[0], Args: command[1:], Env: map[string]string{"SCHEME": scheme}}
	case command[0] == "node":
		command = slices.Concat(command[:1], []string{"--require", "./loopback.cjs"}, command[1:])
	}
	p := start(t, []string{"PORT=0", "SCHEME=" + scheme}, command[0], append(command[1:], transport)...)
	t.Cleanup(func() { p.stop(t) })
	return upstream{URL: "http://" + p.addr + paths[transport]}
}

// cancellable returns p without the cancelled call if the peer does not pass the cancellation
// on: its call would go on.
func cancellable(p plan, l lacks) plan {
	if _, lacking := l["cancel"]; !lacking {
		return p
	}
	return slices.DeleteFunc(p, func(s step) bool { return s.Do == "cancel" })
}

var paths = map[string]string{"http": "/mcp", "stateless": "/mcp", "sse": "/sse"}

func (u upstream) target() mcpclient.Target {
	if u.URL != "" {
		return mcpclient.URL(u.URL)
	}
	command := mcpclient.Command(u.Command, u.Args...)
	command.Env = u.Env
	return command
}

func TestVersionsOfForeignClientsUseEveryFeatureOfAServer(t *testing.T) {
	needPeers(t)
	t.Parallel()
	fixture := server{serveFixture(t), program("fixture")}
	for _, v := range versions {
		for transport, revision := range v.clients {
			t.Run(v.String()+" over "+transport, func(t *testing.T) {
				c := caller{v.sdk, transport, revision}
				l := v.lacking("client", transport)
				c.visit(t, fixture, cancellable(fixturePlan(slug(c.String())), l), l)
			})
		}
	}
}

func TestOurClientUsesEveryFeatureOfVersionsOfForeignServers(t *testing.T) {
	needPeers(t)
	t.Parallel()
	for _, v := range versions {
		for transport, revision := range v.servers {
			t.Run(v.String()+" over "+transport, func(t *testing.T) {
				t.Parallel()
				p, l := typescriptPlan(slug("grown "+v.String())), v.lacking("server", transport)
				visit(t, v.upstream(t, transport, "note").target(), revision, cancellable(p, l), l)
			})
		}
	}
}

// testedWith matches a row of the table of docs/compatibility.md.
var testedWith = regexp.MustCompile(`(?m)^\| ([\w@/ -]+) \| ([\d.]+) \| (.*) \| (.*) \| (.*) \|$`)

func TestPageNamesTheVersions(t *testing.T) {
	page, err := os.ReadFile("../docs/compatibility.md")
	if err != nil {
		t.Fatal(err)
	}
	var got, want []string
	got = append(got, testedWith.FindAllString(string(page), -1)...)
	for _, v := range versions {
		want = append(want, v.row())
	}
	if !slices.Equal(got, want) {
		t.Errorf("docs/compatibility.md names the versions\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestVersionsArePinned(t *testing.T) {
	for _, v := range versions {
		file, pin := v.pinned, v.pin
		if file == "" {
			file, pin = "package.json", fmt.Sprintf(`%s@%s"`, "sdk", v.number)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), pin) {
			t.Errorf("%s is not pinned: %s has no %q", v, file, pin)
		}
	}
}

// row returns the row of the table of docs/compatibility.md.
func (v version) row() string {
	names := func(m map[string]mcp.Revision) string {
		return strings.Join(slices.Sorted(maps.Keys(m)), ", ")
	}
	var reasons []string
	for _, role := range slices.Sorted(maps.Keys(v.lacks)) {
		for _, feature := range slices.Sorted(maps.Keys(v.lacks[role])) {
			if why := v.lacks[role][feature]; !slices.Contains(reasons, why) {
				reasons = append(reasons, why)
			}
		}
	}
	return fmt.Sprintf("| %s | %s | %s | %s | %s |", v.name, v.number, names(v.clients), names(v.servers), strings.Join(reasons, "; "))
}
