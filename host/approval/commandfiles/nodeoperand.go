package commandfiles

import (
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// nodePackages returns the words that a package manager takes for packages, or for programs of
// packages: the values of its flags for that, and the operands up to the first one that cannot
// be the value of a flag. Further operands are those of the package.
func nodePackages(name string, args []string) (words []string) {
	for i, arg := range args {
		if value := argumentOf(arg, args, i, packageFlags[name]...); value != "" {
			words = append(words, value)
		}
	}
	for i, arg := range args[:packageEnd(args)] {
		if strings.HasPrefix(arg, "-") {
			continue
		}
		words = append(words, arg)
		if i > 0 && isCreator(args[i-1]) {
			words = append(words, creator(arg))
		}
	}
	return words
}

// packageEnd returns the index behind the first operand that is neither the value of a flag nor
// a command of a package manager.
func packageEnd(args []string) int {
	for i, arg := range args {
		before := ""
		if i > 0 {
			before = args[i-1]
		}
		isValue := strings.HasPrefix(before, "-") && !strings.Contains(before, "=") && !slices.Contains(packageSwitches, before)
		if !strings.HasPrefix(arg, "-") && !isValue && before != "workspace" && !isPackageVerb(arg) {
			return i + 1
		}
	}
	return len(args)
}

// isPackageVerb reports whether an operand may be a command before a package, of which npm accepts
// any unambiguous beginning.
func isPackageVerb(arg string) bool {
	return slices.ContainsFunc(packageVerbs, func(verb string) bool { return arg == verb || len(arg) > 1 && strings.HasPrefix(verb, arg) })
}

// isCreator reports whether a command runs the package that creator returns.
func isCreator(arg string) bool {
	return slices.ContainsFunc([]string{"create", "init", "innit"}, func(verb string) bool { return len(arg) > 1 && strings.HasPrefix(verb, arg) })
}

// ownArguments returns the arguments among which a package manager looks for its own flags: those
// in front of what it runs, or of "--".
func ownArguments(name string, args []string) []string {
	if strings.HasSuffix(name, "x") {
		args = args[:packageEnd(args)]
	}
	if i := slices.Index(args, "--"); i >= 0 {
		args = args[:i]
	}
	return args
}

// creator returns the package that "npm create NAME" runs.
func creator(name string) string {
	scope, rest, isScoped := strings.Cut(withoutVersion(name), "/")
	switch {
	case isScoped && strings.HasPrefix(scope, "@"):
		return scope + "/create-" + rest
	case strings.HasPrefix(scope, "@"):
		return scope + "/create"
	}
	return "create-" + withoutVersion(name)
}

// namesOf returns the names under which a manager looks for a package in the project: the word
// itself, which may be the name of a program, and the word without its version. An alias such as
// "a@npm:b@1" has both names.
func namesOf(words []string) (names []string) {
	add := func(name string) {
		if filepath.IsLocal(name) && path.Clean(name) != "." && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for _, word := range words {
		if isFromElsewhere(word) { // most packages are named as their repositories
			repository, _, _ := strings.Cut(word, "#")
			add(strings.TrimSuffix(path.Base(strings.ReplaceAll(repository, ":", "/")), ".git"))
		}
		for {
			add(word)
			name, version := word, ""
			if i := strings.Index(word[min(1, len(word)):], "@"); i >= 0 {
				name, version = word[:i+1], word[i+2:]
			}
			add(name)
			add(withoutVersion(word))
			next, isAlias := cutScheme(version)
			if !isAlias {
				next, isAlias = cutScheme(word) // as for deno
			}
			if !isAlias {
				break
			}
			word = next
		}
	}
	return names
}

func cutScheme(word string) (rest string, ok bool) {
	if len(word) < 4 || !strings.EqualFold(word[:4], "npm:") {
		return "", false
	}
	return strings.TrimPrefix(word[4:], "/"), true
}

// packageVerbs are operands before the one that names a package.
var packageVerbs = []string{"exec", "x", "dlx", "run", "run-script", "rum", "urn", "tool", "create", "init", "innit", "workspace", "workspaces", "foreach", "recursive"}

// packageSwitches are common flags without a value.
var packageSwitches = []string{"-y", "--yes", "-q", "--quiet", "--silent", "--offline", "--no-cache", "--isolated", "--bun", "--no", "--no-install", "--prefer-online", "--prefer-offline", "--ignore-scripts", "--no-audit", "--no-fund", "--verbose", "-A", "-s", "--workspaces", "-ws", "--recursive", "-r", "--"}
