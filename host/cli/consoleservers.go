package cli

import (
	"bytes"
	"encoding/json/jsontext"
	"encoding/json/v2"
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
	memory := s.memory.Read()
	for _, status := range s.host.statuses() {
		one := console.Server{Status: status, Command: s.host.mendingCommand(&status), Calls: s.calls.Of(status.Key), SignIn: s.signIn(status.Key)}
		for _, id := range status.ProcessIDs {
			one.Programs = append(one.Programs, console.Program{ID: id, Memory: memory.Of(id)})
		}
		all, names = append(all, one), append(names, status.Key)
	}
	for _, u := range s.host.servers.Servers() { // one that is being restarted is not forgotten
		names = append(names, u.Key)
	}
	s.calls.Keep(names)
	s.logs.Keep(names)
	return all
}

// statuses returns the states of the servers, and of those that are switched off, in the order of the configuration.
func (h *hostProcess) statuses() []host.Status {
	all := h.gateway.Status()
	for i, u := range h.servers.Servers() {
		if h.servers.IsOff(u.Key) && !slices.ContainsFunc(all, func(s host.Status) bool { return s.Key == u.Key }) {
			all = slices.Insert(all, min(i, len(all)), host.Status{Key: u.Key, Transport: u.Transport, State: console.Disabled})
		}
	}
	return all
}

// SetDisabled implements console.Source. What is switched on is recorded before, and stays off if it cannot be
// recorded; a server that is to be off is off in any case.
func (s *consoleSource) SetDisabled(name string, off bool) error {
	s.switching.Lock()
	defer s.switching.Unlock()
	h := s.host
	if _, err := h.servers.Server(name); err != nil {
		return err
	}
	if h.servers.IsOff(name) == off {
		return nil
	}
	if !off {
		if err := s.recordDone(host.ActionSwitchOn, name, ""); err != nil {
			return err
		}
	}
	if err := h.servers.SetOff(name, off); err != nil {
		return err
	}
	if off {
		h.main.reportUnrecorded(s.recordDone(host.ActionSwitchOff, name, ""))
	}
	word := "on"
	if off {
		word = "off"
	}
	s.logs.Add(name, console.LogLine{FromHost: true, Text: "switched " + word + " in the console"})
	h.main.Message("  %-10s %s: switched %s in the console", "server", terminal.CleanLine(name), word)
	return nil
}

// Restart implements console.Source.
func (s *consoleSource) Restart(name string) error {
	if err := s.host.servers.Restart(name); err != nil {
		return err
	}
	s.host.main.reportUnrecorded(s.recordDone(host.ActionRestart, name, ""))
	return nil
}

// recordDone records what the user does to a server in the console. subject is what else the action is about, or "".
func (s *consoleSource) recordDone(action host.Action, name, subject string) error {
	return s.host.recordDecision(s.host.main.userDecision(action, name, subject, "in the console"))
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
