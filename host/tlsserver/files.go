package tlsserver

import (
	"crypto/tls"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/fondaco/fondaco/host/userfile"
)

// checkInterval is how often the files are checked for changes, at most.
const checkInterval = time.Second

// Files returns the configuration of a server whose certificate chain and private key are in
// two PEM files, which may be one. Files that have changed are read at the next handshake, up to
// a second later. Connections that are open then continue. While the new files are invalid or do
// not belong together, as between the writes of the two, the old certificate is used; the error
// is logged if it lasts.
//
// It is an error if others than the user or the administrator can write to one of the files, or
// can read the key.
func Files(certFile, keyFile string, log *slog.Logger) (*tls.Config, error) {
	f := &files{certFile: certFile, keyFile: keyFile, log: log}
	found := f.version()
	certificate, err := f.load()
	if err != nil {
		return nil, fmt.Errorf("TLS certificate: %w", err)
	}
	f.loaded, f.certificate, f.checked = found, certificate, time.Now()
	if end := certificate.Leaf.NotAfter; time.Now().After(end) {
		log.Warn("TLS certificate has expired", "file", certFile, "expired", end)
	}
	return config(f.get), nil
}

// files is a certificate in two files.
type files struct {
	certFile, keyFile string
	log               *slog.Logger

	mu          sync.Mutex
	certificate *tls.Certificate // guarded by mu
	loaded      fileVersions     // guarded by mu: of certificate
	failed      fileVersions     // guarded by mu: those that could not be loaded last
	reported    bool             // guarded by mu: that they could not
	checked     time.Time        // guarded by mu
}

// fileVersions tells whether two files have changed. A missing file has none.
type fileVersions [2]struct {
	info os.FileInfo
	ok   bool
}

func (v fileVersions) equal(other fileVersions) bool {
	for i := range v {
		a, b := v[i], other[i]
		if a.ok != b.ok || a.ok && (!os.SameFile(a.info, b.info) || !a.info.ModTime().Equal(b.info.ModTime()) || a.info.Size() != b.info.Size()) {
			return false
		}
	}
	return true
}

func (f *files) version() (v fileVersions) {
	for i, path := range []string{f.certFile, f.keyFile} {
		info, err := os.Stat(path)
		v[i].info, v[i].ok = info, err == nil
	}
	return v
}

// load reads the files.
func (f *files) load() (*tls.Certificate, error) {
	if err := userfile.CheckPrivate(f.keyFile); err != nil {
		return nil, err
	}
	for _, path := range []string{f.certFile, f.keyFile} {
		if err := userfile.Check(path); err != nil {
			return nil, err
		}
	}
	pair, err := tls.LoadX509KeyPair(f.certFile, f.keyFile)
	if err != nil {
		return nil, fmt.Errorf("%s and %s: %w", f.certFile, f.keyFile, err)
	}
	return &pair, nil
}

// get returns the certificate for a handshake.
func (f *files) get(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if now := time.Now(); now.Sub(f.checked) >= checkInterval {
		f.checked = now
		f.reloadLocked()
	}
	return f.certificate, nil
}

// reloadLocked reads the files if they have changed.
func (f *files) reloadLocked() {
	found := f.version()
	if found.equal(f.loaded) {
		return
	}
	certificate, err := f.load()
	switch {
	case err == nil:
		f.certificate, f.loaded, f.failed, f.reported = certificate, found, fileVersions{}, false
	case !found.equal(f.failed):
		f.failed, f.reported = found, false
	case !f.reported:
		f.reported = true
		f.log.Warn("TLS certificate: the files have changed and cannot be used; the certificate before is used", "error", err)
	}
}
