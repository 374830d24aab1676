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

// Extension is an extension of the protocol: what the client declares, the messages that
// the extension defines, and how it changes messages of the core. Options.Extensions
// lists those of a client. All fields but ID are optional.
//
// An extension applies only between peers that both declare it, see HasExtension.
//
// Spec: 2026-07-28 basic/versioning#extensions
type Extension struct {
	// ID is the identifier that is declared, such as com.example/color.
	ID string
	// Settings is declared with the ID, a JSON object. Nil means {}.
	Settings jsontext.Value
	// Sessions reports whether the extension applies in the session era too, in
	// which both sides declare it once, in initialize.
	Sessions bool

	// Names maps each method that the extension defines to the member of its params
	// that the Mcp-Name header repeats over HTTP.
	Names map[string]string
	// ResultTypes are the result types that the extension adds to those of the core.
	// They are accepted from servers that declare the extension. Exchange has to
	// turn each into mcp.ResultComplete.
	ResultTypes []mcp.ResultType
	// Exchange wraps the sending of requests, below all middleware, where results
	// are raw. It is called once, before c is connected.
	Exchange func(c *Client, next Exchange) Exchange

	// Requests maps methods to the handlers of requests of a server of the session
	// era: methods of the extension, and those of the core that the client does not
	// handle. The params are raw.
	Requests map[string]Handler
	// Notifications maps methods of the extension to the handlers of the server's
	// notifications. They run one at a time, in the order of arrival.
	Notifications map[string]func(ctx context.Context, c *Client, params jsontext.Value)
	// Middleware wraps all messages, inside of the middleware of Use.
	Middleware Middleware

	// Capabilities changes the other capabilities that the client declares. Those
	// that the revision does not have are left out.
	Capabilities func(*mcp.ClientCapabilities)
}

// Exchange sends one request of a client and returns the raw result with its type. In
// revisions without result types that is mcp.ResultComplete.
type Exchange func(ctx context.Context, r *Request) (mcp.ResultType, jsontext.Value, error)

// HasExtension returns the settings that the server has declared for an extension. It
// returns false if the server did not declare the extension, or this client does not
// have it in the negotiated revision.
func (c *Client) HasExtension(id string) (settings jsontext.Value, ok bool) {
	a := c.agreement()
	i := slices.IndexFunc(c.opts.Extensions, func(e Extension) bool { return e.ID == id })
	if i < 0 || !c.opts.Extensions[i].appliesTo(a.dialect.Facts) {
		return nil, false
	}
	settings, ok = a.capabilities.Extensions[id]
	return settings, ok
}

func (e *Extension) appliesTo(f *dialect.Facts) bool {
	return e.Sessions || f.Era == dialect.StatelessEra
}

// Go runs f on a goroutine that Close waits for, with a context that ends when the
// client is closed. If the client is closed already, it does not run f and returns
// false.
func (c *Client) Go(f func(ctx context.Context)) bool {
	return c.goTracked(func() { c.runHandler("extension", func() { f(c.ctx) }) })
}

// RemoteError returns an error that the server sent in a message of an extension, in the
// form in which a call returns it.
func (c *Client) RemoteError(number int64, message string, data jsontext.Value) *mcp.Error {
	return c.agreement().dialect.Error(&jsonrpc.Error{Code: number, Message: message, Data: data})
}

// checkExtensions returns an error for an invalid extension.
func (o *Options) checkExtensions() error {
	seen := make(map[string]bool)
	for _, e := range o.Extensions {
		switch {
		case mcp.CheckMetaKey(e.ID) != nil || !strings.Contains(e.ID, "/"):
			return fmt.Errorf("extension %q: want an identifier with a prefix, such as com.example/color", e.ID)
		case seen[e.ID]:
			return fmt.Errorf("extension %q: found twice in Options.Extensions, want it once", e.ID)
		case e.Settings != nil && (e.Settings.Kind() != '{' || !e.Settings.IsValid()):
			return fmt.Errorf("extension %q: settings: want a JSON object, or nil for {}", e.ID)
		}
		seen[e.ID] = true
	}
	return nil
}

// declareExtensions adds the extensions to the capabilities declared in a revision.
func (o *Options) declareExtensions(caps *mcp.ClientCapabilities, f *dialect.Facts) {
	caps.Extensions = nil
	for _, e := range o.Extensions {
		if e.Capabilities != nil {
			if err := usercode.Run(func() error { e.Capabilities(caps); return nil }); err != nil {
				o.logger().LogAttrs(context.Background(), slog.LevelError, "function of Extension.Capabilities failed", append(usercode.Attrs(err), slog.String("extension", e.ID))...)
			}
		}
		if !e.appliesTo(f) {
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

// resultTypes returns the additional result types of the extensions that both sides
// declare.
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

// applyExtensions wraps c.exchange in the Exchange functions of the extensions and adds
// their middleware. A panic of an extension is returned as an error.
func (c *Client) applyExtensions() (err error) {
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
	return c.middleware.addExtensions(middleware)
}

// extensionHandler returns the extensions' handler of a request of the server, or nil.
func (c *Client) extensionHandler(method string) Handler {
	for _, e := range c.opts.Extensions {
		if h := e.Requests[method]; h != nil {
			return h
		}
	}
	return nil
}

// handledByExtension calls the extensions' handler of a notification and reports whether
// there is one.
func (c *Client) handledByExtension(method string, params jsontext.Value) bool {
	for _, e := range c.opts.Extensions {
		if h := e.Notifications[method]; h != nil {
			h(c.ctx, c, params)
			return true
		}
	}
	return false
}
