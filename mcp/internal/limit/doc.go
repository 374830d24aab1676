// Package limit keeps one caller from taking more than its share: Owner is for whom
// everything is counted, Pool bounds a table, Gate lets calls in, Buckets are rates, and
// Reporter tells of limits that were reached. It knows no messages.
package limit
