package host

import (
	"cmp"
	"runtime/debug"
	"strings"
)

const modulePath = "github.com/fondaco/fondaco"

// Version is the version of the host without the letter v, as it is shown to users and peers: that of the
// release, or of the module or the commit from which the go command has built the program, or "devel". It does not change.
var Version = cmp.Or(release, moduleVersion(debug.ReadBuildInfo()), "devel")

// release is set by the linker in the binaries of a release: see .goreleaser.yaml.
var release string

// moduleVersion returns the version of this module in a program, or "" if the program was built from a checkout without its
// commit.
func moduleVersion(info *debug.BuildInfo, known bool) string {
	if !known {
		return ""
	}
	for _, module := range append(info.Deps, &info.Main) {
		if module.Path == modulePath && module.Version != "(devel)" {
			return strings.TrimPrefix(module.Version, "v")
		}
	}
	return ""
}
