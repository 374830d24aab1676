// Package mirror serves the features of a server of another SDK in a server of this one, and
// forwards the requests for them. It knows no SDK: an adapter for one implements [Foreign] and
// [Session], and package mirrortest tests it.
//
//   - [Mount] and [NewServer] register everything that the foreign server lists, and follow its
//     changes.
//   - [Singles] registers single features.
//
// Each session of a client has a session of the foreign server, which is opened by its first
// request and ends with it. In the stateless era each request has one for itself. One more
// session belongs to the bridge: it lists the features, subscribes to resources, and receives
// the changes of the foreign server. It declares elicitation and sampling, so that the lists have
// what is for able clients alone.
//
// A request is forwarded together with its [Call], which an adapter finds in the context. What a
// foreign handler sends during a call goes to the client of the call: Call has a method for each.
package mirror

import (
	"context"
	"encoding/json/jsontext"
	"errors"
	"fmt"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// Foreign is a server of another SDK. It is safe for concurrent use.
type Foreign interface {
	// Connect opens a session. Its first request is initialize. The id is that of the session
	// of the client, or a random one; no other session has it. receive is called with the
	// notifications of the session that belong to no call. It is safe for concurrent use, and
	// does not call the session.
	Connect(id string, receive Receiver) (Session, error)
	// ConnectOnce opens a session for one request of the stateless era. It is initialized
	// already, by a client that has sent the given params of initialize. Its notifications
	// that belong to no call have no receiver.
	ConnectOnce(initialize jsontext.Value) (Session, error)
}

// A Receiver receives the notifications of a session that belong to no call. It ignores methods
// that it does not know.
type Receiver func(method string, params jsontext.Value)

// Session is a session of a foreign server. It is safe for concurrent use.
type Session interface {
	// Do sends a request and returns its result when the handler has ended, also when ctx ends
	// earlier. If CallFrom(ctx) is not nil, the request belongs to that call. An error response
	// is returned as the *mcp.Error of Error. A panic of the handler may leave Do.
	Do(ctx context.Context, method string, params jsontext.Value) (jsontext.Value, error)
	// Notify sends a notification that has no params.
	Notify(ctx context.Context, method string)
	// Close ends the session and waits for its handlers. It is called once. A request that is
	// sent later fails.
	Close()
}

// ErrUnmounted is the error of calls that begin when the foreign server is being unmounted.
var ErrUnmounted = errors.New("the server of the other SDK is unmounted")

// Options are the options of Mount and NewServer.
type Options struct {
	// Features are the options of each feature.
	Features []mcpserver.Option
	// ValidateArguments validates the arguments of tools before they are forwarded. Otherwise
	// the foreign server gets every object, and validates it as it does for its own clients.
	ValidateArguments bool
	// InputRequired is for a server whose handlers return their questions (input_required).
	// Its sessions of the stateless era are of 2026-07-28, and handlers get the answers to
	// the questions that they have returned. Otherwise every session is one of 2025-11-25.
	InputRequired bool
	// OnError is called when a later change cannot be registered, once at a time. Nil: such
	// errors are ignored. The feature is left out.
	OnError func(error)
}

// Mount registers the features of a foreign server in a server, and keeps them the same when
// the foreign server sends notifications of changes. If it fails, it has registered none.
//
// unmount removes the features and closes all sessions of the foreign server. It waits for the
// calls that run in them. It is called once.
func Mount(server *mcpserver.Server, foreign Foreign, o Options) (unmount func(), err error) {
	b := newBridge(foreign, o)
	if _, err = b.start(); err == nil {
		err = b.mount(server)
	}
	if err != nil {
		b.close()
		return nil, err
	}
	return b.close, nil
}

// NewServer returns a server that has mounted a foreign server for good. It has the name and
// the version of the foreign server, and its title and instructions unless own has others. Own
// may be nil.
func NewServer(foreign Foreign, own *mcpserver.Options, o Options) (*mcpserver.Server, error) {
	b := newBridge(foreign, o)
	about, err := b.start()
	if err != nil {
		b.close()
		return nil, err
	}
	server := mcpserver.New(about.ServerInfo.Name, about.ServerInfo.Version, merge(own, about))
	if err := b.mount(server); err != nil {
		b.close()
		return nil, err
	}
	return server, nil
}

// merge returns the options of a server with what a foreign server says about itself, where
// own says nothing.
func merge(own *mcpserver.Options, about *mcp.InitializeResult) *mcpserver.Options {
	var o mcpserver.Options
	if own != nil {
		o = *own
	}
	if o.Instructions == "" {
		o.Instructions = about.Instructions
	}
	if o.Title == "" {
		o.Title = about.ServerInfo.Title
	}
	return &o
}

// List returns the entries of one of the lists of a foreign server, by its method.
func List(foreign Foreign, method string) ([]jsontext.Value, error) {
	b := newBridge(foreign, Options{})
	defer b.close()
	if _, err := b.start(); err != nil {
		return nil, err
	}
	for i := range lists {
		if lists[i].method == method {
			return lists[i].read(context.Background(), b)
		}
	}
	return nil, fmt.Errorf("%s: want the method of a list", method)
}
