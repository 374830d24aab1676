package interop_test

import (
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// A failure here means that programs written with this SDK cannot use a server
// written with another one.
func TestOurClientUsesEveryFeatureOfATypeScriptServer(t *testing.T) {
	needPeers(t)
	t.Parallel()
	for _, over := range []struct {
		name   string
		target mcpclient.Target
		lacks  lacks // in the session era
	}{
		{"stdio", mcpclient.Command("node", "server.mjs", "stdio"), nil},
		{"http", mcpclient.URL("http://" + startForeign(t, "server.mjs", "http") + "/mcp"), nil},
		{"http without sessions", mcpclient.URL("http://" + startForeign(t, "server.mjs", "stateless") + "/mcp"), withoutSessions},
	} {
		for _, v := range mcp.Revisions() {
			name := over.name + " " + v.String()
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				var l lacks
				if v != mcp.V20260728 {
					l = over.lacks
				}
				visit(t, over.target, v, typescriptPlan(slug(name)), l.with(withoutForms(v)))
			})
		}
	}
}

// withoutSessions are the features that a server of the session era lacks when it has no
// sessions.
var withoutSessions = lacks{
	"changed": "there is no stream for notifications",
	"updated": "there is no stream for notifications",
	"asked":   "the client cannot send the answer to the server",
}

// withoutForms returns the features that v lacks because it has no elicitation.
func withoutForms(v mcp.Revision) lacks {
	if v == mcp.V20241105 || v == mcp.V20250326 {
		return lacks{"asked": "the revision has no elicitation, and our client declares none in it"}
	}
	return nil
}

func TestOurClientUsesEveryFeatureOfEverything(t *testing.T) {
	needPeers(t)
	t.Parallel()
	for _, over := range []struct {
		name   string
		target mcpclient.Target
	}{
		{"stdio", mcpclient.Command("node", everythingModule, "stdio")},
		{"sse", mcpclient.URL("http://" + startForeign(t, everythingModule, "sse") + "/sse")},
		{"http", mcpclient.URL("http://" + startForeign(t, everythingModule, "streamableHttp") + "/mcp")},
	} {
		for _, v := range mcp.Revisions() {
			if v == mcp.V20260728 {
				continue // the server is of the session era
			}
			name := over.name + " " + v.String()
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				visit(t, over.target, v, everythingPlan(slug(name)), withoutForms(v))
			})
		}
	}
}
