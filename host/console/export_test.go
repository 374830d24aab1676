package console

// The limits, for the comparison with docs/limits.md.
const (
	MaxLinks        = maxLinks
	MaxSessions     = maxSessions
	MaxStreams      = maxStreams
	MaxForm         = maxForm
	KeptDurations   = keptDurations
	MaxFields       = maxFields
	MaxDepth        = maxDepth
	MaxFollowed     = maxFollowed
	MaxResultFiles  = maxResultFiles
	MaxResultBytes  = maxResultBytes
	MaxNodes        = maxNodes
	MaxTreeDepth    = maxTreeDepth
	MaxLeaf         = maxLeaf
	MaxShownText    = maxShownText
	MaxDecisions    = maxDecisions
	MaxMessages     = maxMessages
	MaxRecordings   = maxRecordings
	MaxBody         = maxBody
	MaxShared       = maxShared
	MaxItems        = maxItems
	MaxAlternatives = maxAlternatives
	MaxFileForm     = maxFileForm
	MaxEcho         = maxEcho
	MaxCommand      = maxCommand
	MaxWatches      = maxWatches
	KeptUpdates     = keptUpdates
	RereadInterval  = rereadInterval
	MaxCheckResults = maxCheckResults
	KeptLines       = keptLines
	MaxLine         = maxLine
	MaxUsageRows    = maxUsageRows
	NextPageTime    = nextPageTime
)

// ShellWord quotes a word for the shell of a system.
func ShellWord(system, word string) string { return shellWord(system, word) }
