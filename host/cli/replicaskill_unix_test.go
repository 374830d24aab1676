//go:build unix && replicas

package cli_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp"

	"github.com/fondaco/fondaco/internal/claim"
	"github.com/fondaco/fondaco/internal/testengine"
)

var killTime = flag.Duration("killtime", 12*time.Second, "how long hosts are killed, for each engine")

// TestReplicasOfTheHost kills one of three hosts again and again, while clients call a tool that
// writes into a ledger. It checks that no call runs twice, that each call that was answered has run,
// and that only calls that ran at the killed host, or came from it, are lost.
func TestReplicasOfTheHost(t *testing.T) {
	claim.Shows(t, "R-192")
	for _, test := range []struct {
		name   string
		engine func(*testing.T) *testengine.Server
		tokens bool
	}{
		{"Redis", func(t *testing.T) *testengine.Server { return testengine.Redis(t) }, false},
		{"Redis with tokens", func(t *testing.T) *testengine.Server { return testengine.Redis(t) }, true},
		{"NATS with tokens", func(t *testing.T) *testengine.Server { return testengine.NATS(t) }, true},
		{"PostgreSQL with tokens", func(t *testing.T) *testengine.Server { return testengine.Postgres(t) }, true},
	} {
		t.Run(test.name, func(t *testing.T) { newKillTest(t, test.engine(t).URL, test.tokens).run(t) })
	}
}

// killTest has three hosts and their clients.
type killTest struct {
	*storeTest
	ledger  string
	flags   string
	hosts   [3]*process
	addrs   [3]atomic.Pointer[string]
	kills   atomic.Int64
	last    atomic.Pointer[time.Time] // of the last kill
	clients []*noteClient
}

func newKillTest(t *testing.T, store string, tokens bool) *killTest {
	k := &killTest{storeTest: newStoreTest(t, store), ledger: filepath.Join(t.TempDir(), "ledger"), flags: "--yes"}
	content := fmt.Sprintf(`{"mcpServers": {"up": {"command": %q, "env": {%q: "upstream", %q: %q}}}}`, program(t), role, ledgerVariable, k.ledger)
	if err := os.WriteFile(k.config, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	headers := []http.Header{{}}
	if tokens {
		k.flags += " --auth-tokens " + writeTokens(t)
		headers = []http.Header{{"Authorization": {"Bearer " + laptopToken}}, {"Authorization": {"Bearer " + deskToken}}}
	}
	for i := range k.hosts {
		k.start(t, i)
	}
	for _, h := range headers {
		k.clients = append(k.clients, &noteClient{test: k, name: fmt.Sprint(len(k.clients)), header: h.Clone()})
		for _, revision := range []mcp.Revision{mcp.V20250326, mcp.V20250618, mcp.V20251125} {
			c := &noteClient{test: k, name: fmt.Sprint(len(k.clients)), header: h.Clone()}
			c.open(t, revision)
			k.clients = append(k.clients, c)
		}
	}
	return k
}

func (k *killTest) start(t *testing.T, i int) {
	p, addr := k.up(t, k.flags)
	k.hosts[i] = p
	k.addrs[i].Store(&addr)
}

func (k *killTest) run(t *testing.T) {
	ctx, stop := context.WithCancel(t.Context())
	var work sync.WaitGroup
	for _, c := range k.clients {
		work.Go(func() { c.run(ctx) })
	}
	for i, began := 0, time.Now(); time.Since(began) < *killTime; i = (i + 1) % len(k.hosts) {
		k.awaitRounds(t)
		now := time.Now()
		k.last.Store(&now)
		if err := k.hosts[i].Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = k.hosts[i].Wait()
		k.kills.Add(1)
		k.awaitRounds(t)
		k.start(t, i)
	}
	stop()
	work.Wait()
	k.account(t)
}

// awaitRounds waits until each client has got three more answers.
func (k *killTest) awaitRounds(t *testing.T) {
	t.Helper()
	for _, c := range k.clients {
		enough := c.answered.Load() + 3
		awaitCondition(t, func() (bool, string) {
			return c.answered.Load() >= enough, fmt.Sprintf("no answers for client %s", c.name)
		})
	}
}

// noteClient calls the tool note again and again, at one host after the other.
type noteClient struct {
	test     *killTest
	name     string
	header   http.Header
	answered atomic.Int64

	ends []noteEnd
}

// brokenConnection says that the host to which a client had connected was killed. Until the system has
// closed its sockets, that can happen more than once.
const brokenConnection = "connection to the host"

// noteEnd is how a call has ended.
type noteEnd struct {
	line    string
	outcome string // "answered", "may have run", "refused" or "wrong"
	took    time.Duration
	killed  bool // a host was killed during the call, or less than a second before
	text    string
}

func (c *noteClient) open(t *testing.T, revision mcp.Revision) {
	t.Helper()
	message := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":%q,"capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`, revision)
	status, header, body := postWith(t, *c.test.addrs[0].Load(), c.header.Clone(), message)
	if status != http.StatusOK {
		t.Fatalf("initialize: got status %d, body %s", status, body)
	}
	c.header.Set("Mcp-Session-Id", header.Get("Mcp-Session-Id"))
	c.header.Set("Mcp-Protocol-Version", revision.String())
}

func (c *noteClient) run(ctx context.Context) {
	meta := ""
	if c.header.Get("Mcp-Session-Id") == "" {
		c.header.Set("Mcp-Protocol-Version", "2026-07-28")
		c.header.Set("Mcp-Method", "tools/call")
		c.header.Set("Mcp-Name", "up__note")
		meta = `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`
	}
	for n := 0; ctx.Err() == nil; n++ {
		line := fmt.Sprintf("client-%s-%d-", c.name, n)
		began := time.Now()
		end := c.call(n, line, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"up__note","arguments":{"Line":%q}%s}}`, n, line, meta))
		end.line, end.took = line, time.Since(began)
		if last := c.test.last.Load(); last != nil {
			end.killed = last.After(began.Add(-time.Second))
		}
		c.ends = append(c.ends, end)
		if end.outcome == "answered" {
			c.answered.Add(1)
		}
	}
}

// call sends a call to a host that can be reached, as a load balancer does.
func (c *noteClient) call(n int, line, message string) noteEnd {
	for try := 0; ; try++ {
		r, err := http.NewRequest("POST", "http://"+*c.test.addrs[(n+try)%3].Load()+"/mcp", strings.NewReader(message))
		if err != nil {
			return noteEnd{outcome: "wrong", text: err.Error()}
		}
		r.Header = c.header.Clone()
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", "application/json, text/event-stream")
		r.Close = true
		answer, err := http.DefaultClient.Do(r)
		if dial, ok := errors.AsType[*net.OpError](err); ok && dial.Op == "dial" && try < 30 {
			continue
		}
		if err != nil {
			return noteEnd{outcome: "may have run", text: brokenConnection}
		}
		body, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		text := fmt.Sprintf("%d %s", answer.StatusCode, body)
		switch {
		case err != nil, answer.StatusCode == http.StatusBadGateway:
			return noteEnd{outcome: "may have run", text: text}
		case answer.StatusCode == http.StatusServiceUnavailable:
			return noteEnd{outcome: "refused", text: text}
		case answer.StatusCode == http.StatusOK && strings.Contains(text, `"`+line+`"`):
			return noteEnd{outcome: "answered"}
		}
		return noteEnd{outcome: "wrong", text: text}
	}
}

// account compares how calls have ended with the ledger.
func (k *killTest) account(t *testing.T) {
	t.Helper()
	content, err := os.ReadFile(k.ledger)
	if err != nil {
		t.Fatal(err)
	}
	ran := make(map[string]int)
	for line := range strings.Lines(string(content)) {
		ran[strings.TrimSpace(line)]++
	}
	outcomes, longest := make(map[string]int), time.Duration(0)
	for _, c := range k.clients {
		lost := 0
		for _, end := range c.ends {
			outcomes[end.outcome]++
			longest = max(longest, end.took)
			if end.outcome == "may have run" && end.text != brokenConnection { // another host has sent it to the killed one
				lost++
			}
			if bad := end.check(ran[end.line]); bad != "" {
				t.Errorf("%s, which took %v: %s: %s", end.line, end.took, bad, end.text)
			}
			delete(ran, end.line)
		}
		if lost > int(k.kills.Load()) {
			t.Errorf("client %s has lost %d calls by %d kills, and had one at a time", c.name, lost, k.kills.Load())
		}
	}
	if len(ran) > 0 {
		t.Errorf("%d lines are in the ledger that no client has sent", len(ran))
	}
	t.Logf("%d kills, %v, longest call %v", k.kills.Load(), outcomes, longest.Round(10*time.Millisecond))
}

// check says what is wrong with the end of a call that has run so often.
func (e noteEnd) check(ran int) string {
	switch {
	case e.outcome == "wrong":
		return "the answer is wrong"
	case ran > 1:
		return fmt.Sprintf("it has run %d times", ran)
	case e.outcome == "answered" && ran == 0:
		return "it was answered and has not run"
	case e.outcome == "refused":
		return "no host has taken its caller over in time"
	case e.outcome == "may have run" && !e.killed:
		return "it was lost, and no host was killed"
	}
	return ""
}
