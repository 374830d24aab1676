package pgstore

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"log/slog"
	"regexp"
	"time"
)

// Options are the optional settings of Open. A nil pointer is the same as the zero value.
type Options struct {
	// Namespace begins the names of the tables and channels: replicas that share state have the
	// same one, others a different one. It has 1 to 32 letters, digits, underscores and hyphens.
	// Default: "fondaco".
	Namespace string

	// TLS, if not nil, is used for all connections over TCP, which then are never made without
	// TLS; sslmode in the URL has no effect. An empty ServerName is the host of the URL.
	// Default: what sslmode in the URL says. Without it, TLS is used if the server has it, and
	// the certificate of the server is not verified.
	TLS *tls.Config

	// PasswordFunc, if not nil, returns the password of each new connection, and replaces the one
	// in the URL. It is for passwords that expire. It is called concurrently. Default: the password
	// in the URL.
	PasswordFunc func(ctx context.Context) (string, error)

	// MaxConns is the maximum number of connections, besides the one that listens for messages.
	// Calls wait while all are in use. Default: pool_max_conns in the URL, else the number of
	// CPUs, but at least 4.
	MaxConns int

	// NoCreateTables makes Open fail if tables are missing or have to be changed. The role then
	// needs the rights to select, insert, update and delete rows only. Schema returns the
	// statements for the administrator.
	NoCreateTables bool

	// MaxEventAge is the time after which events are removed. Default: 1 hour.
	MaxEventAge time.Duration

	// MaxEventBytes bounds the events of all streams of the namespace, in bytes, each counting 64
	// more than it has. The oldest are removed first, by the time at which they were stored, with
	// a delay of up to ten seconds. Default: 256 MiB.
	MaxEventBytes int64

	// Logger receives messages about lost connections and rows that could not be removed.
	// Default: slog.Default().
	Logger *slog.Logger
}

func (o *Options) orZero() *Options {
	if o == nil {
		return &Options{}
	}
	return o
}

func (o *Options) namespace() string { return cmp.Or(o.Namespace, "fondaco") }

func (o *Options) maxEventAge() time.Duration { return cmp.Or(o.MaxEventAge, time.Hour) }

func (o *Options) maxEventBytes() int64 { return cmp.Or(o.MaxEventBytes, 256<<20) }

func (o *Options) logger() *slog.Logger { return cmp.Or(o.Logger, slog.Default()) }

var namespacePattern = regexp.MustCompile(`^[A-Za-z0-9_-]{1,32}$`)

// check returns what is wrong with the options.
func (o *Options) check() error {
	switch {
	case !namespacePattern.MatchString(o.namespace()):
		return fmt.Errorf("namespace %q: want 1 to 32 letters, digits, underscores and hyphens", o.Namespace)
	case o.MaxConns < 0 || o.MaxConns > 1<<16:
		return fmt.Errorf("MaxConns: got %d, want 0 to %d", o.MaxConns, 1<<16)
	case o.MaxEventAge < 0:
		return fmt.Errorf("MaxEventAge: got %v, want more than 0", o.MaxEventAge)
	case o.MaxEventBytes < 0:
		return fmt.Errorf("MaxEventBytes: got %d, want more than 0", o.MaxEventBytes)
	}
	return nil
}
