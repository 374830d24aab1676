package config

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// Remove returns the change that removes a server from the host's own configuration at a path. The
// name is the one in the file, or the key of the server (host.Upstream). key is the key of the
// server that the change removes, and names are the names of all servers in the file, for a
// suggestion. Without a server of the name the change has no effect. A server that is in
// another place of the file than that to which Add adds is an error.
func Remove(path, name string) (c *Change, key string, names []string, err error) {
	if isTOML(path) {
		return nil, "", nil, fmt.Errorf("%s: is TOML; want a JSON file to remove from", path)
	}
	if c, err = readForChange(path, read); err != nil || c.New {
		return c, "", nil, err
	}
	f := parse(newSource(path, c.before), path, "")
	if f.root == nil && !f.readable() {
		return nil, "", nil, Join(f.errors)
	}
	e := &edit{content: c.before}
	root, err := e.parse()
	if err != nil {
		return nil, "", nil, fmt.Errorf("%s: %w", path, err)
	}
	names = f.names()
	isNamed := func(written string) bool { return written == name || keyOf(written) == name }
	place := f.serversPath()
	switch servers, i := findServer(root, place, name); {
	case i >= 0:
		key = keyOf(memberName(&servers.Value.(*hujson.Object).Members[i]))
		e.removeMember(servers, i)
		c.after = e.content
	case slices.ContainsFunc(names, isNamed):
		return nil, "", nil, fmt.Errorf("%s: server %q is in another place of the file than %q; remove it by hand", path, name, strings.Join(place, "/"))
	}
	return c, key, names, nil
}

// findServer returns the object at a path of names, and the index in it of the server with a name or
// else of that with the name as its key, -1 if there is none.
func findServer(root *hujson.Value, path []string, name string) (servers *hujson.Value, i int) {
	servers, i = findMember(root, path, name)
	if i < 0 && servers != nil {
		i = slices.IndexFunc(servers.Value.(*hujson.Object).Members, func(m hujson.ObjectMember) bool { return keyOf(memberName(&m)) == name })
	}
	return servers, i
}

// findMember returns the object at a path of names, nil if there is none, and the index in it of the member with a
// name, -1 if there is none.
func findMember(root *hujson.Value, path []string, name string) (in *hujson.Value, i int) {
	in = root
	for _, step := range path {
		object, ok := in.Value.(*hujson.Object)
		if !ok {
			return nil, -1
		}
		if in = memberOf(object, step); in == nil {
			return nil, -1
		}
	}
	object, ok := in.Value.(*hujson.Object)
	if !ok {
		return nil, -1
	}
	return in, slices.IndexFunc(object.Members, func(m hujson.ObjectMember) bool { return memberName(&m) == name })
}

func memberName(m *hujson.ObjectMember) string { return m.Name.Value.(hujson.Literal).String() }

// removeMember removes a member of an object, with its line if nothing else is on it. Comments
// behind it on the line are removed, others stay.
func (e *edit) removeMember(of *hujson.Value, i int) {
	members := of.Value.(*hujson.Object).Members
	m := &members[i]
	start, end := m.Name.StartOffset, m.Value.EndOffset
	hasComma := i < len(members)-1 || m.Value.AfterExtra != nil
	if hasComma {
		end += len(m.Value.AfterExtra) + 1
	}
	if after := e.lineEnd(end, of.EndOffset-1); e.endsLine(after) {
		end = after
	}
	startsLine := strings.TrimLeft(string(e.content[e.lineStart(start):start]), " \t") == ""
	switch {
	case startsLine && e.endsLine(end):
		start = e.lineStart(start)
		end += bytes.IndexByte(e.content[end:], '\n') + 1
	case i < len(members)-1 && !e.endsLine(end):
		end += len(e.content[end:]) - len(bytes.TrimLeft(e.content[end:], " \t"))
	default:
		start = len(bytes.TrimRight(e.content[:start], " \t"))
	}
	e.splice(start, end, "")
	if !hasComma && i > 0 {
		comma := members[i-1].Value.EndOffset + len(members[i-1].Value.AfterExtra)
		e.splice(comma, comma+1, "")
	}
}

// endsLine reports whether only white space follows on the line.
func (e *edit) endsLine(at int) bool {
	rest, _, found := bytes.Cut(e.content[at:], []byte("\n"))
	return found && len(bytes.TrimSpace(rest)) == 0
}
