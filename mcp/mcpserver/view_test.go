package mcpserver_test

import (
	"context"
	"encoding/json/jsontext"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// hidden is hidden from the user of this machine, who is all that a test's
// connections are.
func hidden() mcpserver.Option {
	return mcpserver.Visible(func(who *mcp.Identity) bool { return who.Principal != mcp.PrincipalLocal })
}

// mostlyHidden offers one of each kind, and another of each kind to nobody.
func mostlyHidden() *mcpserver.Server {
	srv := newServer(nil)
	srv.Tool("shown", "", nothing)
	srv.Tool("hidden", "", nothing, hidden())
	srv.Prompt("shown", "", plan, mcpserver.CompleteArg("from", mcpserver.Prefix("Oslo")))
	srv.Prompt("hidden", "", plan, hidden(), mcpserver.CompleteArg("from", mcpserver.Prefix("Oslo")))
	srv.Resource("shown://r", "shown", "", fixed("x"))
	srv.Resource("hidden://r", "hidden", "", fixed("x"), hidden())
	srv.Template("shown://t/{airport}{?day}", "shown", "", timetable, mcpserver.CompleteArg("airport", mcpserver.Prefix("Oslo")))
	srv.Template("hidden://t/{airport}{?day}", "hidden", "", timetable, hidden(), mcpserver.CompleteArg("airport", mcpserver.Prefix("Oslo")))
	return srv
}

func TestHiddenIsTheSameAsUnknown(t *testing.T) {
	claim.Shows(t, "R-218b", "R-232", "R-249b", "D-24a")
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		w := dial(t, mostlyHidden(), r)
		for _, test := range []struct{ method, params string }{
			{"tools/call", `{"name":"%s"}`},
			{"prompts/get", `{"name":"%s","arguments":{"from":"x"}}`},
			{"resources/read", `{"uri":"%s://r"}`},
			{"resources/read", `{"uri":"%s://t/OSL"}`},
			{"completion/complete", `{"ref":{"type":"ref/prompt","name":"%s"},"argument":{"name":"from","value":"o"}}`},
			{"completion/complete", `{"ref":{"type":"ref/resource","uri":"%s://t/{airport}{?day}"},"argument":{"name":"airport","value":"o"}}`},
			{"completion/complete", `{"ref":{"type":"ref/resource","uri":"%s://r"},"argument":{"name":"airport","value":"o"}}`},
			{"resources/subscribe", `{"uri":"%s://r"}`},
			{"resources/subscribe", `{"uri":"%s://t/OSL"}`},
		} {
			if test.method == "resources/subscribe" && isModern(r) {
				continue
			}
			w.Must(test.method, fmt.Sprintf(test.params, "shown"))
			secret, unknown := w.Call(test.method, fmt.Sprintf(test.params, "hidden")), w.Call(test.method, fmt.Sprintf(test.params, "absent"))
			if secret.Error == nil || unknown.Error == nil {
				t.Errorf("%s: got %s and %s, want errors", test.method, secret.Raw, unknown.Raw)
				continue
			}
			if got, want := string(encoded(t, secret.Error)), strings.ReplaceAll(string(encoded(t, unknown.Error)), "absent", "hidden"); got != want {
				t.Errorf("%s: got %s for what is hidden, %s for what is not there", test.method, got, want)
			}
		}
		for method, member := range map[string]string{
			"tools/list": "tools", "prompts/list": "prompts", "resources/list": "resources", "resources/templates/list": "resourceTemplates",
		} {
			if list := w.Must(method, ""); strings.Contains(string(list), "hidden") || !strings.Contains(string(list), "shown") {
				t.Errorf("%s: got %s, want only what is shown in %s", method, list, member)
			}
		}
	})
}

func TestListenIgnoresHiddenFeatures(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-306")
	synctest.Test(t, func(t *testing.T) {
		srv := mostlyHidden()
		w := dial(t, srv, mcp.V20260728)
		w.Send("subscriptions/listen", `{"notifications":{"resourceSubscriptions":["shown://r","hidden://r","hidden://t/OSL","absent://r"]}}`)
		ack := w.Notification("notifications/subscriptions/acknowledged")
		if got := at(t, ack.Params, "/notifications"); got != `{"resourceSubscriptions":["shown://r"]}` {
			t.Errorf("got %s, want what is shown", got)
		}
		srv.Updated("hidden://r")
		w.Quiet()
	})
}

func TestHiddenPartOfAWatchedResourceIsNotAnnounced(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := newServer(nil)
		srv.Resource("notes://all/", "all", "", fixed("x"))
		srv.Resource("notes://all/secret", "secret", "", fixed("x"), hidden())
		srv.Resource("notes://all/shown", "shown", "", fixed("x"))
		w := dial(t, srv, r)
		watch(w, "notes://all/")
		srv.Updated("notes://all/secret")
		srv.Updated("notes://all/unknown")
		w.Quiet()
		srv.Updated("notes://all/shown")
		if got := at(t, w.Notification("notifications/resources/updated").Params, "/uri"); got != `"notes://all/shown"` {
			t.Errorf("got %s, want the part", got)
		}
	})
}

// watch subscribes to one resource in the way of the revision.
func watch(w *wire, uri string) {
	w.T.Helper()
	if isModern(w.Revision) {
		w.Send("subscriptions/listen", fmt.Sprintf(`{"notifications":{"resourceSubscriptions":[%q]}}`, uri))
		w.Notification("notifications/subscriptions/acknowledged")
		return
	}
	w.Must("resources/subscribe", fmt.Sprintf(`{"uri":%q}`, uri))
}

func TestChangeOfAHiddenFeatureIsNotAnnounced(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := mostlyHidden()
		w := dial(t, srv, r)
		watchLists(w)
		srv.RemoveTool("hidden")
		srv.RemovePrompt("hidden")
		srv.RemoveResource("hidden://r")
		srv.RemoveTemplate("hidden://t/{airport}{?day}")
		w.Quiet()
		srv.RemoveTool("shown")
		w.Notification("notifications/tools/list_changed")
		w.Quiet()
	})
}

func TestBecomingHiddenOrShownIsAnnounced(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := newServer(nil)
		srv.Tool("a", "", nothing)
		w := dial(t, srv, r)
		watchLists(w)
		for _, opts := range [][]mcpserver.ToolOption{{hidden()}, {}} {
			if err := srv.SetTool(mcp.Tool{Name: "a"}, rawNothing, opts...); err != nil {
				t.Fatal(err)
			}
			w.Notification("notifications/tools/list_changed")
			w.Quiet()
		}
	})
}

// watchLists asks to hear of changes of all lists, where one has to ask.
func watchLists(w *wire) {
	w.T.Helper()
	if isModern(w.Revision) {
		w.Send("subscriptions/listen", `{"notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true}}`)
		w.Notification("notifications/subscriptions/acknowledged")
	}
}

func TestPagesOfAViewHaveNoGaps(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := newServer(&mcpserver.Options{PageSize: 2})
		for i, name := range []string{"a", "b", "c", "d", "e"} {
			var opts []mcpserver.ToolOption
			if i%2 == 1 {
				opts = append(opts, hidden())
			}
			srv.Tool(name, "", nothing, opts...)
		}
		w := dial(t, srv, r)
		first, cursor := w.page("")
		second, end := w.page(cursor)
		if got := strings.Join(first, "") + " " + strings.Join(second, ""); got != "ac e" || end != "" {
			t.Errorf("got %q and cursor %q, want ac e and none", got, end)
		}
	})
}

func TestViewThatPanicsEndsTheRequestAlone(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := newServer(nil)
		srv.Tool("a", "", nothing, mcpserver.Visible(func(*mcp.Identity) bool { panic("oops") }))
		srv.Resource("a://b", "b", "", func(context.Context) ([]byte, error) { return nil, nil })
		w := dial(t, srv, r)
		incident(t, w.Refused("tools/list", "", -32603).Message)
		incident(t, w.Refused("tools/call", `{"name":"a"}`, -32603).Message)
		if got := at(t, w.Must("resources/list", ""), "/resources/0/name"); got != `"b"` {
			t.Errorf("got %s, want b", jsontext.Value(got))
		}
	})
}

func TestVisibleSeesTheWholeIdentity(t *testing.T) {
	t.Parallel()
	srv := newServer(nil)
	srv.Tool("always", "", nothing)
	srv.Tool("scope", "", nothing, mcpserver.Visible(func(who *mcp.Identity) bool { return slices.Contains(who.Scopes, "admin") }))
	srv.Tool("claim", "", nothing, mcpserver.Visible(func(who *mcp.Identity) bool { return string(who.Claims) == `{"team":"red"}` }))
	srv.Tool("anonymous", "", nothing, mcpserver.Visible(func(who *mcp.Identity) bool { return who.Principal == mcp.PrincipalAnonymous }))
	for _, test := range []struct {
		who  *mcp.Identity
		want string
	}{
		{nil, "always anonymous"},
		{&mcp.Identity{Principal: mcp.Principal{Issuer: "app", Subject: "ada"}}, "always"},
		{&mcp.Identity{Principal: mcp.Principal{Issuer: "app", Subject: "ada"}, Scopes: []string{"admin"}}, "always scope"},
		{&mcp.Identity{Principal: mcp.Principal{Issuer: "app", Subject: "ada"}, Claims: jsontext.Value(`{"team":"red"}`)}, "always claim"},
	} {
		h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			srv.HTTPHandler().ServeHTTP(w, r.WithContext(mcp.WithIdentity(r.Context(), test.who)))
		})
		server := httptest.NewServer(h)
		c, err := mcpclient.Connect(t.Context(), mcpclient.URL(server.URL), nil)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for tool, err := range c.Tools(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			names = append(names, tool.Name)
		}
		slices.Sort(names)
		if want := strings.Fields(test.want); !slices.Equal(names, slices.Sorted(slices.Values(want))) {
			t.Errorf("%+v: got %q, want %q", test.who, names, want)
		}
		c.Close()
		server.Close()
	}
}
