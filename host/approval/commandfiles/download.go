package commandfiles

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// pipxPrograms adds what pipx runs for the name of a package if it is in the working
// directory: a script of that name, or a program of a package in __pypackages__.
func (c *codeFinder) pipxPrograms(name string) {
	if !filepath.IsLocal(name) {
		return
	}
	for _, base := range c.bases {
		if script := filepath.Join(base, name); c.isRegular(script) {
			c.add(RoleScript, script)
		}
		packages := filepath.Join(base, "__pypackages__")
		for _, version := range c.names(packages) {
			if program := filepath.Join(packages, version, "lib", "bin", name); c.isRegular(program) {
				c.add(RoleScript, program)
				c.note("the modules in %s, which pipx runs instead of a package that it downloads", packages)
			}
		}
	}
}

// withoutVersion returns the name of a package without its version.
func withoutVersion(pkg string) string {
	if i := strings.LastIndex(pkg, "@"); i > 0 {
		return pkg[:i]
	}
	return pkg
}

// downloads says what a program gets from elsewhere and runs. It is empty for programs that
// do not.
func downloads(name string, args []string) string {
	operands, positions := operandsOf(name, args)
	verb := append(operands, "", "")
	switch name {
	case "npx", "bunx", "pnpx", "uvx", "dnx":
		return packageNote(name, args, positions)
	case "pipx":
		if verb[0] == "run" {
			return packageNote(name, args, positions[1:])
		}
		return packageNote(name, args, positions)
	case "npm", "pnpm", "yarn", "bun":
		return nodeNote(name, args, operands, positions)
	case "uv":
		if verb[0] == "tool" && verb[1] == "run" {
			return packageNote(name, args, positions[2:])
		}
	case "go", "cargo", "make", "just", "task", "rake", "gradle", "mvn", "dotnet", "swift", "nix":
		return sprintEscaped("what %s compiles or runs: %s", name, strings.Join(args, " "))
	case "docker-compose", "podman-compose":
		return "the images that Compose runs, and the directories that they get"
	case "docker", "podman", "nerdctl":
		if isCompose(name, args) {
			return "the images that Compose runs, and the directories that they get"
		}
		if i := slices.IndexFunc(args, imageWithDigest.MatchString); i >= 0 { // it may be the value of a flag
			return sprintEscaped("the image, if it is another one than %s", args[i])
		}
		return "the image, which is named without a digest, and what is in it"
	case "deno":
		for _, arg := range args {
			if strings.HasPrefix(arg, "npm:") || strings.HasPrefix(arg, "jsr:") || strings.HasPrefix(arg, "http") {
				return sprintEscaped("%s, which deno downloads and runs", arg)
			}
		}
	}
	return ""
}

var imageWithDigest = regexp.MustCompile(`^[a-z0-9][^=\s]*@sha256:[0-9a-f]{64}$`)

// packageFlags are the flags of programs that download packages whose value is the package that
// has the program to run. The first operand then names that program.
var packageFlags = map[string][]string{
	"npx": {"-p", "--package"}, "npm": {"-p", "--package"}, "pnpx": {"--package"}, "pnpm": {"--package"}, "yarn": {"-p", "--package"},
	"bunx": {"-p", "--package"}, "bun": {"-p", "--package"}, "uvx": {"--from"}, "uv": {"--from"}, "pipx": {"--spec"},
}

// addedPackageFlags are those whose value is a package that is downloaded in addition.
var addedPackageFlags = []string{"--with", "--with-editable"}

// operandsOf returns the arguments that are neither flags nor their values, and where they are.
func operandsOf(name string, args []string) (operands []string, positions []int) {
	for i, arg := range args {
		switch {
		case strings.HasPrefix(arg, "-"):
		case i > 0 && (takesValue(name, args[i-1]) || slices.Contains(packageFlags[name], args[i-1])):
		default:
			operands, positions = append(operands, arg), append(positions, i)
		}
	}
	return operands, positions
}

var withVersion = regexp.MustCompile(`.[@=][0-9][^/]*$`)

// packageNote says which packages a program downloads and runs. The positions are those of the
// operands, that of the package or its program first.
func packageNote(name string, args []string, positions []int) string {
	first := len(args)
	if len(positions) > 0 {
		first = positions[0]
	}
	var packages []string
	isNamed := false // by a flag
	for i, arg := range args {
		flag, value, inWord := strings.Cut(arg, "=")
		isPackage := slices.Contains(packageFlags[name], flag)
		if !isPackage && !(takesValue(name, flag) && slices.Contains(addedPackageFlags, flag)) {
			continue
		}
		if !inWord && i+1 < len(args) {
			value = args[i+1]
		}
		if !slices.Contains(packages, value) {
			packages = append(packages, value)
		}
		isNamed = isNamed || isPackage && i < first
	}
	if !isNamed && first < len(args) && !slices.Contains(packages, args[first]) {
		packages = slices.Insert(packages, 0, args[first])
	}
	if len(packages) == 0 {
		return ""
	}
	note := sprintEscaped("the package %s, which %s downloads and runs", strings.Join(packages, " and "), name)
	if slices.ContainsFunc(packages, func(pkg string) bool { return !withVersion.MatchString(pkg) }) {
		note += "; no version is given, so it may be another one at each start"
	}
	return note
}
