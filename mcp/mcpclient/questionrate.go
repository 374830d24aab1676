package mcpclient

import (
	"time"

	"github.com/fondaco/fondaco/mcp"
	"github.com/fondaco/fondaco/mcp/internal/limit"
)

// questionRates limits how often the server may ask, by method.
type questionRates map[string]questionRate

// questionRate is the limit of one method.
type questionRate struct {
	limit  mcp.Limit
	bucket *limit.Bucket
}

func newQuestionRates(r mcp.Rate) questionRates {
	return questionRates{
		mcp.MethodCreateMessage: {mcp.LimitSamplingRate, limit.NewBucket(r)},
		mcp.MethodElicit:        {mcp.LimitElicitationRate, limit.NewBucket(r)},
	}
}

// checkRate refuses a question that exceeds the rate of its method.
func (c *Client) checkRate(method string) error {
	rate, ok := c.questionRates[method]
	if !ok {
		return nil
	}
	wait, ok := rate.bucket.Take()
	if ok {
		return nil
	}
	c.reportLimit(rate.limit, method)
	return mcp.PeerRetryLaterf(mcp.CodeRateLimited, wait, "%s: too many questions in a short time; want the next in %v", method, wait.Round(time.Millisecond))
}

// reportLimit reports to Options.OnLimit and the log that a limit was reached.
func (c *Client) reportLimit(l mcp.Limit, method string) {
	c.limits.Reached(mcp.LimitReached{Limit: l, Method: method})
}

// LimitReached implements exchange.Inbox.
func (k *connection) LimitReached(e mcp.LimitReached) { k.client.limits.Reached(e) }

// ReportLimit reports to Options.OnLimit and the log that the message has reached a
// limit, such as one of your own middleware. It is safe for concurrent use.
func (r *Request) ReportLimit(l mcp.Limit) { r.client.reportLimit(l, r.Method) }
