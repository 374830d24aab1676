package natsstore

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"log/slog"
	"strings"
	"time"
)

// Options are the options of Open. The zero value means all defaults.
type Options struct {
	// Namespace separates programs that use one NATS account. The names of streams and subjects
	// begin with it: for "shop" they are shop_STORE, shop_EVENTS and shop.>. It has letters,
	// digits, - and _, at most 64. Default: fondaco.
	Namespace string

	// TLS is the configuration of TLS, which it requires. Nil means that the URL and the server
	// decide, with the system's certificates.
	TLS *tls.Config

	// User and Password replace those of the URL if they are not empty.
	User, Password string
	// Token identifies the client by a token. It, CredentialsFile and NKeyFile replace the user and
	// the password of the URL as well.
	Token string
	// CredentialsFile is a file with the JWT and the seed of a user. It is read at each connect.
	CredentialsFile string
	// NKeyFile is a file with the seed of an NKey.
	NKeyFile string

	// Replicas is how many servers of the cluster keep each stream: 1, 3 or 5. Default: 1.
	Replicas int
	// InMemory keeps the streams in the memory of the servers and not in files.
	InMemory bool
	// MaxBytes bounds the values. Writes fail when they are reached. JetStream reserves this
	// space. Default: the limits of the account.
	MaxBytes int64
	// MaxEventBytes bounds the events of all sessions. The oldest are removed when it is reached.
	// JetStream reserves this space. Default: 256 MiB.
	MaxEventBytes int64
	// MaxEventAge is how long events are kept. Default: 1 hour.
	MaxEventAge time.Duration

	// Logger logs lost and repaired connections, and subscribers that fall behind. Default:
	// slog.Default().
	Logger *slog.Logger
}

const (
	defaultNamespace     = "fondaco"
	maxNamespace         = 64
	defaultMaxEventBytes = 256 << 20
	defaultMaxEventAge   = time.Hour
)

// withDefaults returns the options to use.
func (o *Options) withDefaults() (Options, error) {
	var opts Options
	if o != nil {
		opts = *o
	}
	opts.Namespace = cmp.Or(opts.Namespace, defaultNamespace)
	opts.Replicas = cmp.Or(opts.Replicas, 1)
	opts.MaxEventBytes = cmp.Or(opts.MaxEventBytes, defaultMaxEventBytes)
	opts.MaxEventAge = cmp.Or(opts.MaxEventAge, defaultMaxEventAge)
	opts.Logger = cmp.Or(opts.Logger, slog.Default())
	return opts, opts.check()
}

func (o Options) check() error {
	if len(o.Namespace) > maxNamespace || strings.Trim(o.Namespace, plain) != "" {
		return fmt.Errorf("namespace %q: want letters, digits, - and _, at most %d", o.Namespace, maxNamespace)
	}
	switch {
	case o.Replicas < 0:
		return fmt.Errorf("option Replicas: got %d, want more than 0", o.Replicas)
	case o.MaxBytes < 0:
		return fmt.Errorf("MaxBytes: got %d, want more than 0", o.MaxBytes)
	case o.MaxEventBytes < 0:
		return fmt.Errorf("MaxEventBytes: got %d, want more than 0", o.MaxEventBytes)
	case o.MaxEventAge < 0:
		return fmt.Errorf("MaxEventAge: got %v, want more than 0", o.MaxEventAge)
	}
	return nil
}
