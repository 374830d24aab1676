package mcpclient_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

func TestRedirectsToOtherOriginsAreRefused(t *testing.T) {
	t.Parallel()
	elsewhere := web(t, statelessWeb(nil))
	secure := httptest.NewTLSServer(elsewhere)
	defer secure.Close()
	port := elsewhere.URL[strings.LastIndex(elsewhere.URL, ":"):]
	for _, status := range []int{301, 302, 303, 307, 308} {
		for name, to := range map[string]string{
			"other port":   elsewhere.URL + "/mcp",
			"other host":   "http://localhost" + port + "/mcp",
			"other scheme": secure.URL + "/mcp",
			"no scheme":    "//127.0.0.1" + port + "/mcp",
		} {
			t.Run(fmt.Sprint(status, " ", name), func(t *testing.T) {
				s := web(t, func(e *exchange) { http.Redirect(e.w, e.Request, to, status) })
				_, err := mcpclient.Connect(t.Context(), mcpclient.URL(s.URL+"/mcp"), &mcpclient.Options{
					Logger: quiet(), HTTP: mcpclient.HTTPOptions{Header: http.Header{"X-Key": {"secret"}}, Client: secure.Client()},
				})
				target := to
				if name == "no scheme" {
					target = "http:" + to
				}
				want := fmt.Sprintf("redirect %d from %s to %s refused: want the same scheme, host and port; configure that URL if it is the address of the server", status, s.URL, target)
				if err == nil || !strings.Contains(err.Error(), want) {
					t.Errorf("got %v, want %s", err, want)
				}
			})
		}
	}
	if got := elsewhere.log(); len(got) != 0 {
		t.Errorf("the other origin got %v", got)
	}
}

func TestRefusedRedirectNamesTheURLWithoutItsSecrets(t *testing.T) {
	t.Parallel()
	for to, shown := range map[string]string{
		"https://ada:CANARY@mcp.example.com:443/v2/mcp?key=CANARY#CANARY":        "https://mcp.example.com/v2/mcp?…",
		"https://mcp.example.com/a b\u202e/":                                     "https://mcp.example.com/a%20b%E2%80%AE/",
		"https://mcp.example.com/" + strings.Repeat("x", 600):                    "https://mcp.example.com/" + strings.Repeat("x", 511) + "…",
		"https://mcp.example.com/s/CANARY-0123456789/mcp-of-the-organization/v2": "https://mcp.example.com/s/…/mcp-of-the-organization/v2",
		"https://mcp.example.com":                                                "https://mcp.example.com",
	} {
		s := web(t, func(e *exchange) {
			e.w.Header().Set("Location", to)
			e.w.WriteHeader(http.StatusPermanentRedirect)
		})
		_, err := mcpclient.Connect(t.Context(), mcpclient.URL(s.URL+"/mcp"), &mcpclient.Options{Logger: quiet()})
		want := fmt.Sprintf("redirect 308 from %s to %s refused", s.URL, shown)
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "CANARY") {
			t.Errorf("%s: got %v, want %s", to, err, want)
		}
	}
}

func TestRedirectsWithinTheOriginKeepTheMethod(t *testing.T) {
	t.Parallel()
	for status, followed := range map[int]bool{301: false, 302: false, 303: false, 307: true, 308: true} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			t.Parallel()
			s := web(t, func(e *exchange) {
				if e.URL.Path != "/new" {
					http.Redirect(e.w, e.Request, "/new", status)
					return
				}
				statelessWeb(nil)(e)
			})
			c, err := mcpclient.Connect(t.Context(), mcpclient.URL(s.URL+"/old"), &mcpclient.Options{Logger: quiet()})
			if !followed {
				if err == nil || !strings.Contains(err.Error(), "/new refused: want 307 or 308, which keep the method; configure that URL") {
					t.Errorf("got %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if c.Revision() != mcp.V20260728 {
				t.Errorf("got %v", c.Revision())
			}
		})
	}
}

func TestRedirectsWithoutEndAreGivenUp(t *testing.T) {
	t.Parallel()
	s := web(t, func(e *exchange) { http.Redirect(e.w, e.Request, e.URL.Path+"x", http.StatusTemporaryRedirect) })
	_, err := mcpclient.Connect(t.Context(), mcpclient.URL(s.URL+"/"), &mcpclient.Options{Logger: quiet()})
	if err == nil || !strings.Contains(err.Error(), "want at most 3 in a row") {
		t.Errorf("got %v", err)
	}
}
