package fromgosdk

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// everyLevel is the log level of all sessions of the other server: the server that the client
// is connected to leaves out what the client did not ask for.
const everyLevel = "debug"

// open opens a session of the other server by a handshake, for the client that has sent a
// request, or for the bridge itself if r is nil. It returns what the other server answered.
func (b *bridge) open(r *mcpserver.Request) (*link, *gosdk.InitializeResult, error) {
	params, err := initializeParams(r, revision)
	if err != nil {
		return nil, nil, err
	}
	link, err := b.connect(r.Session().ID(), &gosdk.ServerSessionState{LogLevel: everyLevel})
	if err != nil {
		return nil, nil, err
	}
	raw, err := link.do(context.Background(), nil, mcp.MethodInitialize, params)
	if err != nil {
		link.close()
		return nil, nil, fmt.Errorf("initialize: %w", err)
	}
	about := new(gosdk.InitializeResult)
	if err := json.Unmarshal(raw, about); err != nil {
		link.close()
		return nil, nil, fmt.Errorf("initialize: %w", err)
	}
	link.notify(mcp.NotificationInitialized, struct{}{})
	return link, about, nil
}

// openOnce opens a session for one request of the stateless era, without a handshake.
func (b *bridge) openOnce(r *mcpserver.Request) (*link, error) {
	speaks := revision
	if b.inputRequests {
		speaks = statelessRevision
	}
	raw, err := initializeParams(r, speaks)
	if err != nil {
		return nil, err
	}
	params := new(gosdk.InitializeParams)
	if err := json.Unmarshal(raw, params); err != nil {
		return nil, err
	}
	return b.connect("", &gosdk.ServerSessionState{
		InitializeParams: params, InitializedParams: new(gosdk.InitializedParams), LogLevel: everyLevel,
	})
}

func (b *bridge) connect(id string, state *gosdk.ServerSessionState) (*link, error) {
	l := &link{
		b: b, id: id, toOther: make(chan jsonrpc.Message), done: make(chan struct{}),
		calls: make(map[jsonrpc.ID]chan *jsonrpc.Response),
	}
	session, err := b.other.Connect(context.Background(), l, &gosdk.ServerSessionOptions{State: state})
	if err != nil {
		return nil, fmt.Errorf("session of the server of go-sdk: %w", err)
	}
	l.session = session
	return l, nil
}

// initializeParams returns the params of initialize for the client that has sent a request.
// The bridge's own session has the name of this module and no capabilities.
func initializeParams(r *mcpserver.Request, speaks string) (jsontext.Value, error) {
	client, known := r.Client()
	if !known {
		client = mcp.Implementation{Name: "fromgosdk", Version: "1"}
	}
	raw, err := json.Marshal(struct {
		ProtocolVersion string                 `json:"protocolVersion"`
		ClientInfo      mcp.Implementation     `json:"clientInfo"`
		Capabilities    mcp.ClientCapabilities `json:"capabilities"`
	}{speaks, client, r.Capabilities()})
	return raw, err
}
