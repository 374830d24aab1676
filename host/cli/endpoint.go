package cli

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"iter"
	"log/slog"
	"net"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

const (
	defaultAddr = "127.0.0.1:7332"
	defaultURL  = "http://" + defaultAddr + "/mcp"
	urlVariable = "FONDACO_URL"
)

// endpoint is where a verb finds the server that it asks, and the form in which
// it shows the answer.
type endpoint struct {
	output
	url string
}

func (e *endpoint) declare(f *flag.FlagSet) {
	e.output.declare(f)
	f.StringVar(&e.url, "url", "", "endpoint to ask, a `URL`; default $"+urlVariable+" or port 7332")
}

// connect connects to the endpoint until Close. Options may be nil.
func (e *endpoint) connect(ctx context.Context, m *Main, o *mcpclient.Options) (*mcpclient.Client, error) {
	fromEnv, _ := m.lookup(urlVariable)
	url := cmp.Or(e.url, fromEnv, defaultURL)
	if o == nil {
		o = new(mcpclient.Options)
	}
	o.Info = mcp.Implementation{Name: "fondaco-cli", Title: "Fondaco command line", Version: host.Version}
	o.Logger = slog.New(slog.DiscardHandler)
	c, err := mcpclient.Connect(ctx, mcpclient.URL(url), o)
	if _, refused := errors.AsType[*net.OpError](err); refused {
		return nil, &codedError{exitUnreachable, fmt.Errorf("nothing answers at %s; %s up starts a host there, --url names another place", url, m.program())}
	}
	if err != nil {
		return nil, &codedError{exitUnreachable, err}
	}
	m.closing(func() { _ = c.Close() })
	return c, nil
}

// collect takes a whole list. One without items is not nil, and so an empty
// array in JSON.
func collect[T any](items iter.Seq2[T, error]) ([]T, error) {
	all := []T{}
	for item, err := range items {
		if err != nil {
			return nil, err
		}
		all = append(all, item)
	}
	return all, nil
}
