package catalog

import (
	"testing"

	limits "github.com/fondaco/fondaco/internal/claim"
)

func TestDefaultsAreThoseOfTheLimitsPage(t *testing.T) {
	limits.Limit(t, "one page of an upstream's list; all its lists", listTimeout, allListsTimeout)
	limits.Limit(t, "pause before a list that could not be read is read again; the longest", firstListRetry, maxListRetry)
	limits.Limit(t, "time after the last list request with certain capabilities in which reads of their features that fail are repeated, with the pauses of lists that could not be read", capabilityRetryTime)
	limits.Limit(t, "features of one kind of one upstream", maxListed)
	limits.Limit(t, "reads of one upstream's lists for single callers or for certain capabilities, at the same time; of one owner", maxListReads, maxOwnerListReads)
	limits.Limit(t, "features that one upstream has for one caller or one set of capabilities", maxCallerFeatures, limits.Bytes(maxCallerFeatureBytes))
	limits.Limit(t, "remembered resources that results of one upstream have named to a caller; their URIs", maxNamedResources, limits.Bytes(maxNamedURIBytes))
	limits.Limit(t, "different URIs in one result that the host compares with templates; their bytes", maxNamedResources, limits.Bytes(maxNamedURIBytes))
}
