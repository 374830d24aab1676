// Package limit holds what keeps one caller from taking more than its share: the
// gate that lets calls in, buckets of tokens, and the reporter that tells of limits
// that were reached. It knows no messages.
package limit
