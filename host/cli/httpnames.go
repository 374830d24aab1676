package cli

import (
	"flag"
	"fmt"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/mcp/mcpserver"
)

// httpNames are the names under which a host may be reached over HTTP, and the web pages that may use it.
type httpNames struct {
	hosts   list
	origins list
}

func (n *httpNames) declare(f *flag.FlagSet) {
	f.Var(&n.hosts, "allow-host", "answer requests for the `HOST`, too; may be repeated")
	f.Var(&n.origins, "allow-origin", "serve web pages of `ORIGIN`, too; may be repeated")
}

// options returns the options of the handlers, with the names that other flags imply. Names that no
// request has are an error, and "*" is: every web page could use a host that asks for no credentials.
func (n *httpNames) options(implied ...string) (o *mcpserver.HTTPOptions, err error) {
	if slices.Contains(n.origins, "*") {
		return nil, usagef(`--allow-origin "*": every web page that you visit could use the host; want one origin such as https://app.example.com, and the flag again for each other`)
	}
	defer func() { // mcpserver panics if the value of a flag is invalid
		if fault := recover(); fault != nil {
			o, err = nil, usagef("%s", flagOfName.Replace(strings.TrimPrefix(fmt.Sprint(fault), "mcpserver.New: ")))
		}
	}()
	o = &mcpserver.HTTPOptions{
		AllowedOrigins: n.origins,
		HostAdvice:     `"up --allow-host HOST" adds one`,
		OriginAdvice:   `"up --allow-origin ORIGIN" adds one`,
	}
	for _, name := range slices.Concat(implied, n.hosts) {
		if !slices.Contains(o.AllowedHosts, name) {
			o.AllowedHosts = append(o.AllowedHosts, name)
		}
	}
	mcpserver.New("names", "0", &mcpserver.Options{HTTP: o})
	return o, nil
}

// flagOfName replaces the option in an error by its flag.
var flagOfName = strings.NewReplacer("HTTPOptions.AllowedHosts:", "--allow-host", "HTTPOptions.AllowedOrigins:", "--allow-origin")
