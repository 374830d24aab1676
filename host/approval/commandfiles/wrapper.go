package commandfiles

import (
	"regexp"
	"slices"
	"strings"
)

// wrappers are programs that start the program that their arguments name. The words are
// those before it.
var wrappers = map[string][]string{
	"env": nil, "nohup": nil, "nice": nil, "ionice": nil, "setsid": nil, "stdbuf": nil, "time": nil, "timeout": nil, "caffeinate": nil,
	"sudo": nil, "doas": nil, "unbuffer": nil, "chronic": nil, "xvfb-run": nil, "dotenv": nil, "cross-env": nil, "firejail": nil, "bwrap": nil,
	"uv": {"run"}, "poetry": {"run"}, "pipenv": {"run"}, "pdm": {"run"}, "hatch": {"run"}, "conda": {"run"}, "mamba": {"run"}, "micromamba": {"run"},
	"mise": {"exec", "x"}, "rtx": {"exec", "x"}, "asdf": {"exec"}, "pyenv": {"exec"}, "rbenv": {"exec"}, "bundle": {"exec"}, "direnv": {"exec"},
	"cmd": {"/c", "/C"}, "volta": {"run"}, "fnm": {"exec"}, "nix": {"run"},
}

// installers are wrappers that install packages before they start a program.
var installers = []string{"uv", "hatch", "mise", "rtx", "nix"}

// wrapped returns the command that a program starts, with its arguments. It is the first
// word behind the flags and their values that names a program or a script; a wrong guess
// is one word early or late, and all arguments are searched for files in any case.
func wrapped(name string, args []string) (inner []string, ok bool) {
	before, ok := wrappers[name]
	if !ok {
		return nil, false
	}
	i := 0
	if len(before) > 0 {
		for ; i < len(args) && !slices.Contains(before, args[i]); i++ {
		}
		i++
	}
	for ; i < len(args); i++ {
		word := args[i]
		switch {
		case name == "env" && (word == "-S" || word == "--split-string") && i+1 < len(args):
			return append(strings.Fields(args[i+1]), args[i+2:]...), len(strings.Fields(args[i+1])) > 0
		case name == "env" && strings.HasPrefix(word, "-S") && len(word) > 2:
			return append(strings.Fields(word[2:]), args[i+1:]...), true
		case name == "uv" && (word == "-m" || word == "--module"):
			return append([]string{"python3", "-m"}, args[i+1:]...), true
		case name == "uv" && strings.HasPrefix(word, "--module="):
			return append([]string{"python3", "-m", strings.TrimPrefix(word, "--module=")}, args[i+1:]...), true
		case strings.HasPrefix(word, "-"), assignment.MatchString(word), name == "timeout" && durationWord.MatchString(word):
			continue
		case i > 0 && strings.HasPrefix(args[i-1], "-") && !strings.Contains(args[i-1], "=") && takesValue(name, args[i-1]):
			continue
		}
		return args[i:], true
	}
	return nil, false
}

var assignment = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*=`)

var durationWord = regexp.MustCompile(`^[0-9.]+[smhd]?$`)
