//go:build unix && replicas

package fault_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// pingedSession is a session of a client that is only HTTP, so that nothing hides a lost session.
type pingedSession struct {
	url, id string
	web     *http.Client

	pings, failed int
	lost          string // the first answer that is neither right nor of the balancer
}

const pingText = `{"jsonrpc":"2.0","id":1,"method":"ping"}`

func openPingedSession(t *testing.T, url string) *pingedSession {
	t.Helper()
	s := &pingedSession{url: url + "/mcp", web: &http.Client{Timeout: patience, Transport: new(http.Transport)}}
	t.Cleanup(s.web.CloseIdleConnections)
	for range attempts {
		if s.id == "" {
			s.do(t.Context(), http.MethodPost, `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25",`+
				`"clientInfo":{"name":"raw","version":"1"},"capabilities":{}}}`)
		}
	}
	if s.id == "" {
		t.Fatal("initialize: no session")
	}
	return s
}

// do sends a request and returns the status and the body of the response, or 0.
func (s *pingedSession) do(ctx context.Context, method, body string) (status int, text string) {
	r, err := http.NewRequestWithContext(ctx, method, s.url, strings.NewReader(body))
	if err != nil {
		return 0, err.Error()
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	if s.id != "" {
		r.Header.Set("Mcp-Session-Id", s.id)
		r.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	}
	response, err := s.web.Do(r)
	if err != nil {
		return 0, err.Error()
	}
	defer response.Body.Close()
	if s.id == "" {
		s.id = response.Header.Get("Mcp-Session-Id")
	}
	got, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err.Error()
	}
	return response.StatusCode, string(got)
}

// ping pings until stop is closed.
func (s *pingedSession) ping(ctx context.Context, stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		case <-time.After(20 * time.Millisecond):
		}
		s.pings++
		switch status, text := s.do(ctx, http.MethodPost, pingText); {
		case status == http.StatusBadGateway, status == 0:
			s.failed++
		case status != http.StatusOK && s.lost == "":
			s.lost = http.StatusText(status) + ": " + text
		}
	}
}

// checkEnd deletes the session, after which no replica may serve it.
func (s *pingedSession) checkEnd(t *testing.T, replicas int) {
	t.Helper()
	if s.lost != "" {
		t.Errorf("the session was lost: %s", s.lost)
	}
	t.Logf("%d pings in one session, %d of them at a killed replica", s.pings, s.failed)
	if status, text := s.do(t.Context(), http.MethodDelete, ""); status != http.StatusNoContent {
		t.Errorf("DELETE: got %d, %s", status, text)
	}
	gone := 0
	for end := time.Now().Add(patience); gone < 5*replicas && time.Now().Before(end); {
		if status, _ := s.do(t.Context(), http.MethodPost, pingText); status == http.StatusNotFound {
			gone++
			continue
		}
		gone = 0
	}
	if gone < 5*replicas {
		t.Error("a deleted session is still served")
	}
}
