package doctor

import (
	"context"
	"log/slog"
	"slices"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// session is the connection of the protocol to the server.
type session struct {
	client   *mcpclient.Client // nil unless it was made
	began    bool
	fault    *connectFault // why it was not made; nil if it was
	observed observations
}

func (s *session) close() {
	if s.client != nil {
		_ = s.client.Close()
	}
}

// connect connects once, and finds the check to which an error belongs.
func (e *examination) connect(ctx context.Context) *connectFault {
	s := &e.session
	if s.began {
		return s.fault
	}
	s.began = true
	e.network.close() // the client makes its own
	limit := e.opts.start(e.upstream)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	o := &mcpclient.Options{
		Info:   mcp.Implementation{Name: "fondaco-doctor", Version: host.Version},
		Logger: slog.New(warningHandler{&s.observed}),
		OnMessage: func(m mcp.WireMessage) {
			s.observed.message(m)
			if e.opts.OnMessage != nil {
				e.opts.OnMessage(m)
			}
		},
	}
	o.Timeouts.Connect = 2 * limit // ctx has the limit
	o.Timeouts.Call, o.Timeouts.MaxCall = -1, -1
	o.HTTP.Header = e.upstream.Header
	if e.opts.Authorizer != nil && e.upstream.Header.Get("Authorization") == "" {
		if auth := e.opts.Authorizer(e.upstream); auth != nil {
			o.HTTP.Auth = challengeRecorder{auth, &s.observed}
		}
	}
	target := e.upstream.Target
	if t := e.commandTarget(); t != nil {
		own := *t
		own.Stderr = s.observed.addStderr
		target = &own
	}
	var err error
	if s.client, err = mcpclient.Connect(ctx, target, o); err != nil {
		s.fault = e.classify(err)
	}
	return s.fault
}

// connectionChecks are the checks that connect makes, in their order.
var connectionChecks = []string{"endpoint", "metadata", "sign-in", "connection", "revision"}

// connected reports whether nothing is wrong as far as the current check is concerned. It reports the
// fault if there is one.
func (e *examination) connected(ctx context.Context) bool {
	f := e.connect(ctx)
	if f == nil || slices.Index(connectionChecks, f.check) > slices.Index(connectionChecks, e.current.name) {
		return true
	}
	e.fail(f.id, f.fix, "%s", f.text)
	return false
}

func checkEndpoint(ctx context.Context, e *examination) {
	if e.address() == nil {
		e.skip(noURL)
		return
	}
	if e.connected(ctx) {
		e.pass("the path %s is that of an MCP endpoint", e.shownPath())
	}
}

func checkMetadata(ctx context.Context, e *examination) {
	switch {
	case e.address() == nil:
		e.skip(noURL)
	case !e.connected(ctx):
	case e.session.observed.wasChallenged():
		e.pass("the server says where to sign in")
	default:
		e.skip("the server did not ask for credentials")
	}
}

func checkSignIn(ctx context.Context, e *examination) {
	switch {
	case e.address() == nil:
		e.skip(noURL)
	case !e.connected(ctx):
	case e.upstream.Header.Get("Authorization") != "":
		e.pass("the server accepts the header Authorization")
	case e.session.observed.wasChallenged():
		e.pass("the server accepts the token")
	default:
		e.skip("the server did not ask for credentials")
	}
}

func checkConnection(ctx context.Context, e *examination) {
	if !e.connected(ctx) {
		return
	}
	if e.session.client != nil {
		if line := e.session.observed.strayOutput(); line != "" {
			e.warn(ConnectionOutput, e.doctorCommand(), "%s; want logs on standard error, because standard output is for messages alone", line)
			return
		}
	}
	if e.commandTarget() != nil {
		e.pass("the program has started and answers")
		return
	}
	e.pass("the server answers")
}

func checkRevision(ctx context.Context, e *examination) {
	if !e.connected(ctx) {
		return
	}
	c := e.session.client
	revision := c.Revision()
	if unknown := e.session.observed.unknownRevision(); unknown != "" {
		e.warn(RevisionUnsupported, "", "the server answers with revision %.100q, which nobody has published, and is treated as one of %s; its author has to correct it", unknown, revision)
		return
	}
	era := "of the session era"
	if revision.Stateless() {
		era = "of the stateless era"
	}
	if !revision.HasElicitation() {
		e.warn(RevisionOld, "", "%s %s speaks %s, which is too old for elicitation, structured results and much else; its author has to update its SDK", c.Server().Name, c.Server().Version, revision)
		return
	}
	e.pass("%s, %s; the server is %s %s", revision, era, c.Server().Name, c.Server().Version)
}
