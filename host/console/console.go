// Package console is the host in a web browser: what runs, what waits for the user, and what
// was called. Pages are rendered here, work without a script, and load nothing from elsewhere;
// one script replaces their live parts when they change.
//
//	/                          what the address is, for everybody
//	/console/login?key=KEY     enters with a link that works once (login.go)
//	/console/assets/           the style and the script
//	/console/s/ID/…            the pages of one session: one file each (servers.go, inbox.go, …)
//
// Every user of a machine reaches its loopback interface, so nothing of the host is shown
// without a session. A browser sends cookies to all ports of a name: another user's program
// on this machine could get those of the host. The cookie of a session is therefore limited to
// the session's own path, which nobody else can guess.
package console

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/traffic"
)

// Source is the host that a console shows. Its methods are called from several goroutines.
// Texts of servers and clients are not trusted; the console makes them visible as they are.
type Source interface {
	// Servers returns the servers, in the order of the configuration.
	Servers() []Server
	// Retry connects to a server now, and reports whether the server exists.
	Retry(name string) bool
	// Restart ends the connections and processes of a server, those of its callers too, and
	// starts it again as it is approved.
	Restart(name string) error
	// Log returns the last lines of a server, the oldest first.
	Log(name string) []LogLine
	// SetDisabled switches a server off, with its connections and processes, until it is switched on or the host
	// ends. One that is switched on passes all checks of a start.
	SetDisabled(name string, off bool) error
	// SignIn begins a sign-in at a server, as "fondaco auth login" does. It returns once the address for the browser
	// is known, see Server.SignIn.
	SignIn(ctx context.Context, name string) error
	// FinishSignIn gives a sign-in the address to which the browser was sent at its end, when the browser is on
	// another machine.
	FinishSignIn(name, address string) error
	RootSource
	InboxSource
	TrySource
	AuditSource
	ConfigSource
	// Messages returns the last messages of clients and servers, the oldest first.
	Messages() []traffic.Message
	// Usage returns what clients have used, see traffic.Recorder.
	Usage() []traffic.Usage
	RecordingSource
}

// Options of a Console.
type Options struct {
	// Base is the root URL of the host, such as http://127.0.0.1:7332.
	Base string
	// Hosts are further names under which the host may be reached, with or without a port.
	// Names of the loopback interface and that of Base are always accepted.
	Hosts []string
	// Source is the host. It has to be set.
	Source Source
	// HostURL is what commands need to find the host, the URL of its endpoint. Empty means that they find it
	// themselves.
	HostURL string
	// NeedsToken: clients of the host need a token. Commands that the pages show have a variable for it.
	NeedsToken bool
	// Check makes the checks of "fondaco check", and calls onResult for each result when it is
	// known. One call at a time is made, which ends with ctx. It is for the host of one server in no configuration: with
	// Check the console has a page for the checks, and none for the audit log and the configuration.
	Check func(ctx context.Context, onResult func(CheckResult)) error
}

// Console serves the pages. All methods are safe for concurrent use.
type Console struct {
	base    string
	hosts   []string
	source  Source
	hostURL string // for commands; may be empty
	// needsToken: requests in commands have a variable for a token.
	needsToken bool
	checks     checks
	mux        *http.ServeMux

	// ctx ends the live streams.
	ctx    context.Context
	cancel context.CancelFunc
	// background has the goroutines that end after ctx.
	background sync.WaitGroup

	mu       sync.Mutex
	links    []link              // guarded by mu: those that were not used, the oldest first
	sessions map[string]*session // guarded by mu: by ID
	streams  int                 // guarded by mu: that are open
	left     time.Time           // guarded by mu: when the last of them has ended; zero before
}

// New returns the console of a host. It serves "/" and everything below "/console/".
func New(o Options) *Console {
	c := &Console{base: o.Base, hosts: o.Hosts, source: o.Source, hostURL: o.HostURL, needsToken: o.NeedsToken, mux: http.NewServeMux(), sessions: make(map[string]*session)}
	if u, err := url.Parse(o.Base); err == nil {
		c.hosts = append(c.hosts[:len(c.hosts):len(c.hosts)], u.Host)
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.mux.HandleFunc("GET /{$}", c.front)
	c.mux.HandleFunc("GET /console/{$}", c.front)
	c.mux.HandleFunc("GET /console/login", c.login)
	c.mux.Handle("GET /console/assets/", assets())
	c.page("GET", "/live", c.live)
	c.page("POST", "/logout", c.logout)
	c.page("GET", "/{$}", c.servers)
	c.page("GET", "/servers/{name}", c.server)
	c.page("POST", "/servers/{name}/{action}", c.serverAction)
	c.page("GET", "/inbox", c.inbox)
	c.page("GET", "/inbox/questions/{id}", c.question)
	c.page("POST", "/inbox/questions/{id}", c.answer)
	c.page("GET", "/inbox/questions/{id}/files/{n}", c.questionFile)
	c.page("POST", "/inbox/approvals/{id}", c.approve)
	c.page("GET", "/traffic", c.messages)
	c.page("GET", "/recordings", c.recordings)
	c.page("GET", "/recordings/{id}", c.recording)
	c.page("GET", "/recordings/{id}/file", c.recordingFile)
	c.page("GET", "/still", c.still)
	c.page("GET", "/try", c.try)
	c.page("GET", "/try/tool", c.tool)
	c.page("POST", "/try/tool", c.tool)
	c.page("GET", "/try/prompt", c.prompt)
	c.page("POST", "/try/prompt", c.prompt)
	c.page("POST", "/try/resource", c.resource)
	c.page("GET", "/try/template", c.template)
	c.page("POST", "/try/template", c.template)
	c.page("POST", "/try/watch", c.startWatch)
	c.page("GET", "/try/watch/{id}", c.watch)
	c.page("POST", "/try/watch/{id}", c.watch)
	c.page("GET", "/file/{n}", c.resultFile)
	if c.checks.run = o.Check; o.Check != nil {
		c.page("GET", "/check", c.check)
		c.page("POST", "/check", c.check)
		return c
	}
	c.page("GET", "/audit", c.audit)
	c.page("POST", "/audit/verify", c.verifyAudit)
	c.page("GET", "/usage", c.usage)
	c.page("GET", "/config", c.config)
	return c
}

// nextPageTime is how long the console still counts as open after its last page was closed: a browser that goes from one
// page to the next has closed the first before the second is open.
const nextPageTime = 5 * time.Second

// IsOpen reports whether a page of the console is open in a browser.
func (c *Console) IsOpen() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ctx.Err() == nil && (c.streams > 0 || !c.left.IsZero() && time.Since(c.left) < nextPageTime)
}

// Close ends the live streams, and the checks and watches, for which it waits. Further ones end at once.
func (c *Console) Close() {
	c.mu.Lock()
	c.cancel()
	c.mu.Unlock()
	c.background.Wait()
}

// beginLocked runs a function on a goroutine for which Close waits, and reports whether it does: not after Close. The
// caller holds mu.
func (c *Console) beginLocked(run func()) bool {
	if c.ctx.Err() != nil {
		return false
	}
	c.background.Go(run)
	return true
}

// page registers a page of a session. A page that changes something is a POST with the token of
// the session.
func (c *Console) page(method, path string, show func(http.ResponseWriter, *http.Request, *session)) {
	c.mux.HandleFunc(method+" /console/s/{session}"+path, func(w http.ResponseWriter, r *http.Request) {
		s := c.sessionOf(r)
		switch {
		case s == nil:
			c.refuse(w, http.StatusUnauthorized, "This link has ended", "Sessions of the console end after 12 hours, and with the host.")
		case method == http.MethodPost && !s.hasToken(r):
			c.refuse(w, http.StatusForbidden, "This form has ended", "Open the page again and repeat what you did.")
		default:
			show(w, r, s)
		}
	})
}

// ServeHTTP answers a request if it is for a name of the host, and not of a page of another
// origin.
func (c *Console) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	setHeaders(w.Header())
	switch {
	case !c.isOwnHost(r.Host):
		http.Error(w, "found a Host header with another name, want a name of this machine, such as localhost; up --allow-host adds one", http.StatusForbidden)
	case !isSameOrigin(r):
		http.Error(w, "this is not for web pages of other origins", http.StatusForbidden)
	default:
		c.mux.ServeHTTP(w, r)
	}
}

// contentPolicy allows what the host serves itself.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; media-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

func setHeaders(h http.Header) {
	h.Set("Content-Security-Policy", contentPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin") // with no-referrer a form would be sent without its origin
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
}

// isOwnHost reports whether a Host header names the host: otherwise a web page may have made its
// own name point here.
func (c *Console) isOwnHost(hostport string) bool {
	if host.IsLoopbackHost(hostport) {
		return true
	}
	name, _, _ := strings.Cut(hostport, ":")
	for _, own := range c.hosts {
		if strings.EqualFold(own, hostport) || strings.EqualFold(own, name) {
			return true
		}
	}
	return false
}

// isSameOrigin reports whether a request is by a page of the console, or the user opens one. A
// request that changes something has to say that it is.
func isSameOrigin(r *http.Request) bool {
	origin := r.Header.Get("Origin")
	if origin != "" && origin != "http://"+r.Host && origin != "https://"+r.Host {
		return false
	}
	switch site := r.Header.Get("Sec-Fetch-Site"); site {
	case "", "none", "same-origin":
	default: // a link on another page may lead here, as in a terminal that is a web page
		if r.Header.Get("Sec-Fetch-Mode") != "navigate" || r.Header.Get("Sec-Fetch-Dest") != "document" || r.Method != http.MethodGet {
			return false
		}
	}
	return r.Method == http.MethodGet || r.Method == http.MethodHead || origin != ""
}
