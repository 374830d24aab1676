// Package limit keeps one client from using more than its share of a server. An Owner
// identifies the party that a limit is charged to. A Pool limits the entries of a table, a
// Gate the calls that run, of a server or of one tool, and Buckets limit rates. A Reporter
// reports limits that were reached. The package does not depend on messages.
package limit
