package config

import (
	"encoding/json/jsontext"
	"encoding/json/v2"
	"fmt"
	"regexp"
	"slices"

	"github.com/tailscale/hujson"
)

// Add returns the change that adds servers to the host's own configuration at a
// path, which need not exist. Those whose names are taken there stay out and are
// returned.
func Add(path string, servers []*Server) (c *Change, taken []*Server, err error) {
	if isTOML(path) {
		return nil, nil, fmt.Errorf("%s: is TOML; want a JSON file to add to", path)
	}
	if c, err = begin(path); err != nil {
		return nil, nil, err
	}
	place, keys, ids := mcpServers, []string(nil), []string(nil)
	if !c.New && len(c.before) > 0 {
		f := parse(newSource(path, c.before), path, "")
		if f.root == nil && !f.readable() {
			return nil, nil, Join(f.faults)
		}
		place, keys, ids = f.place(), f.keys(), f.inputIDs()
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

// place returns where the file keeps servers.
func (f *file) place() []string {
	if f.root != nil && f.root.member("mcpServers") == nil && f.root.member("servers") != nil {
		return []string{"servers"}
	}
	return mcpServers
}

// keys are the names that are taken in the file, also by what is broken.
func (f *file) keys() (keys []string) {
	for _, e := range f.entries {
		keys = append(keys, e.key)
	}
	for _, name := range f.broken {
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

// Endpoint is how a client reaches the host: at a URL, or by starting a program.
type Endpoint struct {
	URL     string
	Command []string
}

// Connect returns the change that adds the host to a client's file at a path, under
// a name. What has the name is replaced.
func (c Client) Connect(path, name string, at Endpoint) (*Change, error) {
	change, err := begin(path)
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
	change.after, change.shown = e.content, e.written
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

// entry writes the host as the client has its servers.
func (c Client) entry(at Endpoint) (jsontext.Value, error) {
	var o object
	switch {
	case at.URL != "":
		o.add("type", c.words.remote, c.words.remote != "")
		o.add(c.words.url, at.URL, true)
	case c.words.array:
		o.add("type", c.words.local, true)
		o.add("command", at.Command, true)
	default:
		o.add("type", c.words.local, c.words.local != "")
		o.add("command", at.Command[0], true)
		o.add("args", at.Command[1:], true)
	}
	text, err := json.Marshal(&o)
	if err != nil {
		return nil, err
	}
	return jsontext.Value(string(text[:len(text)-1]) + c.words.more + "}"), nil
}
