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

// answerTime limits the time for an answer on a control socket.
const answerTime = 2 * time.Second

// foundHost is a running host of this user.
type foundHost struct {
	client *control.Client
	status *control.Status
}

// hostAt returns the running host that serves a port, or nil.
func (m *Main) hostAt(ctx context.Context, port int) *foundHost {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	c := control.NewClient(control.Path(control.Dir(m.getenv), port))
	status, err := c.Status(ctx)
	if err != nil {
		return nil
	}
	return &foundHost{c, status}
}

// runningHost returns the running host: the one at the default port, else the only one,
// else nil. Several others are an error.
func (m *Main) runningHost(ctx context.Context) (*foundHost, error) {
	if r := m.hostAt(ctx, defaultPort); r != nil {
		return r, nil
	}
	sockets, err := os.ReadDir(control.Dir(m.getenv))
	if err != nil {
		return nil, nil // no host was ever started
	}
	var found []*foundHost
	var urls []string
	for _, s := range sockets {
		port, err := strconv.Atoi(strings.TrimSuffix(s.Name(), filepath.Ext(s.Name())))
		if err != nil {
			continue
		}
		if r := m.hostAt(ctx, port); r != nil {
			found, urls = append(found, r), append(urls, r.status.Endpoint)
		}
	}
	switch len(found) {
	case 0:
		return nil, nil
	case 1:
		return found[0], nil
	}
	return nil, usagef("%d hosts are running; want --url with one of %s", len(found), strings.Join(urls, ", "))
}

// connectTo sets the connection to the host.
func (r *foundHost) connectTo(p *serverConn, o *mcpclient.Options) mcpclient.Target {
	o.HTTP.Client, p.config = r.client.HTTP, r.status.Config
	p.statuses = func(ctx context.Context) ([]host.Status, error) {
		s, err := r.client.Status(ctx)
		if err != nil {
			return nil, err
		}
		return s.Upstreams, nil
	}
	return mcpclient.URL(control.EndpointURL)
}

// remoteTarget is a server at a URL. A host of this user is reached by its control
// socket, which authenticates the user.
func (m *Main) remoteTarget(ctx context.Context, url string, p *serverConn, o *mcpclient.Options) mcpclient.Target {
	var port int
	rest, local := strings.CutPrefix(url, "http://127.0.0.1:")
	if _, err := fmt.Sscanf(rest, "%d/mcp", &port); local && err == nil {
		if r := m.hostAt(ctx, port); r != nil && r.status.Endpoint == url {
			return r.connectTo(p, o)
		}
	}
	target := mcpclient.URL(url)
	if w, err := m.tokenStore(); err == nil { // without a directory there are no tokens
		o.HTTP.Auth = w.Authorizer(&host.Upstream{Target: target})
	}
	return target
}
