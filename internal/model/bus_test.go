package model_test

import (
	"context"
	"slices"
	"time"
)

// subscriber receives the messages of one topic at one replica.
type subscriber struct {
	link    *link
	arrived chan []byte
	stop    chan struct{}
	stopped chan struct{}
}

// maxArrived bounds the messages that wait for a subscriber.
const maxArrived = 4096

func (l *link) Subscribe(ctx context.Context, topic string, deliver func([]byte)) (cancel func(), err error) {
	s := &subscriber{link: l, arrived: make(chan []byte, maxArrived), stop: make(chan struct{}), stopped: make(chan struct{})}
	e := l.engine
	if err := l.call(ctx, func() error { return nil }); err != nil {
		return nil, err
	}
	e.mu.Lock()
	e.subscribers[topic] = append(e.subscribers[topic], s)
	e.mu.Unlock()
	go s.run(deliver)
	ended := false
	return func() {
		e.mu.Lock()
		first := !ended
		ended = true
		e.subscribers[topic] = slices.DeleteFunc(e.subscribers[topic], func(o *subscriber) bool { return o == s })
		e.mu.Unlock()
		if first {
			close(s.stop)
		}
		<-s.stopped
	}, nil
}

func (s *subscriber) run(deliver func([]byte)) {
	defer close(s.stopped)
	for {
		select {
		case msg := <-s.arrived:
			if c := s.link.connection(); c == connected || c == callsLost {
				deliver(slices.Clone(msg))
			}
		case <-s.stop:
			return
		}
	}
}

func (s *subscriber) arrive(msg []byte) {
	select {
	case s.arrived <- msg:
	default:
	}
}

func (l *link) Publish(ctx context.Context, topic string, msg []byte) error {
	l.mu.Lock()
	l.sent++
	r := l.fate.of(l.sent + 1<<32)
	l.mu.Unlock()
	return l.call(ctx, func() error {
		l.engine.send(l, topic, slices.Clone(msg), r)
		return nil
	})
}

// send has a message arrive at all subscribers, with the faults of the Bus.
func (e *engine) send(from *link, topic string, msg []byte, r *random) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, s := range e.subscribers[topic] {
		if r.percent() < e.bus.lost {
			continue
		}
		delay := r.duration(100*time.Microsecond, 2*time.Millisecond)
		if r.percent() < e.bus.late {
			delay = r.duration(10*time.Millisecond, 3*time.Second)
		}
		pair := [2]*link{from, s.link}
		at := time.Now().Add(delay)
		if r.percent() >= e.bus.reordered && !at.After(e.latest[pair]) {
			at = e.latest[pair].Add(time.Microsecond)
		}
		if at.After(e.latest[pair]) {
			e.latest[pair] = at
		}
		time.AfterFunc(time.Until(at), func() { s.arrive(msg) })
		if r.percent() < e.bus.doubled {
			time.AfterFunc(time.Until(at)+r.duration(0, time.Second), func() { s.arrive(msg) })
		}
	}
}
