package audit

import (
	"bytes"
	"encoding/json/v2"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/fondaco/fondaco/host"
)

// OTLP sends lines to a collector of OpenTelemetry as log records: OTLP over HTTP, in JSON. The body of a record is the
// line as it is in the log, with its authentication code. Lines wait in a queue, so sending delays no call; lines that
// find the queue full are dropped and counted. All methods are safe for concurrent use.
type OTLP struct {
	url     string
	header  http.Header
	client  *http.Client
	lines   chan otlpRecord
	held    atomic.Int64 // bytes of the lines that wait, and of those that are being sent
	onError func(error)

	sending
}

// OTLPOptions are the options of an OTLP.
type OTLPOptions struct {
	// Collector is the URL of the collector, such as http://127.0.0.1:4318. Records go to /v1/logs below it.
	Collector string
	// Header is sent with each request. It may have secrets: redirects are not followed. Default: none.
	Header http.Header
	// Transport sends the requests. Default: that of net/http.
	Transport http.RoundTripper
	// OnError is called for the first failure after a success, and for records that the collector refuses. Default: nothing.
	OnError func(error)
}

const (
	// maxOTLPQueue is the number of lines that wait to be sent, and maxOTLPBatch of those that are sent together.
	maxOTLPQueue, maxOTLPBatch = 4096, 256
	// maxOTLPHeld limits the lines that wait and those that are being sent, in bytes.
	maxOTLPHeld = 16 << 20
	// otlpTimeout limits each request, and otlpPause is the pause after a failure; it doubles up to maxOTLPPause.
	otlpTimeout             = 10 * time.Second
	otlpPause, maxOTLPPause = time.Second, 30 * time.Second
)

// OpenOTLP starts to send to a collector. Nothing is connected yet.
func OpenOTLP(o OTLPOptions) (*OTLP, error) {
	u, err := url.Parse(o.Collector)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return nil, errors.New("otlp: want the http or https URL of a collector without user, query and fragment, such as http://127.0.0.1:4318")
	}
	s := &OTLP{
		url: strings.TrimSuffix(u.String(), "/") + "/v1/logs", header: o.Header.Clone(), lines: make(chan otlpRecord, maxOTLPQueue), onError: o.OnError,
		client: &http.Client{Transport: o.Transport, Timeout: otlpTimeout, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
			return fmt.Errorf("the collector redirects to %s://%s: want the URL that takes the records itself", r.URL.Scheme, r.URL.Host)
		}},
	}
	if s.header == nil {
		s.header = make(http.Header)
	}
	s.header.Set("Content-Type", "application/json")
	s.start(s.run)
	return s, nil
}

// Dropped returns how many lines were dropped.
func (s *OTLP) Dropped() int64 { return s.dropped.Load() }

// otlpRecord is a log record in the JSON of OTLP.
//
// Spec: OpenTelemetry protocol 1.5.0, JSON Protobuf encoding; logs data model
type otlpRecord struct {
	Time       string          `json:"timeUnixNano"`
	Observed   string          `json:"observedTimeUnixNano"`
	Severity   int             `json:"severityNumber"`
	EventName  string          `json:"eventName"`
	Body       otlpValue       `json:"body"`
	Attributes []otlpAttribute `json:"attributes"`
}

type otlpValue struct {
	Text string `json:"stringValue"`
}

type otlpAttribute struct {
	Key   string    `json:"key"`
	Value otlpValue `json:"value"`
}

// send queues a record. A nil OTLP sends nothing.
func (s *OTLP) send(r *Record, line []byte) {
	if s == nil {
		return
	}
	const informational, notice = 9, 10 // INFO and INFO2
	level := informational
	if severity(r) < 6 {
		level = notice
	}
	record := otlpRecord{
		Time: strconv.FormatInt(r.Time.UnixNano(), 10), Observed: strconv.FormatInt(time.Now().UnixNano(), 10),
		Severity: level, EventName: "fondaco.audit", Body: otlpValue{string(bytes.TrimSuffix(line, []byte{'\n'}))},
		Attributes: []otlpAttribute{{"fondaco.decision.action", otlpValue{string(r.Action)}}, {"fondaco.decision.outcome", otlpValue{string(r.Outcome)}}},
	}
	size := int64(len(record.Body.Text))
	if s.held.Add(size) <= maxOTLPHeld {
		select {
		case s.lines <- record:
			return
		default:
		}
	}
	s.held.Add(-size)
	s.dropped.Add(1)
}

// run sends what is queued until the end.
func (s *OTLP) run() {
	for first := range s.lines {
		batch := []otlpRecord{first}
	gather:
		for len(batch) < maxOTLPBatch {
			select {
			case r, ok := <-s.lines:
				if !ok {
					break gather
				}
				batch = append(batch, r)
			default:
				break gather
			}
		}
		if !s.deliver(batch) {
			return
		}
		for _, r := range batch {
			s.held.Add(-int64(len(r.Body.Text)))
		}
	}
}

// errRefused wraps the error of records that the collector does not take, however often they are sent.
var errRefused = errors.New("refused")

// deliver sends records, again if that fails. It reports false at the end.
func (s *OTLP) deliver(batch []otlpRecord) bool {
	body, err := encodeOTLP(batch)
	if err != nil {
		return s.giveUp(batch, err)
	}
	for pause := otlpPause; ; pause = min(2*pause, maxOTLPPause) {
		err := s.post(body)
		switch {
		case err == nil:
			s.failing.Store(false)
			return true
		case errors.Is(err, errRefused):
			return s.giveUp(batch, err)
		case s.ctx.Err() == nil && !s.failing.Swap(true): // at the end Close has interrupted the request
			s.report(err)
		}
		select {
		case <-s.ctx.Done():
			s.dropped.Add(int64(len(batch) + len(s.lines)))
			return false
		case <-time.After(pause):
		}
	}
}

// giveUp drops records that cannot be sent. It reports true: others may be.
func (s *OTLP) giveUp(batch []otlpRecord, err error) bool {
	s.dropped.Add(int64(len(batch)))
	s.report(err)
	return true
}

func (s *OTLP) report(err error) {
	if s.onError != nil {
		s.onError(fmt.Errorf("otlp: %w", err))
	}
}

func encodeOTLP(batch []otlpRecord) ([]byte, error) {
	type scopeLogs struct {
		Scope   map[string]string `json:"scope"`
		Records []otlpRecord      `json:"logRecords"`
	}
	type resourceLogs struct {
		Resource map[string][]otlpAttribute `json:"resource"`
		Scopes   []scopeLogs                `json:"scopeLogs"`
	}
	return json.Marshal(map[string][]resourceLogs{"resourceLogs": {{
		Resource: map[string][]otlpAttribute{"attributes": {{"service.name", otlpValue{"fondaco"}}, {"service.version", otlpValue{host.Version}}}},
		Scopes:   []scopeLogs{{map[string]string{"name": "github.com/fondaco/fondaco/host/audit"}, batch}},
	}}})
}

// post makes one request. Its error wraps errRefused if another attempt is of no use.
//
// Spec: OpenTelemetry protocol 1.5.0, OTLP/HTTP response, failures
func (s *OTLP) post(body []byte) error {
	r, err := http.NewRequestWithContext(s.ctx, http.MethodPost, s.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header = s.header.Clone()
	resp, err := s.client.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	const maxAnswer = 64 << 10
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	switch code := resp.StatusCode; {
	case code == http.StatusTooManyRequests || code >= http.StatusBadGateway && code <= http.StatusGatewayTimeout:
		return fmt.Errorf("the collector answered %s", resp.Status)
	case code >= 300:
		return fmt.Errorf("the collector answered %s: %w", resp.Status, errRefused)
	case err != nil:
		return err
	}
	var partial struct {
		Success struct {
			Rejected string `json:"rejectedLogRecords"`
		} `json:"partialSuccess"`
	}
	if json.Unmarshal(answer, &partial) == nil && partial.Success.Rejected != "" && partial.Success.Rejected != "0" {
		s.report(fmt.Errorf("records that the collector refused: %.20s", partial.Success.Rejected))
	}
	return nil
}

// Close sends what is queued, for two seconds at most, unless the last attempt has failed. Nothing may be sent any more.
func (s *OTLP) Close() {
	close(s.lines)
	s.finish()
}
