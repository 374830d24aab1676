package host

import (
	"runtime/debug"
	"testing"
)

func TestVersionIsThatOfTheModule(t *testing.T) {
	t.Parallel()
	own := func(version string) debug.Module { return debug.Module{Path: modulePath, Version: version} }
	dependency := own("v0.2.0")
	for name, test := range map[string]struct {
		info *debug.BuildInfo
		want string
	}{
		"go install":                    {&debug.BuildInfo{Main: own("v0.1.0")}, "0.1.0"},
		"a checkout without its commit": {&debug.BuildInfo{Main: own("(devel)")}, ""},
		"a program that contains it":    {&debug.BuildInfo{Main: debug.Module{Path: "example.com/x", Version: "v9.0.0"}, Deps: []*debug.Module{&dependency}}, "0.2.0"},
		"a program of another module":   {&debug.BuildInfo{Main: debug.Module{Path: "example.com/x", Version: "v9.0.0"}}, ""},
		"a checkout with its commit":    {&debug.BuildInfo{Main: own("v0.1.1-0.20261128120000-0123456789ab+dirty")}, "0.1.1-0.20261128120000-0123456789ab+dirty"},
		"no information about a module": {nil, ""},
	} {
		if got := moduleVersion(test.info, test.info != nil); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}
