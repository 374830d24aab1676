//go:build hosts

package compatibility

import (
	"cmp"
	"context"
	"fmt"
	"net/http/httptest"
	"regexp"
	"testing"
	"time"

	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// The tests with hosts are left to "make hosts", because their many processes take as much CPU
// time as all the tests of the host.

func TestServersThatDeviateBehindAHost(t *testing.T) {
	t.Parallel()
	servers, upstreams := startRawServers(t), make(map[string]upstream)
	eachServerRow(func(row *serverRow, over transport) {
		s := newRawServer(row, over)
		servers.add(s)
		u := servers.upstream(t, s.name, over)
		if row.timeout > 0 && !row.replies["tools/call"].dies {
			u.Own = map[string]string{"timeout": row.timeout.String()}
		}
		upstreams[s.name] = u
	})
	base, log := startHost(t, upstreams)
	client, lists := connect(t, mcpclient.URL(base+"/mcp"))
	for _, err := range client.Tools(t.Context()) { // waits until the upstreams have started
		if err != nil {
			t.Fatal(err)
		}
	}
	eachServerRow(func(row *serverRow, over transport) {
		s := servers.named(serverName(row, over))
		t.Run(row.name+" over "+over.String(), func(t *testing.T) {
			t.Parallel()
			row := *row
			row.fails = cmp.Or(row.behind, row.fails)
			row.check(t, s, func(ctx context.Context) (string, error) {
				if row.fails == nil || row.fails.number != unknownTool { // the upstream may still be starting
					if err := lists.awaitTool(ctx, client, s.name+"__go"); err != nil {
						return "", err
					}
				}
				got, err := row.question()(ctx, client, names{server: s.name, prefix: s.name + "__"})
				for err != nil && notReady.MatchString(err.Error()) && ctx.Err() == nil {
					time.Sleep(100 * time.Millisecond)
					got, err = row.question()(ctx, client, names{server: s.name, prefix: s.name + "__"})
				}
				return got, withLogLine(t, err, log)
			})
		})
	})
}

// unknownTool is the number of the error for a tool of a server to which the host cannot connect.
const unknownTool = -32602

// notReady matches the error of a call for which the host has no connection yet: it does not wait
// for long, and a busy machine starts processes slowly.
var notReady = regexp.MustCompile(`still starting, call again|(failed|suspended): unavailable \(`)

var incident = regexp.MustCompile(`\(incident (\w+)\)`)

// withLogLine adds the line of the host's log that an error refers to, which has the reason.
// Callers of a host do not get it.
func withLogLine(t *testing.T, err error, log *transcript) error {
	t.Helper()
	if err == nil {
		return nil
	}
	m := incident.FindStringSubmatch(err.Error())
	if m == nil {
		return err
	}
	return fmt.Errorf("%w; log: %s", err, log.await(t, m[1]))
}

func TestClientsThatDeviateBehindAHost(t *testing.T) {
	t.Parallel()
	web := httptest.NewServer(routes(newPlainServer(t)))
	t.Cleanup(web.Close)
	upstreams := map[string]upstream{"up": {URL: web.URL + "/mcp"}}
	base, _ := startHost(t, upstreams)
	client, lists := connect(t, mcpclient.URL(base+"/mcp"))
	if err := lists.awaitTool(t.Context(), client, "up__echo"); err != nil {
		t.Fatal(err)
	}
	for i := range clientRows {
		row := &clientRows[i]
		if row.over != overHTTP {
			t.Run(row.name+" over stdio", func(t *testing.T) {
				t.Parallel()
				row.run(t, startStdioHost(t, upstreams), "up__")
			})
		}
		if row.over != overStdio {
			t.Run(row.name+" over http", func(t *testing.T) {
				t.Parallel()
				row.run(t, &rawPoster{t: t, base: base}, "up__")
			})
		}
	}
}
