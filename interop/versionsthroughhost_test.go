package interop_test

import (
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp"
)

// Each version of a foreign server is behind the host twice, as a program and over HTTP, and
// changes its lists there. Each has resources of its own, because the host shows the first of
// equal ones.
func TestClientsUseVersionsOfForeignServersThroughTheHost(t *testing.T) {
	needPeers(t)
	t.Parallel()
	type behind struct {
		version
		transport string
	}
	servers, all := make(map[string]upstream), make(map[string]behind)
	for _, v := range versions {
		for _, transport := range []string{"stdio", v.remote()} {
			key := strings.ReplaceAll(slug(strings.ToLower(v.String())+"-"+transport), ".", "-")
			servers[key], all[key] = v.upstream(t, transport, key), behind{v, transport}
		}
	}
	h := startHost(t, servers)
	waitForServers(t, server{addr: h.addr})
	t.Run("through", func(t *testing.T) {
		for key, v := range all {
			t.Run(key, func(t *testing.T) {
				t.Parallel()
				for _, c := range ourClients {
					if c.over == "http" {
						l := v.lacking("server", v.transport).with(throughTheHost(c.revision, "")).with(unlisted(c.revision, v.transport))
						p := cancellable(typescriptPlan(slug("grown "+c.revision.String())), l)
						c.visit(t, server{addr: h.addr}, p.of(key).behind(key), l)
					}
				}
			})
		}
	})
	h.interrupt(t)
}

// remote returns the newest transport of the server over which it is not a program.
func (v version) remote() string {
	for _, transport := range []string{"stateless", "http"} {
		if _, ok := v.servers[transport]; ok {
			return transport
		}
	}
	return "sse"
}

// unlisted returns what callers of 2026-07-28 lack when each has a process of its own.
func unlisted(v mcp.Revision, transport string) lacks {
	if v == mcp.V20260728 && transport == "stdio" {
		return lacks{"changed": "lists of 2026-07-28 must not depend on the process of the caller; the new tool can be called"}
	}
	return nil
}

// The clients see changes of a server for all clients, and of one that has a process for each.
func TestVersionsOfForeignClientsUseAServerThroughTheHost(t *testing.T) {
	needPeers(t)
	t.Parallel()
	h := startHost(t, map[string]upstream{
		"fixture": {URL: server{addr: serveFixture(t)}.url("http")},
		"own":     {Command: program("fixture")},
	})
	waitForServers(t, server{addr: h.addr})
	t.Run("through", func(t *testing.T) {
		for _, v := range versions {
			if v.clients == nil {
				continue
			}
			t.Run(v.String(), func(t *testing.T) {
				t.Parallel()
				for transport, revision := range v.clients {
					if transport == "stdio" {
						continue
					}
					c := caller{v.sdk, transport, revision}
					l := v.lacking("client", transport)
					p := cancellable(fixturePlan(slug(c.String())), l)
					if _, lacking := l["changed"]; lacking {
						p = withoutNewTool(p) // the host may not know it yet when the client calls it
					}
					c.visit(t, server{addr: h.addr}, p.behind("fixture"), l)
					own := plan{changed("grow", args{"name": "mine"}, "tools", "mine"), call("mine", nil, answer{Text: "I am mine"})}
					c.visit(t, server{addr: h.addr}, own.behind("own"), l.with(unlisted(revision, "stdio")))
				}
			})
		}
	})
	h.interrupt(t)
}
