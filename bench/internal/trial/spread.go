package trial

import "slices"

// A Spread is the middle of what the rounds have found, and its ends. It is zero when nothing was found.
type Spread struct{ Min, Median, Max float64 }

// SpreadOf returns the spread of values.
func SpreadOf(values []float64) Spread {
	if len(values) == 0 {
		return Spread{}
	}
	return Spread{Min: slices.Min(values), Median: Median(values), Max: slices.Max(values)}
}

// Median returns the middle of the values, 0 when there are none.
func Median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}
