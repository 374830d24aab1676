package host

import (
	"slices"
	"strings"
	"time"

	"github.com/fondaco/fondaco/mcp"
)

// ConsentSettings are the settings of the user for calls that need consent. They are read from
// the user's own configuration only.
type ConsentSettings struct {
	// Wait is how long a call waits for a person. Zero is the default.
	Wait time.Duration
	// Clients are the clients that may ask their user themselves, as MayAsk matches them.
	Clients []string
	// Silent: no notification is shown on the desktop.
	Silent bool
	// Questions says whether servers may ask the user of the host what the client of a call cannot
	// show. By default they may if the host has a terminal, or shows notifications.
	Questions Permission
}

// MayAnswer reports whether servers may ask the user of the host. shown says that the host has a terminal,
// or shows notifications.
func (s *ConsentSettings) MayAnswer(shown bool) bool { return s.Questions.or(shown) }

// MayAsk reports whether the client of a call may ask for consent itself. A client with
// credentials is known by the client id of its token or, for a token without one, by the name
// of the token. A client of the local user is known by the name that it declares: such a
// program has the rights of the user. A client without authentication may never ask.
func (s *ConsentSettings) MayAsk(r *ConsentRequest) bool {
	switch p := r.Principal; {
	case p.Authenticated() && p.Client != "":
		return slices.Contains(s.Clients, p.Client)
	case p.Authenticated():
		return slices.Contains(s.Clients, p.Subject)
	case p == mcp.PrincipalLocal:
		return slices.ContainsFunc(s.Clients, func(name string) bool {
			return name != "" && (r.Client == name || strings.HasPrefix(r.Client, name+" "))
		})
	}
	return false
}
