package control

import (
	"context"
	"encoding/json/jsontext"
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

// NewClient returns a client for the socket at a path. It does not connect yet. It sends
// nothing to a socket that is not the user's own: the error is an *UnsafeError then.
func NewClient(path string) *Client {
	return &Client{&http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx, path) },
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

// Report returns what a report of a fault has of the host, as JSON.
func (c *Client) Report(ctx context.Context) (jsontext.Value, error) {
	var report jsontext.Value
	err := c.do(ctx, http.MethodGet, "/report", &report)
	return report, err
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

// ConsoleLink returns a URL that opens the console of the host in one browser, once.
func (c *Client) ConsoleLink(ctx context.Context) (string, error) {
	var l Link
	err := c.do(ctx, http.MethodPost, "/console", &l)
	return l.URL, err
}

// Revoked makes the host end what was revoked in the user's state, and returns what it has ended because a
// name was revoked.
func (c *Client) Revoked(ctx context.Context, name string) (Ended, error) {
	var ended Ended
	err := c.do(ctx, http.MethodPost, "/revoked?name="+url.QueryEscape(name), &ended)
	return ended, err
}

// Stream opens a connection to the MCP server of the host: one message per line in both
// directions, as on the standard streams of a server. It is a session of its own. The
// error wraps ErrNoHost if no host is running.
func (c *Client) Stream(ctx context.Context) (Stream, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://localhost"+streamPath, nil)
	if err != nil {
		return nil, err
	}
	request.Header = http.Header{"Connection": {"Upgrade"}, "Upgrade": {streamProtocol}}
	response, err := c.HTTP.Do(request)
	if err != nil {
		return nil, err
	}
	stream, ok := response.Body.(halfCloser)
	if !ok || response.StatusCode != http.StatusSwitchingProtocols {
		_ = response.Body.Close()
		return nil, fmt.Errorf("%s: the host answered %s", streamPath, response.Status)
	}
	return &openedStream{stream, c, response.Header.Get(streamHeader)}, nil
}

func (c *Client) do(ctx context.Context, method, path string, out any) error {
	request, err := http.NewRequestWithContext(ctx, method, "http://localhost"+path, nil)
	if err != nil {
		return err
	}
	return c.send(request, out)
}

// send sends a request and decodes the response into out, unless that is nil. The error wraps
// ErrCode if the host has refused a code.
func (c *Client) send(request *http.Request, out any) error {
	response, err := c.HTTP.Do(request)
	if err != nil {
		return err
	}
	defer c.HTTP.CloseIdleConnections()
	defer response.Body.Close()
	body := io.LimitReader(response.Body, maxResponseBytes)
	if response.StatusCode >= http.StatusBadRequest {
		text, _ := io.ReadAll(body)
		message := strings.TrimSpace(string(text))
		if response.StatusCode == http.StatusForbidden {
			return &codeError{message}
		}
		return errors.New(message)
	}
	if out == nil {
		return nil
	}
	if err := json.UnmarshalRead(body, out); err != nil {
		return fmt.Errorf("answer of the host: %w", err)
	}
	return nil
}
