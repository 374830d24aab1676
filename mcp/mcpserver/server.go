package mcpserver

import (
	"context"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/changes"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/drain"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
	"github.com/fondaco/fondaco/mcp/internal/limit"
	"github.com/fondaco/fondaco/mcp/internal/quota"
	"github.com/fondaco/fondaco/mcp/internal/registry"
	"github.com/fondaco/fondaco/mcp/internal/replay"
	"github.com/fondaco/fondaco/mcp/internal/replica"
	"github.com/fondaco/fondaco/mcp/internal/seal"
	"github.com/fondaco/fondaco/mcp/internal/streamhttp"
)

// Server is an MCP server: its features, served over any number of transports at once.
// [New] returns one. Register features, then call Run, Serve, HTTPHandler or [Main]. All
// methods are safe for concurrent use, also while the server serves: clients that
// subscribed to list changes are notified of features that are registered or removed.
type Server struct {
	info      mcp.Implementation
	options   *Options
	onMessage func(mcp.WireMessage) // Options.OnMessage, or what Main has set
	dialect   *dialect.Server

	features        *registry.Registry
	middleware      middleware
	extensions      extensions
	hub             changes.Hub
	admission       admission
	sharedRates     *quota.Group // nil unless LoadOptions.SharedRates
	limits          *limit.Reporter
	requests        drain.Group // running requests, and other work that Shutdown waits for
	sessions        sessions
	urlElicitations *urlElicitations
	workers         workers

	warnedNoAuth atomic.Bool // the log has the warning that requests are not authenticated

	keys         *seal.Ring
	sharesKeys   bool // other processes have the keys
	store        mcp.Store
	bus          mcp.Bus        // may be nil
	replicas     *replica.Group // nil unless they share a Store, a Bus and keys
	parked       replay.Parked
	parkedPlaces *limit.Pool
	kept         *limit.KeptBytes
	waitingCalls waitingCalls
	unsent       *exchange.UnsentLimit // the large results that are being sent, over all transports
	usedStates   replay.UsedStates     // without Options.Store

	storedUsedStates storedUsedStates // with Options.Store
	storedStates     *storedStates

	// questions are the questions whose answers calls of the session era wait for.
	questions waitingQuestions
	answers   answers

	draining atomic.Bool     // Drain or Shutdown was called
	open     context.Context // ends when a shutdown begins
	endOpen  context.CancelCauseFunc
	detached drain.Group     // the work of Detach
	life     context.Context // parent of the contexts of that work
	endLife  context.CancelCauseFunc

	httpOnce sync.Once
	http     *httpBindings // made by httpOnce
}

// New returns a server of the given name and version, without any features. It copies the
// options; nil gives the defaults. New panics when name or version is empty, when an option
// is not valid, and when Options has a Store other than a MemoryStore, or a Bus other than
// a MemoryBus, without Keys.
func New(name, version string, o *Options) *Server {
	if name == "" || version == "" {
		panic("mcpserver.New: want a name and a version, such as \"weather\", \"1.2.0\"")
	}
	o = o.copied()
	if err := o.check(); err != nil {
		panic("mcpserver.New: " + err.Error())
	}
	s := &Server{info: o.implementation(name, version), options: o, onMessage: o.orZero().OnMessage}
	s.open, s.endOpen = context.WithCancelCause(context.Background())
	s.life, s.endLife = context.WithCancelCause(context.Background())
	if err := s.initState(); err != nil {
		panic("mcpserver.New: " + err.Error())
	}
	s.dialect = dialect.NewServer(dialect.ServerParams{
		Revisions:  o.revisions(),
		Info:       s.info,
		Custom:     s.middleware.hasCustom,
		NameMember: s.middleware.nameMember,
	})
	s.admission = newAdmission(o.orZero().Load)
	s.sharedRates = s.newSharedRates()
	s.limits = &limit.Reporter{Hook: o.orZero().OnLimit, Logger: o.logger()}
	s.features = registry.New(registry.Options{
		Changed: s.listChanged, Dynamic: o.orZero().Dynamic, HideForbidden: o.orZero().HideForbidden,
	})
	s.middleware.setCore(s.coreHandlers())
	s.Use(s.options.Middleware...)
	return s
}

// Serve serves one connection until the client closes it or ctx is done, and returns when
// its last handler has returned. It returns nil when the client closed the connection
// cleanly, and ErrShutdown after Shutdown. It closes the connection. The client is treated
// as the local user, who needs no scopes; use ServeConn for connections of others.
func (s *Server) Serve(ctx context.Context, conn mcp.Conn) error {
	return s.ServeConn(ctx, conn, ConnOptions{Identity: localIdentity})
}

// localIdentity is the identity of the local user: stdio, sockets, memory.
var localIdentity = &mcp.Identity{Principal: mcp.PrincipalLocal}

// ConnOptions describe the client of a connection, for [Server.ServeConn].
type ConnOptions struct {
	// Identity is the authenticated identity of the client. When it expires, the server
	// stops reading, and running requests have up to 10 minutes to finish. Default: the
	// identity that mcp.WithIdentity has put into the context of Request; without one the
	// client is anonymous.
	Identity *mcp.Identity
	// Request is the HTTP request that opened the connection, such as a WebSocket. Handlers
	// can read its headers and its TLS state. Default: none.
	Request *http.Request
}

func (o ConnOptions) identity() *mcp.Identity {
	if o.Identity == nil && o.Request != nil {
		return mcp.IdentityFrom(o.Request.Context())
	}
	return o.Identity
}

// ServeConn serves a connection as Serve does, for a client that is not the local user.
func (s *Server) ServeConn(ctx context.Context, conn mcp.Conn, o ConnOptions) error {
	return s.serveConn(ctx, conn, o, 0)
}

// serveConn is ServeConn with the time that running requests have to finish after the client
// has closed its direction of the connection.
func (s *Server) serveConn(ctx context.Context, conn mcp.Conn, o ConnOptions, grace time.Duration) error {
	s.serve()
	address := s.addressOf(o.Request)
	err := exchange.ServeConn(ctx, exchange.ServeParams{
		Conn: exchange.ContainPanics(conn, s.options.logger()), Core: core{s}, Binding: dialect.Stream, Identity: o.identity(), HTTP: exchange.DescribeHTTP(o.Request),
		Address: address, Grace: grace, Wire: s.newWire(o.identity(), address),
	})
	if err != nil && s.requests.Closed() {
		return ErrShutdown
	}
	return err
}

// addressOf returns the address of the client that sent r, or the zero Addr if it is not
// known.
func (s *Server) addressOf(r *http.Request) (none netip.Addr) {
	if r == nil {
		return none
	}
	return streamhttp.AddressOf(r, s.options.orZero().HTTP.trustedProxies())
}

// BatchChanges runs fn and sends the list_changed notifications of all features that fn
// registers, replaces, enables and removes once, after fn has returned or panicked. A nested
// call sends nothing: the outermost one does. Changes that other goroutines make meanwhile
// are sent then, too. It is safe for concurrent use; fn may call the server.
func (s *Server) BatchChanges(fn func()) { s.features.Batch(fn) }

// Store returns the Store of the server. Without Options.Store, or when that is a
// *[MemoryStore], it is a *MemoryStore. Every other Options.Store is wrapped: the value
// that is returned calls it, and a panic of a method becomes the error of the method. A type
// assertion to the type of Options.Store therefore fails; keep the original to use more
// than [mcp.Store]. Use a prefix of your own for keys; the server's own begin with "ask.".
func (s *Server) Store() mcp.Store { return s.store }

// Bus returns the Bus between the replicas of the server, or nil without Options.Bus. A
// *[MemoryBus] is returned as it is, every other Bus wrapped as by [Server.Store]. Use a
// prefix of your own for topics.
func (s *Server) Bus() mcp.Bus { return s.bus }

// Info returns the name, version and description that the server declares.
func (s *Server) Info() mcp.Implementation { return s.info }

// core implements the interface of the server to transports.
type core struct{ *Server }

var _ exchange.Core = core{}

func (c core) Dialect() *dialect.Server { return c.dialect }

func (c core) Limits() jsonrpc.Limits { return c.options.limits() }

func (c core) Initialized(s *exchange.Session) { c.initialized(s) }

func (c core) Opened(s *exchange.Session) error {
	s.Share = limit.NewShare(c.admission.share)
	s.Unsent = c.unsent
	if err := c.sessions.add(s); err != nil {
		return err
	}
	c.sessionBegan(s)
	return nil
}

func (c core) LimitReached(e mcp.LimitReached) { c.limits.Reached(e) }

func (c core) Closed(s *exchange.Session) {
	began := c.sessions.remove(s) // first, so that it cannot be added to the hub again
	c.hub.RemoveSession(s)
	c.urlElicitations.forget(s)
	c.sessionEnded(s, began)
}
