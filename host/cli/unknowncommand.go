package cli

// alternatives names what to use for commands that other programs have.
var alternatives = map[string]string{
	"down":   "a host ends with Ctrl-C in its terminal; one that a service manager has started ends by it",
	"stop":   "a host ends with Ctrl-C in its terminal; one that a service manager has started ends by it",
	"start":  "\"fondaco up\" starts a host",
	"serve":  "\"fondaco up\" starts a host",
	"run":    "\"fondaco up\" starts a host, and \"fondaco call\" calls a tool",
	"ps":     "\"fondaco servers\" shows what runs",
	"ls":     "\"fondaco tools\" lists the tools, \"fondaco servers\" the servers",
	"list":   "\"fondaco tools\" lists the tools, \"fondaco servers\" the servers",
	"rm":     "\"fondaco remove NAME\" removes a server",
	"delete": "\"fondaco remove NAME\" removes a server",
	"status": "\"fondaco servers\" shows the state of each server",
	"logs":   "\"fondaco servers NAME\" shows the last lines of a server, \"fondaco up --calls\" each call",
}

// unknownCommand is the error for an unknown command, with a suggestion.
func (m *Main) unknownCommand(written string) error {
	if what, ok := alternatives[written]; ok {
		return usagef("there is no command %q: %s", written, what)
	}
	var known []string
	for _, e := range append(commands, helpEntry) {
		known = append(known, e.name)
	}
	return usagef("command %q: unknown%s; %s help lists them", written, didYouMean(written, known), m.program())
}
