// Package mirrortest tests adapters of package mirror: what each of them has to do, whatever
// its SDK is. The tests of an adapter implement [Other] and [Caller] with that SDK and call
// [Run]; they test themselves only what the others do not have.
package mirrortest

import (
	"context"

	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// Adapter is the adapter under test.
type Adapter struct {
	// New returns a server of the other SDK that declares all features, notifies of changes,
	// and has the name "notes", the title "Notes", the version "2.1.0" and the instructions
	// "Ask first."
	New func() Other
	// Tool, Prompt, Resource and Template register a single feature, as the methods of Other
	// add one. They panic if its name is taken.
	Tool               func(server *mcpserver.Server, name string, h Handler)
	Prompt             func(server *mcpserver.Server, name string, h Text)
	Resource, Template func(server *mcpserver.Server, uri string, h Text)
}

// Other is a server of the other SDK.
type Other interface {
	// AddTool adds a tool that has one optional argument, the string "text", and the
	// description "Returns a text". It returns the text of the handler.
	AddTool(name string, h Handler)
	RemoveTool(name string)
	// AddPrompt adds a prompt that has one required argument, "who". Its message is the text
	// that h returns for it.
	AddPrompt(name string, h Text)
	// AddResource and AddTemplate add resources with the text that h returns for a URI.
	AddResource(uri string, h Text)
	AddTemplate(uriTemplate string, h Text)
	// Updated notifies of a change of a resource.
	Updated(uri string)
	// Sessions returns how many sessions are open.
	Sessions() int
	// Mount is Mount of the adapter. Each feature has the options.
	Mount(server *mcpserver.Server, onError func(error), features ...mcpserver.Option) (unmount func(), err error)
	// NewServer is NewServer of the adapter.
	NewServer(own *mcpserver.Options) (*mcpserver.Server, error)
}

// A Handler is the handler of a tool.
type Handler func(ctx context.Context, c Caller, text string) (string, error)

// Text is the handler of other features.
type Text func(about string) string

// A Caller is the client of a call, as the SDK shows it to a handler. The context of its methods
// is that of the handler.
type Caller interface {
	// Session returns the id of the session, and the name of its client.
	Session(ctx context.Context) (id, client string)
	// Name asks the user for the string "name", by a form.
	Name(ctx context.Context, message string) (string, error)
	// Root asks for the roots and returns the URI of the first.
	Root(ctx context.Context) (string, error)
	// Sample asks the client's model for at most ten tokens and returns its text.
	Sample(ctx context.Context, text string) (string, error)
	// Progress notifies of progress 1 of 2.
	Progress(ctx context.Context, message string) error
	// Log logs a text with level warning.
	Log(ctx context.Context, text string) error
	// LogToSession logs a text with level warning to the session, and not to the call.
	LogToSession(ctx context.Context, text string) error
}
