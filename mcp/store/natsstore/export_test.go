package natsstore

import "context"

// ValueSubject returns the subject of the value of a key.
func ValueSubject(space, key string) string { return namespace(space).value("0", key) }

// ValuesBelow returns the filter for the subjects of the keys that begin with a prefix.
func ValuesBelow(space, prefix string) string { return namespace(space).valuesBelow(prefix) }

// CreateAgain creates a value, and sends the write again after between as if it had no answer.
func (s *Store) CreateAgain(ctx context.Context, key string, value []byte, between func()) (created bool, err error) {
	w := s.newWrite(key, value, 0, 0)
	if err := w.send(ctx, s); err != nil {
		return false, err
	}
	w.server = s.link.nc.ConnectedServerId()
	between()
	return s.store(ctx, w)
}

// KeyOf is the inverse of ValueSubject.
func KeyOf(space, subject string) (key string, ok bool) { return namespace(space).key(subject) }

// TopicSubject returns the subject of a topic.
func TopicSubject(space, topic string) string { return namespace(space).topic(topic) }

// AtLeast reports whether a version of a server has at least these numbers.
var AtLeast = atLeast
