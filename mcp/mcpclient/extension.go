package mcpclient

import (
	"context"
	"encoding/json/jsontext"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
	"github.com/fondaco/fondaco/mcp/internal/usercode"
)

// Extension is an addition to the protocol that lies outside of its core: what it
// declares, the messages that it defines, and what it does with those of the
// core. A client has those of Options.Extensions. All fields but ID may be left
// out.
//
// Extensions hold between peers that both declare them, see HasExtension.
//
// Spec: 2026-07-28 basic/versioning#extensions
type Extension struct {
	// ID is declared, such as com.example/color.
	ID string
	// Settings are declared with it, a JSON object. Nil means {}.
	Settings jsontext.Value
	// Sessions tells that the extension holds in the session era as well, where
	// both sides declare it once, in initialize.
	Sessions bool

	// Names tells, by method, which member of the params the Mcp-Name header
	// repeats over HTTP, for requests that the extension defines.
	Names map[string]string
	// ResultTypes are those that results may have besides the core's, of servers
	// that declare the extension. Exchange has to make them complete.
	ResultTypes []mcp.ResultType
	// Exchange wraps the requests of this client where results are still as they
	// came. It is called once, before c is connected, and runs inside of all
	// middleware.
	Exchange func(c *Client, next Exchange) Exchange

	// Requests answer those that a server of the session era sends, by method:
	// requests that the core has and leaves to this extension, and of the
	// extension itself. The params are raw.
	Requests map[string]Handler
	// Notifications take those of the server that the extension defines, by
	// method, in order and one at a time.
	Notifications map[string]func(ctx context.Context, c *Client, params jsontext.Value)
	// Middleware wraps all messages, inside of that of Use.
	Middleware Middleware

	// Capabilities changes what the client declares besides. What the revision
	// does not have is left out.
	Capabilities func(*mcp.ClientCapabilities)
}

// Exchange sends one request of a client and returns the result as it came, with
// its type, which is mcp.ResultComplete where the revision has no types.
type Exchange func(ctx context.Context, r *Request) (mcp.ResultType, jsontext.Value, error)

// HasExtension returns the settings that the server has declared for an
// extension, and false when it did not declare it or this client does not have
// it in the revision that is spoken.
func (c *Client) HasExtension(id string) (settings jsontext.Value, ok bool) {
	a := c.agreement()
	i := slices.IndexFunc(c.opts.Extensions, func(e Extension) bool { return e.ID == id })
	if i < 0 || !c.opts.Extensions[i].holds(a.dialect.Facts) {
		return nil, false
	}
	settings, ok = a.capabilities.Extensions[id]
	return settings, ok
}

func (e *Extension) holds(f *dialect.Facts) bool { return e.Sessions || f.Era == dialect.StatelessEra }

// Go runs f on a goroutine that Close waits for, with a context that ends when the
// client is closed. It reports false, and does nothing, once it is.
func (c *Client) Go(f func(ctx context.Context)) bool {
	return c.goTracked(func() { c.runHandler("extension", func() { f(c.ctx) }) })
}

// RemoteError returns an error of the server that came by a way of an extension's
// own, as a call would return it.
func (c *Client) RemoteError(number int64, message string, data jsontext.Value) *mcp.Error {
	return c.agreement().dialect.Error(&jsonrpc.Error{Code: number, Message: message, Data: data})
}

// checkExtensions says which extension makes no sense.
func (o *Options) checkExtensions() error {
	seen := make(map[string]bool)
	for _, e := range o.Extensions {
		switch {
		case mcp.CheckMetaKey(e.ID) != nil || !strings.Contains(e.ID, "/"):
			return fmt.Errorf("extension %q: want an identifier with a prefix, such as com.example/color", e.ID)
		case seen[e.ID]:
			return fmt.Errorf("extension %q: is there twice", e.ID)
		case e.Settings != nil && (e.Settings.Kind() != '{' || !e.Settings.IsValid()):
			return fmt.Errorf("extension %q: settings: want a JSON object, or nil for {}", e.ID)
		}
		seen[e.ID] = true
	}
	return nil
}

// declareExtensions adds the extensions to what is declared in a revision.
func (o *Options) declareExtensions(caps *mcp.ClientCapabilities, f *dialect.Facts) {
	caps.Extensions = nil
	for _, e := range o.Extensions {
		if e.Capabilities != nil {
			if err := usercode.Run(func() error { e.Capabilities(caps); return nil }); err != nil {
				o.logger().LogAttrs(context.Background(), slog.LevelError, "function of Extension.Capabilities failed", append(usercode.Attrs(err), slog.String("extension", e.ID))...)
			}
		}
		if !e.holds(f) {
			continue
		}
		if caps.Extensions == nil {
			caps.Extensions = make(map[string]jsontext.Value)
		}
		caps.Extensions[e.ID] = e.Settings
		if e.Settings == nil {
			caps.Extensions[e.ID] = jsontext.Value("{}")
		}
	}
}

// nameMember returns the member of params that the name header repeats in
// requests of an extension.
func (o *Options) nameMember(method string) string {
	for _, e := range o.Extensions {
		if name := e.Names[method]; name != "" {
			return name
		}
	}
	return ""
}

// resultTypes returns the types of results besides the core's: those of
// extensions that both sides declare.
//
// Spec: 2026-07-28 basic#responses
func (k *connection) resultTypes() []mcp.ResultType {
	var types []mcp.ResultType
	for _, e := range k.client.opts.Extensions {
		if _, ok := k.agreed.Load().capabilities.Extensions[e.ID]; ok {
			types = append(types, e.ResultTypes...)
		}
	}
	return types
}

// extend adds what the extensions do to each exchange and each message. A panic of
// an extension is an error.
func (c *Client) extend() (err error) {
	defer c.recoverPanic("Options.Extensions", &err)
	c.exchange = c.sendRequest
	var middleware []Middleware
	for _, e := range slices.Backward(c.opts.Extensions) {
		if e.Exchange == nil {
			continue
		}
		if c.exchange = e.Exchange(c, c.exchange); c.exchange == nil {
			return fmt.Errorf("extension %q: Exchange returned nil; want an Exchange", e.ID)
		}
	}
	for _, e := range c.opts.Extensions {
		if e.Middleware != nil {
			middleware = append(middleware, e.Middleware)
		}
	}
	return c.middleware.extend(middleware)
}

// extensionHandler returns the handler for a request of the server that an extension
// answers, or nil.
func (c *Client) extensionHandler(method string) Handler {
	for _, e := range c.opts.Extensions {
		if h := e.Requests[method]; h != nil {
			return h
		}
	}
	return nil
}

// handledByExtension hands a notification to the extension that defines it, if there
// is one.
func (c *Client) handledByExtension(method string, params jsontext.Value) bool {
	for _, e := range c.opts.Extensions {
		if h := e.Notifications[method]; h != nil {
			h(c.ctx, c, params)
			return true
		}
	}
	return false
}
