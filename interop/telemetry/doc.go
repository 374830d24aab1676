// Package telemetry tests that a collector of OpenTelemetry and Prometheus take the telemetry of a host. It
// is a module of its own, because it builds the receiver of the collector.
package telemetry
