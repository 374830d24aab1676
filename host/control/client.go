package control

import (
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// EndpointURL is the URL of the MCP endpoint, for use with Client.HTTP.
const EndpointURL = "http://localhost/mcp"

// maxResponseBytes limits the body of a response.
const maxResponseBytes = 16 << 20

// ErrNoHost reports that no host listens on the socket.
var ErrNoHost = errors.New("no host is running")

// Client sends requests to the host on one socket. It need not be closed.
type Client struct {
	// HTTP sends every request to the host, whatever the address in its URL. It can be
	// used in mcpclient.Options.
	HTTP *http.Client
}

// NewClient returns a client for the socket at a path. It does not connect yet.
func NewClient(path string) *Client {
	return &Client{&http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, "unix", path)
			if err != nil {
				return nil, fmt.Errorf("%w: %w", ErrNoHost, err)
			}
			return conn, nil
		},
	}}}
}

// Status returns the status of the host. The error wraps ErrNoHost if none is running.
func (c *Client) Status(ctx context.Context) (*Status, error) {
	var s Status
	if err := c.do(ctx, http.MethodGet, "/status", &s); err != nil {
		return nil, err
	}
	return &s, nil
}

// Retry makes the host connect to an upstream now.
func (c *Client) Retry(ctx context.Context, key string) error {
	return c.do(ctx, http.MethodPost, "/retry?key="+url.QueryEscape(key), nil)
}

// Reload makes the host read its configuration again, and returns the error if that is
// invalid.
func (c *Client) Reload(ctx context.Context) error {
	return c.do(ctx, http.MethodPost, "/reload", nil)
}

func (c *Client) do(ctx context.Context, method, path string, out any) error {
	request, err := http.NewRequestWithContext(ctx, method, "http://localhost"+path, nil)
	if err != nil {
		return err
	}
	response, err := c.HTTP.Do(request)
	if err != nil {
		return err
	}
	defer c.HTTP.CloseIdleConnections()
	defer response.Body.Close()
	body := io.LimitReader(response.Body, maxResponseBytes)
	if response.StatusCode >= http.StatusBadRequest {
		text, _ := io.ReadAll(body)
		return errors.New(strings.TrimSpace(string(text)))
	}
	if out == nil {
		return nil
	}
	if err := json.UnmarshalRead(body, out); err != nil {
		return fmt.Errorf("answer of the host: %w", err)
	}
	return nil
}
