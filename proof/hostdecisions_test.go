//go:build load && linux

package proof

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/definition"
	"github.com/fondaco/fondaco/host/state"
	"github.com/fondaco/fondaco/host/userkey"
	"github.com/fondaco/fondaco/mcp/mcpclient"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

const (
	loadAnswers   = 100
	loadApprovals = 20
)

// A failure here means that servers whose lists are large, or change all the time, delay the
// decisions of the user about other servers.
func TestLoadDecisionsBesideHostileServers(t *testing.T) {
	for _, hostile := range [][]string{nil, {"large texts", "large pages", "large resources", "restless"}} {
		d := newDecisions(t, hostile)
		answer, approval := d.answers(t), d.approvals(t)
		d.host.end()
		t.Attr("verdict", fmt.Sprintf("load: beside %d hostile servers, from the answer to a question to the end of its call %s, and from an approval of a definition to the end of a call %s", len(hostile), answer, approval))
		if max(answer.median, approval.median) > maxHostWait {
			t.Errorf("beside %q: an answer takes %s and an approval %s, want medians of at most %s", hostile, answer, approval, maxHostWait)
		}
	}
}

// latency is how long decisions take. Each writes several files to the disk, which makes the slowest
// ones depend on that.
type latency struct{ median, p95 time.Duration }

func newLatency(took []time.Duration) latency {
	slices.Sort(took)
	return latency{took[len(took)/2], took[len(took)*95/100]}
}

func (l latency) String() string { return fmt.Sprintf("%s (p95 %s)", l.median, l.p95) }

// decisions are a user with a host, whose server "plain" asks for consent, and whose server "changing"
// gets new tools.
type decisions struct {
	user     *hostUser
	host     *runningHost
	control  *http.Client
	notified string
	changing *mcpserver.Server
	store    *definition.Store
	upstream *host.Upstream
}

func newDecisions(t *testing.T, hostile []string) *decisions {
	t.Helper()
	d := &decisions{user: newHostUser(t)}
	d.notified = d.user.addDesktop()
	d.changing = mcpserver.New("changing", "1", &mcpserver.Options{Dynamic: true, Logger: slog.New(slog.DiscardHandler)})
	d.changing.Tool("first", "First", func(context.Context, struct{}) (string, error) { return "", nil })
	web := httptest.NewServer(d.changing.HTTPHandler())
	t.Cleanup(web.Close)
	t.Cleanup(func() { _ = d.changing.Shutdown(context.Background()) })
	servers := fmt.Sprintf(`"plain": %s, "changing": {"url": %q}`, d.user.server("plain", `"fondaco": {"confirm": "always"}`), web.URL)
	for i, name := range hostile {
		servers += fmt.Sprintf(`, "hostile-%d": `, i) + d.user.server(name)
	}
	config := d.user.write(".config/fondaco/mcp.json", `{"mcpServers": {`+servers+`}}`)
	d.host = d.user.up("--config", config, "--yes")
	for i := range hostile {
		d.host.await(fmt.Sprintf(`hostile-%d +ready`, i))
	}
	d.host.await(`plain +ready`)
	d.host.await(`changing +ready`)
	d.control = d.user.control()
	dir := filepath.Join(d.user.home, ".local", "state", "fondaco")
	key := userkey.Open(dir, &userkey.Options{Env: func(name string) (value string, found bool) {
		for _, variable := range d.user.env {
			if text, ok := strings.CutPrefix(variable, name+"="); ok {
				value, found = text, true
			}
		}
		return value, found
	}})
	d.store = definition.New(state.Open(filepath.Join(dir, "state"), key.Key), nil)
	d.upstream = &host.Upstream{Key: "changing", Origin: host.Origin{File: config}}
	return d
}

// answers makes calls that need consent, and returns the time from the answer to the result.
func (d *decisions) answers(t *testing.T) latency {
	t.Helper()
	c := d.host.connect(&mcpclient.Options{})
	took := make([]time.Duration, loadAnswers)
	for i := range took {
		ended := make(chan error, 1)
		go func() {
			got, err := c.Call[string](t.Context(), "plain__greet", nil)
			if err == nil && got != "hello" {
				err = fmt.Errorf("got %q", got)
			}
			ended <- err
		}()
		id := fmt.Sprint(i + 1)
		code := d.user.codeOf(id, d.notified)
		began := time.Now()
		body := fmt.Sprintf(`{"id": %q, "content": {"allow": true}, "code": %q}`, id, code)
		response, err := d.control.Post("http://localhost/answer", "application/json", strings.NewReader(body))
		must(t, err)
		_ = response.Body.Close()
		if response.StatusCode != http.StatusNoContent {
			t.Fatalf("question %s: got %s, want it answered", id, response.Status)
		}
		must(t, <-ended)
		took[i] = time.Since(began)
	}
	return newLatency(took)
}

// approvals adds tools, and returns the time from the approval of one to the end of a call of it.
func (d *decisions) approvals(t *testing.T) latency {
	t.Helper()
	c := d.host.connect(&mcpclient.Options{})
	took := make([]time.Duration, loadApprovals)
	for i := range took {
		name := fmt.Sprint("added", i)
		d.changing.Tool(name, "Added", func(context.Context, struct{}) (string, error) { return "", nil })
		digest := d.awaitWaiting(t)
		began := time.Now()
		must(t, d.store.Approve(t.Context(), d.upstream, digest))
		response, err := d.control.Post("http://localhost/retry?key=changing", "", nil)
		must(t, err)
		_ = response.Body.Close()
		for {
			if _, err := c.CallTool(t.Context(), "changing__"+name, nil); err == nil {
				break
			}
			if time.Since(began) > replyTimeout {
				t.Fatalf("%s: unknown after its approval", name)
			}
			time.Sleep(time.Millisecond)
		}
		took[i] = time.Since(began)
	}
	return newLatency(took)
}

// awaitWaiting waits until a definition waits, and returns the digest of the change.
func (d *decisions) awaitWaiting(t *testing.T) string {
	t.Helper()
	for deadline := time.Now().Add(replyTimeout); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		change, err := d.store.Waiting(t.Context(), d.upstream)
		must(t, err)
		if change != nil {
			return change.Digest
		}
	}
	t.Fatal("nothing waits")
	return ""
}
