package natsstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// resendWindow is how long a stream knows the writes that it has stored, so that one that is sent
// again is stored once. A call lasts callTimeout at most.
const resendWindow = 6 * callTimeout

// valueStream is the stream of the values. It keeps the last message of each subject, and answers
// every read by its leader.
func valueStream(space namespace, opts Options) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:               string(space) + "_STORE",
		Description:        "Values of MCP servers",
		Subjects:           []string{string(space) + ".store.>"},
		MaxMsgsPerSubject:  1,
		MaxBytes:           cmp.Or(opts.MaxBytes, -1), // -1 is no limit
		Discard:            jetstream.DiscardNew,
		Storage:            storage(opts),
		Replicas:           opts.Replicas,
		Duplicates:         resendWindow,
		AllowMsgTTL:        true,
		AllowAtomicPublish: true,
	}
}

// eventStream is the stream of the events.
func eventStream(space namespace, opts Options) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:              string(space) + "_EVENTS",
		Description:       "Events of MCP sessions",
		Subjects:          []string{string(space) + ".events.>"},
		MaxMsgsPerSubject: 1,
		MaxBytes:          opts.MaxEventBytes,
		MaxAge:            opts.MaxEventAge,
		Discard:           jetstream.DiscardOld,
		Storage:           storage(opts),
		Replicas:          opts.Replicas,
	}
}

func storage(opts Options) jetstream.StorageType {
	if opts.InMemory {
		return jetstream.MemoryStorage
	}
	return jetstream.FileStorage
}

// stream returns a stream, which it creates if there is none.
func (s *Store) stream(ctx context.Context, want jetstream.StreamConfig) (stream jetstream.Stream, err error) {
	err = s.link.callFor(ctx, openTimeout, func(ctx context.Context) error {
		stream, err = s.findOrCreate(ctx, want)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("stream %s: %w", want.Name, err)
	}
	if err := checkStreamConfig(stream.CachedInfo().Config, want); err != nil {
		return nil, fmt.Errorf("stream %s exists with other settings: %w", want.Name, err)
	}
	return stream, nil
}

func (s *Store) findOrCreate(ctx context.Context, want jetstream.StreamConfig) (jetstream.Stream, error) {
	stream, err := s.js.Stream(ctx, want.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		stream, err = s.js.CreateStream(ctx, want)
	}
	if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // another replica was first
		stream, err = s.js.Stream(ctx, want.Name)
	}
	if here, _ := s.link.nc.ConnectedServerJetStream(); !here && errors.Is(err, nats.ErrNoResponders) {
		return nil, errors.New("no server has JetStream; want nats-server with -js")
	}
	if errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount) {
		return nil, fmt.Errorf("%w; want jetstream: enabled for the account", err)
	}
	return stream, err
}

// checkStreamConfig compares the settings on which the guarantees of this package depend.
func checkStreamConfig(got, want jetstream.StreamConfig) error {
	switch {
	case !slices.Equal(got.Subjects, want.Subjects):
		return fmt.Errorf("subjects %q, want %q", got.Subjects, want.Subjects)
	case got.MaxMsgsPerSubject != want.MaxMsgsPerSubject:
		return fmt.Errorf("max_msgs_per_subject %d, want %d", got.MaxMsgsPerSubject, want.MaxMsgsPerSubject)
	case got.Retention != want.Retention || got.Discard != want.Discard:
		return fmt.Errorf("retention %v and discard %v, want %v and %v", got.Retention, got.Discard, want.Retention, want.Discard)
	case got.AllowDirect:
		return errors.New("allow_direct is set, so that servers behind the leader answer; want it false")
	case want.AllowMsgTTL && !got.AllowMsgTTL:
		return errors.New("allow_msg_ttl is false, want true")
	case want.AllowAtomicPublish && !got.AllowAtomicPublish:
		return errors.New("allow_atomic is false, want true")
	case want.Duplicates > 0 && got.Duplicates < callTimeout:
		return fmt.Errorf("duplicate_window %v, want at least %v", got.Duplicates, callTimeout)
	}
	return nil
}
