package cli

import (
	"bytes"
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/fondaco/fondaco/host/console"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// HTTPRequest implements console.TrySource. A client makes the request, over a transport that sends nothing.
func (s *consoleSource) HTTPRequest(ctx context.Context, r *console.Request) (*console.HTTPRequest, error) {
	t := new(captureTransport)
	if r.Tool != nil {
		t.tools = append(t.tools, *r.Tool)
	}
	all := mcp.ServerCapabilities{Tools: &mcp.ListCapability{}, Prompts: &mcp.ListCapability{}, Resources: &mcp.ResourcesCapability{}}
	c, err := mcpclient.Connect(ctx, mcpclient.URL("http://localhost/mcp"), &mcpclient.Options{
		Info: consoleClient, Logger: s.host.main.discardLogger(), HTTP: mcpclient.HTTPOptions{Client: &http.Client{Transport: t}},
		Prior: &mcpclient.Prior{Revision: mcp.V20260728, Capabilities: all, At: time.Now()},
	})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	switch {
	case r.Tool != nil:
		for range c.Tools(ctx) { // whose headers depend on the schema
		}
		_, err = c.CallTool(ctx, r.Tool.Name, r.Arguments)
	case r.Prompt != "":
		_, err = c.GetPrompt(ctx, r.Prompt, r.PromptArguments)
	default:
		_, err = c.ReadResource(ctx, r.URI)
	}
	if t.request == nil {
		return nil, fmt.Errorf("make the request: %w", err)
	}
	return t.request, nil
}

// captureTransport keeps the last request of a client, and answers that for the list of tools.
type captureTransport struct {
	tools   []mcp.Tool
	request *console.HTTPRequest
}

var errNotSent = errors.New("the request is not sent")

// RoundTrip implements http.RoundTripper.
func (t *captureTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil {
		return nil, errNotSent
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxArguments)) // the console shows shorter ones
	_ = r.Body.Close()
	if err != nil {
		return nil, err
	}
	var message struct {
		ID     jsontext.Value `json:"id"`
		Method string         `json:"method"`
	}
	if err := json.Unmarshal(body, &message); err != nil {
		return nil, err
	}
	if message.Method != mcp.MethodToolsList {
		t.request = &console.HTTPRequest{Header: r.Header.Clone(), Body: body}
		return nil, errNotSent
	}
	answer, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": message.ID,
		"result": map[string]any{"resultType": "complete", "tools": t.tools, "ttlMs": 0, "cacheScope": "private"},
	})
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(answer)), Request: r,
	}, err
}
