package mcpcheck

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/egress"
	"github.com/fondaco/fondaco/mcp/internal/httpheader"
	"github.com/fondaco/fondaco/mcp/internal/wire"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// Options change what Run does. The zero value, like a nil pointer, gives the defaults.
type Options struct {
	// Wait is how long the server has for one answer. Default: 10 seconds.
	Wait time.Duration
	// Connect is how long a start and a handshake may take. Default: 2 minutes for a program, else 30 seconds.
	Connect time.Duration
	// OnResult is called for each result when it is known. Default: nothing.
	OnResult func(Result)
}

const (
	defaultWait           = 10 * time.Second
	defaultProgramConnect = 2 * time.Minute
	defaultConnect        = 30 * time.Second
)

func (o *Options) wait() time.Duration { return cmp.Or(o.Wait, defaultWait) }

func (o *Options) connect(t *Target) time.Duration {
	if t.Command != nil {
		return cmp.Or(o.Connect, defaultProgramConnect)
	}
	return cmp.Or(o.Connect, defaultConnect)
}

// Run checks a server. It calls no tool that exists, reads no resource, and gets no prompt; it sends
// about thirty messages for each of the two eras of revisions. Options may be nil. The error says why the
// server could not be used in any revision; what is wrong with a server that can be used is in the report.
//
//	Run
//	├─ converse        in each revision: connects, lists all features, pings; each message of the server is
//	│                  validated by the schema of the revision
//	├─ Lint            what the server shows
//	└─ probe           in the newest revision of each era: what a server has to withstand
//	    ├─ probes      messages, over each transport
//	    └─ httpProbes  HTTP requests
func Run(ctx context.Context, t Target, o *Options) (*Report, error) {
	if o == nil {
		o = new(Options)
	}
	if err := t.check(); err != nil {
		return nil, fmt.Errorf("check: %w", err)
	}
	r := &runner{target: &t, opts: o, report: new(Report), client: egress.Configured(t.HTTP.Client, slog.New(slog.DiscardHandler))}
	var surface *mcp.Surface
	var errs []error
	for _, revision := range mcp.Revisions() {
		s, err := r.converse(ctx, revision)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", revision, err))
			continue
		}
		surface = cmp.Or(s, surface)
		r.report.Revisions = append(r.report.Revisions, revision)
	}
	if len(r.report.Revisions) == 0 {
		return nil, fmt.Errorf("check: the server cannot be used in any revision: %w", errors.Join(errs...))
	}
	if surface != nil {
		r.lint(*surface)
	}
	for _, stateless := range []bool{false, true} {
		for _, revision := range slices.Backward(r.report.Revisions) {
			if revision.Stateless() == stateless {
				r.probe(ctx, revision)
				break
			}
		}
	}
	return r.report, context.Cause(ctx)
}

// runner is one call of Run.
type runner struct {
	target       *Target
	opts         *Options
	report       *Report
	client       *http.Client
	capabilities mcp.ServerCapabilities // of the last conversation
}

func (r *runner) add(one Result) {
	r.report.Results = append(r.report.Results, one)
	if r.opts.OnResult != nil {
		r.opts.OnResult(one)
	}
}

// maxFaults limits the different faults of messages that are reported for one revision.
const maxFaults = 20

// otherRevision is in the fault of a message with a member that only another revision has. Its receivers
// ignore it.
const otherRevision = "is not allowed here"

// converse uses the server as a client of one revision does, and reports messages that are not valid. Its
// error says that the server does not have the revision, or does not work.
func (r *runner) converse(ctx context.Context, revision mcp.Revision) (*mcp.Surface, error) {
	ctx, cancel := context.WithTimeout(ctx, r.opts.connect(r.target))
	defer cancel()
	var mu sync.Mutex
	var faults []string
	m := &wire.Monitor{CheckOnly: []wire.Side{wire.Server}, Report: func(err error) {
		mu.Lock()
		defer mu.Unlock()
		reason, message, _ := strings.Cut(err.Error(), "\n")
		if text := reason + ": " + excerpt(message); len(faults) < maxFaults && !slices.Contains(faults, text) {
			faults = append(faults, text)
		}
	}}
	o := &mcpclient.Options{
		Info:      mcp.Implementation{Name: "mcpcheck", Version: "1"},
		Revisions: []mcp.Revision{revision}, Logger: slog.New(slog.DiscardHandler), NoOutputCheck: true,
		Timeouts: mcpclient.TimeoutOptions{Connect: r.opts.connect(r.target)},
	}
	target := r.target.monitored(
		func(conn mcp.Conn) mcp.Conn { return m.Conn(conn, wire.Client) },
		func(rt http.RoundTripper) http.RoundTripper { return m.Transport(rt, httpheader.SessionID) }, o, r.client,
	)
	c, err := mcpclient.Connect(ctx, target, o)
	if err != nil {
		return nil, err
	}
	surface, listErr := c.Surface(ctx)
	pingErr := c.Ping(ctx)
	r.report.Server, r.capabilities = c.Server(), c.Capabilities()
	_ = c.Close()
	add := func(s Status, format string, args ...any) {
		r.add(Result{Check: "messages", Revision: revision, Status: s, Text: fmt.Sprintf(format, args...), Spec: page(revision, "schema")})
	}
	mu.Lock()
	defer mu.Unlock()
	for _, text := range faults {
		if strings.Contains(text, otherRevision) {
			add(Warning, "a member that this revision does not have, and that clients ignore: %s", text)
		} else {
			add(Fault, "%s", text)
		}
	}
	if listErr != nil {
		add(Fault, "the features cannot be listed: %v", listErr)
	}
	if pingErr != nil {
		add(Fault, "no answer to a ping: %v", pingErr)
	}
	if len(faults) == 0 && listErr == nil && pingErr == nil {
		add(OK, "%d messages are valid", m.Checked())
	}
	return surface, nil
}

// lint adds the findings of Lint.
func (r *runner) lint(s mcp.Surface) {
	found := Lint(s)
	for _, f := range found {
		status := Warning
		if f.Fault {
			status = Fault
		}
		r.add(Result{Check: "lint", Status: status, Text: f.String()})
	}
	if len(found) == 0 {
		r.add(Result{Check: "lint", Status: OK, Text: "nothing to change in what the server shows"})
	}
}

// maxText limits a text of a result, in bytes.
const maxText = 1 << 10

func cut(text string) string { return cutAt(text, maxText) }

// excerpt returns the beginning of a message.
func excerpt(message string) string { return cutAt(message, 200) }

func cutAt(text string, limit int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit-len("…")], "") + "…"
}
