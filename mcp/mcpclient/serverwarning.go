package mcpclient

import "time"

// warnEvery is the minimum time between two log lines of warnOfServer about the same.
const warnEvery = time.Second

// warnOfServer logs that the server does not follow the protocol, at most once a second: a server decides how
// often it does so. Lines about different methods are limited apart. A method that the server has
// chosen must not be one of them, so it is empty for what the server sends by itself.
func (c *Client) warnOfServer(method, text string, attrs ...any) {
	if left, due := c.logRate.Due(text+method, warnEvery); due {
		c.opts.logger().With("server", c.target.String()).Warn(text, append(attrs, "more", left)...)
	}
}
