package consent

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json/v2"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// Program is a program as it would be started now. The user approves it.
type Program struct {
	// Command and Args are those of the configuration.
	Command string   `json:"command"`
	Args    []string `json:"args,omitempty"`
	// Dir is the working directory; empty means that of the host.
	Dir string `json:"dir,omitzero"`
	// Env are the names of the variables that are set. For a variable that can make
	// programs run other code, such as LD_PRELOAD, the value is included, as NAME=VALUE.
	Env []string `json:"env,omitempty"`
	// File is the file that Command resolves to, and Sum the SHA-256 of its content.
	File string `json:"file"`
	Sum  string `json:"sum"`
}

// programOf describes the program of a target.
func programOf(t *mcpclient.CommandTarget) (Program, error) {
	p := Program{Command: t.Path, Args: slices.Clone(t.Args), Dir: t.Dir}
	for _, name := range slices.Sorted(maps.Keys(t.Env)) {
		if runsCode(name) {
			name += "=" + t.Env[name]
		}
		p.Env = append(p.Env, name)
	}
	file, err := lookPath(t)
	if err != nil {
		return p, fmt.Errorf("command %q: %w", t.Path, err)
	}
	p.File = file
	p.Sum, err = checksum(file)
	return p, err
}

// digest identifies the program including its content and its environment.
func (p Program) digest() string { return digestOf(p) }

// identity identifies the program without content and environment: a new version is still
// the same server.
func (p Program) identity() string {
	return digestOf([]any{p.Command, p.Args, p.Dir})
}

// String returns the command in one line, quoted for a shell.
func (p Program) String() string {
	words := []string{shellQuote(p.Command)}
	for _, arg := range p.Args {
		words = append(words, shellQuote(arg))
	}
	return strings.Join(words, " ")
}

// digestOf returns the SHA-256 of the canonical JSON of a value, in hex.
func digestOf(v any) string {
	text, err := json.Marshal(v, json.Deterministic(true))
	if err != nil {
		panic(fmt.Sprintf("consent: %v", err)) // cannot happen: v holds strings and JSON that was parsed
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// codeVariables can make programs load or run other code. A trailing "*" matches all
// names with that prefix.
var codeVariables = []string{
	"PATH", "LD_*", "DYLD_*", "NODE_OPTIONS", "NODE_PATH", "PYTHON*", "RUBYOPT", "RUBYLIB", "PERL5OPT", "PERL5LIB",
	"JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS", "BASH_ENV", "ENV", "GIT_*", "npm_config_*", "NPM_CONFIG_*",
	"UV_*", "PIP_*", "DOTNET_STARTUP_HOOKS", "GCONV_PATH",
}

// runsCode reports whether a variable can make programs run other code.
func runsCode(name string) bool {
	return slices.ContainsFunc(codeVariables, func(pattern string) bool {
		prefix, many := strings.CutSuffix(pattern, "*")
		return name == pattern || many && strings.HasPrefix(name, prefix)
	})
}

// lookPath returns the absolute path of the file that a target would start.
func lookPath(t *mcpclient.CommandTarget) (string, error) {
	path := t.Path
	switch own, ok := pathVariable(t.Env); {
	case path == "":
		return "", errors.New("the command is empty")
	case filepath.Base(path) != path:
		if !filepath.IsAbs(path) {
			path = filepath.Join(t.Dir, path)
		}
		found, err := exec.LookPath(path)
		if err != nil {
			return "", err
		}
		return filepath.Abs(found)
	case ok:
		return findIn(own, path)
	}
	found, err := exec.LookPath(path)
	if err != nil {
		return "", errors.Unwrap(err)
	}
	return found, nil
}

func findIn(path, name string) (string, error) {
	for _, dir := range filepath.SplitList(path) {
		if found, err := exec.LookPath(filepath.Join(dir, name)); filepath.IsAbs(dir) && err == nil {
			return found, nil
		}
	}
	return "", fmt.Errorf("not found in the given PATH %q", path)
}

// pathVariable returns the PATH that the environment sets. On Windows its case does not
// count.
func pathVariable(env map[string]string) (string, bool) {
	for name, value := range env {
		if name == "PATH" || runtime.GOOS == "windows" && strings.EqualFold(name, "PATH") {
			return value, true
		}
	}
	return "", false
}
