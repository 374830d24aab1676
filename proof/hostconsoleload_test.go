//go:build load && linux

package proof

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	// consoleTurns is how often calls are measured with and without an open console, by turns.
	consoleTurns = 7
	// maxConsoleRatio limits what the console may add to the 99th percentile of calls.
	maxConsoleRatio = 1.2
)

// A failure here means that a user who looks at the traffic slows the calls of clients. The page of the traffic is the
// one that costs most: it changes with each call.
func TestLoadOpenConsole(t *testing.T) {
	u := newHostUser(t)
	h := u.up("--config", u.write("mcp.json", `{"mcpServers": {"plain": `+u.server("plain")+`}}`), "--yes")
	h.await(`plain +ready`)
	hostCaller(t, h) // the recorder is full from now on
	var closed, open []time.Duration
	read := 0
	for range consoleTurns {
		closed = append(closed, hostCaller(t, h), hostCaller(t, h))
		stop := openTraffic(t, u)
		open = append(open, hostCaller(t, h), hostCaller(t, h))
		read += stop()
	}
	if read == 0 {
		t.Error("the page was not read while calls were made, want it read after each change")
	}
	without, with := slices.Sorted(slices.Values(closed))[consoleTurns], slices.Sorted(slices.Values(open))[consoleTurns]
	ratio := float64(with) / float64(without)
	t.Attr("verdict", fmt.Sprintf("load: p99 of a call through the host %s, %s with the traffic open in a browser, %.2f times as much", without, with, ratio))
	if ratio > maxConsoleRatio {
		t.Errorf("p99 is %s with the console open and %s without, want at most %.1f times as much: %v, %v", with, without, maxConsoleRatio, open, closed)
	}
}

// openTraffic opens the page of the traffic as a browser does, which reads it again after each change. stop returns how
// often it was read.
func openTraffic(t *testing.T, u *hostUser) (stop func() int) {
	t.Helper()
	link, messages, code := u.run("open", "--print")
	if code != 0 {
		t.Fatalf("got %d, %s", code, messages)
	}
	link = strings.TrimSpace(link)
	response, err := http.Get(link)
	if err != nil || len(response.Cookies()) != 1 {
		t.Fatalf("%s: got %v, %v, want a session", link, response, err)
	}
	_ = response.Body.Close()
	cookie := response.Cookies()[0]
	origin, _, _ := strings.Cut(link, "/console/")
	page := origin + cookie.Path + "traffic"
	ctx, cancel := context.WithCancel(t.Context())
	get := func(address string) (*http.Response, error) {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
		if err != nil {
			return nil, err
		}
		r.AddCookie(cookie)
		return http.DefaultClient.Do(r)
	}
	stream, err := get(origin + cookie.Path + "live?page=" + url.QueryEscape("traffic"))
	if err != nil {
		t.Fatal(err)
	}
	read := make(chan int, 1)
	go func() {
		n := 0
		defer func() { read <- n }()
		for lines := bufio.NewScanner(stream.Body); lines.Scan(); {
			if lines.Text() != "event: change" {
				continue
			}
			response, err := get(page)
			if err != nil {
				return
			}
			_, err = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
			if err != nil || response.StatusCode != http.StatusOK {
				return
			}
			n++
		}
	}()
	return func() int {
		cancel()
		_ = stream.Body.Close()
		return <-read
	}
}
