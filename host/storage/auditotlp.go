package storage

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/fondaco/fondaco/host/audit"
	"github.com/fondaco/fondaco/host/terminal"
)

// openAuditOTLP opens the collector of the audit log until Close. The variables of OpenTelemetry give headers and
// certificates.
func (s *Storage) openAuditOTLP(collector string) (*audit.OTLP, error) {
	header, err := otlpHeader(s.opts.Env)
	if err != nil {
		return nil, err
	}
	transport, err := otlpTransport(s.opts.Env)
	if err != nil {
		return nil, err
	}
	sink, err := audit.OpenOTLP(audit.OTLPOptions{
		Collector: collector, Header: header, Transport: transport, OnError: func(err error) { s.opts.Message("audit log: %s", terminal.CleanLine(err.Error())) },
	})
	if err != nil {
		return nil, err
	}
	s.onClose(func() {
		sink.Close()
		if n := sink.Dropped(); n > 0 {
			s.opts.Message("audit log: lines that the collector did not get: %d", n)
		}
	})
	return sink, nil
}

// otlpVariable returns a variable OTEL_EXPORTER_OTLP_…; the one for logs takes precedence.
func otlpVariable(env func(string) (string, bool), name string) string {
	own, _ := env("OTEL_EXPORTER_OTLP_LOGS_" + name)
	all, _ := env("OTEL_EXPORTER_OTLP_" + name)
	return cmp.Or(own, all)
}

// otlpHeader returns the headers for a collector: key=value with commas between them, escaped as in URLs.
//
// Spec: OpenTelemetry protocol exporter, specifying headers via environment variables
func otlpHeader(env func(string) (string, bool)) (http.Header, error) {
	header := make(http.Header)
	for member := range strings.SplitSeq(otlpVariable(env, "HEADERS"), ",") {
		if strings.TrimSpace(member) == "" {
			continue
		}
		key, value, ok := strings.Cut(member, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		text, err := url.PathUnescape(value)
		if !ok || key == "" || err != nil { // the value is a secret
			return nil, errors.New("OTEL_EXPORTER_OTLP_HEADERS: want key=value with commas between them, escaped as in URLs")
		}
		header.Set(key, text)
	}
	return header, nil
}

// otlpTransport returns the transport for a collector, with the certificates of the environment.
func otlpTransport(env func(string) (string, bool)) (http.RoundTripper, error) {
	authority, certificate := otlpVariable(env, "CERTIFICATE"), otlpVariable(env, "CLIENT_CERTIFICATE")
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, TLSHandshakeTimeout: 10 * time.Second, IdleConnTimeout: 90 * time.Second}
	if authority == "" && certificate == "" {
		return transport, nil
	}
	transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	if authority != "" {
		text, err := os.ReadFile(authority)
		if err != nil {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_CERTIFICATE: %w", err)
		}
		transport.TLSClientConfig.RootCAs = x509.NewCertPool()
		if !transport.TLSClientConfig.RootCAs.AppendCertsFromPEM(text) {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_CERTIFICATE: %s has no certificate, want one in PEM", authority)
		}
	}
	if certificate != "" {
		pair, err := tls.LoadX509KeyPair(certificate, otlpVariable(env, "CLIENT_KEY"))
		if err != nil {
			return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE: %w", err)
		}
		transport.TLSClientConfig.Certificates = []tls.Certificate{pair}
	}
	return transport, nil
}
