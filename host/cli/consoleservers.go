package cli

import (
	"bytes"
	"context"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"time"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/console"
	"github.com/fondaco/fondaco/host/signin"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpauth"
)

// Servers implements console.Source.
func (s *consoleSource) Servers() []console.Server {
	var all []console.Server
	var names []string
	memory := s.memory()
	for _, status := range s.host.statuses() {
		one := console.Server{Status: status, Disabled: status.State == console.Disabled, Command: s.host.mendingCommand(&status), Calls: s.calls.Of(status.Key), SignIn: s.signIn(status.Key)}
		for _, id := range status.ProcessIDs {
			one.Programs = append(one.Programs, console.Program{ID: id, Memory: memory.of(id)})
		}
		all, names = append(all, one), append(names, status.Key)
	}
	for _, u := range s.host.configured() { // one that is being restarted is not forgotten
		names = append(names, u.Key)
	}
	s.calls.Keep(names)
	s.logs.Keep(names)
	return all
}

// statuses returns the states of the servers, and of those that are switched off, in the order of the configuration.
func (h *hostProcess) statuses() []host.Status {
	all := h.gateway.Status()
	h.mu.Lock()
	defer h.mu.Unlock()
	for i, u := range h.upstreams {
		if h.off[u.Key] && !slices.ContainsFunc(all, func(s host.Status) bool { return s.Key == u.Key }) {
			all = slices.Insert(all, min(i, len(all)), host.Status{Key: u.Key, Transport: u.Transport, State: console.Disabled})
		}
	}
	return all
}

// reloadGateway replaces the upstreams of the gateway, without those that are switched off. The caller holds
// reloading.
func (h *hostProcess) reloadGateway(all []host.Upstream) {
	h.mu.Lock()
	on := slices.DeleteFunc(slices.Clone(all), func(u host.Upstream) bool { return h.off[u.Key] })
	h.mu.Unlock()
	h.gateway.Reload(on)
}

// SetDisabled implements console.Source. What is switched on passes all checks of a start.
func (s *consoleSource) SetDisabled(name string, off bool) error {
	h := s.host
	h.reloading.Lock()
	defer h.reloading.Unlock()
	all := h.configured()
	if !slices.ContainsFunc(all, func(u host.Upstream) bool { return u.Key == name }) {
		return fmt.Errorf("server %q: %w", name, errUnknownServer)
	}
	h.mu.Lock()
	if h.off == nil {
		h.off = make(map[string]bool)
	}
	maps.DeleteFunc(h.off, func(key string, _ bool) bool { // what the file no longer has
		return !slices.ContainsFunc(all, func(u host.Upstream) bool { return u.Key == key })
	})
	if h.off[name] = off; !off {
		delete(h.off, name)
	}
	h.mu.Unlock()
	h.reloadGateway(all)
	word := "on"
	if off {
		word = "off"
	}
	s.logs.Add(name, console.LogLine{FromHost: true, Text: "switched " + word + " in the console"})
	h.main.message("  %-10s %s: switched %s in the console", "server", cleanLine(name), word)
	return nil
}

// Log implements console.Source.
func (s *consoleSource) Log(name string) []console.LogLine { return s.logs.Of(name) }

// logStatus adds a change of the state of a server to its log.
func (s *consoleSource) logStatus(status host.Status) {
	text := string(status.State)
	if status.Reason != "" {
		text += ": " + brief(status.Reason)
	}
	s.logs.Add(status.Key, console.LogLine{FromHost: true, Text: text})
}

// maxLogMessage limits a message of a server in which a log message is looked for, in bytes.
const maxLogMessage = 64 << 10

// logMessage adds a message of a server to its log if it is a log message.
func (s *consoleSource) logMessage(server string, m mcp.WireMessage) {
	if server == "" || m.Sent || len(m.Data) > maxLogMessage || !bytes.Contains(m.Data, []byte(`"`+mcp.NotificationMessage+`"`)) {
		return
	}
	var note struct {
		Method string                   `json:"method"`
		Params mcp.LoggingMessageParams `json:"params"`
	}
	if json.Unmarshal(m.Data, &note) != nil || note.Method != mcp.NotificationMessage {
		return
	}
	text := string(note.Params.Data)
	var plain string
	if note.Params.Data.Kind() == jsontext.KindString && json.Unmarshal(note.Params.Data, &plain) == nil {
		text = plain
	}
	if note.Params.Logger != "" {
		text = note.Params.Logger + ": " + text
	}
	s.logs.Add(server, console.LogLine{Level: note.Params.Level, Text: s.host.main.secrets.redactKnown(text)})
}

// logStderr adds a line of standard error to the log of a server.
func (s *consoleSource) logStderr(server, line string) {
	s.logs.Add(server, console.LogLine{Text: s.host.main.secrets.redactKnown(line)})
}

const (
	// signInTime is how long a sign-in in the console waits for the browser.
	signInTime = 10 * time.Minute
	// signInStart is how long the page waits for the address that the browser opens.
	signInStart = 30 * time.Second
)

// consoleSignIn is a sign-in that was begun in the console.
type consoleSignIn struct {
	client *mcpauth.Client
	cancel context.CancelFunc
	shown  console.SignIn // guarded by consoleSource.signing
}

// signIn returns the sign-in at a server that was begun last, nil for none.
func (s *consoleSource) signIn(name string) *console.SignIn {
	s.signing.Lock()
	defer s.signing.Unlock()
	if one := s.signIns[name]; one != nil {
		shown := one.shown
		return &shown
	}
	return nil
}

// SignIn implements console.Source. Like the command, it sends nothing to a server that is not approved.
func (s *consoleSource) SignIn(ctx context.Context, name string) error {
	u, err := s.signInTarget(ctx, name)
	if err != nil {
		return err
	}
	address, ok := signin.URL(u)
	if !ok {
		return errors.New("it is not reached over HTTP, has its Authorization header from the configuration, or has sign-in switched off")
	}
	background, cancel := context.WithTimeout(context.WithoutCancel(ctx), signInTime)
	known, ended := make(chan error, 1), make(chan error, 1)
	one := &consoleSignIn{cancel: cancel}
	one.client = s.host.tokens.Client(u, func(_ context.Context, page string) error {
		err := checkWebAddress(page)
		if err == nil {
			s.signing.Lock()
			one.shown.Address = page
			s.signing.Unlock()
		}
		select {
		case known <- err:
		default: // the page has an address already
		}
		return err
	})
	s.signing.Lock()
	if s.ended {
		s.signing.Unlock()
		cancel()
		return errors.New("the host is ending")
	}
	if s.signIns == nil {
		s.signIns = make(map[string]*consoleSignIn)
	}
	if before := s.signIns[name]; before != nil {
		before.cancel()
	}
	s.signIns[name] = one
	s.running.Go(func() {
		defer cancel()
		ended <- s.endSignIn(name, u, one, one.client.SignIn(background, address, u.SignIn.Scopes...))
	})
	s.signing.Unlock()
	timer := time.NewTimer(signInStart)
	defer timer.Stop()
	select {
	case err := <-known:
		return err
	case err := <-ended: // it needed no browser, or has failed before
		return err
	case <-timer.C:
		return fmt.Errorf("the server has not said within %v where to sign in", signInStart)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// close ends all sign-ins.
func (s *consoleSource) close() {
	s.signing.Lock()
	s.ended = true
	for _, one := range s.signIns {
		one.cancel()
	}
	s.signing.Unlock()
	s.running.Wait()
}

// signInTarget returns a server as it is approved, with its references expanded.
func (s *consoleSource) signInTarget(ctx context.Context, name string) (*host.Upstream, error) {
	h := s.host
	all := h.configured()
	i := slices.IndexFunc(all, func(u host.Upstream) bool { return u.Key == name })
	if i < 0 || h.tokens == nil {
		return nil, fmt.Errorf("server %q: %w", name, errUnknownServer)
	}
	if err := h.currentPolicy().Check(&all[i]); err != nil {
		return nil, err
	}
	switch p, err := h.approvals.Check(ctx, &all[i]); {
	case err != nil:
		return nil, err
	case p != nil:
		return nil, fmt.Errorf("server %q needs approval before a sign-in: %s", name, h.main.approveCommand(name, h.config))
	}
	return all[i].Resolved(ctx)
}

// checkWebAddress returns an error if a page is not one of the web.
func checkWebAddress(page string) error {
	u, err := url.Parse(page)
	if err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" {
		return nil
	}
	return errors.New("the server has sent an address that is no page of the web")
}

// endSignIn notes the end of a sign-in, and makes the host use the token.
func (s *consoleSource) endSignIn(name string, u *host.Upstream, one *consoleSignIn, err error) error {
	err = signin.ExplainError(u, err)
	if err == nil {
		err = s.host.tokens.MarkChanged()
	}
	s.signing.Lock()
	switch {
	case s.signIns[name] != one: // another one was begun
	case err == nil:
		delete(s.signIns, name)
	default:
		one.shown = console.SignIn{Problem: err.Error()}
	}
	s.signing.Unlock()
	if err == nil {
		s.logs.Add(name, console.LogLine{FromHost: true, Text: "signed in"})
		s.host.gateway.Retry(name)
	}
	return err
}

// FinishSignIn implements console.Source.
func (s *consoleSource) FinishSignIn(name, address string) error {
	s.signing.Lock()
	one := s.signIns[name]
	s.signing.Unlock()
	if one == nil {
		return errors.New("no sign-in waits")
	}
	err := one.client.Finish(address)
	if errors.Is(err, mcpauth.ErrUnknownResponse) {
		return errors.New("this is not the redirect address of this sign-in; want the whole address that the browser shows")
	}
	return err
}

// memoryTime is for how long the memory of processes is not read again.
const memoryTime = 2 * time.Second

// processMemory is the memory of processes, with that of the processes that they have started.
type processMemory struct {
	read     time.Time
	resident map[int]int64 // bytes, by process id
	children map[int][]int
}

// memory returns the memory of the processes of this machine, as far as it is known.
func (s *consoleSource) memory() *processMemory {
	s.measuring.Lock()
	defer s.measuring.Unlock()
	if s.measured == nil || time.Since(s.measured.read) > memoryTime {
		s.measured = readProcessMemory()
		s.measured.read = time.Now()
	}
	return s.measured
}

// of returns the memory of a process and of its descendants, 0 if it is not known.
func (m *processMemory) of(id int) int64 {
	const deepest = 64 // ids may be used again while they are read
	return m.sum(id, deepest)
}

func (m *processMemory) sum(id, depth int) (bytes int64) {
	bytes = m.resident[id]
	if depth == 0 {
		return bytes
	}
	for _, child := range m.children[id] {
		bytes += m.sum(child, depth-1)
	}
	return bytes
}
