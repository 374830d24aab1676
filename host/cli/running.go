package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/control"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// answerTime is how long the socket of a host has to answer.
const answerTime = 2 * time.Second

// running is a host of this user that runs.
type running struct {
	client *control.Client
	status *control.Status
}

// runningAt returns the host that serves a port, or nil.
func (m *Main) runningAt(ctx context.Context, port int) *running {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	c := control.NewClient(control.Path(control.Dir(m.lookup), port))
	status, err := c.Status(ctx)
	if err != nil {
		return nil
	}
	return &running{c, status}
}

// theRunning returns the host that runs: the one at the usual port, else the only
// one, else nil. Of several none is meant more than another.
func (m *Main) theRunning(ctx context.Context) (*running, error) {
	if r := m.runningAt(ctx, defaultPort); r != nil {
		return r, nil
	}
	sockets, err := os.ReadDir(control.Dir(m.lookup))
	if err != nil {
		return nil, nil // there never was one
	}
	var found []*running
	var urls []string
	for _, s := range sockets {
		port, err := strconv.Atoi(strings.TrimSuffix(s.Name(), filepath.Ext(s.Name())))
		if err != nil {
			continue
		}
		if r := m.runningAt(ctx, port); r != nil {
			found, urls = append(found, r), append(urls, r.status.Endpoint)
		}
	}
	switch len(found) {
	case 0:
		return nil, nil
	case 1:
		return found[0], nil
	}
	return nil, usagef("%d hosts run; want --url with one of %s", len(found), strings.Join(urls, ", "))
}

// lead has place and options lead to the host.
func (r *running) lead(p *place, o *mcpclient.Options) mcpclient.Target {
	o.HTTPClient, p.config = r.client.HTTP, r.status.Config
	p.statuses = func(ctx context.Context) ([]host.Status, error) {
		s, err := r.client.Status(ctx)
		if err != nil {
			return nil, err
		}
		return s.Upstreams, nil
	}
	return mcpclient.URL(control.EndpointURL)
}

// remote is a server at a URL. A host of this user is reached by its socket, which
// knows who asks.
func (m *Main) remote(ctx context.Context, url string, p *place, o *mcpclient.Options) mcpclient.Target {
	var port int
	rest, local := strings.CutPrefix(url, "http://127.0.0.1:")
	if _, err := fmt.Sscanf(rest, "%d/mcp", &port); local && err == nil {
		if r := m.runningAt(ctx, port); r != nil && r.status.Endpoint == url {
			return r.lead(p, o)
		}
	}
	target := mcpclient.URL(url)
	if w, err := m.wallet(); err == nil { // where there is no place for one there are no tokens
		o.Auth = w.Authorizer(&host.Upstream{Target: target})
	}
	return target
}
