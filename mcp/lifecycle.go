package mcp

import (
	"cmp"
	"encoding/json/jsontext"
)

// Implementation names a piece of software that speaks the protocol. It is
// self-reported: fit to show and to log, never to decide upon.
type Implementation struct {
	// Name is for programs.
	Name string `json:"name"`
	// Title is for people. DisplayName says what to show without one.
	Title   string `json:"title,omitzero"`
	Version string `json:"version"`
	// Description says in a sentence what the software does.
	Description string `json:"description,omitzero"`
	WebsiteURL  string `json:"websiteUrl,omitzero"`
	Icons       []Icon `json:"icons,omitzero"`
	// Extra holds the members that this version does not know, as one JSON object.
	Extra jsontext.Value `json:",embed"`
}

// DisplayName returns the title, or else the name.
func (i Implementation) DisplayName() string { return cmp.Or(i.Title, i.Name) }

// DiscoverResult is the result of server/discover: what a server of the
// stateless era offers, and in which revisions.
//
// Spec: 2026-07-28 server/discover
type DiscoverResult struct {
	ResultBase
	Caching
	// SupportedVersions names the revisions that the server speaks. It may name
	// revisions that this package does not know.
	SupportedVersions []string           `json:"supportedVersions"`
	Capabilities      ServerCapabilities `json:"capabilities"`
	// Instructions are guidance for the model beyond the single descriptions.
	Instructions string `json:"instructions,omitzero"`
}

// InitializeParams open a session.
//
// Spec: 2025-11-25 basic/lifecycle#initialization
type InitializeParams struct {
	// ProtocolVersion is the newest revision of the session era that the client
	// speaks.
	ProtocolVersion string             `json:"protocolVersion"`
	Capabilities    ClientCapabilities `json:"capabilities"`
	ClientInfo      Implementation     `json:"clientInfo"`
	Meta            Meta               `json:"_meta,omitempty"`
}

// InitializeResult answers InitializeParams.
//
// Spec: 2025-11-25 basic/lifecycle#initialization
type InitializeResult struct {
	ResultBase
	// ProtocolVersion is the revision of the session. It need not be the one
	// that the client named.
	ProtocolVersion string             `json:"protocolVersion"`
	Capabilities    ServerCapabilities `json:"capabilities"`
	ServerInfo      Implementation     `json:"serverInfo"`
	// Instructions are guidance for the model beyond the single descriptions.
	Instructions string `json:"instructions,omitzero"`
}
