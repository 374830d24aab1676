package config

import (
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

// An expansion says what the program of a file expands by itself, as its documentation has it.
// References in "${…}" are expanded in every file of JSON.
type expansion struct {
	plain    bool // $NAME
	plainEnv bool // $NAME in values of "env"
	percent  bool // %NAME% in values of "env", on Windows
	curly    bool // {env:NAME} and {file:PATH}
	home     bool // "~/" at the start of a command, an argument or a working directory

	// How a variable NAME and the home directory are written for the program; empty if it expands neither.
	variable, homeDir string
	// inValues means that the program expands variables in values of "env" and of headers alone.
	inValues bool
}

// ownExpansion is that of the host's own file, and of files whose program is not known.
var ownExpansion = expansion{variable: "${NAME}", homeDir: "${userHome}"}

// programFiles are the ends of the paths of files whose place tells the program, wherever they were copied to.
var programFiles = []struct{ end, client string }{
	{"claude_desktop_config.json", "claude-desktop"},
	{".claude.json", "claude-code"},
	{".mcp.json", "claude-code"},
	{".cursor/mcp.json", "cursor"},
	{"mcp_config.json", "windsurf"},
	{".gemini/settings.json", "gemini"},
	{"opencode.json", "opencode"},
	{"opencode.jsonc", "opencode"},
}

// programOf returns the client to which a file belongs by its path, nil if the path does not say so.
func programOf(absolute string) *Client {
	for _, p := range programFiles {
		if strings.HasSuffix(filepath.ToSlash(absolute), "/"+p.end) {
			return clientByID(p.client)
		}
	}
	for i := range clients {
		if clients[i].hasFile(absolute) {
			return &clients[i]
		}
	}
	return nil
}

// hasFile reports whether a file is where the client has one, below any directory.
func (c *Client) hasFile(absolute string) bool {
	names := slices.Clone(c.project)
	for _, p := range c.user {
		names = append(names, strings.TrimPrefix(p.path, extensions)) // which other editors have, too
	}
	return slices.ContainsFunc(names, func(name string) bool { return strings.HasSuffix(filepath.ToSlash(absolute), "/"+name) })
}

// clientByID returns a client, nil for the empty ID.
func clientByID(id string) *Client {
	if i := slices.IndexFunc(clients, func(c Client) bool { return c.ID == id }); i >= 0 {
		return &clients[i]
	}
	return nil
}

// expansion returns what the program of the file expands.
func (f *file) expansion() expansion {
	if f.client == nil {
		return ownExpansion
	}
	return f.client.expands
}

// markFields marks the fields in which the program of the file expands more than in others.
func (f *file) markFields(e *entry) {
	x := f.expansion()
	e.command.home, e.dir.home = x.home, x.home
	for i := range e.args {
		e.args[i].home = x.home
	}
	for i := range e.env {
		e.env[i].plain = x.plainEnv
		e.env[i].percent = x.percent && runtime.GOOS == "windows"
	}
}

// startsAtHome reports whether a text is "~", or begins with "~/" or, on Windows, "~\".
func startsAtHome(text string) bool {
	rest, ok := strings.CutPrefix(text, "~")
	return ok && (rest == "" || rest[0] == '/' || rest[0] == '\\' && runtime.GOOS == "windows")
}

var (
	// Names in capitals: "$5" and a "$" in a password are texts.
	unexpandedPlain   = regexp.MustCompile(`\$(\{[A-Z_][A-Z0-9_]+\}|[A-Z_][A-Z0-9_]+)`)
	unexpandedPercent = regexp.MustCompile(`%[A-Z_][A-Z0-9_]{2,}%`) // not the escape in "%C3%A9"
)

// shells expand the variables in their arguments themselves.
var shells = []string{"sh", "bash", "zsh", "dash", "ksh", "fish", "cmd", "powershell", "pwsh"}

// warnUnexpanded reports what looks like a reference and stays as it is.
func (r *resolver) warnUnexpanded(e *entry) {
	program := strings.TrimSuffix(filepath.Base(filepath.ToSlash(e.command.text)), ".exe")
	isShell := slices.Contains(shells, program)
	for _, f := range slices.Concat([]field{e.command, e.dir, e.envFile}, e.args) {
		if startsAtHome(r.literal(f)) {
			r.warnStays(f, `"~" at the start`, r.expansion().homeDir, "the whole path")
		}
	}
	for i, f := range slices.Concat([]field{e.command, e.dir, e.envFile, e.url}, e.args, values(e.env), values(e.headers)) {
		if isArgument := i >= 4 && i < 4+len(e.args); isArgument && isShell {
			continue
		}
		want := r.expansion().variable
		if r.expansion().inValues && i < 4+len(e.args) {
			want = ""
		}
		switch text := r.literal(f); {
		case unexpandedPlain.MatchString(text):
			r.warnStays(f, `"$" before a name`, want, "the value")
		case unexpandedPercent.MatchString(text):
			r.warnStays(f, `a name between "%"`, want, "the value")
		}
	}
	for _, p := range e.env {
		if startsAtHome(r.literal(p.field)) {
			r.warnStays(p.field, `"~" at the start`, r.expansion().homeDir, "the whole path")
		}
	}
}

// values are the fields of pairs.
func values(pairs []pair) (fields []field) {
	for _, p := range pairs {
		fields = append(fields, p.field)
	}
	return fields
}

// warnStays reports a form that is not expanded. want is what the program of the file expands instead, or empty.
func (r *resolver) warnStays(f field, found, want, otherwise string) {
	where := "in this file"
	if r.client != nil {
		where = "in a file of " + r.client.Name
	}
	if want == "" || isTOML(r.path) {
		want = otherwise
	}
	r.addWarning(f.at, "found %s, which stays as it is %s; want %s", found, where, want)
}

// literal returns the text of a field outside of its references. Each reference is a space, so that what is
// around it is not joined.
func (r *resolver) literal(f field) string {
	if isTOML(r.path) {
		return f.text
	}
	var parts []string
	for literal := range r.references(f) {
		parts = append(parts, literal)
	}
	return strings.Join(parts, " ")
}
