package config

import (
	"os"
	"path/filepath"
	"runtime"
	"slices"
)

// Client is a program whose configuration the host can read, and add itself to.
type Client struct {
	// ID is its name on a command line, Name that for people.
	ID, Name string

	user    []place  // the user's files, of which the first is made if there is none
	project []string // files below the directory of a project
	servers []string // the place of the servers in them
	words   words
}

// A place is a path below a directory.
type place struct {
	base base
	path string
}

type base int

const (
	inHome        base = iota // the home directory
	inConfig                  // that for configurations, as the system has it
	inXDG                     // the same, as the XDG specification has it
	inXDGOrConfig             // the same, but on Windows
	inCodex                   // $CODEX_HOME
)

// words are what a program calls the parts of an entry.
type words struct {
	url    string // the member for a URL; empty where only programs can be named
	remote string // the type of an entry with a URL, if it has to have one
	local  string // the type of an entry with a command, if it has to have one
	more   string // members that every entry needs, with a comma before
	array  bool   // a command is an array
}

// mcpServers is where most programs keep their servers.
var mcpServers = []string{"mcpServers"}

const extensions = "Code/User/globalStorage/"

// clients are in the order in which they are read: of a server that several have,
// the first is taken.
var clients = []Client{
	{
		ID: "claude-desktop", Name: "Claude Desktop", servers: mcpServers,
		user: []place{{inConfig, "Claude/claude_desktop_config.json"}},
	},
	{
		ID: "claude-code", Name: "Claude Code", servers: mcpServers, words: words{url: "url", remote: "http", local: "stdio"},
		user: []place{{inHome, ".claude.json"}}, project: []string{".mcp.json"},
	},
	{
		ID: "cursor", Name: "Cursor", servers: mcpServers, words: words{url: "url"},
		user: []place{{inHome, ".cursor/mcp.json"}}, project: []string{".cursor/mcp.json"},
	},
	{
		ID: "vscode", Name: "VS Code", servers: []string{"servers"}, words: words{url: "url", remote: "http", local: "stdio"},
		user: []place{{inConfig, "Code/User/mcp.json"}, {inConfig, "Code - Insiders/User/mcp.json"}}, project: []string{".vscode/mcp.json"},
	},
	{
		ID: "windsurf", Name: "Windsurf", servers: mcpServers, words: words{url: "serverUrl"},
		user: []place{{inHome, ".codeium/windsurf/mcp_config.json"}},
	},
	{
		ID: "cline", Name: "Cline", servers: mcpServers, words: words{url: "url", remote: "streamableHttp"},
		user: []place{{inConfig, extensions + "saoudrizwan.claude-dev/settings/cline_mcp_settings.json"}},
	},
	{
		ID: "roo", Name: "Roo Code", servers: mcpServers, words: words{url: "url", remote: "streamable-http"},
		user: []place{{inConfig, extensions + "rooveterinaryinc.roo-cline/settings/mcp_settings.json"}}, project: []string{".roo/mcp.json"},
	},
	{
		ID: "gemini", Name: "Gemini CLI", servers: mcpServers, words: words{url: "httpUrl"},
		user: []place{{inHome, ".gemini/settings.json"}}, project: []string{".gemini/settings.json"},
	},
	{
		ID: "opencode", Name: "opencode", servers: []string{"mcp"}, words: words{url: "url", remote: "remote", local: "local", more: `,"enabled":true`, array: true},
		user: []place{{inXDG, "opencode/opencode.json"}, {inXDG, "opencode/opencode.jsonc"}}, project: []string{"opencode.json", "opencode.jsonc"},
	},
	{
		ID: "zed", Name: "Zed", servers: []string{"context_servers"}, words: words{url: "url"},
		user: []place{{inXDGOrConfig, "zed/settings.json"}}, project: []string{".zed/settings.json"},
	},
	{
		ID: "codex", Name: "Codex", servers: []string{"mcp_servers"}, words: words{url: "url"},
		user: []place{{inCodex, "config.toml"}}, project: []string{".codex/config.toml"},
	},
	{
		ID: "copilot", Name: "Copilot CLI", servers: mcpServers, words: words{url: "url", remote: "http", local: "local", more: `,"tools":["*"]`},
		user: []place{{inHome, ".copilot/mcp-config.json"}},
	},
	{
		ID: "amazonq", Name: "Amazon Q", servers: mcpServers, words: words{url: "url", remote: "http"},
		user: []place{{inHome, ".aws/amazonq/mcp.json"}}, project: []string{".amazonq/mcp.json"},
	},
	{
		ID: "kiro", Name: "Kiro", servers: mcpServers, words: words{url: "url"},
		user: []place{{inHome, ".kiro/settings/mcp.json"}}, project: []string{".kiro/settings/mcp.json"},
	},
	{
		ID: "lmstudio", Name: "LM Studio", servers: mcpServers, words: words{url: "url"},
		user: []place{{inHome, ".lmstudio/mcp.json"}},
	},
}

// Clients returns all that are known.
func Clients() []Client { return slices.Clone(clients) }

// TakesURL reports whether the program can reach the host at a URL. Others start
// it.
func (c Client) TakesURL() bool { return c.words.url != "" }

// File returns the user's file of the program: the first that is there, else the
// one that the program would make. It is empty where the environment does not say
// where the user's files are.
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

// files are the paths of the user's files on a system.
func (c Client) files(env Env, system string) (paths []string) {
	for _, p := range c.user {
		if dir := p.base.dir(env, system); filepath.IsAbs(dir) {
			paths = append(paths, filepath.Join(dir, filepath.FromSlash(p.path)))
		}
	}
	return paths
}

// dir returns the directory of a base on a system.
func (b base) dir(env Env, system string) string {
	switch {
	case b == inCodex:
		if dir, _ := env("CODEX_HOME"); dir != "" {
			return dir
		}
		return below(home(env), ".codex")
	case b == inConfig && system == "darwin":
		return below(home(env), "Library", "Application Support")
	case (b == inConfig || b == inXDGOrConfig) && system == "windows":
		dir, _ := env("APPDATA")
		return dir
	case b != inHome:
		return xdg(env)
	}
	return home(env)
}

// xdg is the directory for configurations of the XDG Base Directory Specification.
func xdg(env Env) string {
	if dir, _ := env("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return dir
	}
	return below(home(env), ".config")
}

// home is the user's directory, on Windows too.
func home(env Env) string {
	if dir, ok := env("HOME"); ok {
		return dir
	}
	dir, _ := env("USERPROFILE")
	return dir
}

// below joins a path to a directory, if that is known.
func below(dir string, path ...string) string {
	if dir == "" {
		return ""
	}
	return filepath.Join(append([]string{dir}, path...)...)
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
