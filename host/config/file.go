package config

import (
	"cmp"
	"crypto/sha256"
	"encoding/json/jsontext"
	"fmt"
	"net"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/host"
)

// A file is what was read of one: its servers as they are written, before
// variables are looked up.
type file struct {
	*source
	absolute string // path
	project  string // the directory whose servers Claude Code's file is read for
	root     *node  // nil where the file could not be read
	entries  []*entry
	inputs   []Input
	listed   value // the inputs, as they are written
	broken   []string
}

// A form is the place where a kind of program keeps its servers.
type form struct {
	path   []string
	inputs []string // the place of what the user is asked for
}

// forms are all that are read. A file may have several of them.
var forms = []form{
	{path: []string{"mcpServers"}, inputs: []string{"inputs"}},            // most programs
	{path: []string{"servers"}, inputs: []string{"inputs"}},               // VS Code
	{path: []string{"mcp", "servers"}, inputs: []string{"mcp", "inputs"}}, // VS Code, in its settings
	{path: []string{"mcp"}},             // opencode
	{path: []string{"context_servers"}}, // Zed
	{path: []string{"mcp_servers"}},     // Codex
}

// parse reads the content of a file.
func parse(s *source, absolute, project string) *file {
	f := &file{source: s, absolute: absolute, project: project}
	root, fault := f.parseLanguage()
	if fault != nil {
		s.faults = append(s.faults, fault)
		return f
	}
	if !s.want(value{node: root}, kindObject) {
		return f
	}
	if !f.readForms(value{node: root}) {
		s.fault(value{node: root}, `found no "mcpServers", want {"mcpServers": {"NAME": {"command": …} or {"url": …}}}%s`, mistyped(root))
		return f
	}
	f.root = root
	return f
}

func (f *file) parseLanguage() (*node, *Finding) {
	if isTOML(f.path) {
		return f.parseTOML()
	}
	return f.parseJSONC()
}

func isTOML(path string) bool { return strings.EqualFold(filepath.Ext(path), ".toml") }

// mistyped asks whether a member of a file was meant to hold the servers.
func mistyped(root *node) string {
	var known []string
	for _, form := range forms {
		known = append(known, form.path[0])
	}
	for _, m := range root.members {
		if question := suggest(m.name, known); question != "" {
			return fmt.Sprintf("; found %q%s", m.name, question)
		}
	}
	return ""
}

// readForms reads the servers of every form that the file has.
func (f *file) readForms(root value) (found bool) {
	f.each(root, func(member, value) {}) // reports members that stand twice
	if filepath.Base(f.absolute) == ".claude.json" && root.member("projects") != nil {
		found = true
	}
	for _, form := range append(forms, form{path: []string{"projects", f.project, "mcpServers"}}) {
		at, ok := root.find(form.path)
		if !ok || len(form.path) == 1 && form.path[0] == "mcp" && !holdsServers(at) {
			continue
		}
		found = true
		if inputs, ok := root.find(form.inputs); ok && len(form.inputs) > 0 && f.listed.node == nil {
			f.readInputs(inputs)
		}
		f.readServers(at)
	}
	return found
}

// find returns the value that names lead to.
func (v value) find(names []string) (value, bool) {
	for _, name := range names {
		next := v.member(name)
		if next == nil {
			return value{}, false
		}
		v = value{next, v.pointer.AppendToken(name)}
	}
	return v, true
}

// holdsServers tells the servers of opencode from the settings that VS Code and
// Gemini CLI keep under the same name.
func holdsServers(v value) bool {
	if v.kind != kindObject || v.member("servers") != nil {
		return v.kind != kindObject
	}
	return len(v.members) == 0 || slices.ContainsFunc(v.members, func(m member) bool { return m.value.kind == kindObject })
}

// readServers reads the object of all servers.
func (f *file) readServers(at value) {
	if !f.want(at, kindObject) {
		return
	}
	before := len(f.faults)
	f.each(at, func(m member, _ value) { f.readServer(at, m) })
	for _, fault := range f.faults[before:] {
		f.breakTwins(at, fault.Pointer)
	}
}

// breakTwins breaks the first of two servers with one name: nobody can say which
// of them is meant.
func (f *file) breakTwins(at value, pointer jsontext.Pointer) {
	if pointer.Parent() != at.pointer {
		return
	}
	i := slices.IndexFunc(f.entries, func(e *entry) bool { return e.at.pointer == pointer })
	if i >= 0 {
		f.broken = append(f.broken, f.entries[i].name)
		f.entries = slices.Delete(f.entries, i, i+1)
	}
}

func (f *file) readServer(servers value, m member) {
	e := &entry{name: m.name, key: keyOf(m.name), at: servers.of(m)}
	before := len(f.faults)
	if i := slices.IndexFunc(f.entries, func(other *entry) bool { return other.key == e.key }); i >= 0 {
		other := f.entries[i]
		f.fault(servers.named(m), "name %q: is used as %q, which is that of %q on line %d; want another name", e.name, e.key, other.name, f.line(other.at.start))
	}
	f.readEntry(e)
	if len(f.faults) > before {
		f.broken = append(f.broken, e.name)
		return
	}
	if e.key != e.name {
		f.note(servers.named(m), "name %q: is used as %q; names are 1 to 32 of a-z, 0-9 and '-'", e.name, e.key)
	}
	f.entries = append(f.entries, e)
}

var notInKeys = regexp.MustCompile(`[^a-z0-9]+`)

// maxKey bounds the key of an upstream.
const maxKey = 32

// keyOf returns the key of an upstream for a name in a file. It depends on the
// name alone, so it stays whatever else the file holds.
func keyOf(name string) string {
	if host.CheckKey(name) == nil {
		return name
	}
	digest := fmt.Sprintf("%x", sha256.Sum256([]byte(name)))[:8]
	key := strings.Trim(notInKeys.ReplaceAllString(strings.ToLower(name), "-"), "-")
	if key == "" {
		return "server-" + digest
	}
	if len(key) > maxKey {
		key = strings.TrimRight(key[:maxKey-len(digest)-1], "-") + "-" + digest
	}
	return key
}

// isHost reports whether an entry is the host itself, which other programs have
// among their servers. It does not run itself.
func (e *entry) isHost() bool {
	program := strings.TrimSuffix(filepath.Base(filepath.ToSlash(e.command.text)), ".exe")
	if program == "fondaco" && len(e.args) > 0 && e.args[0].text == "stdio" {
		return true
	}
	u, err := url.Parse(e.url.text)
	if err != nil || u.Port() != ownPort {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return cmp.Or(u.Hostname() == "localhost", ip != nil && ip.IsLoopback())
}

// ownPort is that on which the host listens by default.
const ownPort = "7332"
