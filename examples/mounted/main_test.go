package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// serve starts the application and returns the URL of its root.
func serve(t *testing.T, a *app) string {
	t.Helper()
	srv := newServer(nil)
	server := httptest.NewServer(router(a, srv))
	t.Cleanup(func() {
		_ = srv.Shutdown(context.WithoutCancel(t.Context()))
		server.Close()
	})
	return server.URL
}

// connect connects a client with a JWT, in one revision.
func connect(t *testing.T, url, token string, v mcp.Revision) *mcpclient.Client {
	t.Helper()
	c, err := mcpclient.Connect(t.Context(), mcpclient.URL(url+"/mcp"), &mcpclient.Options{
		Revisions: []mcp.Revision{v},
		HTTP:      mcpclient.HTTPOptions{Header: http.Header{"Authorization": {"Bearer " + token}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestUsersOfTheApplicationAreUsersOfTheServer(t *testing.T) {
	a := &app{key: []byte(strings.Repeat("k", 32))}
	url := serve(t, a)
	for _, v := range []mcp.Revision{mcp.V20251125, mcp.V20260728} {
		for _, test := range []struct {
			user, team, scopes string
			tools              []string
			publishes          bool
		}{
			{"ada", "red", "reports:publish", []string{"publish", "roster", "whoami"}, true},
			{"alan", "blue", "", []string{"publish", "whoami"}, false},
		} {
			token, err := a.token(test.user, test.team, test.scopes, time.Hour)
			if err != nil {
				t.Fatal(err)
			}
			c := connect(t, url, token, v)
			if got, err := c.Call[string](t.Context(), "whoami", nil); got != test.user || err != nil {
				t.Errorf("got %q, %v, want %s", got, err, test.user)
			}
			var names []string
			for tool, err := range c.Tools(t.Context()) {
				if err != nil {
					t.Fatal(err)
				}
				names = append(names, tool.Name)
			}
			if slices.Sort(names); !slices.Equal(names, test.tools) {
				t.Errorf("%s: got %q, want %q", test.user, names, test.tools)
			}
			if _, err := c.Call[string](t.Context(), "publish", nil); (err == nil) != test.publishes {
				t.Errorf("%s: got %v, want %v", test.user, err, test.publishes)
			}
		}
	}
}

func TestRequestsWithoutAValidJWTAreRefused(t *testing.T) {
	a := &app{key: []byte(strings.Repeat("k", 32))}
	url := serve(t, a)
	expired, err := a.token("ada", "red", "", -time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	foreign, err := (&app{key: []byte(strings.Repeat("x", 32))}).token("ada", "red", "", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	for header, want := range map[string]string{
		"":                  `Bearer`,
		"Bearer " + expired: `Bearer error="invalid_token"`,
		"Bearer " + foreign: `Bearer error="invalid_token"`,
		"Bearer nonsense":   `Bearer error="invalid_token"`,
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/mcp", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		if header != "" {
			r.Header.Set("Authorization", header)
		}
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		response.Body.Close()
		if got := response.Header.Get("WWW-Authenticate"); response.StatusCode != 401 || got != want {
			t.Errorf("%.20s: got %s, %s, want 401, %s", header, response.Status, got, want)
		}
	}
}

func TestOtherRoutesStay(t *testing.T) {
	response, err := http.Get(serve(t, &app{key: []byte(strings.Repeat("k", 32))}))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if text, _ := io.ReadAll(response.Body); string(text) != "the application\n" {
		t.Errorf("got %q, want the application", text)
	}
}
