package cli

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/console"
	"github.com/fondaco/fondaco/host/processmemory"
	"github.com/fondaco/fondaco/host/traffic"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// consoleSource is what the console in the browser shows of a host, and does to it.
type consoleSource struct {
	host      *hostProcess
	calls     console.Calls
	approvals *approvalQuestions // of which it only reads what waits; nil for the demonstration

	logs    console.Logs
	signing sync.Mutex
	signIns map[string]*consoleSignIn // guarded by signing: those that were begun last, by server
	ended   bool                      // guarded by signing: no further one is begun
	running sync.WaitGroup            // of the sign-ins
	memory  processmemory.Reader

	opening   sync.Mutex // held while a recording is read
	switching sync.Mutex // held while a server is switched off or on, and that is recorded

	reading sync.Mutex          // held while what waits is read
	version string              // guarded by reading: that of pending
	read    time.Time           // guarded by reading: when pending was read
	pending []*approvalQuestion // guarded by reading
}

// newConsole returns the console of a host at its root URL, which may be reached under further names.
func (h *hostProcess) newConsole(base string, hosts []string, needsToken bool) *console.Console {
	c := console.New(console.Options{Base: base, Hosts: hosts, Source: &h.console, NeedsToken: needsToken})
	if h.questions != nil {
		h.questions.inBrowser.Store(c)
		h.console.approvals = newApprovalQuestions(h)
	}
	return c
}

// mendingCommand is what the user can type when a server is not ready, at least to find out why, empty if nothing is
// known.
func (h *hostProcess) mendingCommand(s *host.Status) string {
	switch {
	case h.inspected != nil:
		return h.mendingInspected(s)
	case s.WaitsForCredentials():
		return h.main.credentialsCommand(s, h.config)
	case s.State == host.NeedsApproval, s.WaitingCount > 0:
		return h.main.approveCommand(s.Key, h.config)
	case s.State == host.Failed, s.State == host.Suspended:
		command := h.main.program() + " doctor " + host.ShellQuote(s.Key)
		if h.config != "" {
			command += " --config " + host.ShellQuote(h.config)
		}
		return command
	}
	return ""
}

// Messages implements console.Source.
func (s *consoleSource) Messages() []traffic.Message { return s.host.traffic.Messages() }

// Usage implements console.Source.
func (s *consoleSource) Usage() []traffic.Usage { return s.host.traffic.Usage() }

// consoleClient describes the console as a client.
var consoleClient = mcp.Implementation{Name: "fondaco-console", Version: host.Version}

// asClient connects to the host as a client of its user, of a revision that may be zero.
func (s *consoleSource) asClient(ctx context.Context, revision mcp.Revision) (*mcpclient.Client, error) {
	o := &mcpclient.Options{Info: consoleClient}
	if !revision.IsZero() {
		o.Revisions = []mcp.Revision{revision}
	}
	return mcpclient.Connect(ctx, mcpclient.InProcess(s.host.gateway.Server()), o)
}

// Surface implements console.TrySource.
func (s *consoleSource) Surface(ctx context.Context) (*mcp.Surface, error) {
	c, err := s.asClient(ctx, mcp.Revision{})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.Surface(ctx)
}

// Call implements console.TrySource.
func (s *consoleSource) Call(ctx context.Context, r *console.Request) (*mcp.CallToolResult, error) {
	if err := mcpclient.CheckArguments(*r.Tool, r.Arguments); err != nil {
		if _, wrong := errors.AsType[*mcpclient.ValidationError](err); wrong { // otherwise the server checks
			return nil, fmt.Errorf("nothing was sent: %w", err)
		}
	}
	c, err := s.asClient(ctx, r.Revision)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.CallTool(ctx, r.Tool.Name, r.Arguments)
}

// Prompt implements console.TrySource.
func (s *consoleSource) Prompt(ctx context.Context, r *console.Request) (*mcp.GetPromptResult, error) {
	c, err := s.asClient(ctx, r.Revision)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.GetPrompt(ctx, r.Prompt, r.PromptArguments)
}

// Read implements console.TrySource.
func (s *consoleSource) Read(ctx context.Context, r *console.Request) (*mcp.ReadResourceResult, error) {
	c, err := s.asClient(ctx, r.Revision)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.ReadResource(ctx, r.URI)
}

// Complete implements console.TrySource.
func (s *consoleSource) Complete(ctx context.Context, p *mcp.CompleteParams) (*mcp.Completion, error) {
	c, err := s.asClient(ctx, mcp.Revision{})
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.Complete(ctx, p)
}

// TemplateVariables implements console.TrySource.
func (s *consoleSource) TemplateVariables(uriTemplate string) ([]string, error) {
	return mcpclient.TemplateVariables(uriTemplate)
}

// ExpandTemplate implements console.TrySource.
func (s *consoleSource) ExpandTemplate(uriTemplate string, values map[string]string) (string, error) {
	return mcpclient.ExpandTemplate(uriTemplate, values)
}

// Watch implements console.TrySource.
func (s *consoleSource) Watch(ctx context.Context, uri string, onUpdate func()) error {
	c, err := s.asClient(ctx, mcp.Revision{})
	if err != nil {
		return err
	}
	defer c.Close()
	for _, err := range c.Watch(ctx, uri) {
		if err != nil {
			return err
		}
		onUpdate()
	}
	return nil
}

// Retry implements console.Source.
func (s *consoleSource) Retry(name string) bool { return s.host.gateway.Retry(name) }
