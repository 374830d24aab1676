// Command typecheck reports the type errors that packages and their tests have on another system.
// It compiles nothing, so it is faster than go vet, and it runs no analysis.
//
//	typecheck -goos windows [-tags load,hosts] package...
package main

import (
	"flag"
	"fmt"
	"os"

	"golang.org/x/tools/go/packages"
)

func main() {
	goos := flag.String("goos", "", "the system")
	tags := flag.String("tags", "", "build tags, separated by commas")
	flag.Parse()
	errs, err := check(*goos, *tags, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "typecheck:", err)
		os.Exit(2)
	}
	for _, e := range errs {
		fmt.Println(e)
	}
	if len(errs) > 0 {
		os.Exit(1)
	}
}

// check returns the errors of the packages. Of the packages that they import it reads the
// declarations alone.
func check(goos, tags string, patterns []string) (errs []string, err error) {
	list, err := packages.Load(&packages.Config{
		Mode:       packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps | packages.NeedSyntax | packages.NeedTypes,
		Env:        append(os.Environ(), "GOOS="+goos, "CGO_ENABLED=0"),
		BuildFlags: []string{"-tags=" + tags},
		Tests:      true,
	}, patterns...)
	seen := make(map[string]bool) // a package and its tests have the same errors
	for _, p := range list {
		for _, e := range p.Errors {
			if text := e.Error(); !seen[text] {
				seen[text] = true
				errs = append(errs, text)
			}
		}
	}
	return errs, err
}
