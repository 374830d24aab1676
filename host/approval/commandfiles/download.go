package commandfiles

import (
	"regexp"
	"slices"
	"strings"
)

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
