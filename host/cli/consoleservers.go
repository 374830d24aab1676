package cli

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/host/console"
	"github.com/fondaco/fondaco/host/terminal"
	"github.com/fondaco/fondaco/mcp"
)

// Servers implements console.Source.
func (s *consoleSource) Servers() []console.Server {
	var all []console.Server
	var names []string
	memory := s.memory()
	for _, status := range s.host.statuses() {
		one := console.Server{Status: status, Command: s.host.mendingCommand(&status), Calls: s.calls.Of(status.Key), SignIn: s.signIn(status.Key)}
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
	h.main.Message("  %-10s %s: switched %s in the console", "server", terminal.CleanLine(name), word)
	return nil
}

// Log implements console.Source.
func (s *consoleSource) Log(name string) []console.LogLine { return s.logs.Of(name) }

// logStatus adds a change of the state of a server to its log.
func (s *consoleSource) logStatus(status host.Status) {
	text := string(status.State)
	if status.Reason != "" {
		text += ": " + terminal.Brief(status.Reason)
	}
	if len(status.MissingScopes) > 0 {
		text += "; a call lacked the scopes " + terminal.Brief(strings.Join(status.MissingScopes, " "))
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
