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

// URL is that of the MCP endpoint, to be used with Client.HTTP.
const URL = "http://localhost/mcp"

// maxAnswer bounds what is read of an answer, in bytes.
const maxAnswer = 16 << 20

// ErrNoHost reports that no host listens at the socket.
var ErrNoHost = errors.New("no host is running")

// Client speaks to the host at one socket. It needs no closing.
type Client struct {
	// HTTP sends requests to the host, whatever their URL says. It is fit for
	// mcpclient.Options.
	HTTP *http.Client
}

// NewClient returns a client for the socket at a path. Nothing is sent yet.
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

// Status asks the host what is running. The error wraps ErrNoHost when there is
// none.
func (c *Client) Status(ctx context.Context) (*Status, error) {
	var s Status
	if err := c.do(ctx, http.MethodGet, "/status", &s); err != nil {
		return nil, err
	}
	return &s, nil
}

// Retry has the host start an upstream now.
func (c *Client) Retry(ctx context.Context, key string) error {
	return c.do(ctx, http.MethodPost, "/retry?key="+url.QueryEscape(key), nil)
}

// Reload has the host read its configuration again, and returns what is wrong
// with that.
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
	body := io.LimitReader(response.Body, maxAnswer)
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
