package natsstore

import (
	"context"
	"net"
	"sync"
)

// dialer connects for the client library, which takes no context. Until Open has a connection, the
// context of Open ends the attempts.
type dialer struct {
	mu   sync.Mutex
	ctx  context.Context // guarded by mu
	open []func() bool   // guarded by mu: end what closes connections when ctx ends
}

// Dial implements nats.CustomDialer.
func (d *dialer) Dial(network, address string) (net.Conn, error) {
	d.mu.Lock()
	ctx := d.ctx
	d.mu.Unlock()
	limited, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(limited, network, address)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ctx != context.Background() {
		d.open = append(d.open, context.AfterFunc(d.ctx, func() { conn.Close() }))
	}
	return conn, nil
}

// opened makes the dialer independent of the context of Open.
func (d *dialer) opened() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ctx = context.Background()
	for _, end := range d.open {
		end()
	}
	d.open = nil
}
