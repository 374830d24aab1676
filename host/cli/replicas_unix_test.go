//go:build unix

package cli_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/internal/testengine"
)

// statelessCall calls the tool pid in the stateless era.
const statelessCall = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"up__pid","arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}`

// callStateless sends statelessCall.
func callStateless(t *testing.T, addr string, header http.Header) (status int, body string) {
	t.Helper()
	status, _, body = postWith(t, addr, header, statelessCall)
	return status, body
}

// postWith sends a message with headers.
func postWith(t *testing.T, addr string, header http.Header, message string) (status int, response http.Header, body string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "POST", "http://"+addr+"/mcp", strings.NewReader(message))
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range header {
		r.Header[name] = values
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	return do(t, r)
}

// callServed calls the tool pid again while the answer is that the host of the caller was not
// found in time, which a busy machine can cause.
func callServed(t *testing.T, addr, session string) (status int, body string) {
	t.Helper()
	awaitCondition(t, func() (bool, string) {
		status, body = callPID(t, addr, session)
		return status != http.StatusServiceUnavailable, body
	})
	return status, body
}

var statelessHeader = http.Header{"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {"up__pid"}}

func TestCallerHasOneProcessWhateverHostItsRequestsReach(t *testing.T) {
	t.Parallel()
	s := newStoreTest(t, testengine.Redis(t).URL)
	hosts, addrs := make([]*process, 3), make([]string, 3)
	for i := range hosts {
		hosts[i], addrs[i] = s.up(t, "--yes")
	}
	session := open(t, addrs[0])
	_, first := callPID(t, addrs[1], session) // which has the caller from now on
	process := pidIn(first)
	_, other := callStateless(t, addrs[2], statelessHeader)
	stateless := pidIn(other)
	if process == "" || stateless == "" || process == stateless {
		t.Fatalf("got %s and %s, want a process of each caller", first, other)
	}
	for i, addr := range addrs {
		if status, body := callPID(t, addr, session); pidIn(body) != process {
			t.Errorf("host %d: got status %d, body %s, want process %s", i, status, body, process)
		}
		if status, body := callStateless(t, addr, statelessHeader); pidIn(body) != stateless {
			t.Errorf("host %d: got status %d, body %s, want process %s", i, status, body, stateless)
		}
		forged := http.Header{"Fondaco-Forwarded": {"eyJ0byI6IngifQ.AAAA"}, "Mcp-Session-Id": {session}}
		if status, _, body := postWith(t, addr, forged, `{"jsonrpc":"2.0","id":2,"method":"ping"}`); status != http.StatusForbidden {
			t.Errorf("host %d: got status %d, body %s of a forged header, want 403", i, status, body)
		}
		if status, body := callPID(t, addr, "no-session"); status != http.StatusNotFound {
			t.Errorf("host %d: got status %d, body %s of an unknown session, want 404", i, status, body)
		}
	}
	if err := hosts[1].Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = hosts[1].Wait()
	status, body := callServed(t, addrs[0], session)
	successor := pidIn(body)
	if successor == "" || successor == process {
		t.Errorf("got status %d, body %s, want another process", status, body)
	}
	if _, body := callPID(t, addrs[2], session); pidIn(body) != successor {
		t.Errorf("got %s, want process %s", body, successor)
	}
}

func TestCallersStayWhileTheEngineIsLost(t *testing.T) {
	t.Parallel()
	engine := testengine.Redis(t)
	s := newStoreTest(t, engine.URL)
	_, one := s.up(t, "--yes")
	_, two := s.up(t, "--yes")
	session := open(t, one)
	_, body := callPID(t, one, session)
	process := pidIn(body)
	if process == "" {
		t.Fatalf("got %s", body)
	}
	engine.Kill()
	for began := time.Now(); time.Since(began) < 10*time.Second; time.Sleep(200 * time.Millisecond) { // longer than the record of a host lasts
		if status, body := callPID(t, one, session); pidIn(body) != process {
			t.Fatalf("without the engine: got status %d, body %s, want process %s", status, body, process)
		}
	}
	engine.Start()
	awaitCondition(t, func() (bool, string) {
		status, body := callPID(t, two, session)
		return pidIn(body) == process, fmt.Sprint(status, body)
	})
}

func TestAddressForOtherHosts(t *testing.T) {
	t.Parallel()
	store := testengine.Redis(t).URL
	for name, test := range map[string]struct{ env, flags, says string }{
		"all addresses": {"", "--addr 0.0.0.0:0 --behind-proxy 127.0.0.1 --insecure-no-auth", "set FONDACO_ADVERTISE to the URL"},
		"no scheme":     {"FONDACO_ADVERTISE=10.0.0.7:7000 ", "--addr 127.0.0.1:0", "want a URL with a scheme and a host"},
		"a path":        {"FONDACO_ADVERTISE=http://10.0.0.7:7000/mcp ", "--addr 127.0.0.1:0", "want a URL with a scheme and a host"},
	} {
		s := newStoreTest(t, store)
		s.env = test.env + s.env
		p := s.run(t, t.TempDir(), "up --yes "+test.flags+" --config "+s.config)
		if code, said := p.end(t), p.stderr.String(); code != 2 || !strings.Contains(said, test.says) {
			t.Errorf("%s: got exit code %d, %s, want 2 and %q", name, code, said, test.says)
		}
	}
}
