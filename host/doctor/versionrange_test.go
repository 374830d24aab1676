package doctor

import "testing"

func TestVersionsAreComparedAsNPMDoes(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		version, wanted string
		want            bool
	}{
		{"18.19.1", ">=18", true},
		{"16.20.2", ">=18", false},
		{"18.0.0", ">= 18.17", false},
		{"20.1.0", "^18.0.0 || ^20.0.0", true},
		{"19.9.0", "^18.0.0 || ^20.0.0", false},
		{"0.2.9", "^0.2.1", true},
		{"0.3.0", "^0.2.1", false},
		{"18.3.4", "~18.3", true},
		{"18.4.0", "~18.3", false},
		{"18.4.0", "18.x", true},
		{"19.0.0", "18.x", false},
		{"22.0.0", ">=18 <21", false},
		{"20.5.0", ">=18 <21", true},
		{"21.0.0", "<=20", false},
		{"20.9.0", "<=20", true},
		{"20.9.0", ">20", false},
		{"21.0.0", ">20", true},
		{"18.19.1", "*", true},
		{"18.19.1", "", true},
		{"18.19.1", "16 - 18", true},
		{"v22.1.0-nightly", ">=22", true},
		{"18.19.1", "lts/hydrogen", true}, // no range
		{"unknown", ">=18", true},
	} {
		if got := inRange(test.version, test.wanted); got != test.want {
			t.Errorf("%s in %q: got %v, want %v", test.version, test.wanted, got, test.want)
		}
	}
}
