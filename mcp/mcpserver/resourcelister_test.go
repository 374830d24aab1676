package mcpserver_test

import (
	"context"
	"encoding/base64"
	"encoding/json/jsontext"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// row is a row of a table, and the variables of row://{table}/{id}.
type row struct {
	ID int `json:"id"`
}

// table lists the rows 1 to n with their ids as cursors.
func table(n int) func(context.Context, string, int) ([]mcpserver.ListedResource[row], string, error) {
	return func(_ context.Context, cursor string, limit int) (page []mcpserver.ListedResource[row], next string, err error) {
		after := 0
		if cursor != "" {
			if after, err = strconv.Atoi(cursor); err != nil || after < 1 || after > n {
				return nil, "", fmt.Errorf("cursor %q: %w", cursor, mcpserver.ErrInvalidCursor)
			}
		}
		for id := after + 1; id <= min(n, after+limit); id++ {
			page = append(page, mcpserver.ListedResource[row]{Vars: row{id}, Title: fmt.Sprint("Row ", id)})
		}
		if after+limit < n {
			next = strconv.Itoa(after + limit)
		}
		return page, next, nil
	}
}

func readRow(_ context.Context, r row) ([]byte, error) { return fmt.Append(nil, "row ", r.ID), nil }

// pages returns the URIs of resources/list, with a bar between two pages.
func pages(t *testing.T, w *wire) string {
	t.Helper()
	var uris []string
	for params := ""; ; {
		page := decoded[mcp.ListResourcesResult](t, w.Must("resources/list", params))
		for _, r := range page.Resources {
			uris = append(uris, r.URI)
		}
		if page.NextCursor == nil {
			return strings.Join(uris, " ")
		}
		uris = append(uris, "|")
		params = fmt.Sprintf(`{"cursor":%q}`, *page.NextCursor)
	}
}

func TestResourcesOfADatabaseAreListedPageByPage(t *testing.T) {
	claim.Shows(t, "R-224", "R-261a")
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		for _, test := range []struct {
			name     string
			register func(*mcpserver.Server)
			want     string
		}{
			{"alone", func(s *mcpserver.Server) {
				s.Template("row:///{id}", "row", "text/plain", readRow, mcpserver.ListResources(table(5)))
			}, "row:///1 row:///2 | row:///3 row:///4 | row:///5"},
			{"none", func(s *mcpserver.Server) {
				s.Template("row:///{id}", "row", "text/plain", readRow, mcpserver.ListResources(table(0)))
			}, ""},
			{"after registered ones", func(s *mcpserver.Server) {
				s.Template("row:///{id}", "row", "text/plain", readRow, mcpserver.ListResources(table(3)))
				for _, uri := range []string{"a:///1", "a:///2", "a:///3"} {
					s.Resource(uri, uri, "", fixed(""))
				}
			}, "a:///1 a:///2 | a:///3 | row:///1 row:///2 | row:///3"},
			{"several", func(s *mcpserver.Server) {
				s.Template("b:///{id}", "b", "", readRow, mcpserver.ListResources(table(3)))
				s.Template("a:///{id}", "a", "", readRow, mcpserver.ListResources(table(1)))
				s.Template("c:///{id}", "c", "", readRow)
			}, "a:///1 | b:///1 b:///2 | b:///3"},
			{"hidden, and without a scope", func(s *mcpserver.Server) {
				s.Template("a:///{id}", "a", "", readRow, mcpserver.ListResources(table(3)), hidden())
				s.Template("b:///{id}", "b", "", readRow, mcpserver.ListResources(table(1)))
			}, "b:///1"},
			{"one of them registered", func(s *mcpserver.Server) {
				s.Template("row:///{id}", "row", "text/plain", readRow, mcpserver.ListResources(table(2)))
				s.Resource("row:///2", "two", "", fixed(""))
			}, "row:///2 | row:///1"},
		} {
			srv := newServer(&mcpserver.Options{PageSize: 2})
			test.register(srv)
			if got := pages(t, dial(t, srv, r)); got != test.want {
				t.Errorf("%s: got %s, want %s", test.name, got, test.want)
			}
		}
	})
}

func TestListedResourceHasTheTypeAndNameOfItsTemplate(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := newServer(nil)
		srv.Template("row:///{id}", "row", "text/plain", readRow, mcpserver.ListResources(
			func(context.Context, string, int) ([]mcpserver.ListedResource[row], string, error) {
				return []mcpserver.ListedResource[row]{
					{Vars: row{1}},
					{Vars: row{2}, Name: "two", Title: "Two", Description: "The second", MIMEType: "text/html", Size: new(int64(5)), Annotations: &mcp.Annotations{Priority: new(0.5)}},
				}, "", nil
			}))
		w := dial(t, srv, r)
		result := w.Must("resources/list", "")
		same(t, jsontext.Value(at(t, result, "/resources")), `[{"uri":"row:///1","name":"row","mimeType":"text/plain"},
			{"uri":"row:///2","name":"two","title":"Two","description":"The second","mimeType":"text/html","size":5,"annotations":{"priority":0.5}}]`)
		if isModern(r) && at(t, result, "/cacheScope") != `"private"` {
			t.Errorf("got %s, want a private list", result)
		}
		w.Must("resources/read", `{"uri":"row:///2"}`)
	})
}

func TestCursorOfAListerIsCheckedByItsAuthor(t *testing.T) {
	claim.Shows(t, "R-261b")
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := newServer(&mcpserver.Options{PageSize: 2})
		srv.Template("row:///{id}", "row", "", readRow, mcpserver.ListResources(table(5)))
		srv.Template("secret:///{id}", "secret", "", readRow, mcpserver.ListResources(table(5)), hidden())
		w := dial(t, srv, r)
		cursor := func(raw string) string {
			return fmt.Sprintf(`{"cursor":%q}`, base64.RawURLEncoding.EncodeToString([]byte(raw)))
		}
		w.Must("resources/list", cursor("Lrow:///{id}\x002"))
		w.Must("resources/list", `{"cursor":""}`)
		for _, params := range []string{
			cursor("Lrow:///{id}\x00' OR 1=1"), cursor("Lrow:///{id}\x0099"), cursor("Lrow:///{id}\x00-1"), cursor("Lrow:///{id}"), cursor("L"),
			cursor("Lrow:///{other}\x002"), cursor("Lsecret:///{id}\x002"), cursor("Lrow:///{id}\x00" + strings.Repeat("1", 1025)),
			`{"cursor":"L"}`, `{"cursor":"!"}`,
		} {
			if err := w.Refused("resources/list", params, -32602); !strings.Contains(err.Message, "not a cursor of this list") {
				t.Errorf("%s: got %q", params, err.Message)
			}
		}
	})
}

func TestMistakesOfAListerArePrivate(t *testing.T) {
	type names struct {
		Name string `json:"name"`
	}
	one := func(name string) []mcpserver.ListedResource[names] {
		return []mcpserver.ListedResource[names]{{Vars: names{name}}}
	}
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		for _, test := range []struct {
			page   []mcpserver.ListedResource[names]
			next   string
			err    error
			logged string
		}{
			{err: errors.New("disk on fire"), logged: "disk on fire"},
			{page: slices.Repeat(one("x"), 3), logged: "got 3, want at most 2"},
			{page: one("x"), next: strings.Repeat("x", 1025), logged: "a next cursor of 1025 bytes"},
			{page: one(".."), logged: "variable"},
			{page: one("a/b"), logged: "has the separator"},
			{page: one(""), logged: "does not read it with the same values"},
			{page: []mcpserver.ListedResource[names]{{Vars: names{"x"}, MIMEType: "text"}}, logged: "MIME type"},
		} {
			logged := new(logbook)
			srv := newServer(&mcpserver.Options{Logger: textLog(logged), PageSize: 2})
			srv.Template("file:///{name}", "file", "", func(context.Context, names) ([]byte, error) { return nil, nil }, mcpserver.ListResources(
				func(context.Context, string, int) ([]mcpserver.ListedResource[names], string, error) {
					return test.page, test.next, test.err
				}))
			err := dial(t, srv, r).Refused("resources/list", "", -32603)
			if id := incident(t, err.Message); !strings.Contains(logged.String(), test.logged) || !strings.Contains(logged.String(), id) {
				t.Errorf("got log %s, want %q and the incident", logged, test.logged)
			}
		}
	})
}

func TestListerThatDoesNotAdvanceIsStopped(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := newServer(nil)
		srv.Template("row:///{id}", "row", "", readRow, mcpserver.ListResources(
			func(context.Context, string, int) ([]mcpserver.ListedResource[row], string, error) {
				return nil, "again", nil
			}))
		w := dial(t, srv, r)
		first := decoded[mcp.ListResourcesResult](t, w.Must("resources/list", ""))
		w.Refused("resources/list", fmt.Sprintf(`{"cursor":%q}`, *first.NextCursor), -32603)
	})
}

// place has variables of several kinds.
type place struct {
	Path  string `json:"path"`
	Page  int    `json:"page,omitzero"`
	Draft *bool  `json:"draft"`
}

func TestListedURIsAreReadWithTheSameVariables(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		want := []place{{"a,b", 0, nil}, {"a", 7, new(true)}, {"é?#%", 0, new(false)}}
		var got []place
		srv := newServer(nil)
		srv.Template("p://x{/path*}{?page,draft}", "place", "", func(_ context.Context, p place) ([]byte, error) {
			got = append(got, p)
			return nil, nil
		}, mcpserver.ListResources(func(context.Context, string, int) (page []mcpserver.ListedResource[place], _ string, _ error) {
			for _, p := range want {
				page = append(page, mcpserver.ListedResource[place]{Vars: p})
			}
			return page, "", nil
		}))
		w := dial(t, srv, r)
		for _, listed := range decoded[mcp.ListResourcesResult](t, w.Must("resources/list", "")).Resources {
			w.Must("resources/read", fmt.Sprintf(`{"uri":%q}`, listed.URI))
		}
		if string(encoded(t, got)) != string(encoded(t, want)) {
			t.Errorf("read %s, want %s", encoded(t, got), encoded(t, want))
		}
	})
}

func TestResourcesChangedNotifiesThoseWhoMaySeeTheTemplate(t *testing.T) {
	srv := newServer(nil)
	srv.Template("row:///{id}", "row", "", readRow, mcpserver.ListResources(table(1)))
	srv.Template("secret:///{id}", "secret", "", readRow, mcpserver.ListResources(table(1)), hidden())
	srv.Template("plain:///{id}", "plain", "", readRow)
	w := dial(t, srv, mcp.V20251125)
	if srv.ResourcesChanged("plain:///{id}") || srv.ResourcesChanged("none:///{id}") {
		t.Error("got true for a template without a lister, want false")
	}
	if !srv.ResourcesChanged("secret:///{id}") || !srv.ResourcesChanged("row:///{id}") {
		t.Error("got false for a template with a lister, want true")
	}
	w.Notification("notifications/resources/list_changed")
}

func TestListerThatMakesNoSenseIsRefused(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		register func(*mcpserver.Server)
		want     string
	}{
		{func(*mcpserver.Server) { mcpserver.ListResources[row](nil) }, "mcpserver.ListResources: the function is nil"},
		{func(s *mcpserver.Server) { s.Resource("a://b", "b", "", fixed(""), mcpserver.ListResources(table(1))) }, "it is for templates"},
		{func(s *mcpserver.Server) {
			s.AddTemplate(mcp.ResourceTemplate{URITemplate: "a://{name}", Name: "a"}, readURI, mcpserver.ListResources(table(1)))
		}, `option ListResources: variable "name": no field has this json name`},
	} {
		if text := panicText(t, func() { test.register(newServer(nil)) }); !strings.Contains(text, test.want) {
			t.Errorf("got %q, want %q in it", text, test.want)
		}
	}
}

func TestCompletionOfADatabaseIsLimited(t *testing.T) {
	eachEra(t, func(t *testing.T, r mcp.Revision) {
		srv := newServer(nil)
		srv.Template("row:///{id}", "row", "", readRow, mcpserver.CompleteQuery("id", func(_ context.Context, c mcpserver.CompletionRequest, limit int) ([]string, error) {
			return slices.Repeat([]string{c.Value}, limit), nil
		}))
		result := dial(t, srv, r).Must("completion/complete", `{"ref":{"type":"ref/resource","uri":"row:///{id}"},"argument":{"name":"id","value":"7"}}`)
		got := decoded[mcp.CompleteResult](t, result).Completion
		if len(got.Values) != 100 || got.Values[0] != "7" || !got.HasMore || got.Total != nil {
			t.Errorf("got %d values, more %v, total %v; want 100, more, and no total", len(got.Values), got.HasMore, got.Total)
		}
	})
}

func TestListerIsCalledOnlyForCallersThatMayRead(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-224")
	calls := 0
	srv := newServer(nil)
	srv.Resource("a:///1", "a", "", fixed(""))
	srv.Template("row:///{id}", "row", "", readRow, mcpserver.Scopes("rows:read"), mcpserver.ListResources(
		func(ctx context.Context, cursor string, limit int) ([]mcpserver.ListedResource[row], string, error) {
			calls++
			if who := mcpserver.From(ctx).Principal().Subject; who != "ada" {
				t.Errorf("called for %q, want only callers with the scope", who)
			}
			return table(1)(ctx, cursor, limit)
		}))
	for _, test := range []struct {
		who  *mcp.Identity
		want []string
	}{
		{&mcp.Identity{Principal: mcp.Principal{Issuer: "app", Subject: "ada"}, Scopes: []string{"rows:read"}}, []string{"a:///1", "row:///1"}},
		{&mcp.Identity{Principal: mcp.Principal{Issuer: "app", Subject: "alan"}}, []string{"a:///1"}},
		{nil, []string{"a:///1"}},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			srv.HTTPHandler().ServeHTTP(w, r.WithContext(mcp.WithIdentity(r.Context(), test.who)))
		}))
		c, err := mcpclient.Connect(t.Context(), mcpclient.URL(server.URL), nil)
		if err != nil {
			t.Fatal(err)
		}
		var uris []string
		for listed, err := range c.Resources(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			uris = append(uris, listed.URI)
		}
		if !slices.Equal(uris, test.want) {
			t.Errorf("%+v: got %q, want %q", test.who, uris, test.want)
		}
		c.Close()
		server.Close()
	}
	if calls != 1 {
		t.Errorf("got %d calls, want 1", calls)
	}
}

func TestListsAreNotSharedBetweenCallersWhereThereIsALister(t *testing.T) {
	srv := newServer(&mcpserver.Options{ListCache: mcpserver.Cache{TTL: hour, Public: true}})
	srv.Resource("a:///1", "a", "", fixed(""))
	srv.Template("row:///{id}", "row", "", readRow, mcpserver.ListResources(table(1)), hidden())
	result := dial(t, srv, mcp.V20260728).Must("resources/list", "")
	if got := at(t, result, "/cacheScope"); got != `"private"` || strings.Contains(string(result), "nextCursor") {
		t.Errorf("got %s, want one private page", result)
	}
}
