package host

import "strings"

// maxCompared limits the names that Suggest compares, in characters.
const maxCompared = 64

// Suggest returns the known name that is most similar to a mistyped one, or the empty
// string if none is similar. Case does not count.
func Suggest(written string, known []string) string {
	best, bestDistance := "", maxCompared
	for _, name := range known {
		d := distance(strings.ToLower(written), strings.ToLower(name))
		if d <= max(1, len(name)/3) && d < bestDistance {
			best, bestDistance = name, d
		}
	}
	return best
}

// distance is the number of characters to insert, delete, replace or swap with their
// neighbour to turn one name into the other.
func distance(from, to string) int {
	a, b := []rune(from), []rune(to)
	if len(a) > maxCompared || len(b) > maxCompared {
		return maxCompared
	}
	var earlier []int
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range a {
		next := make([]int, len(b)+1)
		next[0] = i + 1
		for j := range b {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			next[j+1] = min(row[j]+cost, row[j+1]+1, next[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				next[j+1] = min(next[j+1], earlier[j-1]+1)
			}
		}
		earlier, row = row, next
	}
	return row[len(b)]
}
