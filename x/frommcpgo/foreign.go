package frommcpgo

import (
	"context"
	"crypto/rand"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"

	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/fondaco/fondaco/x/internal/mirror"
	mcpgotypes "github.com/mark3labs/mcp-go/mcp"
	mcpgo "github.com/mark3labs/mcp-go/server"
)

// foreign is a server of mcp-go. It implements mirror.Foreign.
type foreign struct {
	other *mcpgo.MCPServer
	// context is Options.Context, or nil.
	context func(context.Context, *mcpserver.Request) context.Context
}

// Connect implements mirror.Foreign.
func (f *foreign) Connect(id string, receive mirror.Receiver) (mirror.Session, error) {
	s := f.newSession(id)
	if err := f.other.RegisterSession(context.Background(), s.other); err != nil {
		return nil, fmt.Errorf("session of the server of mcp-go: %w", err)
	}
	s.registered = true
	s.receiving.Go(func() { s.receive(receive) })
	return s, nil
}

// ConnectOnce implements mirror.Foreign. The other server does not know the session.
func (f *foreign) ConnectOnce(initialize jsontext.Value) (mirror.Session, error) {
	var params mcpgotypes.InitializeParams
	if err := json.Unmarshal(initialize, &params); err != nil {
		return nil, err
	}
	s := f.newSession(rand.Text())
	s.other.Initialize()
	s.other.SetLogLevel(everyLevel)
	s.other.SetClientInfo(params.ClientInfo)
	s.other.SetClientCapabilities(params.Capabilities)
	return s, nil
}

func (f *foreign) newSession(id string) *session {
	other := mcpgo.NewInProcessSessionWithHandlers(id, client{}, client{}, client{})
	return &session{foreign: f, other: other, closed: make(chan struct{})}
}
