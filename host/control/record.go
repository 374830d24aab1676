package control

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// RecordRequest says where and how long a host records its messages.
type RecordRequest struct {
	// Dir is the absolute path of the directory.
	Dir string
	// MaxBytes limits the files in it.
	MaxBytes int64
	// For is how long. 0 is until the request ends.
	For time.Duration
}

func (r RecordRequest) query() url.Values {
	return url.Values{"dir": {r.Dir}, "bytes": {strconv.FormatInt(r.MaxBytes, 10)}, "for": {r.For.String()}}
}

func recordRequestOf(q url.Values) (r RecordRequest, err error) {
	r.Dir = q.Get("dir")
	if r.MaxBytes, err = strconv.ParseInt(q.Get("bytes"), 10, 64); err != nil || r.MaxBytes < 1 {
		return r, fmt.Errorf("record: bytes=%q: want a number of bytes", q.Get("bytes"))
	}
	if r.For, err = time.ParseDuration(q.Get("for")); err != nil || r.For < 0 {
		return r, fmt.Errorf("record: for=%q: want a duration", q.Get("for"))
	}
	return r, nil
}

// Record makes the host record its messages until ctx is done or the time is over.
func (c *Client) Record(ctx context.Context, r RecordRequest) error {
	return c.do(ctx, http.MethodPost, "/record?"+r.query().Encode(), nil)
}
