//go:build !linux

package spawn

import "os"

// openedProgram is always empty: this system runs programs by their path.
func openedProgram(*os.File) string { return "" }
