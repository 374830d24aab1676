package cli_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// get asks for a page, under a name of the server and with headers of a browser.
func get(t *testing.T, url, name string, header map[string]string) (status int, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Host = name
	for k, v := range header {
		req.Header.Set(k, v)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

func TestProfilesNameTheCallsThatAreUnderWay(t *testing.T) {
	t.Parallel()
	s, words := upTelling(t, "--pprof", "localhost:0")
	url := words.await(t, `profiles of this process: (http://127\.0\.0\.1:\d+/debug/pprof/)`)[1]
	c, err := mcpclient.Connect(t.Context(), mcpclient.URL(strings.TrimPrefix(s.env[1], "FONDACO_URL=")), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithCancel(t.Context())
	called := make(chan error, 1)
	go func() {
		_, err := c.CallTool(ctx, "demo__countdown", map[string]int{"seconds": 60})
		called <- err
	}()
	const labels = `{"mcp.method":"tools/call", "mcp.name":"demo__countdown"}`
	for found := false; !found; {
		select {
		case err := <-called:
			t.Fatalf("the call ended, with %v, and was in no profile", err)
		default:
		}
		_, text := get(t, url+"goroutine?debug=1", "", nil)
		found = strings.Contains(text, labels)
	}
	cancel()
	<-called
}

func TestProfilesAreNotForWebPages(t *testing.T) {
	t.Parallel()
	_, words := upTelling(t, "--pprof", "127.0.0.1:0")
	url := words.await(t, `profiles of this process: (\S+)`)[1]
	own := strings.TrimSuffix(url, "/debug/pprof/")
	for _, test := range []struct {
		name   string
		header map[string]string
		want   int
	}{
		{"", nil, http.StatusOK},
		{"localhost:6060", nil, http.StatusOK},
		{"", map[string]string{"Sec-Fetch-Site": "none"}, http.StatusOK},
		{"", map[string]string{"Sec-Fetch-Site": "same-origin", "Origin": own}, http.StatusOK},
		{"rebound.example", nil, http.StatusForbidden},
		{"rebound.example:80", map[string]string{"Origin": "http://rebound.example:80"}, http.StatusForbidden},
		{"", map[string]string{"Origin": "https://page.example"}, http.StatusForbidden},
		{"", map[string]string{"Sec-Fetch-Site": "cross-site"}, http.StatusForbidden},
		{"", map[string]string{"Sec-Fetch-Site": "same-site"}, http.StatusForbidden},
	} {
		for _, path := range []string{"", "goroutine?debug=1", "symbol"} {
			if status, _ := get(t, url+path, test.name, test.header); status != test.want {
				t.Errorf("%q of %q with %v: got %d, want %d", path, test.name, test.header, status, test.want)
			}
		}
	}
	if status, body := get(t, url+"cmdline", "", nil); status != http.StatusNotFound {
		t.Errorf("got %d %q, want no command line of the host", status, body)
	}
}

func TestProfilesAreNotServedOnTheMCPAddress(t *testing.T) {
	t.Parallel()
	s, words := upTelling(t)
	base := strings.TrimSuffix(strings.TrimPrefix(s.env[1], "FONDACO_URL="), "/mcp")
	if status, _ := get(t, base+"/debug/pprof/", "", nil); status != http.StatusNotFound || strings.Contains(words.String(), "pprof") {
		t.Errorf("got %d, %s, want no profiles unasked", status, words.String())
	}
}
