package pgstore

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	neturl "net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

const (
	// idleCheck is the time without use after which a connection is checked before its next use.
	idleCheck = time.Second
	// checkTimeout bounds the check of one connection.
	checkTimeout = 2 * time.Second
)

// sessionSettings makes all connections alike, whatever is set for the role or the database. The
// server gives up a statement when its caller does.
var sessionSettings = fmt.Sprintf(`SET default_transaction_isolation = 'read committed'; SET statement_timeout = %d`, callTimeout.Milliseconds())

// poolConfig returns the configuration of the connections.
func poolConfig(url string, opts *Options, h *health) (*pgxpool.Config, error) {
	parsed, err := neturl.Parse(url)
	if err != nil || parsed.Scheme != "postgres" && parsed.Scheme != "postgresql" {
		// The text of the error has parts of the URL, which may be those of the password.
		return nil, errors.New("the address is no URL of PostgreSQL: want postgres://user:password@host:port/database, with special characters percent-encoded")
	}
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("URL of PostgreSQL: %s", withoutPassword(err, parsed))
	}
	if opts.MaxConns > 0 {
		config.MaxConns = int32(opts.MaxConns)
	}
	if opts.TLS != nil {
		useTLS(&config.ConnConfig.Config, opts.TLS)
	}
	config.ConnConfig.ConnectTimeout = callTimeout
	config.ConnConfig.DialFunc = (&net.Dialer{KeepAliveConfig: net.KeepAliveConfig{
		Enable: true, Idle: 5 * time.Second, Interval: 2 * time.Second, Count: 3,
	}}).DialContext
	if password := opts.PasswordFunc; password != nil {
		config.BeforeConnect = func(ctx context.Context, c *pgx.ConnConfig) (err error) {
			c.Password, err = password(ctx)
			return err
		}
	}
	config.AfterConnect = prepareSession
	config.ShouldPing = h.shouldCheck
	config.PingTimeout = checkTimeout
	return config, nil
}

func prepareSession(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.Exec(ctx, sessionSettings, pgx.QueryExecModeSimpleProtocol)
	return err
}

// withoutPassword returns what a parser found wrong with a URL, without the URL and its passwords.
func withoutPassword(err error, url *neturl.URL) string {
	text := err.Error()
	if i := strings.LastIndex(text, "`: "); i >= 0 { // after the URL
		text = text[i+len("`: "):]
	}
	secrets := append(url.Query()["password"], url.Query()["sslpassword"]...)
	if password, ok := url.User.Password(); ok {
		secrets = append(secrets, password)
	}
	for _, secret := range secrets {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "xxxxx")
		}
	}
	return text
}

// useTLS makes all connections over TCP use TLS, and none go without.
func useTLS(config *pgconn.Config, settings *tls.Config) {
	for _, f := range config.Fallbacks {
		f.TLSConfig = tlsFor(f.Host, settings)
	}
	config.TLSConfig = tlsFor(config.Host, settings)
}

// tlsFor returns the settings for a host, and nil for a directory with a Unix socket.
func tlsFor(host string, settings *tls.Config) *tls.Config {
	if network, _ := pgconn.NetworkAddress(host, 0); network == "unix" {
		return nil
	}
	settings = settings.Clone()
	if settings.ServerName == "" {
		settings.ServerName = host
	}
	return settings
}

// health decides which connections are checked before they are used: those that were idle for a
// while, and, after one was lost, all that were idle then.
type health struct {
	lastLoss atomic.Pointer[time.Time]
}

// lost is called after a connection was lost.
func (h *health) lost() {
	now := time.Now()
	h.lastLoss.Store(&now)
}

func (h *health) shouldCheck(_ context.Context, p pgxpool.ShouldPingParams) bool {
	if p.IdleDuration > idleCheck {
		return true
	}
	loss := h.lastLoss.Load()
	return loss != nil && time.Since(*loss) < p.IdleDuration
}
