package spawn

import (
	"errors"
	"testing"
)

func TestPlatformsWithoutProcessesAreRefused(t *testing.T) {
	t.Parallel()
	for goos, want := range map[string]error{"js": errors.ErrUnsupported, "wasip1": errors.ErrUnsupported, "linux": nil, "windows": nil} {
		if err := checkPlatform(goos); !errors.Is(err, want) {
			t.Errorf("%s: got %v, want %v", goos, err, want)
		}
	}
}
