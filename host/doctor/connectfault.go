package doctor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpauth"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// connectFault is an error of mcpclient.Connect, assigned to the check that it belongs to.
type connectFault struct {
	check string
	id    ID
	fix   string
	text  string
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
	unknown := e.session.observed.unknownRevision()
	_, exited := errors.AsType[*mcpclient.ExitError](err)
	_, broken := errors.AsType[*mcpclient.ProtocolError](err)
	_, lost := errors.AsType[*mcpclient.LostError](err)
	switch {
	case strings.Contains(text, "standard output") || strings.Contains(text, "Content-Length"):
		return fault("connection", ConnectionOutput, e.doctorCommand(), "%s; want messages alone on standard output, and logs on standard error", text)
	case exited:
		if name := e.withheld(text); name != "" {
			return fault("connection", ConnectionVariable, e.passOn(name), "%s; the variable %s is set here, and a program of the host does not get it unless \"env\" names it", text, name)
		}
		return fault("connection", ConnectionExited, e.commandLine(), "%s", text)
	case errors.Is(err, context.DeadlineExceeded):
		return fault("connection", ConnectionTimeout, "FONDACO_WIRE=1 "+e.doctorCommand(), "the server did not answer the handshake in time: %s", text)
	case unknown != "":
		return fault("revision", RevisionUnsupported, e.opts.command("version"), "the server speaks %s, and this program %s; one of the two has to be updated", unknown, revisionNames())
	case strings.Contains(text, "want one of "+mcp.Revisions()[len(mcp.Revisions())-1].String()), strings.Contains(text, "knows no revision"):
		return fault("revision", RevisionUnsupported, e.opts.command("version"), "%s", text)
	case broken:
		return fault("connection", ConnectionProtocol, "FONDACO_WIRE=1 "+e.doctorCommand(), "the server breaks the protocol: %s", text)
	case lost, strings.Contains(text, "connection lost"):
		return fault("connection", ConnectionLost, "FONDACO_WIRE=1 "+e.doctorCommand(), "the server ended the connection: %s", text)
	}
	return fault("connection", ConnectionFailed, "FONDACO_WIRE=1 "+e.doctorCommand(), "%s", text)
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
		return e.opts.command("set", e.upstream.Key, "--header", header)
	}
	return e.opts.command("doctor", e.upstream.Target.String(), "--header", header)
}

// otherCredentials is the command that gives the server a wider or a new token or key.
func (e *examination) otherCredentials() string {
	if e.upstream.Header.Get("Authorization") != "" {
		return e.setHeader()
	}
	return e.signIn()
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
		return fault("endpoint", EndpointContent, e.endpointCommand(), "the path %s is that of a web page or of another API: %s", e.shownPath(), text)
	}
	answer, ok := errors.AsType[*mcpclient.HTTPError](err)
	if !ok {
		return nil
	}
	status := fmt.Sprintf("HTTP %d %s", answer.Status, http.StatusText(answer.Status))
	challenge := answer.Header.Get("WWW-Authenticate")
	switch sent := e.upstream.Header.Get("Authorization") != ""; {
	case answer.Status == http.StatusUnauthorized && sent:
		return fault("sign-in", SignInRefused, e.setHeader(), "the server refuses the token or key in the header Authorization: it answered %s", status)
	case answer.Status == http.StatusUnauthorized:
		return fault("sign-in", SignInRequired, e.setHeader(), "the server wants credentials, and none are configured: it answered %s", status)
	case answer.Status == http.StatusForbidden && strings.Contains(challenge, "insufficient_scope"):
		return fault("sign-in", SignInScope, e.otherCredentials(), "the token lacks a scope: the server answered %s with the challenge %s", status, challenge)
	case answer.Status == http.StatusForbidden:
		return fault("endpoint", EndpointForbidden, "", "the server answered %s: it refuses this client, the name in the URL, or the user", status)
	case slices.Contains([]int{http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusGone, http.StatusNotImplemented}, answer.Status):
		return fault("endpoint", EndpointNotFound, e.endpointCommand(), "the path %s is not that of an MCP endpoint: the server answered %s; correct the path, which often is /mcp", e.shownPath(), status)
	case answer.Status == http.StatusProxyAuthRequired:
		return fault("endpoint", ProxyPassword, "export HTTP_PROXY=http://USER:PASSWORD@HOST:PORT", "the proxy wants a user and a password: it answered %s", status)
	case answer.Status == http.StatusTooManyRequests:
		return fault("endpoint", EndpointBusy, e.doctorCommand(), "the server takes no requests at present: it answered %s; try again later", status)
	case answer.Status >= http.StatusInternalServerError:
		return fault("endpoint", EndpointFailing, e.doctorCommand(), "the server, or a proxy in front of it, fails: it answered %s; its log says why", status)
	default:
		return fault("endpoint", EndpointRefused, "FONDACO_WIRE=1 "+e.doctorCommand(), "the server answered %s to the handshake", status)
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
	text += e.session.observed.lastStderr()
	for _, name := range t.WithheldVariables() {
		if len(name) > 2 && strings.Contains(text, name) {
			return name
		}
	}
	return ""
}

// passOn is the command that gives the program a variable of this process.
func (e *examination) passOn(name string) string {
	return e.opts.command("set", e.upstream.Key, "--env", name)
}

// commandWords are those of the command of the program, as they are configured.
func (e *examination) commandWords() []string {
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
	line := quotedWords(e.commandWords())
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
