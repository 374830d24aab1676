package commandfiles

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// interpreter describes the command line of an interpreter.
type interpreter struct {
	switches []string // flags without a value; a trailing "*" matches all with that prefix
	code     []string // flags whose value is code
	module   string   // the flag whose value is a module
	suffixes []string // that are tried after the name of a script
	values   []string // flags whose value is the next word, although they match a switch
	commands []string // words before the script that name what to do with it
}

var interpreters = map[string]interpreter{
	"python": {switches: []string{"-u", "-B", "-b", "-d", "-E", "-I", "-i", "-O", "-OO", "-P", "-q", "-s", "-S", "-v", "-x"}, code: []string{"-c"}, module: "-m"},
	"node": {
		switches: []string{"--inspect*", "--enable-*", "--experimental-*", "--no-*", "--trace-*", "--expose-gc", "--preserve-*", "--watch"},
		code:     []string{"-e", "--eval", "-p", "--print"}, suffixes: []string{".js", ".cjs", ".mjs", ".json", ".node"},
		values: []string{
			"--experimental-loader", "--experimental-default-type", "--experimental-config-file", "--experimental-sea-config", "--experimental-test-isolation",
			"--trace-event-categories", "--trace-event-file-pattern", "--trace-require-module", "--inspect-port", "--inspect-publish-uid", "--watch-path",
		},
		commands: []string{"inspect"},
	},
	"deno":       {switches: []string{"-A", "-q", "-r", "--allow-*", "--deny-*", "--no-*", "--unstable*", "--cached-only"}, code: []string{"eval"}, commands: []string{"run", "serve", "test", "task"}},
	"bun":        {switches: []string{"--watch", "--hot", "--smol", "-b", "--bun", "--silent"}, code: []string{"-e", "--eval"}, suffixes: []string{".ts", ".tsx", ".js", ".mjs"}, commands: []string{"run", "x", "test"}},
	"tsx":        {switches: []string{"--no-*"}, code: []string{"-e", "--eval"}, suffixes: []string{".ts", ".js"}, commands: []string{"watch"}},
	"ts-node":    {switches: []string{"-T", "--esm"}, code: []string{"-e", "--eval"}, suffixes: []string{".ts", ".js"}},
	"ruby":       {switches: []string{"-w", "-W*", "-v", "-S"}, code: []string{"-e"}, suffixes: []string{".rb"}},
	"perl":       {switches: []string{"-w", "-T", "-t", "-s", "-W"}, code: []string{"-e", "-E"}},
	"php":        {switches: []string{"-n", "-q"}, code: []string{"-r"}},
	"lua":        {switches: []string{"-i", "-E"}, code: []string{"-e"}, suffixes: []string{".lua"}},
	"rscript":    {switches: []string{"--vanilla", "--no-*"}, code: []string{"-e"}},
	"julia":      {code: []string{"-e", "-E"}},
	"java":       {switches: []string{"-server", "-ea", "-X*", "-D*"}},
	"dotnet":     {commands: []string{"exec", "run", "script"}},
	"elixir":     {code: []string{"-e", "--eval"}},
	"wasmtime":   {commands: []string{"run", "serve"}},
	"sh":         {switches: []string{"-e", "-u", "-x", "-l", "-eu", "-ex", "-eux"}, code: []string{"-c", "-lc", "-ec", "-euc", "-ic", "-lic"}, commands: []string{"sh", "ash", "bash"}},
	"powershell": {switches: []string{"-NoProfile", "-NonInteractive", "-NoLogo"}, code: []string{"-Command", "-c", "-EncodedCommand"}},
	"cmd":        {code: []string{"/c", "/C", "/k"}},
	"osascript":  {code: []string{"-e"}},
	"awk":        {},
	"tclsh":      {},
	"guile":      {code: []string{"-c"}},
	"racket":     {code: []string{"-e"}},
	"groovy":     {code: []string{"-e"}},
	"scala":      {code: []string{"-e"}, commands: []string{"run"}},
	"kotlin":     {code: []string{"-e"}},
	"fastmcp":    {suffixes: []string{".py"}, commands: []string{"run", "dev", "inspect"}},
	"nu":         {code: []string{"-c", "--commands"}},
	"escript":    {},
	"octave":     {code: []string{"--eval"}},
	"runghc":     {suffixes: []string{".hs"}},
	"bb":         {code: []string{"-e"}},
}

// otherNames maps names of programs to those in interpreters.
var otherNames = map[string]string{
	"pypy": "python", "pythonw": "python", "py": "python", "nodejs": "node", "bash": "sh", "dash": "sh", "zsh": "sh", "ksh": "sh", "fish": "sh",
	"ash": "sh", "busybox": "sh", "pwsh": "powershell", "luajit": "lua", "jruby": "ruby", "vite-node": "tsx", "wasmer": "wasmtime",
	"gawk": "awk", "mawk": "awk", "nawk": "awk", "wish": "tclsh", "expect": "tclsh", "ipython": "python", "xonsh": "python", "runhaskell": "runghc", "clojure": "bb", "electron": "node", "nodemon": "node",
}

// multiCall are programs that do what the name of the link to them says.
var multiCall = map[string]bool{"busybox": true, "toybox": true, "coreutils": true}

// dispatchers are version managers that start another program when a link to them has its name.
var dispatchers = map[string]bool{"mise": true, "rtx": true, "asdf": true, "volta-shim": true}

func interpreterNamed(name string) (interpreter, bool) {
	if other, ok := otherNames[name]; ok {
		name = other
	}
	in, ok := interpreters[name]
	return in, ok
}

// isInterpreterOrWrapper reports whether the arguments of a program are read in a special way.
func isInterpreterOrWrapper(name string) bool {
	_, isInterpreter := interpreterNamed(name)
	_, isWrapper := wrappers[name]
	return isInterpreter || isWrapper
}

// sameProgram maps other names of programs to the common ones.
var sameProgram = map[string]string{"gmake": "make", "bmake": "make", "go-task": "task", "dotenv-cli": "dotenv"}

var versionSuffix = regexp.MustCompile(`[-.0-9]+$`)

// programName returns the name of a program without directory, suffix and version:
// "python" for /usr/bin/python3.12.
func programName(path string) string {
	name := strings.ToLower(filepath.Base(path))
	for _, suffix := range []string{".exe", ".cmd", ".bat", ".ps1"} {
		name = strings.TrimSuffix(name, suffix)
	}
	if trimmed := versionSuffix.ReplaceAllString(name, ""); trimmed != "" {
		name = trimmed
	}
	if other, ok := sameProgram[name]; ok {
		name = other
	}
	return name
}

// isSwitch reports whether a flag has no value, or has it in the same word.
func isSwitch(in interpreter, flag string) bool {
	if strings.Contains(flag, "=") {
		return true
	}
	if slices.Contains(in.values, flag) {
		return false
	}
	return slices.ContainsFunc(in.switches, func(pattern string) bool {
		prefix, many := strings.CutSuffix(pattern, "*")
		return flag == pattern || many && strings.HasPrefix(flag, prefix)
	})
}
