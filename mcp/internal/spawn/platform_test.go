package spawn

import (
	"strings"
	"testing"
)

// These tables speak of Windows and run everywhere.

func TestArgumentsOfBatchFilesMustNotBeSyntax(t *testing.T) {
	t.Parallel()
	tests := []struct {
		path, arg string
		refused   bool
	}{
		{`C:\node\npx.cmd`, "x&calc", true},
		{`C:\node\npx.CMD`, `"&calc`, true},
		{`C:\node\npx.bat`, "%PATH%", true},
		{`C:\node\npx.bat. .`, "a|b", true},
		{`C:\node\npx.cmd`, "a\nb", true},
		{`C:\node\npx.cmd`, "^", true},
		{`C:\node\npx.cmd`, "-y", false},
		{`C:\node\npx.cmd`, `C:\Program Files (x86)\data`, false},
		{`C:\node\node.exe`, `"x&calc" %PATH%`, false},
		{`C:\node\npx`, "x&calc", false},
	}
	for _, test := range tests {
		err := checkBatch(test.path, []string{"fine", test.arg})
		if refused := err != nil; refused != test.refused {
			t.Errorf("%s %q: got %v, want refused %v", test.path, test.arg, err, test.refused)
		}
	}
}

func TestVariablesThatAreHandedDown(t *testing.T) {
	t.Parallel()
	tests := []struct{ goos, down, kept string }{
		{"linux", "PATH HOME LANG LC_ALL LC_CTYPE TMPDIR USER LOGNAME SHELL TERM TZ XDG_RUNTIME_DIR", "path PATHS LC XDG LD_PRELOAD NODE_OPTIONS PYTHONPATH npm_config_registry BASH_ENV GIT_SSH SSH_AUTH_SOCK AWS_SECRET"},
		{"darwin", "PATH TMPDIR", "DYLD_INSERT_LIBRARIES SYSTEMROOT"},
		{"windows", "Path PATHEXT SystemRoot ComSpec Temp TMP UserProfile AppData ProgramFiles(x86)", "XDG_RUNTIME_DIR LC_ALL NODE_OPTIONS OUR_TOKEN"},
	}
	for _, test := range tests {
		for _, name := range strings.Fields(test.down) {
			if !isInherited(test.goos, "server", name, "") {
				t.Errorf("%s %s: got kept, want handed down", test.goos, name)
			}
		}
		for _, name := range strings.Fields(test.kept) {
			if isInherited(test.goos, "server", name, "") {
				t.Errorf("%s %s: got handed down, want kept", test.goos, name)
			}
		}
	}
}
