package commandfiles

import (
	"slices"
	"strings"
)

// argumentOf returns the value of a flag at an index: the rest of the word, or the next one.
func argumentOf(arg string, args []string, i int, flags ...string) string {
	for _, flag := range flags {
		if value, ok := strings.CutPrefix(arg, flag+"="); ok {
			return value
		}
		if arg == flag && i+1 < len(args) {
			return args[i+1]
		}
	}
	return ""
}

// shortValue is argumentOf, also for the value of a short flag in the same word: -fFILE.
func shortValue(arg string, args []string, i int, flags []string) string {
	if value := argumentOf(arg, args, i, flags...); value != "" {
		return value
	}
	if len(arg) > 2 && arg[0] == '-' && arg[1] != '-' && slices.Contains(flags, arg[:2]) {
		return arg[2:]
	}
	return ""
}

// uvValues are the flags of uv and uvx that have a value in the next word.
var uvValues = strings.Fields(`--directory --project --with -w --python -p --from --env-file --extra --group --only-group --package --index-url -i --index --default-index --extra-index-url
	--find-links -f --with-requirements --with-editable -c --constraint --constraints -b --build-constraint --build-constraints --override --overrides --config-file --cache-dir --exclude-newer
	--python-platform --resolution --prerelease --link-mode --config-setting -C --upgrade-package -P --refresh-package --reinstall-package --allow-insecure-host`)

// valueFlags are the flags of wrappers and package managers that have a value in the next word.
var valueFlags = map[string][]string{
	"env": {"-u", "-C", "--unset", "--chdir"}, "nice": {"-n"}, "ionice": {"-c", "-n", "-p"}, "sudo": {"-u", "-g", "-h", "-p"}, "doas": {"-u"},
	"timeout": {"-k", "-s"}, "stdbuf": {"-i", "-o", "-e"}, "conda": {"-n", "-p"}, "micromamba": {"-n", "-p"}, "mamba": {"-n", "-p"},
	"npx":    {"--prefix", "--registry", "--cache", "-w", "--workspace", "-c", "--call", "--userconfig", "--globalconfig", "--node-options", "--script-shell"},
	"npm":    {"--prefix", "--registry", "--cache", "-w", "--workspace", "-c", "--call", "--userconfig", "--globalconfig", "--node-options", "--script-shell", "-C"},
	"pnpm":   {"-C", "--dir", "--filter", "-F", "--filter-prod"},
	"yarn":   {"--cwd", "--use-yarnrc"},
	"bun":    {"--cwd", "--filter", "-F"},
	"uvx":    uvValues,
	"pipx":   {"--python"},
	"uv":     uvValues,
	"poetry": {"-C", "--directory", "-P", "--project"}, "dotenv": {"-f", "-e"}, "mise": {"-C"}, "fnm": {"--using"},
}

func takesValue(name, flag string) bool { return slices.Contains(valueFlags[name], flag) }

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
