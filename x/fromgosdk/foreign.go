package fromgosdk

import (
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/fondaco/fondaco/x/internal/mirror"
	gosdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// everyLevel is the log level of all sessions of the other server: the server that the client
// is connected to leaves out what the client did not ask for.
const everyLevel = "debug"

// foreign is a server of go-sdk. It implements mirror.Foreign.
type foreign struct {
	other *gosdk.Server

	mu    sync.Mutex
	calls map[*gosdk.RequestExtra]*runningCall // guarded by mu
}

// runningCall is a call that a handler of the other server is running for.
type runningCall struct {
	ctx      context.Context
	panicked string // written before the response
}

func newForeign(other *gosdk.Server) *foreign {
	f := &foreign{other: other, calls: make(map[*gosdk.RequestExtra]*runningCall)}
	other.AddReceivingMiddleware(f.receive)
	return f
}

// Connect implements mirror.Foreign.
func (f *foreign) Connect(id string, receive mirror.Receiver) (mirror.Session, error) {
	return f.connect(newConnection(id, receive), &gosdk.ServerSessionState{LogLevel: everyLevel})
}

// ConnectOnce implements mirror.Foreign.
func (f *foreign) ConnectOnce(initialize jsontext.Value) (mirror.Session, error) {
	params := new(gosdk.InitializeParams)
	if err := json.Unmarshal(initialize, params); err != nil {
		return nil, err
	}
	return f.connect(newConnection("", func(string, jsontext.Value) {}), &gosdk.ServerSessionState{
		InitializeParams: params, InitializedParams: new(gosdk.InitializedParams), LogLevel: everyLevel,
	})
}

func (f *foreign) connect(c *connection, state *gosdk.ServerSessionState) (mirror.Session, error) {
	other, err := f.other.Connect(context.Background(), c, &gosdk.ServerSessionOptions{State: state})
	if err != nil {
		return nil, fmt.Errorf("session of the server of go-sdk: %w", err)
	}
	return &session{f, other, c}, nil
}

func (f *foreign) begin(extra *gosdk.RequestExtra, c *runningCall) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls[extra] = c
}

func (f *foreign) end(extra *gosdk.RequestExtra) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.calls, extra)
}

func (f *foreign) running(extra *gosdk.RequestExtra) *runningCall {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.calls[extra]
}

// receive is the outermost receiving middleware of the other server. It gives the handler a
// context with the values of the call, and contains panics.
func (f *foreign) receive(next gosdk.MethodHandler) gosdk.MethodHandler {
	return func(ctx context.Context, method string, req gosdk.Request) (result gosdk.Result, err error) {
		c := f.running(req.GetExtra())
		defer func() {
			if v := recover(); v != nil {
				err = errors.New("the handler panicked")
				if c != nil {
					c.panicked = fmt.Sprintf("%v\n\n%s", v, debug.Stack())
				}
			}
		}()
		if c != nil {
			ctx = callContext{ctx, c.ctx}
		}
		return next(ctx, method, req)
	}
}

// callContext is the context of a handler of the other server, which ends with its request
// there. It has the values of both servers.
type callContext struct {
	context.Context
	call context.Context
}

func (c callContext) Value(key any) any {
	if v := c.Context.Value(key); v != nil {
		return v
	}
	return c.call.Value(key)
}
