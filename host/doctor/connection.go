package doctor

import (
	"context"
	"encoding/json/v2"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpauth"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// session is the connection of the protocol to the server.
type session struct {
	client *mcpclient.Client // nil unless it was made
	began  bool
	fault  *connectFault // why it was not made; nil if it was
	heard  heard
}

func (s *session) close() {
	if s.client != nil {
		_ = s.client.Close()
	}
}

// connectFault is an error of mcpclient.Connect, assigned to the check that it belongs to.
type connectFault struct {
	check string
	id    ID
	fix   string
	text  string
}

// heard has what a server said while the connection was made.
type heard struct {
	mu         sync.Mutex
	unknown    string   // guarded by mu: the revision of a handshake that this program does not know
	challenged bool     // guarded by mu: the server wants credentials
	stderr     []string // guarded by mu: the last lines
	warnings   []string // guarded by mu: of the client, about the server
}

// maxHeard limits the lines of standard error and of warnings that are kept.
const maxHeard = 20

func (h *heard) addStderr(line string, _ int) { h.addTo(&h.stderr, line) }

func (h *heard) addTo(lines *[]string, line string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	*lines = append(*lines, line)
	*lines = (*lines)[max(len(*lines)-maxHeard, 0):]
}

// message looks for the revision that the server answers with.
func (h *heard) message(m mcp.WireMessage) {
	if m.Sent || len(m.Data) == 0 {
		return
	}
	var answer struct {
		Result struct {
			ProtocolVersion string   `json:"protocolVersion"`
			Supported       []string `json:"supportedVersions"`
		} `json:"result"`
	}
	if json.Unmarshal(m.Data, &answer) != nil {
		return
	}
	versions := append(answer.Result.Supported, answer.Result.ProtocolVersion)
	known := slices.ContainsFunc(versions, func(v string) bool { _, ok := mcp.ParseRevision(v); return ok })
	versions = slices.DeleteFunc(versions, func(v string) bool { return v == "" })
	if known || len(versions) == 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.unknown = strings.Join(versions, ", ")
}

// warningHandler is a slog.Handler that keeps the warnings of a client.
type warningHandler struct{ heard *heard }

// Enabled implements slog.Handler.
func (w warningHandler) Enabled(_ context.Context, l slog.Level) bool { return l >= slog.LevelWarn }

// Handle implements slog.Handler.
func (w warningHandler) Handle(_ context.Context, r slog.Record) error {
	text := r.Message
	r.Attrs(func(a slog.Attr) bool {
		text += fmt.Sprintf(" %s=%s", a.Key, a.Value)
		return true
	})
	w.heard.addTo(&w.heard.warnings, text)
	return nil
}

// WithAttrs implements slog.Handler.
func (w warningHandler) WithAttrs([]slog.Attr) slog.Handler { return w }

// WithGroup implements slog.Handler.
func (w warningHandler) WithGroup(string) slog.Handler { return w }

// noting is an authorizer that notes challenges of the server.
type noting struct {
	mcpclient.Authorizer
	heard *heard
}

// Challenged implements mcpclient.Authorizer.
func (n noting) Challenged(req *http.Request, resp *http.Response) error {
	n.heard.mu.Lock()
	n.heard.challenged = true
	n.heard.mu.Unlock()
	return n.Authorizer.Challenged(req, resp)
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
		Logger: slog.New(warningHandler{&s.heard}),
		OnMessage: func(m mcp.WireMessage) {
			s.heard.message(m)
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
			o.HTTP.Auth = noting{auth, &s.heard}
		}
	}
	target := e.upstream.Target
	if t := e.commandTarget(); t != nil {
		own := *t
		own.Stderr = s.heard.addStderr
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
		e.pass("the URL is that of an MCP endpoint")
	}
}

func checkMetadata(ctx context.Context, e *examination) {
	switch {
	case e.address() == nil:
		e.skip(noURL)
	case !e.connected(ctx):
	case e.wasChallenged():
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
	case e.wasChallenged():
		e.pass("the server accepts the token")
	default:
		e.skip("the server did not ask for credentials")
	}
}

func (e *examination) wasChallenged() bool {
	e.session.heard.mu.Lock()
	defer e.session.heard.mu.Unlock()
	return e.session.heard.challenged
}

func checkConnection(ctx context.Context, e *examination) {
	if !e.connected(ctx) {
		return
	}
	if e.session.client != nil {
		if line := e.strayOutput(); line != "" {
			e.warn(ConnectionOutput, e.again(), "%s; want logs on standard error, because standard output is for messages alone", line)
			return
		}
	}
	if e.commandTarget() != nil {
		e.pass("the program has started and answers")
		return
	}
	e.pass("the server answers")
}

// strayOutput returns the warning of the client about lines on standard output, empty for none.
func (e *examination) strayOutput() string {
	e.session.heard.mu.Lock()
	defer e.session.heard.mu.Unlock()
	for _, w := range e.session.heard.warnings {
		if strings.Contains(w, "on standard output that is not a message") {
			return w
		}
	}
	return ""
}

func checkRevision(ctx context.Context, e *examination) {
	if !e.connected(ctx) {
		return
	}
	c := e.session.client
	revision := c.Revision()
	e.session.heard.mu.Lock()
	unknown := e.session.heard.unknown
	e.session.heard.mu.Unlock()
	if unknown != "" {
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

// classify assigns an error of mcpclient.Connect to a check.
func (e *examination) classify(err error) *connectFault {
	text := err.Error()
	if rest, ok := strings.CutPrefix(text, "connect to "+e.upstream.Target.String()+": "); ok {
		text = rest
	}
	fault := func(check string, id ID, fix, format string, args ...any) *connectFault {
		return &connectFault{check, id, fix, fmt.Sprintf(format, args...)}
	}
	if f := e.classifySignIn(err, fault); f != nil {
		return f
	}
	if f := e.classifyHTTP(err, fault); f != nil {
		return f
	}
	e.session.heard.mu.Lock()
	unknown := e.session.heard.unknown
	e.session.heard.mu.Unlock()
	_, exited := errors.AsType[*mcpclient.ExitError](err)
	_, broken := errors.AsType[*mcpclient.ProtocolError](err)
	_, lost := errors.AsType[*mcpclient.LostError](err)
	switch {
	case strings.Contains(text, "standard output") || strings.Contains(text, "Content-Length"):
		return fault("connection", ConnectionOutput, e.again(), "%s; want messages alone on standard output, and logs on standard error", text)
	case exited:
		if name := e.withheld(text); name != "" {
			return fault("connection", ConnectionVariable, e.passOn(name), "%s; the variable %s is set here, and a program of the host does not get it unless \"env\" names it", text, name)
		}
		return fault("connection", ConnectionExited, e.commandLine(), "%s", text)
	case errors.Is(err, context.DeadlineExceeded):
		return fault("connection", ConnectionTimeout, "FONDACO_WIRE=1 "+e.again(), "the server did not answer the handshake in time: %s", text)
	case unknown != "":
		return fault("revision", RevisionUnsupported, e.opts.command("version"), "the server speaks %s, and this program %s; one of the two has to be updated", unknown, revisionNames())
	case strings.Contains(text, "want one of "+mcp.Revisions()[len(mcp.Revisions())-1].String()), strings.Contains(text, "knows no revision"):
		return fault("revision", RevisionUnsupported, e.opts.command("version"), "%s", text)
	case broken:
		return fault("connection", ConnectionProtocol, "FONDACO_WIRE=1 "+e.again(), "the server breaks the protocol: %s", text)
	case lost, strings.Contains(text, "connection lost"):
		return fault("connection", ConnectionLost, "FONDACO_WIRE=1 "+e.again(), "the server ended the connection: %s", text)
	}
	return fault("connection", ConnectionFailed, "FONDACO_WIRE=1 "+e.again(), "%s", text)
}

// makeFault makes a connectFault.
type makeFault func(check string, id ID, fix, format string, args ...any) *connectFault

// classifySignIn handles errors of the authorizer; it returns nil for others.
func (e *examination) classifySignIn(err error, fault makeFault) *connectFault {
	signIn, isSignIn := errors.AsType[*mcpauth.SignInError](err)
	if !isSignIn {
		return nil
	}
	status := 0
	if answer, ok := errors.AsType[*mcpclient.HTTPError](err); ok {
		status = answer.Status
	}
	switch text := signIn.Err.Error(); {
	case errors.Is(err, mcpauth.ErrNoMetadata):
		return fault("metadata", MetadataMissing, e.setHeader(), "%s", text)
	case errors.Is(err, mcpauth.ErrSignInRequired):
		return fault("sign-in", SignInRequired, e.signIn(), "%s", text)
	case errors.Is(err, mcpauth.ErrDenied) && (status == http.StatusForbidden || strings.Contains(text, "scope")):
		return fault("sign-in", SignInScope, e.signIn(), "%s", text)
	case errors.Is(err, mcpauth.ErrDenied):
		return fault("sign-in", SignInRefused, e.signIn(), "%s", text)
	case strings.Contains(text, "metadata"):
		return fault("metadata", MetadataInvalid, "", "%s", text)
	default:
		return fault("sign-in", SignInFailed, e.signIn(), "%s", text)
	}
}

// signIn is the command that signs in to the server.
func (e *examination) signIn() string {
	if e.configured() {
		return e.opts.command("auth", "login", e.upstream.Key)
	}
	return e.opts.command("auth", "login", e.upstream.Target.String())
}

// setHeader is the command that uses a server with a key of its own.
func (e *examination) setHeader() string {
	const header = "Authorization: Bearer KEY"
	if e.configured() {
		return e.replace(e.upstream.Target.String(), "--header", header)
	}
	return e.opts.command("doctor", e.upstream.Target.String(), "--header", header)
}

// replace is the command that configures the server anew.
func (e *examination) replace(words ...string) string {
	return e.opts.command("remove", e.upstream.Key) + " && " + e.opts.command(append([]string{"add", e.upstream.Key}, words...)...)
}

// classifyHTTP handles HTTP responses that are no messages; it returns nil for other errors.
func (e *examination) classifyHTTP(err error, fault makeFault) *connectFault {
	u := e.address()
	if u == nil {
		return nil
	}
	switch text := err.Error(); {
	case strings.Contains(text, "redirect") && strings.Contains(text, "refused"):
		return fault("endpoint", EndpointRedirect, "", "%s; use the address that it names, if it is that of the server", text)
	case strings.Contains(text, "with content of type"), strings.Contains(text, "without a content type"):
		return fault("endpoint", EndpointContent, e.endpointCommand(), "the URL is that of a web page or of another API: %s", text)
	}
	answer, ok := errors.AsType[*mcpclient.HTTPError](err)
	if !ok {
		return nil
	}
	status := fmt.Sprintf("HTTP %d %s", answer.Status, http.StatusText(answer.Status))
	challenge := answer.Header.Get("WWW-Authenticate")
	switch sent := e.upstream.Header.Get("Authorization") != ""; {
	case answer.Status == http.StatusUnauthorized && sent:
		return fault("sign-in", SignInRefused, "", "the server refuses the token or key in the header Authorization: it answered %s", status)
	case answer.Status == http.StatusUnauthorized:
		return fault("sign-in", SignInRequired, e.setHeader(), "the server wants credentials, and none are configured: it answered %s", status)
	case answer.Status == http.StatusForbidden && strings.Contains(challenge, "insufficient_scope"):
		return fault("sign-in", SignInScope, "", "the token lacks a scope: the server answered %s with the challenge %s", status, challenge)
	case answer.Status == http.StatusForbidden:
		return fault("endpoint", EndpointForbidden, "", "the server answered %s: it refuses this client, the name in the URL, or the user", status)
	case slices.Contains([]int{http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusGone, http.StatusNotImplemented}, answer.Status):
		return fault("endpoint", EndpointNotFound, e.endpointCommand(), "the URL is not that of an MCP endpoint: the server answered %s; correct the path, which often is /mcp", status)
	case answer.Status == http.StatusProxyAuthRequired:
		return fault("endpoint", ProxyPassword, "export HTTP_PROXY=http://USER:PASSWORD@HOST:PORT", "the proxy wants a user and a password: it answered %s", status)
	case answer.Status == http.StatusTooManyRequests:
		return fault("endpoint", EndpointBusy, e.again(), "the server takes no requests at present: it answered %s; try again later", status)
	case answer.Status >= http.StatusInternalServerError:
		return fault("endpoint", EndpointFailing, e.again(), "the server, or a proxy in front of it, fails: it answered %s; its log says why", status)
	default:
		return fault("endpoint", EndpointRefused, "FONDACO_WIRE=1 "+e.again(), "the server answered %s to the handshake", status)
	}
}

// endpointCommand examines the usual path of an MCP endpoint.
func (e *examination) endpointCommand() string {
	u := e.address()
	if u.Path == "/mcp" {
		return ""
	}
	return e.opts.command("doctor", u.Scheme+"://"+u.Host+"/mcp")
}

// withheld returns a variable of this process that the program did not get and that its last words
// mention; empty for none.
func (e *examination) withheld(text string) string {
	t := e.commandTarget()
	e.session.heard.mu.Lock()
	text += strings.Join(e.session.heard.stderr, "\n")
	e.session.heard.mu.Unlock()
	for _, name := range t.WithheldVariables() {
		if len(name) > 2 && strings.Contains(text, name) {
			return name
		}
	}
	return ""
}

// passOn is the command that gives the program a variable of this process.
func (e *examination) passOn(name string) string {
	return e.replace(append([]string{"--env", name, "--"}, e.words()...)...)
}

// words are those of the command of the program, as they are configured.
func (e *examination) words() []string {
	if s := e.upstream.Source; s != nil {
		words := []string{s.Command.Written}
		for _, arg := range s.Args {
			words = append(words, arg.Written)
		}
		return words
	}
	t := e.commandTarget()
	return append([]string{t.Path}, t.Args...)
}

// commandLine is the command of the program as a person types it.
func (e *examination) commandLine() string {
	line := quotedWords(e.words())
	if dir := e.commandTarget().Dir; dir != "" {
		return "cd " + host.ShellQuote(dir) + " && " + line
	}
	return line
}

func revisionNames() string {
	var names []string
	for _, r := range mcp.Revisions() {
		names = append(names, r.String())
	}
	return strings.Join(names, ", ")
}
