package config

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"
)

// Client is an MCP client whose configuration file the host can read and change.
type Client struct {
	// ID is its name on a command line, Name that for people.
	ID, Name string

	user    []filePath // files of the user; the first is created if there is none
	project []string   // files relative to the directory of a project
	servers []string   // path of the member that has the servers
	// timeout is the unit of the member "timeout", which limits calls. Zero: the client documents
	// none.
	timeout time.Duration
	format  entryFormat
	expands expansion
}

// A filePath is a path relative to a base directory.
type filePath struct {
	base base
	path string
}

type base int

const (
	inHome        base = iota // the home directory
	inConfig                  // the operating system's directory for configurations
	inXDG                     // that of the XDG specification
	inXDGOrConfig             // inXDG, but inConfig on Windows
	inCodex                   // $CODEX_HOME
)

// entryFormat has the member names and values that a client uses in an entry.
type entryFormat struct {
	url     string // the member for a URL; empty if the client supports no URLs
	headers string // the member for headers, if it is not "headers"
	remote  string // the value of "type" of an entry with a URL, if required
	local   string // the value of "type" of an entry with a command, if required
	more    string // members that every entry needs, after a comma
	array   bool   // a command is an array
}

// mcpServers is the path that most clients use.
var mcpServers = []string{"mcpServers"}

const extensions = "Code/User/globalStorage/"

// clients are in the order in which they are read. If several have the same server, the
// first counts.
var clients = []Client{
	{
		ID: "claude-desktop", Name: "Claude Desktop", servers: mcpServers,
		user: []filePath{{inConfig, "Claude/claude_desktop_config.json"}},
	},
	{
		ID: "claude-code", Name: "Claude Code", servers: mcpServers, timeout: time.Millisecond, format: entryFormat{url: "url", remote: "http", local: "stdio"},
		user: []filePath{{inHome, ".claude.json"}}, project: []string{".mcp.json"},
		expands: expansion{variable: "${NAME}", homeDir: "${HOME}"},
	},
	{
		ID: "cursor", Name: "Cursor", servers: mcpServers, format: entryFormat{url: "url"},
		user: []filePath{{inHome, ".cursor/mcp.json"}}, project: []string{".cursor/mcp.json"},
		expands: expansion{variable: "${env:NAME}", homeDir: "${userHome}"},
	},
	{
		ID: "vscode", Name: "VS Code", servers: []string{"servers"}, format: entryFormat{url: "url", remote: "http", local: "stdio"},
		user: []filePath{{inConfig, "Code/User/mcp.json"}, {inConfig, "Code - Insiders/User/mcp.json"}}, project: []string{".vscode/mcp.json"},
		expands: expansion{home: true, variable: "${env:NAME}", homeDir: "${userHome}"},
	},
	{
		ID: "windsurf", Name: "Windsurf", servers: mcpServers, format: entryFormat{url: "serverUrl"},
		user:    []filePath{{inHome, ".codeium/windsurf/mcp_config.json"}},
		expands: expansion{variable: "${env:NAME}", homeDir: "${env:HOME}"},
	},
	{
		ID: "cline", Name: "Cline", servers: mcpServers, timeout: time.Second, format: entryFormat{url: "url", remote: "streamableHttp"},
		user:    []filePath{{inConfig, extensions + "saoudrizwan.claude-dev/settings/cline_mcp_settings.json"}},
		expands: expansion{variable: "${env:NAME}", homeDir: "${env:HOME}"},
	},
	{
		ID: "roo", Name: "Roo Code", servers: mcpServers, timeout: time.Second, format: entryFormat{url: "url", remote: "streamable-http"},
		user: []filePath{{inConfig, extensions + "rooveterinaryinc.roo-cline/settings/mcp_settings.json"}}, project: []string{".roo/mcp.json"},
		expands: expansion{variable: "${env:NAME}", homeDir: "${env:HOME}"},
	},
	{
		ID: "gemini", Name: "Gemini CLI", servers: mcpServers, timeout: time.Millisecond, format: entryFormat{url: "httpUrl"},
		user: []filePath{{inHome, ".gemini/settings.json"}}, project: []string{".gemini/settings.json"},
		expands: expansion{plain: true, percent: true, variable: "$NAME", homeDir: "$HOME"},
	},
	{
		ID: "opencode", Name: "opencode", servers: []string{"mcp"}, format: entryFormat{url: "url", remote: "remote", local: "local", more: `,"enabled":true`, array: true},
		user: []filePath{{inXDG, "opencode/opencode.json"}, {inXDG, "opencode/opencode.jsonc"}}, project: []string{"opencode.json", "opencode.jsonc"},
		expands: expansion{curly: true, variable: "{env:NAME}", homeDir: "{env:HOME}"},
	},
	{
		ID: "zed", Name: "Zed", servers: []string{"context_servers"}, timeout: time.Second, format: entryFormat{url: "url"},
		user: []filePath{{inXDGOrConfig, "zed/settings.json"}}, project: []string{".zed/settings.json"},
	},
	{
		ID: "codex", Name: "Codex", servers: []string{"mcp_servers"}, format: entryFormat{url: "url", headers: "http_headers"},
		user: []filePath{{inCodex, "config.toml"}}, project: []string{".codex/config.toml"},
	},
	{
		ID: "copilot", Name: "Copilot CLI", servers: mcpServers, timeout: time.Millisecond, format: entryFormat{url: "url", remote: "http", local: "local", more: `,"tools":["*"]`},
		user:    []filePath{{inHome, ".copilot/mcp-config.json"}},
		expands: expansion{plainEnv: true, variable: "${NAME}", inValues: true},
	},
	{
		ID: "amazonq", Name: "Amazon Q", servers: mcpServers, timeout: time.Millisecond, format: entryFormat{url: "url", remote: "http"},
		user: []filePath{{inHome, ".aws/amazonq/mcp.json"}}, project: []string{".amazonq/mcp.json"},
		expands: expansion{variable: "${env:NAME}", inValues: true},
	},
	{
		ID: "kiro", Name: "Kiro", servers: mcpServers, timeout: time.Millisecond, format: entryFormat{url: "url"},
		user: []filePath{{inHome, ".kiro/settings/mcp.json"}}, project: []string{".kiro/settings/mcp.json"},
		expands: expansion{variable: "${NAME}", homeDir: "${HOME}"},
	},
	{
		ID: "lmstudio", Name: "LM Studio", servers: mcpServers, format: entryFormat{url: "url"},
		user: []filePath{{inHome, ".lmstudio/mcp.json"}},
	},
}

// Clients returns all known clients.
func Clients() []Client { return slices.Clone(clients) }

// SupportsURL reports whether the client can connect to a URL. Other clients must start
// the host as a program.
func (c Client) SupportsURL() bool { return c.format.url != "" }

// File returns the user's file of the client: the first that exists, else the one that
// the client would create. It is empty if the environment does not name the directory.
func (c Client) File(env Env) string {
	paths := c.files(env, runtime.GOOS)
	if i := slices.IndexFunc(paths, isFile); i >= 0 {
		return paths[i]
	}
	if len(paths) == 0 {
		return ""
	}
	return paths[0]
}

// files are the paths of the user's files on an operating system.
func (c Client) files(env Env, system string) (paths []string) {
	for _, p := range c.user {
		if dir := p.base.dir(env, system); filepath.IsAbs(dir) {
			paths = append(paths, filepath.Join(dir, filepath.FromSlash(p.path)))
		}
	}
	return paths
}

// dir returns the directory of a base on an operating system.
func (b base) dir(env Env, system string) string {
	switch {
	case b == inCodex:
		if dir, _ := env("CODEX_HOME"); dir != "" {
			return dir
		}
		return joinIfKnown(home(env), ".codex")
	case b == inConfig && system == "darwin":
		return joinIfKnown(home(env), "Library", "Application Support")
	case (b == inConfig || b == inXDGOrConfig) && system == "windows":
		dir, _ := env("APPDATA")
		return dir
	case b != inHome:
		return xdg(env)
	}
	return home(env)
}

// xdg is the configuration directory of the XDG Base Directory Specification.
func xdg(env Env) string {
	if dir, _ := env("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return dir
	}
	return joinIfKnown(home(env), ".config")
}

// home is the user's home directory, on Windows too.
func home(env Env) string {
	if dir, ok := env("HOME"); ok {
		return dir
	}
	dir, _ := env("USERPROFILE")
	return dir
}

// joinIfKnown joins a path to a directory. It is empty if the directory is.
func joinIfKnown(dir string, path ...string) string {
	if dir == "" {
		return ""
	}
	return filepath.Join(append([]string{dir}, path...)...)
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
