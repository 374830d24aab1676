package cli

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/terminal"
)

func TestServersShowFailingCallsAndLostSessions(t *testing.T) {
	t.Parallel()
	lost := time.Date(2026, 11, 22, 14, 2, 3, 0, time.Local)
	for _, test := range []struct {
		status host.Status
		want   []string
	}{
		{host.Status{Key: "web", State: host.Failing, Reason: "HTTP 502 Bad Gateway"}, []string{"web\tfailing\t", "HTTP 502 Bad Gateway"}},
		{host.Status{Key: "web", State: host.Degraded, Reason: "a call has been without a message for 2m0s"}, []string{"web\tdegraded\t", "without a message for 2m0s"}},
		{host.Status{Key: "web", State: host.Ready, Denied: []string{"delete"}}, []string{"denied by the rules\n  web/delete\n"}},
		{host.Status{Key: "web", State: host.Ready, SessionsLost: 2, SessionLost: lost}, []string{
			"web\tready\t", "session lost and opened again: 2 times, last at 2026-11-22 14:02:03",
		}},
		{host.Status{Key: "web", State: host.Failing, Reason: "HTTP 502 Bad Gateway", SessionsLost: 2, SessionLost: lost}, []string{
			"HTTP 502 Bad Gateway", "session lost and opened again: 2 times",
		}},
	} {
		var out bytes.Buffer
		if err := new(serversCommand).one(new(serverConn), &Main{IO: terminal.IO{Stdout: &out}}, test.status); err != nil {
			t.Fatal(err)
		}
		for _, want := range test.want {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%+v: got %q, want %q", test.status, out.String(), want)
			}
		}
	}
}
