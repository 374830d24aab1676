package mcpserver

import (
	"context"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/changes"
	"github.com/fondaco/fondaco/mcp/internal/dialect"
	"github.com/fondaco/fondaco/mcp/internal/exchange"
	"github.com/fondaco/fondaco/mcp/internal/jsonrpc"
	"github.com/fondaco/fondaco/mcp/internal/limit"
	"github.com/fondaco/fondaco/mcp/internal/registry"
	"github.com/fondaco/fondaco/mcp/internal/replay"
	"github.com/fondaco/fondaco/mcp/internal/seal"
	"github.com/fondaco/fondaco/mcp/internal/streamhttp"
)

// Server is an MCP server: what it offers, and the way to serve it over any
// number of transports at once. Make one with New, register features, then call
// Run, Serve or HTTPHandler, or hand it to Main. All methods are safe for
// concurrent use, also while it serves: what is registered or removed then is
// announced to every client that asked to hear of it.
type Server struct {
	info    mcp.Implementation
	options *Options
	dialect *dialect.Server

	features        *registry.Registry
	middleware      middleware
	extensions      extensions
	hub             changes.Hub
	admission       admission
	limits          *limit.Reporter
	drain           drain
	sessions        sessions
	urlElicitations urlElicitations

	unprotected atomic.Bool // the log has been told that nobody asks who calls

	keys         *seal.Ring
	store        mcp.Store
	bus          mcp.Bus // may be nil
	parked       replay.Parked
	parkedPlaces *limit.Pool
	usedStates   replay.UsedStates // without Options.Store
	// questions are those that calls of the session era wait for.
	questions waitingQuestions

	leaving  atomic.Bool     // Drain or Shutdown was called
	open     context.Context // ends when a shutdown begins
	endOpen  context.CancelCauseFunc
	detached drain           // of work that goes on when its request was answered
	life     context.Context // of that work
	endLife  context.CancelCauseFunc

	httpOnce sync.Once
	http     *httpBindings // made by httpOnce
}

// New returns a server of the given name and version, without any features. A
// nil Options is valid and gives the defaults. New panics when name or version
// is empty, an option makes no sense, or there is a Store other than a MemoryStore
// or a Bus other than a MemoryBus without Keys.
func New(name, version string, o *Options) *Server {
	if name == "" || version == "" {
		panic("mcpserver.New: want a name and a version, such as \"weather\", \"1.2.0\"")
	}
	o = o.copied()
	if err := o.check(); err != nil {
		panic("mcpserver.New: " + err.Error())
	}
	s := &Server{info: o.implementation(name, version), options: o}
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
	s.limits = &limit.Reporter{Hook: o.orZero().OnLimit, Logger: o.logger()}
	s.features = registry.New(registry.Options{
		Changed: s.listChanged, Dynamic: o.orZero().Dynamic, HideForbidden: o.orZero().HideForbidden,
	})
	s.middleware.serve(s.routes())
	return s
}

// Serve serves one connection until the client ends it or ctx is done, and
// returns after its last handler has. It returns nil when the client ended the
// connection in an orderly way, and ErrShutdown when Shutdown did. The connection
// is closed on return. At its other end is the user of this machine; ServeConn is
// for everybody else.
func (s *Server) Serve(ctx context.Context, conn mcp.Conn) error {
	return s.ServeConn(ctx, conn, ConnOptions{Identity: localUser})
}

// localUser is the user of this machine.
var localUser = &mcp.Identity{Principal: mcp.PrincipalLocal}

// ConnOptions say what a transport of one's own knows of a connection.
type ConnOptions struct {
	// Identity is who is at the other end. When it expires the server reads nothing
	// more, and answers for up to 10 minutes what runs. Default: whom the context of
	// Request has by mcp.WithIdentity, otherwise nobody knows.
	Identity *mcp.Identity
	// Request opened the connection, where it was one of HTTP: handlers can read
	// its headers and the state of its TLS. Otherwise nil.
	Request *http.Request
}

func (o ConnOptions) identity() *mcp.Identity {
	if o.Identity == nil && o.Request != nil {
		return mcp.IdentityFrom(o.Request.Context())
	}
	return o.Identity
}

// ServeConn is Serve for a transport of one's own that others can reach.
func (s *Server) ServeConn(ctx context.Context, conn mcp.Conn, o ConnOptions) error {
	err := exchange.ServeConn(ctx, exchange.ServeParams{
		Conn: exchange.ContainPanics(conn, s.options.logger()), Core: core{s}, Binding: dialect.Stream, Identity: o.identity(), HTTP: exchange.DescribeHTTP(o.Request),
		Address: s.addressOf(o.Request),
	})
	if err != nil && s.drain.ended() {
		return ErrShutdown
	}
	return err
}

// addressOf returns where the client is that a connection comes from, as far as it is
// known.
func (s *Server) addressOf(r *http.Request) (none netip.Addr) {
	if r == nil {
		return none
	}
	return streamhttp.AddressOf(r, s.options.orZero().HTTP.trustedProxies())
}

// BatchChanges runs fn and sends the list_changed notifications of all that it
// registers, replaces, enables and removes once, after it has returned or panicked.
// Calls within fn are sent with the outermost. What other goroutines change meanwhile
// is sent then too. It is safe for concurrent use; fn may call the server.
func (s *Server) BatchChanges(fn func()) { s.features.Batch(fn) }

// Store returns where the server keeps state: Options.Store, or its own. A panic of a
// method of Options.Store is the error of the method. What others keep there needs a
// prefix of its own in the keys.
func (s *Server) Store() mcp.Store { return s.store }

// Bus returns what carries news between the replicas of the server, or nil when
// it has none. A panic of a method of Options.Bus is the error of the method. Others
// use topics with a prefix of their own.
func (s *Server) Bus() mcp.Bus { return s.bus }

// Info returns what the server says of itself.
func (s *Server) Info() mcp.Implementation { return s.info }

// core is the server as the pipes see it.
type core struct{ *Server }

var _ exchange.Core = core{}

func (c core) Dialect() *dialect.Server { return c.dialect }

func (c core) Limits() jsonrpc.Limits { return c.options.limits() }

func (c core) Opened(s *exchange.Session) error {
	s.Share = limit.NewShare(c.admission.share)
	return c.sessions.add(s)
}

func (c core) Reached(e mcp.LimitReached) { c.limits.Reached(e) }

func (c core) Closed(s *exchange.Session) {
	c.sessions.remove(s) // first, so that it cannot be added to the hub again
	c.hub.RemoveSession(s)
	c.urlElicitations.forget(s)
}
