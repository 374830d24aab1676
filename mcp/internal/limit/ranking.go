package limit

// rank is the position of a member or group in a ranking.
type rank struct {
	held  int64
	since uint64 // when held changed last
	index int
}

func (r *rank) ranked() *rank { return r }

// before reports whether r comes before another in a ranking.
func (r *rank) before(other *rank) bool {
	if r.held != other.held {
		return r.held > other.held
	}
	return r.since < other.since
}

// ranking is a heap: the one that holds most comes first, and of several the one that has
// held so much for longest.
type ranking[T interface{ ranked() *rank }] []T

func (r ranking[T]) first() (none T) {
	if len(r) == 0 {
		return none
	}
	return r[0]
}

// largest returns the first of those that fit. It searches only some of those that hold most.
func (r ranking[T]) largest(fits func(T) bool) (found T) {
	const searched = 64
	none := true
	for _, t := range r[:min(len(r), searched)] {
		if fits(t) && (none || t.ranked().before(found.ranked())) {
			found, none = t, false
		}
	}
	return found
}

func (r ranking[T]) Len() int { return len(r) }

func (r ranking[T]) Less(i, j int) bool {
	return r[i].ranked().before(r[j].ranked())
}

func (r ranking[T]) Swap(i, j int) {
	r[i], r[j] = r[j], r[i]
	r[i].ranked().index, r[j].ranked().index = i, j
}

func (r *ranking[T]) Push(x any) {
	t := x.(T)
	t.ranked().index = len(*r)
	*r = append(*r, t)
}

func (r *ranking[T]) Pop() any {
	last := len(*r) - 1
	t := (*r)[last]
	(*r)[last] = *new(T)
	*r = (*r)[:last]
	return t
}
