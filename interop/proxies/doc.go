// Package proxies tries the configurations of the directory deploy with the reverse proxies that
// they are for: three replicas of a server with the same keys behind each, and clients of every
// revision. A test is skipped where its proxy is not installed.
package proxies
