package config

import (
	"cmp"
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"

	"github.com/tailscale/hujson"
)

// Add returns the change that adds servers to the host's own configuration at a path,
// which need not exist. Servers whose names are used there are not added; they are
// returned.
func Add(path string, servers []*Server) (c *Change, taken []*Server, err error) {
	if isTOML(path) {
		return nil, nil, fmt.Errorf("%s: is TOML; want a JSON file to add to", path)
	}
	if c, err = readForChange(path, read); err != nil {
		return nil, nil, err
	}
	place, keys, ids := mcpServers, []string(nil), []string(nil)
	if !c.New && len(c.before) > 0 {
		f := parse(newSource(path, c.before), path, "")
		if f.root == nil && !f.readable() {
			return nil, nil, Join(f.errors)
		}
		place, keys, ids = f.serversPath(), f.usedKeys(), f.inputIDs()
	}
	e := &edit{content: c.before}
	for _, s := range servers {
		if slices.Contains(keys, s.Name) {
			taken = append(taken, s)
			continue
		}
		keys = append(keys, s.Name)
		v, err := s.value()
		if err == nil {
			err = e.set(append(slices.Clip(slices.Clone(place)), s.Name), v)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", path, err)
		}
		if ids, err = e.addInputs(s, v, ids); err != nil {
			return nil, nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	c.after = e.content
	return c, taken, nil
}

// serversPath returns the path of the member that has the servers.
func (f *file) serversPath() []string {
	if f.root != nil && f.root.member("mcpServers") == nil && f.root.member("servers") != nil {
		return []string{"servers"}
	}
	return mcpServers
}

// names are the names of the servers in the file, including those of broken ones.
func (f *file) names() (names []string) {
	for _, e := range f.entries {
		names = append(names, e.name)
	}
	return append(names, f.broken...)
}

// usedKeys are the keys of the servers in the file, including those of broken ones.
func (f *file) usedKeys() (keys []string) {
	for _, name := range f.names() {
		keys = append(keys, keyOf(name))
	}
	return keys
}

func (f *file) inputIDs() (ids []string) {
	for _, in := range f.inputs {
		ids = append(ids, in.ID)
	}
	return ids
}

var inputReference = regexp.MustCompile(`\$\{input:([^}]*)\}`)

// addInputs adds the inputs that a server refers to and that the file lacks.
func (e *edit) addInputs(s *Server, v jsontext.Value, ids []string) ([]string, error) {
	if s.origin == nil {
		return ids, nil
	}
	for _, m := range inputReference.FindAllStringSubmatch(string(v), -1) {
		i := slices.IndexFunc(s.origin.inputs, func(in Input) bool { return in.ID == m[1] })
		if i < 0 || slices.Contains(ids, m[1]) {
			continue
		}
		ids = append(ids, m[1])
		at := s.origin.inputs[i].at
		text, err := hujson.Minimize(slices.Clone(s.origin.content[at.start:at.end]))
		if err == nil {
			err = e.appendTo("inputs", text)
		}
		if err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// Endpoint is how a client connects to the host: to a URL, or by starting a program.
type Endpoint struct {
	URL     string
	Header  http.Header // that the client sends to the URL
	Command []string
}

// LiteralSecrets returns the places of the endpoint where a file would have what is probably a secret as text, for
// people. What refers to a variable is none.
func (e Endpoint) LiteralSecrets() (places []string) {
	if part := SecretInURL(e.URL); part != "" {
		places = append(places, part)
	}
	for _, name := range slices.Sorted(maps.Keys(e.Header)) {
		if e.isSecretHeader(name) {
			places = append(places, fmt.Sprintf("header %q", name))
		}
	}
	return places
}

// secretTexts returns the texts of LiteralSecrets.
func (e Endpoint) secretTexts() (texts []string) {
	if SecretInURL(e.URL) != "" {
		texts = append(texts, e.URL)
	}
	for name, values := range e.Header {
		if e.isSecretHeader(name) {
			texts = append(texts, values...)
		}
	}
	return texts
}

// isSecretHeader reports whether the value of a header is probably a secret as text.
func (e Endpoint) isSecretHeader(name string) bool {
	text := e.Header.Get(name)
	if !reference.MatchString(text) {
		text = curly.ReplaceAllString(text, "$${$1:$2}")
	}
	return hasLiteralSecret(name, text)
}

// HasReferences reports whether the client gets headers that it expands itself.
func (e Endpoint) HasReferences() bool {
	for _, values := range e.Header {
		if slices.ContainsFunc(values, Refers) {
			return true
		}
	}
	return false
}

// Refers reports whether a text has a reference, of the form of any client.
func Refers(text string) bool { return reference.MatchString(text) || curly.MatchString(text) }

// Connect returns the change that adds the host to a client's file at a path, under a
// name. An existing entry with that name is replaced.
func (c Client) Connect(path, name string, at Endpoint) (*Change, error) {
	change, err := readForChange(path, readUnchecked)
	if err != nil {
		return nil, err
	}
	v, err := c.entry(at)
	if err != nil {
		return nil, err
	}
	e := &edit{content: change.before}
	if isTOML(path) {
		err = c.connectTOML(e, path, name, v)
	} else {
		err = e.set(append(slices.Clip(slices.Clone(c.servers)), name), v)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	change.after, change.shown, change.secrets = e.content, e.lastWritten, at.secretTexts()
	return change, nil
}

func (c Client) connectTOML(e *edit, path, name string, v jsontext.Value) error {
	if _, fault := newSource(path, e.content).parseTOML(); fault != nil {
		return fault
	}
	body, err := tableBody(v)
	if err != nil {
		return err
	}
	return e.setTable(c.servers[0], name, body)
}

// entry returns the host's entry in the client's format.
func (c Client) entry(at Endpoint) (jsontext.Value, error) {
	var o orderedObject
	switch {
	case at.URL != "":
		o.add("type", c.format.remote, c.format.remote != "")
		o.add(c.format.url, at.URL, true)
		var headers orderedObject
		for _, name := range slices.Sorted(maps.Keys(at.Header)) {
			headers.add(name, at.Header.Get(name), true)
		}
		o.add(cmp.Or(c.format.headers, "headers"), &headers, len(headers.members) > 0)
	case c.format.array:
		o.add("type", c.format.local, true)
		o.add("command", at.Command, true)
	default:
		o.add("type", c.format.local, c.format.local != "")
		o.add("command", at.Command[0], true)
		o.add("args", at.Command[1:], true)
	}
	text, err := json.Marshal(&o)
	if err != nil {
		return nil, err
	}
	return jsontext.Value(string(text[:len(text)-1]) + c.format.more + "}"), nil
}
