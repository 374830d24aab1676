package commandfiles

import "strings"

// withoutVersion returns the name of a package without its version.
func withoutVersion(pkg string) string {
	if i := strings.LastIndex(pkg, "@"); i > 0 {
		return pkg[:i]
	}
	return pkg
}
