package processmemory

import "testing"

func TestStatOfAProcessIsRead(t *testing.T) {
	t.Parallel()
	const rest = " S 12 1 1 0 -1 4194560 1 1 1 1 1 1 1 1 20 0 1 0 1 1000 77 18446744073709551615"
	for stat, want := range map[string][2]int64{
		"5 (sh)" + rest:             {12, 77},
		"5 (a) S 99 (b))" + rest:    {12, 77}, // the name of a program
		"5 (sh) S 12":               {},
		"":                          {},
		"5 (sh":                     {},
		"5 (x) " + "S x" + rest[5:]: {0, 77},
	} {
		if parent, pages := readStat([]byte(stat)); parent != int(want[0]) || pages != want[1] {
			t.Errorf("%q: got parent %d, %d pages, want %v", stat, parent, pages, want)
		}
	}
}
