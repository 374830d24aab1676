package spawn

import (
	"fmt"
	"path/filepath"
	"strings"
)

// cmdSyntax are the characters that cmd.exe gives a meaning to, inside quotes
// or outside.
const cmdSyntax = "\"%&|<>^!\r\n"

// checkBatch refuses arguments that would become syntax. Windows runs a batch
// file (npx is one) through cmd.exe, which parses the command line by rules
// that no quoting of ours can satisfy: an argument `x&calc` starts calc.
func checkBatch(path string, args []string) error {
	// CreateProcess ignores dots and spaces at the end of a name.
	switch ext := filepath.Ext(strings.TrimRight(path, ". ")); strings.ToLower(ext) {
	case ".bat", ".cmd":
	default:
		return nil
	}
	for _, arg := range args {
		if i := strings.IndexAny(arg, cmdSyntax); i >= 0 {
			return fmt.Errorf("argument %q: %s is a batch file, and cmd.exe would read %q as syntax: name the program that the batch file starts",
				arg, filepath.Base(path), arg[i])
		}
	}
	return nil
}
