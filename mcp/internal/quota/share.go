package quota

// share returns the part of a rate for a replica with the demand own, beside others. When the
// demand is more than the rate, the parts are proportional to it. Otherwise all get what they
// demand, and the rest is divided equally.
func share(rate, own float64, others map[string]record) float64 {
	own = max(own, minDemand(rate)) // of a replica that has not written a record yet
	sum := own + demand(others)
	if sum >= rate {
		return own / sum
	}
	return (own + (rate-sum)/float64(1+len(others))) / rate
}

// minDemand is the least demand of a replica, so that its part is never zero.
func minDemand(rate float64) float64 { return rate / 50 }

// demand returns the sum of demands.
func demand(records map[string]record) (sum float64) {
	for _, r := range records {
		sum += r.demand
	}
	return sum
}

// unreported estimates what the others have admitted since they wrote their records, which are
// one interval old on average.
func unreported(rate, own float64, others map[string]record) float64 {
	theirs := demand(others)
	return theirs * min(1, rate/(own+theirs)) * interval.Seconds()
}
