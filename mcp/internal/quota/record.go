package quota

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// record is what a replica writes about an owner. It is the end of the name of a key.
type record struct {
	number  int64   // of the record, the first is 1
	count   int64   // calls that were admitted since the first record
	demand  float64 // calls in a second, at least minDemand and at most the rate
	balance float64 // level of the bucket of all replicas, as this one knows it
}

// unit is the part of a token in which demand and balance are written.
const unit = 1000

func (r record) String() string {
	return fmt.Sprintf("%d.%d.%d.%d", r.number, r.count, int64(r.demand*unit), int64(r.balance*unit))
}

// parseRecords returns the newest record of each entry but our own. Names of another form are
// ignored: a later version may write them.
func parseRecords(keys []string, prefix, own string) map[string]record {
	newest := make(map[string]record)
	for _, key := range keys {
		id, text, _ := strings.Cut(strings.TrimPrefix(key, prefix), ".")
		r, ok := parseRecord(text)
		if ok && id != own && r.number > newest[id].number {
			newest[id] = r
		}
	}
	return newest
}

func parseRecord(text string) (record, bool) {
	words := strings.Split(text, ".")
	if len(words) != 4 {
		return record{}, false
	}
	var n [4]int64
	for i, word := range words {
		var err error
		if n[i], err = strconv.ParseInt(word, 10, 64); err != nil || i < 3 && n[i] < 0 || n[i] > math.MaxInt64/2 {
			return record{}, false
		}
	}
	return record{n[0], n[1], float64(n[2]) / unit, float64(n[3]) / unit}, true
}
