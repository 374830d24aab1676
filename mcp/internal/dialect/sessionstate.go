package dialect

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"

	"github.com/fondaco/fondaco/mcp"
)

// sessionState is what another process needs to serve a session: the result of its
// initialize, without what the client says about itself to people.
type sessionState struct {
	Version      string         `json:"v"`
	Name         string         `json:"n,omitzero"`
	Release      string         `json:"r,omitzero"`
	Capabilities jsontext.Value `json:"c,omitzero"`
}

// State returns the session as text from which OpenState of any process makes a session. The
// log level is not part of it. Capabilities that cannot be encoded are left out.
func (s *Session) State() []byte {
	state := sessionState{Version: s.Facts.Revision.String()}
	if s.Client != nil {
		state.Name, state.Release = s.Client.Name, s.Client.Version
	}
	if s.Capabilities != nil {
		state.Capabilities, _ = json.Marshal(s.Capabilities, json.Deterministic(true))
	}
	text, _ := json.Marshal(&state)
	return text
}

// OpenState returns the session of a text that State has returned, maybe in another process.
// It fails if this server does not serve the revision.
func (s *Server) OpenState(text []byte) (*Session, error) {
	var state sessionState
	if err := json.Unmarshal(text, &state); err != nil {
		return nil, fmt.Errorf("session: decode its state: %w", err)
	}
	f := s.sessionNamed(state.Version)
	if f == nil {
		return nil, fmt.Errorf("session: revision %q is not served", state.Version)
	}
	return &Session{
		Facts:        f,
		Client:       &mcp.Implementation{Name: state.Name, Version: state.Release},
		Capabilities: shared(capabilities, state.Capabilities, new(mcp.ClientCapabilities)),
	}, nil
}

// Sessionless returns the session of a request that names none: of the revision in its
// version header, 2025-03-26 without one, and of a client without capabilities. It is nil if
// that revision is not served.
//
// Spec: 2025-11-25 basic/transports#protocol-version-header
func (s *Server) Sessionless(h *Headers) *Session {
	version := mcp.V20250326.String()
	if h != nil && len(h.Version) == 1 {
		version = h.Version[0]
	}
	f := s.sessionNamed(version)
	if f == nil {
		return nil
	}
	return &Session{Facts: f, Capabilities: &noCapabilities}
}
