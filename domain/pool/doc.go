// Package pool is the leaf of the core: the identifiers, units and small value
// types that every other package shares. It imports nothing of ours.
package pool
