package catalog

import (
	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// Source is what one upstream offers, and to whom. It is safe for concurrent use.
type Source struct {
	SourceParams
	sharedLists
	set             *Set
	presenter       presenter
	ttl             listTTL
	unknownNames    unknownNames
	imitations      imitations
	reads           listReads // for certain callers
	own             ownFeatures
	capabilityLists capabilityLists
	initial         initialLists // only the goroutine of the shared connection uses it
	retry           listRetry    // likewise
}

// RecordAges is middleware of the client of the shared connection. It records how long lists may be kept.
func (s *Source) RecordAges(next mcpclient.Handler) mcpclient.Handler { return s.ttl.record(next) }

// IsOld reports whether the lists are to be read again before they are shown.
func (s *Source) IsOld() bool { return s.Catalog().tooOld() }

// ReadOnlyTools returns the fingerprints of the tools that claim to be read-only and that
// everybody can call.
func (s *Source) ReadOnlyTools() map[string]mcp.Fingerprint {
	all := make(map[string]mcp.Fingerprint)
	for _, t := range s.Visible().admitted.Tools {
		if !t.Annotations.ReadOnly() || s.Settings.Rules.Verdict(&t) == host.Deny {
			continue
		}
		if fingerprint, err := t.Fingerprint(); err == nil {
			all[t.Name] = fingerprint
		}
	}
	return all
}
