// Package quota keeps rates that hold over all replicas of a server together.
//
// Each replica decides by itself, with a token bucket for each owner that has a part of the rate.
// The parts follow the demand. A replica at which an owner has calls writes once in two seconds
// how many calls it has admitted and how many there were, and reads in the seconds between what
// the others have written:
//
//	Take ─→ bucket, a part of the rate                       without an operation of the Store
//	timer ─→ Put   quota.<owner>.<entry>.<record>             0.25 s after the first call, then every 2 s
//	      └→ List  quota.<owner>.                             in the seconds between: the parts of all
//
// A record is in the name of a key, because List returns names: so one operation reads what all
// replicas have written, and no two replicas write the same key. The engine removes records.
// Records have no times, so the clocks of replicas may differ.
//
// The calls of all replicas are counted against one bucket, whose level each replica computes from
// the records. What replicas have admitted too much, because they did not know of each other, is
// missing in the level and therefore refused later. A replica that has read nothing for a while has
// the rate divided by the number of replicas.
package quota
