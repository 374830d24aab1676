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
	"github.com/fondaco/fondaco/host/userfile"
)

// A file is a parsed file: its servers before variables are expanded.
type file struct {
	*source
	absolute    string // path
	project     string // whose servers are read from Claude Code's file
	root        *node  // nil if the file could not be parsed
	entries     []*entry
	inputs      []Input
	inputsValue value // the inputs, unparsed
	broken      []string
}

// A layout says where a kind of client keeps servers and inputs in its file.
type layout struct {
	path   []string
	inputs []string // path of the inputs
	client string   // the client that alone has this layout
}

// layouts are all that are supported. A file may have several of them.
var layouts = []layout{
	{path: []string{"mcpServers"}, inputs: []string{"inputs"}}, // most clients
	{path: []string{"servers"}, inputs: []string{"inputs"}, client: "vscode"},
	{path: []string{"mcp", "servers"}, inputs: []string{"mcp", "inputs"}, client: "vscode"}, // in its settings
	{path: []string{"mcp"}, client: "opencode"},
	{path: []string{"context_servers"}, client: "zed"},
	{path: []string{"mcp_servers"}, client: "codex"},
}

// parse parses the content of a file.
func parse(s *source, absolute, project string) *file {
	f := &file{source: s, absolute: absolute, project: project}
	s.client = programOf(absolute)
	if _, err := userfile.Text(s.content); err != nil {
		s.errors = append(s.errors, s.diagnostic(0, "", "%v", err))
		return f
	}
	root, fault := f.parseLanguage()
	if fault != nil {
		s.errors = append(s.errors, fault)
		return f
	}
	if !s.requireKind(value{node: root}, kindObject) {
		return f
	}
	if !f.readLayouts(value{node: root}) {
		s.addError(value{node: root}, `found no "mcpServers", want {"mcpServers": {"NAME": {"command": …} or {"url": …}}}%s`, suggestServersKey(root))
		return f
	}
	f.root = root
	return f
}

func (f *file) parseLanguage() (*node, *Diagnostic) {
	if isTOML(f.path) {
		return f.parseTOML()
	}
	return f.parseJSONC()
}

func isTOML(path string) bool { return strings.EqualFold(filepath.Ext(path), ".toml") }

// suggestServersKey asks whether a member of a file was meant to hold the servers.
func suggestServersKey(root *node) string {
	var known []string
	for _, form := range layouts {
		known = append(known, form.path[0])
	}
	for _, m := range root.members {
		if question := suggest(m.name, known); question != "" {
			return fmt.Sprintf("; found %q%s", m.name, question)
		}
	}
	return ""
}

// readLayouts parses the servers of every layout that the file has.
func (f *file) readLayouts(root value) (found bool) {
	f.each(root, func(member, value) {}) // reports duplicate members
	if filepath.Base(f.absolute) == ".claude.json" && root.member("projects") != nil {
		found = true
	}
	for _, form := range append(layouts, layout{path: []string{"projects", f.project, "mcpServers"}}) {
		at, ok := root.find(form.path)
		if !ok || len(form.path) == 1 && form.path[0] == "mcp" && !holdsServers(at) {
			continue
		}
		found = true
		if f.client == nil {
			f.client = clientByID(form.client)
		}
		if inputs, ok := root.find(form.inputs); ok && len(form.inputs) > 0 && f.inputsValue.node == nil {
			f.readInputs(inputs)
		}
		f.readServers(at)
	}
	return found
}

// find returns the value at a path of names.
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

// holdsServers distinguishes the servers of opencode from the settings that VS Code and
// Gemini CLI keep under the same name.
func holdsServers(v value) bool {
	if v.kind != kindObject || v.member("servers") != nil {
		return v.kind != kindObject
	}
	return len(v.members) == 0 || slices.ContainsFunc(v.members, func(m member) bool { return m.value.kind == kindObject })
}

// readServers parses the object of all servers.
func (f *file) readServers(at value) {
	if !f.requireKind(at, kindObject) {
		return
	}
	before := len(f.errors)
	f.each(at, func(m member, _ value) { f.readServer(at, m) })
	for _, fault := range f.errors[before:] {
		f.breakDuplicate(at, fault.Pointer)
	}
}

// breakDuplicate marks the first of two servers with the same name as broken, because it
// is unclear which one is meant.
func (f *file) breakDuplicate(at value, pointer jsontext.Pointer) {
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
	before := len(f.errors)
	if i := slices.IndexFunc(f.entries, func(other *entry) bool { return other.key == e.key }); i >= 0 {
		other := f.entries[i]
		f.addError(servers.named(m), "name %q: is used as %q, which is that of %q on line %d; want another name", e.name, e.key, other.name, f.line(other.at.start))
	}
	f.readEntry(e)
	f.markFields(e)
	if len(f.errors) > before {
		f.broken = append(f.broken, e.name)
		return
	}
	if e.key != e.name {
		f.addWarning(servers.named(m), "name %q: is used as %q; names are 1 to 32 of a-z, 0-9 and '-'", e.name, e.key)
	}
	f.entries = append(f.entries, e)
}

var notInKeys = regexp.MustCompile(`[^a-z0-9]+`)

// maxKey is the length limit of the key of an upstream.
const maxKey = 32

// keyOf returns the key of an upstream for a name in a file. It depends only on the name,
// so it is stable when the file changes.
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

// isHost reports whether an entry is the host itself, which clients have among their
// servers. The host does not run itself.
func (e *entry) isHost() bool {
	program := strings.TrimSuffix(filepath.Base(filepath.ToSlash(e.command.text)), ".exe")
	if program == "fondaco" && len(e.args) > 0 && e.args[0].text == "stdio" {
		return true
	}
	u, err := url.Parse(e.url.text)
	if err != nil || u.Port() != defaultPort {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return cmp.Or(u.Hostname() == "localhost", ip != nil && ip.IsLoopback())
}

// defaultPort is the port on which the host listens by default.
const defaultPort = "7332"
