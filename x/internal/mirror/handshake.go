package mirror

import (
	"context"
	"crypto/rand"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// sessionRevision is what foreign sessions speak: the newest revision in which a handler can
// send requests to its client.
var sessionRevision = mcp.V20251125

// inputRequiredRevision is what foreign sessions speak whose handlers return their questions.
var inputRequiredRevision = mcp.V20260728

// open opens the foreign session of the session of a request.
func (b *bridge) open(r *mcpserver.Request) (Session, error) {
	s, _, err := b.connect(r)
	return s, err
}

// connect opens a foreign session by a handshake, for the client that has sent a request, or
// for the bridge itself if r is nil. It returns what the foreign server has answered.
func (b *bridge) connect(r *mcpserver.Request) (Session, *mcp.InitializeResult, error) {
	params, err := initializeParams(r, sessionRevision)
	if err != nil {
		return nil, nil, err
	}
	id := r.Session().ID()
	if id == "" {
		id = rand.Text()
	}
	s, err := b.foreign.Connect(id, b.receiver(r.Session()))
	if err != nil {
		return nil, nil, err
	}
	ctx := context.Background()
	about := new(mcp.InitializeResult)
	raw, err := s.Do(ctx, mcp.MethodInitialize, params)
	if err == nil {
		err = json.Unmarshal(raw, about)
	}
	if err != nil {
		s.Close()
		return nil, nil, fmt.Errorf("initialize: %w", err)
	}
	s.Notify(ctx, mcp.NotificationInitialized)
	return s, about, nil
}

// connectOnce opens a foreign session for one request of the stateless era, or of the bridge
// itself if r is nil.
func (b *bridge) connectOnce(r *mcpserver.Request) (Session, error) {
	revision := sessionRevision
	if b.options.InputRequired {
		revision = inputRequiredRevision
	}
	params, err := initializeParams(r, revision)
	if err != nil {
		return nil, err
	}
	return b.foreign.ConnectOnce(params)
}

// ownClient and ownCapabilities are those of the bridge's own session. Clients that do not say
// their name have the name of ownClient, too. With the capabilities the foreign server lists what
// it has for able clients alone. It asks for elicitation and sampling during calls, and the
// bridge's own session has none. Roots are not declared, because it may ask for them at any time.
var (
	ownClient       = mcp.Implementation{Name: "fondaco-adapter", Version: "1"}
	ownCapabilities = mcp.ClientCapabilities{
		Elicitation: &mcp.ElicitationCapability{Form: new(mcp.Capability), URL: new(mcp.Capability)},
		Sampling:    &mcp.SamplingCapability{Tools: new(mcp.Capability), Context: new(mcp.Capability)},
	}
)

// initializeParams returns the params of initialize for the client that has sent a request,
// or for the bridge itself if r is nil.
func initializeParams(r *mcpserver.Request, revision mcp.Revision) (jsontext.Value, error) {
	client, known := r.Client()
	if !known {
		client = ownClient
	}
	capabilities := r.Capabilities()
	if r == nil {
		capabilities = ownCapabilities
	}
	return json.Marshal(struct {
		ProtocolVersion string                 `json:"protocolVersion"`
		ClientInfo      mcp.Implementation     `json:"clientInfo"`
		Capabilities    mcp.ClientCapabilities `json:"capabilities"`
	}{revision.String(), client, capabilities})
}
