package natsstore

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// callTimeout is how long a call waits for the server at most.
	callTimeout = 5 * time.Second
	// openTimeout is how long Open waits for JetStream. A cluster that starts elects its leader
	// in this time.
	openTimeout = 15 * time.Second
	// attemptTimeout is how long an attempt waits for its answer. Servers do not answer while they
	// elect a leader, so a later attempt may have one.
	attemptTimeout = time.Second
	// retryWait is the time between two attempts of a call while no server can serve it.
	retryWait = 50 * time.Millisecond
	// pingInterval is how often the client looks whether the server is there. A connection
	// ends when two pings have no answer.
	pingInterval = 5 * time.Second
	// writeTimeout is how long a write to the connection may take. Calls wait for it.
	writeTimeout = 2 * time.Second
	// reconnectWait is the time between two attempts to connect to the same server.
	reconnectWait = 100 * time.Millisecond
)

// link is the connection, which reconnects until it is closed.
type link struct {
	nc    *nats.Conn
	ended chan struct{} // closed once nothing of the connection runs

	mu    sync.Mutex
	alive context.Context    // guarded by mu: ends when the present connection is lost
	lose  context.CancelFunc // guarded by mu: ends alive
}

func connect(ctx context.Context, servers string, opts Options) (*link, error) {
	l := &link{ended: make(chan struct{})}
	l.alive, l.lose = context.WithCancel(context.Background())
	opts, servers, err := opts.withURLs(servers)
	if err != nil {
		return nil, err
	}
	settings, err := l.settings(opts)
	if err != nil {
		return nil, err
	}
	dial := &dialer{ctx: ctx}
	l.nc, err = nats.Connect(servers, append(settings, nats.SetCustomDialer(dial))...)
	dial.opened()
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", withoutSecrets(servers), err)
	}
	return l, nil
}

func (l *link) settings(opts Options) ([]nats.Option, error) {
	logger := opts.Logger
	settings := []nats.Option{
		nats.Name("fondaco " + opts.Namespace),
		// Answers go to subjects that a server can reserve for the users of the namespace.
		nats.CustomInboxPrefix("_INBOX." + opts.Namespace),
		nats.Timeout(callTimeout),
		nats.MaxReconnects(-1),
		nats.IgnoreAuthErrorAbort(),
		nats.ReconnectWait(reconnectWait),
		nats.ReconnectJitter(reconnectWait, reconnectWait),
		// A call that has failed must not be sent later.
		nats.ReconnectBufSize(-1),
		nats.PingInterval(pingInterval),
		nats.MaxPingsOutstanding(2),
		nats.FlusherTimeout(writeTimeout),
		nats.ReconnectOnFlusherError(),
		nats.DisconnectErrHandler(func(_ *nats.Conn, err error) {
			l.lost()
			if err != nil { // else Close has closed it
				logger.Warn("natsstore: the connection is lost", slog.Any("error", err))
			}
		}),
		nats.ReconnectHandler(func(nc *nats.Conn) {
			logger.Info("natsstore: connected again", slog.String("server", nc.ConnectedServerName()))
		}),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			logger.Warn("natsstore: the server reports an error", slog.Any("error", err))
		}),
		nats.ClosedHandler(func(*nats.Conn) { close(l.ended) }),
	}
	return appendCredentials(settings, opts)
}

func appendCredentials(settings []nats.Option, opts Options) ([]nats.Option, error) {
	if opts.TLS != nil {
		settings = append(settings, nats.Secure(opts.TLS))
	}
	if opts.User != "" || opts.Password != "" {
		settings = append(settings, nats.UserInfo(opts.User, opts.Password))
	}
	if opts.Token != "" {
		settings = append(settings, nats.Token(opts.Token))
	}
	if opts.CredentialsFile != "" {
		settings = append(settings, nats.UserCredentials(opts.CredentialsFile))
	}
	if opts.NKeyFile == "" {
		return settings, nil
	}
	key, err := nats.NkeyOptionFromSeed(opts.NKeyFile)
	if err != nil {
		return nil, fmt.Errorf("NKeyFile %s: %w", opts.NKeyFile, err)
	}
	return append(settings, key), nil
}

// schemes are those of the URLs that the client library connects to.
var schemes = []string{"nats", "tls", "ws", "wss"}

// withURLs checks the URLs of servers. If the options have credentials, it removes those of the URLs,
// which the client library would prefer, and adds the user or the password that only a URL has.
func (o Options) withURLs(servers string) (Options, string, error) {
	var urls []string
	for server := range strings.SplitSeq(servers, ",") {
		server = strings.TrimSpace(server)
		u, err := parseURL(server)
		if err != nil {
			return o, "", err
		}
		if o.User != "" || o.Password != "" {
			password, _ := u.User.Password()
			o.User, o.Password = cmp.Or(o.User, u.User.Username()), cmp.Or(o.Password, password)
		}
		if o.User != "" || o.Password != "" || o.Token != "" || o.CredentialsFile != "" || o.NKeyFile != "" {
			u.User = nil
			server = u.String()
		}
		urls = append(urls, server)
	}
	return o, strings.Join(urls, ","), nil
}

func parseURL(server string) (*url.URL, error) {
	u, err := url.Parse(server)
	if err != nil { // which has the URL and so may have a password
		return nil, errors.New("the URL cannot be parsed; want one such as nats://host:4222")
	}
	if !slices.Contains(schemes, u.Scheme) || u.Host == "" { // any part of it may be a secret
		return nil, errors.New("the URL has another form; want nats://host:4222, or the scheme tls, ws or wss")
	}
	return u, nil
}

// withoutSecrets returns URLs that were checked without users and passwords.
func withoutSecrets(servers string) string {
	var hosts []string
	for server := range strings.SplitSeq(servers, ",") {
		if u, err := url.Parse(strings.TrimSpace(server)); err == nil {
			hosts = append(hosts, u.Scheme+"://"+u.Host)
		}
	}
	return strings.Join(hosts, ",")
}

// close closes the connection and waits until its callbacks have returned.
func (l *link) close() {
	l.nc.Close()
	<-l.ended
	l.lost()
}

// call calls f until it returns nil or an error that another attempt would not repair: while the
// connection is lost, and while a cluster elects a leader. It returns when ctx ends, after callTimeout
// at most. The server may have executed f several times.
func (l *link) call(ctx context.Context, f func(ctx context.Context) error) error {
	return l.callFor(ctx, callTimeout, f)
}

func (l *link) callFor(ctx context.Context, limit time.Duration, f func(ctx context.Context) error) error {
	limited, cancel := context.WithTimeoutCause(ctx, limit, noAnswerError{limit})
	defer cancel()
	var last error
	for {
		err := l.connected(limited)
		if err == nil {
			err = l.attempt(limited, f)
		}
		if err == nil || limited.Err() == nil && !l.mayPass(err) {
			return err
		}
		if limited.Err() == nil {
			last = err
			select {
			case <-limited.Done():
			case <-time.After(retryWait):
				continue
			}
		}
		err = context.Cause(limited)
		if last != nil {
			return fmt.Errorf("%w (%w)", err, last)
		}
		return err
	}
}

// attempt calls f for attemptTimeout at most. It returns ErrDisconnected if the connection is lost in
// the meantime, because no answer will come, and errNoReply if none has come.
func (l *link) attempt(ctx context.Context, f func(ctx context.Context) error) error {
	l.mu.Lock()
	alive := l.alive
	l.mu.Unlock()
	bound, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	defer context.AfterFunc(alive, cancel)()
	err := f(bound)
	switch {
	case err == nil || ctx.Err() != nil || bound.Err() == nil:
		return err
	case alive.Err() != nil:
		return nats.ErrDisconnected
	}
	return errNoReply
}

var errNoReply = errors.New("the server does not answer")

// lost ends the attempts that wait for an answer on the connection that is lost.
func (l *link) lost() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lose()
	l.alive, l.lose = context.WithCancel(context.Background())
}

// limited returns the context of a method that calls the server several times, which takes callTimeout
// at most.
func limited(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, callTimeout, noAnswerError{callTimeout})
}

// last returns the last message of a subject, or ErrMsgNotFound.
func (l *link) last(ctx context.Context, stream jetstream.Stream, subject string) (msg *jetstream.RawStreamMsg, err error) {
	err = l.call(ctx, func(ctx context.Context) error {
		msg, err = stream.GetLastMsgForSubject(ctx, subject)
		return err
	})
	return msg, err
}

// noAnswerError is the error of a call that has waited for its whole time.
type noAnswerError struct{ limit time.Duration }

func (e noAnswerError) Error() string { return fmt.Sprintf("no answer within %v", e.limit) }

func (e noAnswerError) Is(target error) bool { return target == context.DeadlineExceeded }

// connected waits until there is a connection.
func (l *link) connected(ctx context.Context) error {
	if l.nc.IsConnected() {
		return nil
	}
	changed := l.nc.StatusChanged(nats.CONNECTED, nats.CLOSED)
	defer l.nc.RemoveStatusListener(changed)
	for !l.nc.IsConnected() {
		if l.nc.IsClosed() {
			return nats.ErrConnectionClosed
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// passing are the errors of a lost connection, and of a stream without a leader.
var passing = []error{
	nats.ErrDisconnected, nats.ErrReconnectBufExceeded, nats.ErrConnectionReconnecting, nats.ErrStaleConnection,
	nats.ErrNoResponders, jetstream.ErrNoStreamResponse,
	nats.ErrConnectionClosed, // of Flush when the connection is lost
	net.ErrClosed,
	errNoReply,
}

// Error codes of JetStream that the client library does not name.
const (
	codeClusterUnavailable   = 10008 // no leader
	codeDuplicateInFlight    = 10158 // the first attempt is not stored yet
	codeBatchIncomplete      = 10176
	codeBatchHasDuplicate    = 10201
	codeTooManyBatches       = 10210
	codeWrongLastID          = 10070
	codeWrongLastSequence    = 10071
	codeWrongSequencePending = 10164 // because of a write that is not stored yet
)

// mayPass reports whether another attempt may succeed.
func (l *link) mayPass(err error) bool {
	if l.nc.IsClosed() {
		return false
	}
	if slices.ContainsFunc(passing, func(p error) bool { return errors.Is(err, p) }) {
		return true
	}
	if _, ok := errors.AsType[*net.OpError](err); ok {
		return true
	}
	return hasCode(err, codeClusterUnavailable, codeDuplicateInFlight, codeBatchIncomplete, codeTooManyBatches)
}

// hasCode reports whether an error is an answer of JetStream with one of the codes.
func hasCode(err error, codes ...jetstream.ErrorCode) bool {
	answer, ok := errors.AsType[*jetstream.APIError](err)
	return ok && slices.Contains(codes, answer.ErrorCode)
}
