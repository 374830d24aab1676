package page_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/page"
	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/internal/hostiletext"
	"github.com/fondaco/fondaco/mcp"
)

const hostile = `<script>alert(1)</script>" onload='x`

// house is a host with a server of each kind.
type house struct{}

func (house) Status() []host.Status {
	return []host.Status{
		{Key: "files", Transport: "over stdio", State: host.Ready, Revision: mcp.V20251125, Tools: 11, Processes: 3, WaitingCount: 1, Waiting: []host.WaitingDefinition{{Kind: host.KindTool, Name: hostile}}},
		{Key: "weather", State: host.Failed, Reason: "exited with status 1: " + hostile},
	}
}

func (house) Tools() []mcp.Tool {
	return []mcp.Tool{{Name: "files__read", Description: "Read a file " + hostile}}
}

// unshown is a host whose servers send texts that a browser does not show.
type unshown struct{ text string }

func (h unshown) Status() []host.Status {
	return []host.Status{
		{Key: "a", WaitingCount: 1, Waiting: []host.WaitingDefinition{{Name: h.text}}},
		{Key: "b", State: host.Failed, Reason: h.text},
	}
}

func (h unshown) Tools() []mcp.Tool { return []mcp.Tool{{Name: h.text, Description: h.text}} }

func TestPageShowsWhatABrowserWouldNot(t *testing.T) {
	t.Parallel()
	for _, text := range hostiletext.Texts() {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.Host = "localhost"
		w := httptest.NewRecorder()
		page.New("http://127.0.0.1:7332", unshown{text}).ServeHTTP(w, r)
		if i := hostiletext.Unshown(w.Body.String(), "\n\t"); i >= 0 || strings.Count(w.Body.String(), "</tr>") != 5 {
			t.Errorf("%q: got %.40q in the page, want it visible", text, w.Body.String()[max(i, 0):])
		}
	}
}

func get(t *testing.T, hostname string) (*http.Response, string) {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Host = hostname
	w := httptest.NewRecorder()
	page.New("http://127.0.0.1:7332", house{}).ServeHTTP(w, r)
	body, err := io.ReadAll(w.Result().Body)
	if err != nil {
		t.Fatal(err)
	}
	return w.Result(), string(body)
}

func TestPageShowsUpstreamsAndTheirState(t *testing.T) {
	t.Parallel()
	claim.Shows(t, "R-220")
	_, body := get(t, "localhost:7332")
	for _, want := range []string{
		"http://127.0.0.1:7332/mcp", "files", "ready", mcp.V20251125.String() + " over stdio", "11 tools", "3 processes", "weather", "failed",
		"<code>fondaco servers weather</code> shows the reason", "wait for approval: 1", "files/read", "Read a file",
		"claude mcp add --transport http fondaco http://127.0.0.1:7332/mcp", "[mcp_servers.fondaco]", `"mcpServers"`, "gemini mcp add", `"servers"`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("got %s, want %s", body, want)
		}
	}
}

func TestPageRunsNothingAndLoadsNothing(t *testing.T) {
	t.Parallel()
	response, body := get(t, "127.0.0.1:7332")
	if strings.Contains(body, "<script") || strings.Contains(body, "onload='x") || strings.Contains(body, "src=") || strings.Contains(body, "href=") {
		t.Errorf("got %s, want texts of servers as texts, and nothing to load", body)
	}
	policy := response.Header.Get("Content-Security-Policy")
	if !strings.HasPrefix(policy, "default-src 'none'; style-src 'sha256-") || strings.Contains(policy, "unsafe") || !strings.Contains(policy, "frame-ancestors 'none'") {
		t.Errorf("got policy %q, want one that allows the one style alone", policy)
	}
	for header, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cache-Control": "no-store"} {
		if got := response.Header.Get(header); got != want {
			t.Errorf("%s: got %q, want %q", header, got, want)
		}
	}
}

func TestPageIsServedForLoopbackHostNamesOnly(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int{
		"localhost": 200, "LOCALHOST:1": 200, "[::1]:7332": 200, "127.0.0.1": 200,
		"evil.example": 403, "localhost.evil.example": 403, "127.0.0.1.nip.io": 403, "": 403,
	} {
		if response, body := get(t, name); response.StatusCode != want || want != 200 && strings.Contains(body, "files") {
			t.Errorf("%q: got %d, want %d", name, response.StatusCode, want)
		}
	}
}
