package definition

import (
	"encoding/json/v2"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/fondaco/fondaco/host"
	"github.com/fondaco/fondaco/mcp/mcpclient"
)

// identityOf returns a key for an upstream, which stays the same when the version of its
// package changes. The name in the key is for people. Servers of different projects, and
// servers with the same name that are started differently, are different.
func identityOf(u *host.Upstream) string {
	parts := []string{u.Origin.Project, u.Key}
	program, isProgram := u.Target.(*mcpclient.CommandTarget)
	switch source := u.Source; {
	case source != nil && isProgram: // as the file has it: values of references may change
		var args []string
		for _, arg := range source.Args {
			args = append(args, arg.Written)
		}
		parts = append(parts, "command", source.Command.Written, program.Dir)
		parts = append(parts, withoutVersions(source.Command.Written, args)...)
	case source != nil:
		parts = append(parts, "url", source.URL.Written)
	case isProgram:
		parts = append(parts, "command", program.Path, program.Dir)
		parts = append(parts, withoutVersions(program.Path, program.Args)...)
	default:
		parts = append(parts, "url", u.Target.String())
	}
	text, err := json.Marshal(parts)
	if err != nil { // a text that is not Unicode
		text = []byte(strings.Join(parts, "\x00"))
	}
	return u.Key + "-" + digestOf(text)[:32]
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
