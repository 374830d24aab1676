package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/control"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// answerTime limits the time for an answer on a control socket.
const answerTime = 2 * time.Second

// answerLimit is answerTime. Tests wait longer, because other tests have the processors.
var answerLimit = answerTime

// foundHost is a running host of this user.
type foundHost struct {
	client *control.Client
	status *control.Status
}

// hostAt returns the running host that serves a port, or nil. It fails if the socket could
// be that of another user.
func (m *Main) hostAt(ctx context.Context, port int) (*foundHost, error) {
	return hostBehind(ctx, control.Path(control.Dir(m.Getenv), port))
}

// hostBehind returns the running host that listens on a socket, or nil.
func hostBehind(ctx context.Context, socket string) (*foundHost, error) {
	ctx, cancel := context.WithTimeout(ctx, answerLimit)
	defer cancel()
	c := control.NewClient(socket)
	status, err := c.Status(ctx)
	if unsafe, ok := errors.AsType[*control.UnsafeError](err); ok {
		return nil, unsafe
	}
	if err != nil {
		return nil, nil
	}
	return &foundHost{c, status}, nil
}

// runningHosts returns the running hosts of the user, that at the default port first.
func (m *Main) runningHosts(ctx context.Context) (found []*foundHost, err error) {
	dir := control.Dir(m.Getenv)
	sockets, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // no host was ever started
	}
	if err != nil {
		return nil, fmt.Errorf("control sockets: %w", err)
	}
	for _, s := range sockets {
		port, err := strconv.Atoi(strings.TrimSuffix(s.Name(), ".sock"))
		if err != nil {
			continue
		}
		r, err := m.hostAt(ctx, port)
		switch {
		case err != nil:
			return nil, err
		case r != nil && port == defaultPort:
			found = slices.Insert(found, 0, r)
		case r != nil:
			found = append(found, r)
		}
	}
	return found, nil
}

// runningHost returns the running host: the one at the default port, else the only one,
// else nil. Several others are an error.
func (m *Main) runningHost(ctx context.Context) (*foundHost, error) {
	if r, err := m.hostAt(ctx, defaultPort); r != nil || err != nil {
		return r, err
	}
	found, err := m.runningHosts(ctx)
	switch {
	case err != nil || len(found) == 0:
		return nil, err
	case len(found) == 1:
		return found[0], nil
	}
	var urls []string
	for _, r := range found {
		urls = append(urls, r.status.Endpoint)
	}
	return nil, usagef("%d hosts are running; want --url with one of %s", len(found), strings.Join(urls, ", "))
}

// configOfRunningHost returns the file given by --config to the running host, or nothing.
func (m *Main) configOfRunningHost(ctx context.Context) string {
	if r, err := m.runningHost(ctx); err == nil && r != nil {
		return r.status.Config
	}
	return ""
}

// hostOf returns a running host of the same configuration, or nil.
func (m *Main) hostOf(ctx context.Context, h *hostProcess) (*foundHost, error) {
	found, err := m.runningHosts(ctx)
	i := slices.IndexFunc(found, func(r *foundHost) bool {
		return r.status.Demonstration == (h.path == "") && samePath(r.status.ConfigPath, h.identifyingPath())
	})
	if err != nil || i < 0 {
		return nil, err
	}
	return found[i], nil
}

// samePath reports whether two paths name the same file.
func samePath(a, b string) bool {
	if a == b {
		return a != ""
	}
	first, err := os.Stat(a)
	if err != nil {
		return false
	}
	second, err := os.Stat(b)
	return err == nil && os.SameFile(first, second)
}

// connectTo sets the connection to the host.
func (r *foundHost) connectTo(p *serverConn, o *mcpclient.Options) mcpclient.Target {
	o.HTTP.Client, p.config, p.running = r.client.HTTP, r.status.Config, true
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
func (m *Main) remoteTarget(ctx context.Context, url string, p *serverConn, o *mcpclient.Options) (mcpclient.Target, error) {
	switch r, err := m.ownHost(ctx, url); {
	case err != nil:
		return nil, err
	case r != nil:
		return r.connectTo(p, o), nil
	}
	target := mcpclient.URL(url)
	if err := m.checkDirect(target); err != nil {
		return nil, err
	}
	m.useStoredToken(target, o)
	return target, nil
}

// useStoredToken makes a connection to a server over HTTP use the token of a sign-in, unless the
// options have a header Authorization.
func (m *Main) useStoredToken(target mcpclient.Target, o *mcpclient.Options) {
	w, err := m.storage().Tokens()
	if err != nil { // without a directory there are no tokens
		return
	}
	if a := w.Authorizer(&host.Upstream{Target: target, Header: o.HTTP.Header}); a != nil {
		o.HTTP.Auth = a
	}
}

// ownHost returns the running host of the user whose endpoint is a URL, or nil.
func (m *Main) ownHost(ctx context.Context, url string) (*foundHost, error) {
	var port int
	rest, local := strings.CutPrefix(url, "http://127.0.0.1:")
	if _, err := fmt.Sscanf(rest, "%d/mcp", &port); !local || err != nil {
		return nil, nil
	}
	r, err := m.hostAt(ctx, port)
	if err != nil || r == nil || r.status.Endpoint != url {
		return nil, err
	}
	return r, nil
}

// isOwnHost reports whether a URL is the endpoint of a running host of the user.
func (m *Main) isOwnHost(ctx context.Context, url string) bool {
	r, err := m.ownHost(ctx, url)
	return err == nil && r != nil
}
