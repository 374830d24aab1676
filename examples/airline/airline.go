package main

import (
	"fmt"
	"maps"
	"slices"
	"sync"
)

// airline keeps its flights in memory. It is independent of the protocol.
type airline struct {
	mu      sync.Mutex
	flights map[string]status // guarded by mu: by number
}

type status struct {
	Number string `json:"number"`
	From   string `json:"from"`
	To     string `json:"to"`
	Gate   string `json:"gate"`
	Seats  int    `json:"seats" doc:"how many are free"`
}

func newAirline() *airline {
	a := &airline{flights: make(map[string]status)}
	for _, s := range []status{
		{"AZ612", "Turin", "Oslo", "B7", 40},
		{"AZ613", "Oslo", "Turin", "A1", 3},
		{"DY77", "Bergen", "Venice", "C12", 0},
	} {
		a.flights[s.Number] = s
	}
	return a
}

func (a *airline) numbers() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return slices.Sorted(maps.Keys(a.flights))
}

func (a *airline) list() (all []status) {
	for _, number := range a.numbers() {
		if s, err := a.find(number); err == nil {
			all = append(all, s)
		}
	}
	return all
}

func (a *airline) find(number string) (status, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s, ok := a.flights[number]
	if !ok {
		return s, fmt.Errorf("flight %s: there is none of this number", number)
	}
	return s, nil
}

// take books seats of a flight and returns its new status.
func (a *airline) take(number string, seats int) (status, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	s, ok := a.flights[number]
	switch {
	case !ok:
		return s, fmt.Errorf("flight %s: there is none of this number", number)
	case s.Seats < seats:
		return s, fmt.Errorf("flight %s: has %d free seats, not %d", number, s.Seats, seats)
	}
	s.Seats -= seats
	a.flights[number] = s
	return s, nil
}
