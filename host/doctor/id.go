package doctor

// ID names what a check has found. IDs do not change between versions; docs/doctor.md explains each.
type ID string

// What the checks of the configuration and the program find.
const (
	ConfigurationBroken  ID = "configuration.broken"
	ConfigurationNote    ID = "configuration.note"
	ConfigurationMissing ID = "configuration.variable-missing"
	ConfigurationFile    ID = "configuration.file-unreadable"
	ProgramMissing       ID = "program.missing"
	ProgramMode          ID = "program.not-executable"
	ProgramDirectory     ID = "program.directory"
	ProgramInterpreter   ID = "program.interpreter-missing"
	ApprovalMissing      ID = "approval.missing"
	ApprovalChanged      ID = "approval.changed"
	ApprovalDenied       ID = "approval.denied"
	ApprovalFailed       ID = "approval.failed"
	RuntimeMissing       ID = "runtime.missing"
	RuntimeFailed        ID = "runtime.failed"
	RuntimeVersion       ID = "runtime.version"
	RuntimeDaemon        ID = "runtime.daemon"
)

// What the checks of the network find.
const (
	ProxyInvalid     ID = "proxy.invalid"
	ProxyUnreachable ID = "proxy.unreachable"
	ProxyPassword    ID = "proxy.password"
	ProxyRefused     ID = "proxy.refused"
	DNSUnknown       ID = "dns.unknown-host"
	DNSTimeout       ID = "dns.timeout"
	DNSFailed        ID = "dns.failed"
	TCPRefused       ID = "tcp.refused"
	TCPTimeout       ID = "tcp.timeout"
	TCPFailed        ID = "tcp.failed"
	TLSAuthority     ID = "tls.unknown-authority"
	TLSExpired       ID = "tls.expired"
	TLSExpires       ID = "tls.expires-soon"
	TLSName          ID = "tls.wrong-name"
	TLSPlain         ID = "tls.plain-http"
	TLSFailed        ID = "tls.failed"
)

// What the checks of the connection find.
const (
	EndpointNotFound    ID = "endpoint.not-found"
	EndpointContent     ID = "endpoint.content-type"
	EndpointRedirect    ID = "endpoint.redirect"
	EndpointForbidden   ID = "endpoint.forbidden"
	EndpointBusy        ID = "endpoint.busy"
	EndpointFailing     ID = "endpoint.server-error"
	EndpointRefused     ID = "endpoint.refused"
	MetadataMissing     ID = "metadata.missing"
	MetadataInvalid     ID = "metadata.invalid"
	SignInRequired      ID = "sign-in.required"
	SignInRefused       ID = "sign-in.refused"
	SignInScope         ID = "sign-in.scope"
	SignInFailed        ID = "sign-in.failed"
	ConnectionTimeout   ID = "connection.timeout"
	ConnectionExited    ID = "connection.exited"
	ConnectionVariable  ID = "connection.variable-withheld"
	ConnectionOutput    ID = "connection.output"
	ConnectionProtocol  ID = "connection.protocol"
	ConnectionLost      ID = "connection.lost"
	ConnectionFailed    ID = "connection.failed"
	RevisionUnsupported ID = "revision.unsupported"
	RevisionOld         ID = "revision.old"
	FeaturesNone        ID = "features.none"
	FeaturesFailed      ID = "features.list-failed"
	LintFault           ID = "lint.fault"
	LintNote            ID = "lint.note"
	CallUnknown         ID = "call.unknown-tool"
	CallFailed          ID = "call.failed"
	CallToolError       ID = "call.tool-error"
	PingFailed          ID = "call.ping-failed"
)
