package cli

// instead says what to do instead of what verbs of other programs do.
var instead = map[string]string{
	"down":  "a host ends with Ctrl-C in its terminal; one that a service manager has started ends by it",
	"stop":  "a host ends with Ctrl-C in its terminal; one that a service manager has started ends by it",
	"start": "\"fondaco up\" starts a host",
	"serve": "\"fondaco up\" starts a host",
	"run":   "\"fondaco up\" starts a host, and \"fondaco call\" calls a tool",
	"ps":    "\"fondaco servers\" shows what runs",
	"ls":    "\"fondaco tools\" lists the tools, \"fondaco servers\" the servers",
	"list":  "\"fondaco tools\" lists the tools, \"fondaco servers\" the servers",
	"logs":  "\"fondaco servers NAME\" shows the last lines of a server, \"fondaco up --calls\" each call",
}

// unknownVerb says what to write instead of a verb that there is not.
func (m *Main) unknownVerb(written string) error {
	if what, ok := instead[written]; ok {
		return usagef("there is no verb %q: %s", written, what)
	}
	var known []string
	for _, e := range append(verbs, helpEntry) {
		known = append(known, e.name)
	}
	return usagef("verb %q: unknown%s; %s help lists them", written, didYouMean(written, known), m.program())
}
