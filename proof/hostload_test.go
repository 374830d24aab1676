//go:build load && linux

package proof

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// maxHostWait is what a call of one server may take beside hostile servers.
const maxHostWait = 50 * time.Millisecond

// A failure here means that servers whose lists are large, or change all the time, delay the calls
// of other servers.
func TestLoadHostileServers(t *testing.T) {
	u := newHostUser(t)
	servers := `"plain": ` + u.server("plain")
	alone := u.up("--config", u.write("alone/mcp.json", `{"mcpServers": {`+servers+`}}`), "--yes")
	alone.await(`plain +ready`)
	quiet := min(hostCaller(t, alone), hostCaller(t, alone))
	alone.end()
	for _, name := range []string{"large texts", "large pages", "large resources", "restless"} {
		servers += fmt.Sprintf(`, "%c%d": `, name[0], len(name)) + u.server(name)
	}
	beside := u.up("--config", u.write("beside/mcp.json", `{"mcpServers": {`+servers+`}}`), "--yes")
	beside.await(`r8 +ready`)
	beside.await(`plain +ready`)
	busy := min(hostCaller(t, beside), hostCaller(t, beside))
	t.Attr("verdict", fmt.Sprintf("load: p99 of a call through the host %s alone, %s beside four hostile servers", quiet, busy))
	if busy > maxHostWait {
		t.Errorf("p99 is %s beside hostile servers and %s without, want at most %s", busy, quiet, maxHostWait)
	}
}

// hostCaller returns the 99th percentile of sequential calls of the plain server.
func hostCaller(t *testing.T, h *runningHost) time.Duration {
	t.Helper()
	c := h.connect(&mcpclient.Options{})
	took := make([]time.Duration, goodCalls/2)
	for i := range took {
		began := time.Now()
		if got, err := c.Call[string](t.Context(), "plain__greet", nil); err != nil || got != "hello" {
			t.Fatalf("got %q, %v", got, err)
		}
		took[i] = time.Since(began)
	}
	slices.Sort(took)
	return took[len(took)*99/100]
}
