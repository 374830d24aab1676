package mcp

import (
	"cmp"
	"encoding/json/jsontext"
)

// Implementation names the software of a peer. It is self-reported: show it and
// log it, but never base decisions on it.
type Implementation struct {
	// Name is the name for programs.
	Name string `json:"name"`
	// Title is the name for users. DisplayName returns Name if it is empty.
	Title   string `json:"title,omitzero"`
	Version string `json:"version"`
	// Description says in one sentence what the software does.
	Description string `json:"description,omitzero"`
	WebsiteURL  string `json:"websiteUrl,omitzero"`
	Icons       []Icon `json:"icons,omitzero"`
	// Extra holds the members that this version does not know, as one JSON object.
	Extra jsontext.Value `json:",embed"`
}

// DisplayName returns the title, or the name if the title is empty.
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
	// Instructions tell the model how to use the server and its features.
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
	// Instructions tell the model how to use the server and its features.
	Instructions string `json:"instructions,omitzero"`
}
