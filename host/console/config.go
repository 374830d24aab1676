package console

import (
	"context"
	"net/http"

	"github.com/fondaco/fondaco/host"
)

// Config is the configuration of a host, without values that may be secret.
type Config struct {
	// Path is that of the file; empty for the demonstration.
	Path    string
	Servers []ConfiguredServer
	// Lines are the file as it is, without what may be secret, with what the check says of each line. There are none
	// of a file that cannot be parsed.
	Lines []ConfigLine
	// Errors and Notes are what "fondaco config check" says about the file as it is now.
	Errors, Notes []string
}

// ConfigLine is a line of the file.
type ConfigLine struct {
	Text          string
	Errors, Notes []string
}

// ConfiguredServer is a server as the file has it, on, disabled or broken.
type ConfiguredServer struct {
	Name, State string
	// Reached is the transport, and Target a program or the origin of a URL.
	Reached, Target string
	// Arguments are those of the program, without what may be secret.
	Arguments []string
	// Now is the state in which it is, and Reason why; Command finds out more or mends it. They are empty if it does not run.
	Now             host.State
	Reason, Command string
	// Variables and Headers are names.
	Variables, Headers []string
	// Roots are the directories that it gets as roots, and in words whether it gets those of its client.
	Roots []string
	// Rules say which tools may be called, in words.
	Rules []string
}

// Tone is how Now is marked, as that of a Server.
func (s *ConfiguredServer) Tone() string {
	server := Server{Status: host.Status{State: s.Now}}
	return server.Tone()
}

// ConfigSource is what the page of the configuration needs of a host.
type ConfigSource interface {
	// Config reads the configuration as it is now. It starts nothing and asks nothing.
	Config(context.Context) (*Config, error)
}

// config shows the configuration.
func (c *Console) config(w http.ResponseWriter, r *http.Request, s *session) {
	v := &view{Title: "Configuration", Section: "config", Still: true}
	found, err := c.source.Config(r.Context())
	if err != nil {
		v.Message, v.Failed, found = "The configuration could not be read: "+shown(err.Error()), true, new(Config)
	}
	v.Data = found
	c.show(w, s, "config", v)
}
