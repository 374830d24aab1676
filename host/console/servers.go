package console

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/host"
)

// Server is a server of the host at one moment.
type Server struct {
	host.Status
	// Command is what the user can type to mend its state, empty if nothing is known.
	Command string
	// Calls are those of its tools, prompts and resources since the host has started.
	Calls CallStats
	// Programs are the processes of its programs that run.
	Programs []Program
	// SignIn is the sign-in that was begun last in the console; nil for none.
	SignIn *SignIn
}

// Disabled is the state of a server that the user has switched off in the console. Its other members are not known
// then.
const Disabled host.State = "off"

// Disabled reports whether the user has switched it off in the console.
func (s *Server) Disabled() bool { return s.State == Disabled }

// Program is a process of a server.
type Program struct {
	ID int
	// Memory is the resident memory of the process and of those that it has started, in bytes; 0 if it is not known.
	Memory int64
}

// Memory is that of all processes; 0 if it is not known.
func (s *Server) Memory() (sum int64) {
	for _, p := range s.Programs {
		sum += p.Memory
	}
	return sum
}

// SignIn is a sign-in at a server.
type SignIn struct {
	// Address is the page that the user has to open; empty before it is known.
	Address string
	// Problem says why it has failed; empty while it runs.
	Problem string
}

// Host is the name of the host in the address.
func (s *SignIn) Host() string {
	u, err := url.Parse(s.Address)
	if err != nil {
		return ""
	}
	return u.Host
}

// Warning says what a person may not see of the host, or is empty.
func (s *SignIn) Warning() string { return host.AddressWarning(s.Address) }

// serverView is the data of the page of a server.
type serverView struct {
	*Server
	Filter logFilter
	// Lines are those of the log that the filter shows, and Kept is how many there are.
	Lines []LogLine
	Kept  int
	// Roots are nil for a server that is in no configuration. NewRoot is the directory that the user has typed.
	Roots   *Roots
	NewRoot string
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
func (s *Server) CanRetry() bool { return !s.State.IsUp() && !s.Disabled() }

// CanSignIn reports whether the user can sign in at it, and has a reason to.
func (s *Server) CanSignIn() bool { return s.WaitsForSignIn() }

// IsFeatureless reports whether nothing is known that clients could use.
func (s *Server) IsFeatureless() bool { return s.Tools+s.Resources+s.Templates+s.Prompts == 0 }

// servers lists the servers.
func (c *Console) servers(w http.ResponseWriter, _ *http.Request, s *session) {
	c.show(w, s, "servers", &view{Title: "Servers", Section: "servers", Data: c.source.Servers()})
}

// server shows one server.
func (c *Console) server(w http.ResponseWriter, r *http.Request, s *session) {
	c.showServer(w, r, s, &view{Message: done[r.URL.Query().Get("did")]})
}

func (c *Console) showServer(w http.ResponseWriter, r *http.Request, s *session, v *view) {
	name := r.PathValue("name")
	all := c.source.Servers()
	i := slices.IndexFunc(all, func(one Server) bool { return one.Key == name })
	if i < 0 {
		c.show(w, s, "servers", &view{Title: "Servers", Section: "servers", Message: "There is no server \"" + shown(name) + "\" any more.", Failed: true, Data: all})
		return
	}
	query := r.URL.Query()
	data := &serverView{Server: &all[i], Filter: logFilter{query.Get("level"), query.Get("q")}}
	data.Roots, data.NewRoot = c.source.Roots(r.Context(), name), cmp.Or(r.PostForm.Get("dir"), query.Get("dir"))
	lines := c.source.Log(name)
	data.Kept = len(lines)
	for i := range lines {
		if line := &lines[i]; data.Filter.matches(line) {
			data.Lines = append(data.Lines, *line)
		}
	}
	v.Title, v.Section, v.Data = all[i].Key, "servers", data
	c.show(w, s, "server", v)
}

// serverAction does what a button of a server says.
func (c *Console) serverAction(w http.ResponseWriter, r *http.Request, s *session) {
	name := r.PathValue("name")
	var err error
	failed := ""
	switch r.PathValue("action") {
	case "addroot":
		c.addRoot(w, r, s, name)
		return
	case "removeroot":
		c.removeRoot(w, r, s, name)
		return
	case "retry":
		c.source.Retry(name) // a server that is gone is said by the page
	case "restart":
		err, failed = c.source.Restart(name), "Not restarted: "
	case "disable":
		err, failed = c.source.SetDisabled(name, true), "Not switched off: "
	case "enable":
		err, failed = c.source.SetDisabled(name, false), "Not switched on: "
	case "signin":
		err, failed = c.source.SignIn(r.Context(), name), "The sign-in has not begun: "
	case "signedin":
		err, failed = c.source.FinishSignIn(name, strings.TrimSpace(r.PostForm.Get("address"))), "The sign-in has not ended: "
	default:
		http.NotFound(w, r)
		return
	}
	if err != nil {
		c.showServer(w, r, s, &view{Message: failed + shown(err.Error()), Failed: true})
		return
	}
	http.Redirect(w, r, s.path()+"servers/"+name, http.StatusSeeOther)
}
