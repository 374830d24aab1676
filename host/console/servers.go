package console

import (
	"net/http"
	"slices"

	"github.com/fondaco/fondaco/host"
)

// Server is a server of the host at one moment.
type Server struct {
	host.Status
	// Command is what the user can type to mend its state, empty if nothing is known.
	Command string
	// Calls are those of its tools, prompts and resources since the host has started.
	Calls CallStats
}

// Tone is how a state is marked: "good", "warn", "bad", or "" for neither.
func (s *Server) Tone() string {
	switch s.State {
	case host.Ready:
		return "good"
	case host.Failing, host.Failed, host.Suspended:
		return "bad"
	case host.Degraded, host.NeedsApproval, host.NeedsSignIn:
		return "warn"
	}
	return ""
}

// CanRetry reports whether an attempt to connect may help.
func (s *Server) CanRetry() bool { return !s.State.IsUp() }

// IsFeatureless reports whether nothing is known that clients could use.
func (s *Server) IsFeatureless() bool { return s.Tools+s.Resources+s.Templates+s.Prompts == 0 }

// servers lists the servers.
func (c *Console) servers(w http.ResponseWriter, _ *http.Request, s *session) {
	c.show(w, s, "servers", &view{Title: "Servers", Section: "servers", Data: c.source.Servers()})
}

// server shows one server.
func (c *Console) server(w http.ResponseWriter, r *http.Request, s *session) {
	c.showServer(w, s, r.PathValue("name"), &view{})
}

func (c *Console) showServer(w http.ResponseWriter, s *session, name string, v *view) {
	all := c.source.Servers()
	i := slices.IndexFunc(all, func(one Server) bool { return one.Key == name })
	if i < 0 {
		c.show(w, s, "servers", &view{Title: "Servers", Section: "servers", Message: "There is no server \"" + shown(name) + "\" any more.", Failed: true, Data: all})
		return
	}
	v.Title, v.Section, v.Data = all[i].Key, "servers", &all[i]
	c.show(w, s, "server", v)
}

// serverAction does what a button of a server says.
func (c *Console) serverAction(w http.ResponseWriter, r *http.Request, s *session) {
	name := r.PathValue("name")
	switch r.PathValue("action") {
	case "retry":
		c.source.Retry(name) // a server that is gone is said by the page
	case "restart":
		if err := c.source.Restart(name); err != nil {
			c.showServer(w, s, name, &view{Message: "Not restarted: " + shown(err.Error()), Failed: true})
			return
		}
	default:
		http.NotFound(w, r)
		return
	}
	http.Redirect(w, r, s.path()+"servers/"+name, http.StatusSeeOther)
}
