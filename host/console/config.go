package console

import (
	"context"
	"net/http"
)

// Config is the configuration of a host, without values that may be secret.
type Config struct {
	// Path is that of the file; empty for the demonstration.
	Path    string
	Servers []ConfiguredServer
	// Errors and Notes are what "fondaco config check" says about the file as it is now.
	Errors, Notes []string
}

// ConfiguredServer is a server as the file has it, on, disabled or broken.
type ConfiguredServer struct {
	Name, State string
	// Reached is the transport, and Target a program without its arguments or the origin of a URL.
	Reached, Target string
	// Variables and Headers are names.
	Variables, Headers []string
	// Rules say which tools may be called, in words.
	Rules []string
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
