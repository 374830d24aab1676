package definition

import (
	"encoding/json/v2"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/host"
)

// identityOf returns a key for an upstream: its name in its configuration file. Nothing else counts,
// so what was approved is compared also after another version, argument, program or URL: who can
// change those cannot have a first list approved again. The name in the key is for people.
func identityOf(u *host.Upstream) string {
	text, err := json.Marshal([]string{u.Origin.Project, placeOf(&u.Origin), u.Key})
	if err != nil { // a text that is not Unicode
		text = []byte(strings.Join([]string{u.Origin.Project, u.Origin.File, u.Key}, "\x00"))
	}
	return u.Key + "-" + digestOf(text)[:32]
}

// placeOf returns the path of a configuration file in its project or, for a file of the user, its end,
// which is the same on the machines that share a store.
func placeOf(o *host.Origin) string {
	if place, ok := strings.CutPrefix(o.File, o.Project); ok && o.Project != "" {
		return filepath.ToSlash(place)
	}
	return path.Join(filepath.Base(filepath.Dir(o.File)), filepath.Base(o.File))
}

// runners are programs that run a package whose version is part of an argument.
var runners = []string{"npx", "bunx", "pnpx", "npm", "pnpm", "yarn", "bun", "uvx", "uv", "pipx", "deno", "docker", "podman"}

var (
	// packageVersion matches the version of NAME@1.2, of @scope/name@1.2 and of name==1.2,
	// and imageTag that of image:1.2.
	packageVersion = regexp.MustCompile(`^(.*[A-Za-z0-9_\]-])(?:@|==)v?[0-9A-Za-z][0-9A-Za-z.+_-]*$`)
	imageTag       = regexp.MustCompile(`^(.*[A-Za-z0-9_/-][A-Za-z0-9_-]):[0-9A-Za-z][0-9A-Za-z._-]*$`)
)

// programName returns the name of a program without its directory and suffix.
func programName(command string) string {
	return strings.TrimSuffix(strings.TrimSuffix(path.Base(strings.ReplaceAll(command, `\`, "/")), ".cmd"), ".exe")
}

// runsImages reports whether a runner runs container images.
func runsImages(runner string) bool { return runner == "docker" || runner == "podman" }

// withoutVersions returns the arguments of a program without versions of packages.
func withoutVersions(command string, args []string) []string {
	runner := programName(command)
	if !slices.Contains(runners, runner) {
		return args
	}
	pattern := packageVersion
	if runsImages(runner) {
		pattern = imageTag
	}
	cut := make([]string, len(args))
	for i, arg := range args {
		cut[i] = arg
		if m := pattern.FindStringSubmatch(arg); m != nil && !strings.Contains(arg, "://") {
			cut[i] = m[1]
		}
	}
	return cut
}
